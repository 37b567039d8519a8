#!/usr/bin/python3
"""What starts a program that brings its own loader beside dsa run: dsa gate, dsa whatif
--verify, --observe, several at once; and what is left when dsa dies. Speaks TAP. SLEEPS
most of the time.

    tests/launch.t [NAME...]     some of the tests
    SOAK=1 tests/launch.t        each change that can be tried
"""
import glob
import json
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/lib")
from house import BUILD, DSA, HERE, Scratch, SideBySide, Tap, wait_until

PYTHON = "/usr/bin/python3"
PROGRAM = os.path.join(HERE, "lib/torch_program.py")
BATCH, FILES = 8, 480
SOAK = bool(os.environ.get("SOAK"))
OFF = .08  # of a rate, or its interval

LIBDSA = {"PYTHONPATH": os.path.join(HERE, "../loader/python"),
          "DSA_LIBRARY": os.path.join(BUILD, "libdsa.so"),
          "DSA_LOADER": "workers=1,cache=none"}

tap, wanted = Tap(), sys.argv[1:]


def program(*words):
    return [PYTHON, PROGRAM, *words]


def dsa(scratch, *words, variables=()):
    return scratch.run(DSA, *words, variables=variables)


def put_mine(path):
    """The user's own file."""
    with open(path, "w", encoding="ascii") as file:
        file.write("mine")


def said(done):
    return done.returncode, done.stdout, done.stderr


# ---- whatif --verify ----

# Option and value; the rate that it makes: a file takes 4 ms, a sample with it 8 at least.
CHANGES = [("storage-latency", "12ms", 2e3 / 12)]
if SOAK:
    CHANGES += [("cores", "1", 2e3 / 8), ("workers", "1", 1e3 / 8), ("workers", "3", 3e3 / 8),
                ("storage-bandwidth", "800K", 800e3 / 5494)]


def is_near(rate, true):
    """A machine with other work may be slower than the truth; nothing makes it faster."""
    return (1 - OFF if SOAK else .3) < rate / true < 1 + OFF


def check_verified(scratch):
    """Each change acts: the rate is the one that it makes by construction, or the training
    step's if that is less."""
    done = dsa(scratch, "run", "-q", "--budget", "8s", "--storage-latency", "4ms",
               "--prep-delay", "8ms", "-o", "out", "--",
               *program("train", "data", "workers=2", "rate=300", "batch=16"))
    result = scratch.result()
    run = result["run"]
    tap.ok(done.returncode == 0 and run["loader_choice"] == "auto" and
           run["asked"] == "storage_latency=4ms,prep_delay=8ms",
           "measured; the result says how it was started", run, *said(done))
    for option, value, true in CHANGES:
        name = f"--{option} {value}"
        true = min(true, result["rates"]["synthetic_per_s"]["value"])
        done = dsa(scratch, "whatif", "out", f"--{option}", value, "--verify", "--budget",
                   "8s", "-q")
        tap.ok(done.returncode == 0, f"{name}: tried", *said(done))
        tried = scratch.result()["verifications"][-1]
        found = tried["measured_per_s"]
        error = tried.get("error")  # none: the models refuse what a busy machine gave
        print(f"#   {name}: {found['value']:.1f}/s, truth {true:.1f}, predicted",
              "n/a" if error is None else f"{100 * error:+.1f} %")
        tap.ok(is_near(found["value"], true) or found["low"] < true < found["high"],
               f"{name}: the rate is that of the change", tried)
        tap.ok(abs(tried.get("error", 1)) < OFF if SOAK else error is None or
               tried["covered"] or is_near(tried["predicted_per_s"]["value"], true),
               f"{name}: it was predicted", tried)


def check_halved(scratch):
    """Storage that gives half as much, of a program that waits for it half of its time."""
    if not SOAK:
        return
    done = dsa(scratch, "run", "-q", "--budget", "20s", "--storage-bandwidth", "1600K", "-o",
               "halved", "--", *program("train", "data", "workers=2", "rate=400", "batch=4"))
    tap.ok(done.returncode == 0, "measured behind 1600K a second", *said(done))
    done = dsa(scratch, "whatif", "halved", "--storage-bandwidth", "800K", "--verify",
               "--budget", "20s", "-q")
    tried = scratch.result("halved")["verifications"][-1]
    print(f"#   half the bandwidth: {tried}")
    tap.ok(done.returncode == 0 and abs(tried.get("error", 1)) < OFF,
           "half the bandwidth is predicted", tried, *said(done))


