#!/usr/bin/python3
"""One short life of each kind of process, for the sanitizers: a run, a shared loader, jobs,
the gate, what is preloaded, the library in Python, a device. What they find is in the other
scripts; here nobody may end as a sanitizer ends a process. Speaks TAP.

	tests/sanitized.t		all of it
	tests/sanitized.t gate		one of the tests below
"""

import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "lib"))
from house import BUILD, DSA, TRAIN, Scratch, Tap, adopt_orphans, children
from shared_loader import JOB, SharedLoader, finish

# How a program that is not of this tree gets the sanitizer before its first thread.
RUNTIMES = {"thread": ("gcc", "libtsan.so"),
            "address,undefined": ("clang", f"libclang_rt.asan-{os.uname().machine}.so")}
PYTHON = "/usr/bin/python3"
BATCHES = """
import sys
import dsa
with dsa.Loader(sys.argv[1], batch=16, size=32, epochs=2) as loader:
    kept = next(iter(loader))
    print(len(kept[1]) + sum(len(labels) for _ in range(2) for _, labels in loader))
"""

tap = Tap()


def quiet(process_words):
    """No line of a sanitizer."""
    return not re.search("Sanitizer|runtime error", process_words)


def trainer(images):
    return [TRAIN, "--dataset", images, "--size", "32", "--batch", "8", "--emulate-gpu", "100"]


def kinds(result):
    return {window["kind"] for window in result["windows"] if window["used"]}


def run(scratch, images):
    done = scratch.run(DSA, "run", "-o", "out", "--workers", "2", "--budget", "10s",
                       "--precision", "5", "--timeline", "when.json", "--", *trainer(images))
    tap.ok(done.returncode == 0 and quiet(done.stderr) and
           {"real", "cached", "synthetic"} <= kinds(scratch.result()),
           "a run", done.stdout, done.stderr)
    for form in ("text", "html", "csv", "json", "markdown"):
        done = scratch.run(DSA, "report", "--format", form, "out")
        tap.ok(done.returncode == 0 and quiet(done.stderr), "its report as " + form,
               done.stderr)
    done = scratch.run(DSA, "whatif", "out", "--cores", "1", "--budget", "3s", "--resume")
    tap.ok(done.returncode in (0, 3) and quiet(done.stderr), "a change that is tried",
           done.stdout, done.stderr)


def serve(scratch, images):
    scratch.run(JOB, images, "table=" + scratch.at("table"))
    for mode in ("lockstep", "joader"):
        with SharedLoader(scratch, [images], "--batch", "16", "--jobs", "2", "--leave",
                          "--mode", mode) as loader:
            jobs = [loader.job(images, scratch.at("table"), f"batch={batch}", "epochs=2")
                    for batch in (16, 7)]
            results = [finish(job) for job in jobs]
            tap.ok(all(status == 0 and "epochs 2" in said for status, said in results),
                   "two jobs of a loader, " + mode, results, loader.words())
            tap.ok(loader.process.wait(120) == 0 and quiet(loader.words()) and
                   "exactly once" in loader.verdict(), "and the loader, " + mode,
                   loader.words())


def jobs(scratch, images):
    done = scratch.run(DSA, "run", "-o", "out", "--workers", "1", "--budget", "8s",
                       "--jobs", "2", "--share", "--", *trainer(images))
    tap.ok(done.returncode == 0 and quiet(done.stderr) and
           len(scratch.result()["jobs"]) == 2, "jobs that share a loader", done.stdout,
           done.stderr)


def gate(scratch, images):
    words = [DSA, "gate", "--baseline", scratch.at("gate.json"), "--pairs", "0", "--fetch",
             "pread"]
    for name, more in (("a baseline", ["--update"]), ("the gate", [])):
        done = scratch.run(*words, *more, "--", TRAIN, "--dataset", images, "--size", "32",
                           "--emulate-gpu", "4000")
        tap.ok(done.returncode == 0 and quiet(done.stderr), name, done.stdout, done.stderr)


def runtime():
    """The sanitizer's library; "": there is none."""
    compiler, library = RUNTIMES.get(os.environ.get("SAN"), (None, None))
    return "" if compiler is None else subprocess.run(
        [compiler, "-print-file-name=" + library], text=True, check=True,
        stdout=subprocess.PIPE).stdout.strip()


def preload(scratch, _):
    """64 threads open 100,000 files in a program that knows nothing of it."""
    times, page = 1563, scratch.at("page")
    for i in range(8):
        with open(scratch.at(str(i)), "wb") as file:
            file.write(bytes(5000))
    # clang's sanitizer is in the program
    first = runtime() if os.environ.get("SAN") == "thread" else ""
    tool = os.path.join(BUILD, "tests/tool")
    scratch.run(f"{tool}/io_page", "make", page, "listing=1")
    done = subprocess.run([f"{tool}/io_reader", "threads", scratch.path, str(times)],
                          env=dict(scratch.environment, DSA_IO=page,
                                   LD_PRELOAD=f"{first} {BUILD}/libdsa-io.so"),
                          text=True, stderr=subprocess.PIPE, check=False)
    seen = json.loads(scratch.run(f"{tool}/io_page", "show", page).stdout)
    tap.ok(done.returncode == 0 and quiet(done.stderr) and
           seen["opens"] == 64 * times and seen["bytes"] == 64 * times * (4096 + 100),
           "64 threads whose files are counted", done.stderr, seen["opens"], seen["bytes"])


def python(scratch, images):
    environment = dict(scratch.environment, DSA_LIBRARY=os.path.join(BUILD, "libdsa.so"),
                       PYTHONPATH=os.path.join(HERE, "../loader/python"))
    if runtime():
        environment["LD_PRELOAD"] = runtime()
        # Python itself leaks.
        environment["ASAN_OPTIONS"] = environment.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
    done = subprocess.run([PYTHON, "-c", BATCHES, images], env=environment, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    tap.ok(done.returncode == 0 and done.stdout == "120\n" and quiet(done.stderr),
           "the library in Python", done.stdout, done.stderr)


def device(scratch, images):
    """Batches on the fake driver's device, whose work the fake CUPTI records."""
    fake = os.path.join(BUILD, "fake")
    # gpu_step leaves its module to the driver
    checks = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
    done = scratch.run(DSA, "run", "-o", "out", "--workers", "2", "--budget", "8s", "--",
                       os.path.join(BUILD, "tests/tool/gpu_step"), "-d", "-s", "32", "-b", "8",
                       "-w", "10", images, variables={
                           "ASAN_OPTIONS": checks, "LD_LIBRARY_PATH": fake,
                           "FAKE_CUDA": "rate=1e8,unit=1",
                           "DSA_CUPTI": os.path.join(fake, "cupti/13/libcupti.so.13")})
    tap.ok(done.returncode == 0 and quiet(done.stderr) and
           {"real", "cached", "synthetic"} <= kinds(scratch.result()),
           "a run whose batches arrive on a device", done.stdout, done.stderr)


TESTS = [run, serve, jobs, gate, preload, python, device]


def main():
    adopt_orphans()
    for test in TESTS:
        if len(sys.argv) > 1 and test.__name__ not in sys.argv[1:]:
            continue
        with Scratch() as scratch:
            test(scratch, scratch.images(count=60, size="6K"))
        tap.ok(not children(), test.__name__ + " leaves nobody behind", children())
    tap.done()


main()