def check_refused(scratch):
    """What only libdsa's loader can do is told before anything runs."""
    with open(scratch.at("run.json"), "w", encoding="utf-8") as file:
        json.dump({"schema": "dsa.result/1", "version": "0.1.0", "loader": {"kind": "torch"},
                   "run": {"command": ["false"], "directory": "/"}}, file)
    for option, value in (("cache", "0%"), ("jobs", "2"), ("gpu-speed", "2x"), ("batch", "4"),
                          ("resize", "64")):
        done = dsa(scratch, "whatif", "run.json", f"--{option}", value, "--verify")
        tap.ok(done.returncode == 3 and f"--{option} can't be tried" in done.stderr and
               done.stderr.count("\n") == 1, f"--{option} of such a program is refused",
               *said(done))


# ---- gate ----

def check_gate(scratch):
    """Exact, though each launch trains in another order."""
    same, other = (program("train", "data", "workers=2", "rate=4000", *more)
                   for more in ((), ("twice=1",)))
    counts = []
    for _ in range(2):
        done = dsa(scratch, "gate", "--baseline", "gate.json", "--update", "--pairs", "0",
                   "-q", "--", *same)
        tap.ok(done.returncode == 0, "a baseline is made", *said(done))
        with open(scratch.at("gate.json"), encoding="utf-8") as file:
            counts.append(json.load(file)["counted"])
    tap.ok(counts[0] == counts[1] and counts[0]["samples"] == FILES and
           counts[0]["opens"] == FILES and
           counts[0]["read_bytes"] == sum(map(size_of, range(FILES))),
           "its counts are exact, and those of the whole data set", *counts)
    done = dsa(scratch, "gate", "--baseline", "gate.json", "--pairs", "0", "--", *other)
    tap.ok(done.returncode == 1 and "opens_per_sample" in done.stdout,
           "a program that opens each file twice fails", *said(done))


def check_gate_timed(scratch):
    """And leaves the user's files as they were."""
    inside = scratch.at("inside")
    put_mine(inside)
    done = dsa(scratch, "gate", "--baseline", "timed.json", "--update", "--pairs", "1",
               "--repetition", "1s", "--samples", "80", "-q", "--",
               *program("evaluates", "data", f"inside={inside}", f"keep={scratch.at('last')}"))
    tap.ok(done.returncode == 0, "a repetition is timed", *said(done))
    left = glob.glob(scratch.at("tmp/dsa-gate-*/kept*/*"))
    with open(inside, "rb") as file:
        tap.ok(file.read() == b"mine" and not left,
               "what it overwrote is put back, and nothing left", left)
    with open(scratch.at("timed.json"), encoding="utf-8") as file:
        timed = json.load(file)["sessions"][0]["samples"]
    tap.ok(0 < timed["samples_per_s"][0] < 500 and abs(timed["data_stall"][0]) < 1,
           "with a rate and a stall", timed)


SAVES_LAST = """
import os, runpy, shutil, sys
folders, sys.argv = sys.argv[1].split(":"), sys.argv[2:]
sys.path.insert(0, os.path.dirname(sys.argv[0]))
try:
    runpy.run_path(sys.argv[0], run_name="__main__")
finally:
    for folder in folders:
        mine, other = os.path.join(folder, "mine"), os.path.join(folder, "other")
        if os.path.basename(folder) == "renames":
            os.rename(mine, other)
            os.rename(other, mine)
        else:
            with open(mine, "w") as file:
                file.write("new")
        if os.path.basename(folder) in ("gone", "barred"):
            shutil.rmtree(folder)
        if os.path.basename(folder) == "barred":
            open(folder, "w").close()
"""


def check_gate_saves(scratch):
    """What a program saves after its loop, though it was only counted."""
    def gate(*folders):
        for folder in folders:
            put_mine(os.path.join(scratch.folder(folder), "mine"))
        return dsa(scratch, "gate", "--baseline", f"{folders[0]}.json", "--update", "--pairs",
                   "0", "-q", "--", PYTHON, "-c", SAVES_LAST, ":".join(map(scratch.at, folders)),
                   *program("train", "data")[1:], variables={"TMPDIR": scratch.folder("saved")})
    names = "saves", "gone", "renames"
    done = gate(*names)
    for name in names:
        with open(scratch.at(name, "mine"), encoding="ascii") as file:
            text = file.read()
        tap.ok(done.returncode == 0 and text == "mine",
               f"what is saved after a counted loop is put back: {name}", text, *said(done))
    done = gate("barred")
    left = glob.glob(scratch.at("saved/dsa-gate-*/kept/[0-9]*"))
    tap.ok(done.returncode == 3 and len(left) == 1 and
           os.path.dirname(left[0]) + "/put-back" in done.stderr.splitlines()[-1],
           "what can't be put back is told, and stays", left, *said(done))


def check_gate_ends(scratch):
    done = dsa(scratch, "gate", "--against", "true", "--pairs", "0", "--", PYTHON, "-c", "")
    tap.ok(done.returncode == 5, "a program that asks for no batch", *said(done))
    done = dsa(scratch, "gate", "--against", "true", "--pairs", "0", "--",
               *program("train", "data"), variables={"WORLD_SIZE": "2"})
    tap.ok(done.returncode == 3 and "WORLD_SIZE" in done.stderr and
           done.stderr.count("\n") == 1, "one of several ranks is refused, and ended",
           *said(done))


# ---- dsa run ----

def check_observed(scratch):
    """The emulated storage holds reads back though nothing is switched."""
    done = dsa(scratch, "run", "-q", "--observe", "--storage-latency", "5ms", "-o", "observed",
               "--", *program("train", "data", "rate=4000", "epochs=1"))
    result = scratch.result("observed")
    per_s = result["rates"]["real_per_s"]["value"]
    tap.ok(done.returncode == 0 and per_s < 1e3 / 5, "observed: reads take that long",
           per_s, *said(done))
    held_up = not SOAK and result["windows"][0].get("disturbed") and \
        "replay" in result.get("split", {}).get("why", "")  # by others: the replay does not fit
    tap.ok(held_up or result["stalls"].get("fetch", {}).get("share", 0) > .7, "and are fetch",
           result["stalls"], result.get("split"), result["windows"], *said(done))


SLEEPS = "import {}, time; time.sleep(2); print('the end')"


def check_silent(scratch):
    """What is observed is not ended because it asks for no batch: why is said once."""
    for words, why in ((["-c", SLEEPS.format("ctypes")], "the hook runs in it"),
                       (["-c", SLEEPS.format("os")], "nor the hook"),
                       (["-E", "-c", SLEEPS.format("os")], "it never looks for the hook")):
        done = dsa(scratch, "run", "--observe", "--timeout", "200ms", "-o", "silent", "--",
                   PYTHON, *words)
        lines = done.stderr.splitlines()
        first = "dsa waits for its end" if words[0] == "-c" else "only libdsa's loader can be"
        tap.ok(done.returncode == 3 and done.stdout == "the end\n" and len(lines) == 2 and
               first in lines[0] and why in lines[1] and
               "nothing was measured: the program ended with status 0" in lines[1],
               f"observed: {why}: it comes to its end", *said(done))
    done = dsa(scratch, "run", "--observe", "--timeout", "10ms", "-o", "late", "--",
               *program("train", "data", "rate=4000", "epochs=1"))
    tap.ok(done.returncode == 0 and done.stderr.count("dsa waits for its end") == 1 and
           scratch.result("late")["run"]["status"] == "complete",
           "observed: a batch that comes late is measured all the same", *said(done))
    done = dsa(scratch, "run", "--timeout", "1s", "-o", "ended", "--", PYTHON, "-c",
               SLEEPS.format("ctypes"))
    tap.ok(done.returncode == 3 and done.stdout == "" and done.stderr.count("\n") == 1 and
           "asked for no batch in 1 s" in done.stderr,
           "else it is ended: why, and nothing of data that is repeated", *said(done))
    done = dsa(scratch, "run", "--loader=torch", "-o", "never", "--", PYTHON, "-E", "-c",
               SLEEPS.format("os"))
    tap.ok(done.returncode == 3 and done.stdout == "" and "leave out -E" in done.stderr,
           "a loader of torch's that can't be seen: refused before anything runs", *said(done))


def check_delayed(scratch):
    """Samples of an IterableDataset, too, though it ends within the first window: when its
    workers rest, what they have left is to tell that."""
    done = dsa(scratch, "run", "-q", "--budget", "12s", "--prep-delay", "10ms", "-o", "delayed",
               "--", PYTHON, os.path.join(HERE, "lib/loader_kinds_program.py"), "iterable",
               "data", "prep=0", "rate=4000", "batch=16")
    result = scratch.result("delayed")
    real = [w for w in result["windows"] if w["kind"] == "real" and w["used"]]
    tap.ok(done.returncode == 0 and real and
           all(w["prep_padded"] >= w["samples"] for w in real) and
           is_near(result["rates"]["real_per_s"]["value"], 2 * 16 / .2),
           "preparation is delayed, of 20 samples for 16 by both workers",
           result.get("rates"), result["windows"], *said(done))


def check_choice(scratch):
    """--loader of whatever starts programs."""
    for choice in "none", "dsa":
        for words, status in ((["run", "-o", f"choice-{choice}"], 3),
                              (["gate", "--against", "true", "--pairs", "0"], 5)):
            done = dsa(scratch, *words, "-q", f"--loader={choice}", "--", PYTHON, "-c",
                       "import os; print('the end', os.environ.get('LD_PRELOAD'))")
            tap.ok(done.returncode == status and "the end None" in done.stdout + done.stderr and
                   "does not load its data with dsa" in done.stderr,
                   f"dsa {words[0]} --loader={choice}: nothing is preloaded", *said(done))
    done = dsa(scratch, "run", "-q", "--budget", "3s", "--loader=torch", "-o", "choice",
               "--sweep=workers=1", "--sweep-budget=2s", "--",
               *program("train", "data", "epochs=2"))
    result = scratch.result("choice")
    tap.ok(done.returncode == 0 and result["run"]["loader_choice"] == "torch" and
           result["verifications"][0]["measured_per_s"]["value"] > 0,
           "dsa run --loader=torch --sweep: both are torch's", result["run"], *said(done))
    done = dsa(scratch, "whatif", "choice", "--workers=1", "--verify", "--loader=none", "-q")
    tap.ok(done.returncode == 3 and "before it asked for a batch" in done.stderr,
           "dsa whatif --verify --loader=none: none is measured", *said(done))


def check_not_kept(scratch):
    mine = scratch.at("not kept")
    put_mine(mine)
    done = dsa(scratch, "run", "-q", "--keep-files=no", "--budget", "3s", "-o", "unkept", "--",
               *program("evaluates", "data", f"keep={scratch.at('no')}", f"inside={mine}"))
    result = scratch.result("unkept")
    tap.ok(done.returncode == 0 and mine in result["files_written"] and
           result.get("files_kept", {}).get("count", 0) == 0 and
           not os.path.exists(scratch.at("unkept/kept")) and os.path.getsize(mine) > 4,
           "--keep-files=no leaves what the program writes", result.get("files_kept"),
           result["files_written"], *said(done))


def check_separate(scratch):
    """Each launch begins with the user's files, and the last one's are told."""
    mine, out = scratch.at("apart"), scratch.at("separate")
    put_mine(mine)
    done = dsa(scratch, "run", "-q", "--protocol=separate", "--budget", "9s", "-o", out, "--",
               *program("evaluates", "data", f"keep={scratch.at('keeps')}", f"inside={mine}"))
    tap.ok(done.returncode == 0 and scratch.result(out)["files_kept"]["put_back"] ==
           os.path.join(out, "kept/put-back") and not os.path.exists(os.path.join(out, "kept.2")),
           "one launch after another: one script", os.listdir(out), *said(done))
    subprocess.run(["sh", os.path.join(out, "kept/put-back")], check=True)
    with open(mine, encoding="ascii") as file:
        tap.ok(file.read() == "mine", "and it has the user's file")


def check_several(scratch):
    done = dsa(scratch, "run", "--jobs", "2", "-o", "several", "--",
               *program("train", "data"))
    told = [line for line in done.stderr.splitlines() if "several programs at once" in line]
    tap.ok(done.returncode == 3 and len(told) == 1, "several at once: refused in one line",
           *said(done))
    done = dsa(scratch, "run", "--jobs", "2", "--loader=torch", "-o", "several", "--", "true")
    tap.ok(done.returncode == 3 and "several programs at once" in done.stderr,
           "and before they start where torch's is asked for", *said(done))
    done = dsa(scratch, "run", "-q", "--jobs", "2", "--budget", "3s", "-o", "first", "--",
               *program("libdsa", scratch.images("later", count=100), "first=1"), variables=LIBDSA)
    tap.ok(done.returncode == 0, "but measured with libdsa's, which comes later", *said(done))


def check_libdsa(scratch):
    """Whatever else the program imports, and loads with."""
    images = scratch.images(count=100)
    done = dsa(scratch, "run", "-q", "--budget", "3s", "-o", "libdsa", "--",
               *program("libdsa", images), variables=LIBDSA)
    kind = scratch.result("libdsa").get("loader", {}).get("kind", "dsa")
    tap.ok(done.returncode == 0 and kind == "dsa", "libdsa beside torch's: libdsa drives",
           kind, *said(done))


def check_environment(scratch):
    """What the user had for libdsa before neither acts on torch's loader nor refuses it."""
    done = dsa(scratch, "run", "-q", "--budget", "3s", "-o", "mine", "--",
               *program("train", "data", "rate=800"),
               variables={"DSA_LOADER": "cache=minio,cache_size=10%,storage_latency=50ms"})
    result = scratch.result("mine")
    tap.ok(done.returncode == 0 and result["run"]["asked"] == "" and
           "emulated" not in result["configuration"], "the user's DSA_LOADER is libdsa's",
           result["run"], *said(done))


def check_killed(scratch):
    """What was kept can be put back, though dsa was killed; nothing else is left."""
    mine, out = scratch.at("it's mine"), scratch.at("killed")
    put_mine(mine)
    script = os.path.join(out, "kept/put-back")
    process = subprocess.Popen(
        [DSA, "run", "-q", "-o", out, "--",
         *program("evaluates", "data", f"keep={scratch.at('keep')}", f"inside={mine}")],
        cwd=scratch.path, env=scratch.environment, stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    there = wait_until(lambda: os.path.exists(script) and os.path.getsize(mine) > 4)
    with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="ascii") as file:
        child = int(file.read().split()[0])
    process.kill()
    process.wait()
    os.killpg(child, signal.SIGKILL)
    tap.ok(there, "there is a script as soon as a file is kept")
    done = dsa(scratch, "report", out)
    tap.ok(f"sh {script} puts it back" in " ".join(done.stdout.split()),
           "the report names it", *said(done))
    subprocess.run(["sh", script], check=True)
    with open(mine, encoding="ascii") as file:
        tap.ok(file.read() == "mine", "and it puts the file back")
    tap.ok(sorted(os.listdir(out)) == ["kept", "report.html", "run.json"],
           "nothing else is left", os.listdir(out))


def size_of(number):
    return 4000 + number * 37 % 3000


def make_files(scratch):
    scratch.folder("data")
    for i in range(FILES):
        with open(scratch.at("data", f"{i:04}"), "wb") as file:
            file.write(os.urandom(size_of(i)))


def main():
    tests = {name[6:]: test for name, test in globals().items() if name.startswith("check_")}
    if not os.path.exists("/usr/lib/python3/dist-packages/torch"):
        tap.skip("PyTorch scripts", "no python3-torch")
        tap.done()
    with Scratch() as scratch:
        make_files(scratch)
        with SideBySide(4) as pool:
            futures = [pool.submit(test, scratch) for name, test in tests.items()
                       if not wanted or name in wanted]
            for future in futures:
                future.result()
    tap.done()


main()
