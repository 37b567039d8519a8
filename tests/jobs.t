#!/usr/bin/python3
"""dsa run with several jobs at once: common windows, what each is told, who leaves.
Speaks TAP. SLEEPS most of the time. SOAK=1: longer, and with narrow margins.

	tests/jobs.t		all of it
	tests/jobs.t copies	one of the tests below
"""

import glob
import json
import os
import shlex
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/lib")
from house import BUDGET, BUILD, DSA, TRAIN, Scratch, Tap, adopt_orphans, children, end_all, wait_until

GPU = 400
BESIDE = os.path.join(BUILD, "tests/tool/odd_reads.so")
SOAK = bool(os.environ.get("SOAK"))
AHEAD = 1.2 if SOAK else 1.5
BLOCKS = ("real", "cached", "synthetic")
CURVES = {"prep", "fetch"}
tap = Tap()


def trainer(images, *words, batch=8):
    return [TRAIN, "--dataset", images, "--size", "32", "--batch", str(batch),
            "--emulate-gpu", str(GPU), *words]


def words(*options, budget=BUDGET, program=()):
    return [DSA, "run", "-o", "out", "--workers", "1", "--budget", budget, *options,
            *(["--", *program] if program else [])]


def blocks(result, unused=False):
    """kind, start and end of the windows of blocks that count, or of all that ran."""
    return [(window["kind"], window["start_s"], window["start_s"] + window["length_s"])
            for window in result["windows"] if window["kind"] in BLOCKS and
            (window["used"] or unused and window.get("start_s") is not None)]


def overlaps(a, b):
    """For each of a's windows, the share of its time in windows of the same kind of b."""
    return [sum(max(0, min(end, other_end) - max(start, other))
                for other_kind, other, other_end in b if kind == other_kind) / (end - start)
            for kind, start, end in a]


def met(shares):
    """Whether most of their time was shared; without SOAK, on a host that may stall, any
    of each, but for the last, which the run's end cuts."""
    return sum(shares) > .8 * len(shares) if SOAK else len(shares) > 2 and min(shares[:-1]) > 0


def clashes(a, b):
    """Time in which a and b were measured in windows of different kinds."""
    return sum(max(0, min(end, other_end) - max(start, other))
               for kind, start, end in a for other_kind, other, other_end in b
               if kind != other_kind)


def copies(scratch):
    images = scratch.images()
    program = ["sh", "-c", 'echo "$DSA_JOB $0" >&2; exec "$@"', "I am {job}",
               *trainer(images, "--seed", "{job}")]
    done = scratch.run(*words("--jobs=2", budget="24s" if SOAK else "8s", program=program))
    both = scratch.result(), scratch.result("out/job-1")
    jobs = both[0]["jobs"]
    tap.ok(done.returncode == 0 and [job["job"] for job in jobs] == [0, 1],
           "two copies are measured", done.stdout, done.stderr)
    tap.ok("0 I am 0\n" in done.stderr and "1 I am 1\n" in done.stderr,
           "each knows its number", done.stderr)
    tap.ok([shlex.split(job["command"])[-1] for job in jobs] == ["0", "1"] and
           both[0]["run"]["command"][-1] == "{job}", "and so does the result", jobs)
    a, b = (blocks(result) for result in both)
    ran = [blocks(result, unused=True) for result in both]
    shared_time = [overlaps(a, ran[1]), overlaps(b, ran[0])]
    tap.ok(all(map(met, shared_time)), "they are measured at the same time", shared_time)
    tap.ok(clashes(a, b) == 0, "and never in windows of different kinds", clashes(a, b))
    kinds = [{window["kind"] for window in result["windows"] if window["used"]}
             for result in both]
    tap.ok(CURVES & kinds[0] and not CURVES & kinds[1],
           "the curves are of job 0, alone", kinds)
    rate = both[0]["together"]["rate_per_s"]
    alone = [job["rates"]["real_per_s"]["value"] for job in jobs]
    tap.ok(abs(rate["value"] / sum(alone) - 1) < .1 and max(alone) < 1.05 * GPU,
           "their rates add up", rate, alone)
    tap.ok(jobs[1]["rates"]["real_per_s"] == both[1]["rates"]["real_per_s"],
           "job 1 has a result of its own")
    names = sorted(os.path.relpath(path, scratch.at("out"))
                   for path in glob.glob(scratch.at("out", "**"), recursive=True))
    tap.ok(names == [".", "job-1", "job-1/report.html", "job-1/run.json", "report.html",
                     "run.json"] and not children(), "nothing else is left", names)
    tap.ok("together" in done.stdout and "job 1" in done.stdout, "the verdict tells of both",
           done.stdout)


def unequal(scratch):
    """Steps of three lengths; the commands are different."""
    images = scratch.images()
    jobs = [shlex.join(trainer(images, batch=batch)) for batch in (4, 8, 24)]
    done = scratch.run(*words(*(f"--job={job}" for job in jobs), budget="8s"))
    results = [scratch.result()] + [scratch.result(f"out/job-{i}") for i in (1, 2)]
    tap.ok(done.returncode == 0 and [r["configuration"]["batch"] for r in results] == [4, 8, 24],
           "--job: different programs at once", done.stdout, done.stderr)
    tap.ok([job["command"] for job in results[0]["jobs"]] == jobs, "each is told",
           results[0]["jobs"])
    spans = [blocks(result) for result in results]
    shared_time = [overlaps(spans[0], blocks(results[i], unused=True)) for i in (1, 2)]
    tap.ok(all(map(met, shared_time)), "with unequal steps they are measured together",
           shared_time)
    tap.ok(sum(clashes(spans[i], spans[j]) for i in range(3) for j in range(i)) == 0,
           "and never in windows of different kinds")


def leaving(scratch):
    """One job dies in the middle, one hangs, one ends its data."""
    images = scratch.images()
    pid = 'echo $$ >pid-{job}; exec "$@"'
    program = ["sh", "-c", pid, "-", *trainer(images)]
    with open(scratch.at("said"), "wb") as said:
        process = subprocess.Popen(words("--jobs=3", "--precision=0.05", "--grace=1s",
                                         budget="26s", program=program),
                                   env=scratch.environment, cwd=scratch.path,
                                   stdin=subprocess.DEVNULL, stdout=said, stderr=said)
    wait_until(lambda: os.path.exists(scratch.at("out", "job-2", "session")) and
               os.path.exists(scratch.at("pid-2")))
    wait_until(lambda: windows_begun(scratch, "job-2") >= 3, 120)
    for job, number in ((1, signal.SIGKILL), (2, signal.SIGSTOP)):
        with open(scratch.at(f"pid-{job}"), encoding="ascii") as file:
            os.kill(int(file.read()), number)
    process.wait(timeout=200)
    with open(scratch.at("said"), encoding="utf-8") as file:
        said = file.read()
    result = scratch.result()
    jobs = result["jobs"]
    ran = [blocks(scratch.result(where)) for where in ("out", "out/job-1", "out/job-2")]
    later = [sum(start > max(end for _, _, end in other) for _, start, _ in ran[0])
             for other in ran[1:]]  # windows of job 0 after the last of the other
    tap.ok(process.returncode == 0 and later[0] >= 3, "the others go on", later, said)
    tap.ok(jobs[1]["target_status"] == 137 and "SIGKILL" in jobs[1].get("why", "") and
           "why" not in jobs[0], "who died is told", jobs)
    tap.ok("came no further" in jobs[2].get("why", "") and later[1] >= 3,
           "and who hung", jobs, later)
    tap.ok(not children(), "nothing is left behind", children())


def windows_begun(scratch, *names):
    """0 before there is a session: a shared run starts the program once before."""
    try:
        with open(scratch.at("out", *names, "session"), "rb") as file:
            return int.from_bytes(file.read(72)[68:72], "little")
    except FileNotFoundError:
        return 0


def ending(scratch):
    images = scratch.images()
    jobs = [[*trainer(images), "--steps", "20"], trainer(images), ["sh", "-c", "exit 7"]]
    done = scratch.run(*words(*(f"--job={shlex.join(job)}" for job in jobs)))
    found = scratch.result()["jobs"]
    tap.ok("finished" in found[0].get("why", "") and "why" not in found[1] and
           found[0]["target_status"] == 0, "a job that ends its data leaves", found)
    words_said = " ".join((done.stdout + done.stderr).split())
    tap.ok(done.returncode == 3 and "is too short" not in words_said and
           "job 0 finished, and the others went on without it" in words_said,
           "no budget is too short for what it left", words_said)
    tap.ok("status 7 before it asked for a batch" in found[2].get("why", "") and
           found[2]["target_status"] == 7, "and so does one that asks for none", found)


def readable(scratch):
    """A file of 5,000 bytes."""
    path = scratch.at("beside")
    with open(path, "w", encoding="ascii") as file:
        file.write("x" * 5000)
    return path


def rates_of(scratch):
    """samples/s of each job."""
    return [job["rates"]["real_per_s"]["value"] for job in scratch.result()["jobs"]]


def shared(scratch):
    """One loader for three jobs of unequal batches."""
    images = scratch.images()
    jobs = [trainer(images, batch=batch) for batch in (4, 8, 24)]
    jobs[1] = ["env", f"LD_PRELOAD={BESIDE}", f"READ_BESIDE={readable(scratch)}", *jobs[1]]
    done = scratch.run(*words("--share", *(f"--job={shlex.join(job)}" for job in jobs),
                              budget="24s" if SOAK else "8s"))
    results = [scratch.result()] + [scratch.result(f"out/job-{i}") for i in (1, 2)]
    tap.ok(done.returncode == 0 and results[0]["together"]["shared"] and
           [r["configuration"]["batch"] for r in results] == [4, 8, 24],
           "--share: three programs, one loader", done.stdout, done.stderr)
    spans = [blocks(result) for result in results]
    tap.ok(sum(clashes(spans[i], spans[j]) for i in range(3) for j in range(i)) == 0,
           "never in windows of different kinds")
    tap.ok(CURVES & {window["kind"] for window in results[0]["windows"]
                            if window["used"]}, "the curves are of the loader")
    # What a window prepared is the loader's, what it delivered each job's own.
    real = [window for window in results[0]["windows"]
            if window["used"] and window["kind"] == "real"]
    prepared = sum(window["prepared"] for window in real)
    got = sum(window["samples"] for window in real)
    tap.ok(.8 * got < prepared < 1.5 * got, "each sample is prepared once for all",
           prepared, got)
    synthetic = [window for window in results[0]["windows"]
                 if window["used"] and window["kind"] == "synthetic"]
    tap.ok(synthetic and sum(window["prepared"] for window in synthetic) == 0,
           "synthetic windows prepare nothing")
    own = [(result["counters"]["program_reads_per_sample"],
            result["counters"]["program_bytes_per_sample"]) for result in results]
    tap.ok(own[0] == own[2] == (0, 0) and abs(8 * own[1][0] - 1) < .05 and
           abs(8 * own[1][1] / 5000 - 1) < .05, "what one reads beside the loader is its own",
           own)
    rates = rates_of(scratch)
    tap.ok(max(rates) < AHEAD * min(rates), "nobody gets ahead of the others", rates)
    left = sorted(os.listdir(scratch.at("out")))
    tap.ok(left == ["job-1", "job-2", "report.html", "run.json"] and not children(),
           "nothing is left behind", left, children())


def shared_unequal(scratch):
    """A fast job and one at an eighth of its speed."""
    images = scratch.images()
    jobs = [shlex.join([*trainer(images, batch=2), "--emulate-gpu", str(rate)])
            for rate in (800, 100)]
    done = scratch.run(*words("--share", *(f"--job={job}" for job in jobs), budget="6s"))
    found = scratch.result()["jobs"]
    tap.ok(done.returncode == 0 and found[0].get("waits_for") == "job 1" and
           found[1].get("waits_for") != "job 0", "who waits for whom is told", found,
           done.stderr)
    tap.ok(found[1]["ahead_batches"] > found[0]["ahead_batches"] >= 0,
           "and for whom batches are ready", found)
    tap.ok(found[0]["blocked_share"] > .5 > found[1]["blocked_share"], "and how long", found)


def shared_ends(scratch):
    """A job of two that share dies; then the loader itself."""
    images = scratch.images()
    process = start_shared(scratch, trainer(images), 2)
    os.kill(program_of(scratch, 1), signal.SIGKILL)
    process.wait(timeout=200)
    result = scratch.result()
    tap.ok(process.returncode == 0 and "SIGKILL" in result["jobs"][1].get("why", "") and
           "SIGKILL" not in result["jobs"][0].get("why", ""),
           "a job that died does not stop the other",
           said(scratch), result["jobs"])
    process = start_shared(scratch, trainer(images), 2)
    os.kill(loader_of(process), signal.SIGKILL)
    process.wait(timeout=200)
    tap.ok(scratch.result()["run"]["status"] == "target died" and
           "shared loader was killed (SIGKILL)" in scratch.result()["run"]["status_why"],
           "a loader that died ends the run, and is told", said(scratch))
    left = sorted(os.listdir(scratch.at("out")))
    tap.ok("loader" not in left and not children(),
           "nothing is left behind", left, children())


def orphans(scratch):
    """dsa itself is killed: jobs and loader go on, and end when the jobs have enough."""
    process = start_shared(scratch, [*trainer(scratch.images()), "--steps", "300"], 2)
    process.kill()
    process.wait()
    tap.ok(wait_until(lambda: not children(), 60), "without dsa jobs and loader end by themselves",
           children(), said(scratch))
    done = scratch.run(DSA, "report", "--format=json", "out")
    result = json.loads(done.stdout) if done.returncode == 0 else {}
    tap.ok(result.get("run", {}).get("status") == "dsa died" and len(result["jobs"]) == 2,
           "what was measured can be read", done.stderr)
    names = sorted(os.path.relpath(path, scratch.at("out"))
                   for path in glob.glob(scratch.at("out", "**"), recursive=True))
    tap.ok(names == [".", "job-1", "job-1/report.html", "job-1/run.json", "report.html",
                     "run.json"], "and lies in the place of the sessions", names)


def said(scratch):
    with open(scratch.at("said"), encoding="utf-8") as file:
        return file.read()


def program_of(scratch, job):
    with open(scratch.at(f"pid-{job}"), encoding="ascii") as file:
        return int(file.read())


def start_shared(scratch, program, jobs):
    """A run of some seconds whose jobs have begun six windows."""
    for old in glob.glob(scratch.at("pid-*")):
        os.remove(old)
    shell = ["sh", "-c", 'echo $$ >pid-{job}; exec "$@"', "-", *program]
    with open(scratch.at("said"), "wb") as out:
        process = subprocess.Popen(words(f"--jobs={jobs}", "--share", program=shell,
                                         budget="10s"),
                                   env=scratch.environment, cwd=scratch.path,
                                   stdin=subprocess.DEVNULL, stdout=out, stderr=out)
    wait_until(lambda: os.path.exists(scratch.at(f"pid-{jobs - 1}")) and
               windows_begun(scratch, f"job-{jobs - 1}") >= 6, 120)
    return process


def loader_of(process):
    """The child of dsa that runs the same program."""
    with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="ascii") as file:
        found = [int(child) for child in file.read().split()]
    return next(pid for pid in found if os.readlink(f"/proc/{pid}/exe") == DSA)


def refused(scratch):
    for what, why, options, program in (
            ("no number", "--jobs is 1 to", ["--jobs=0"], ["true"]),
            ("both", "give one of them", ["--jobs=2", "--job=true"], []),
            ("one too many", "one too many", ["--job=true"], ["true"]),
            ("a shell's", "means something to a shell", ["--job=a|b"], []),
            ("no program", "which program", ["--jobs=2"], []),
            ("separate", "interleaved", ["--jobs=2", "--protocol=separate"], ["true"]),
            ("a sweep", "--sweep measures one job", ["--jobs=2", "--sweep=cores=1"], ["true"])):
        done = scratch.run(*words(*options, program=program))
        tap.ok(done.returncode == 2 and why in done.stderr, f"refused: {what}", done.stderr)


TESTS = [copies, unequal, leaving, ending, shared, shared_unequal, shared_ends, orphans,
         refused]


def main():
    adopt_orphans()
    for test in TESTS:
        if len(sys.argv) > 1 and test.__name__ not in sys.argv[1:]:
            continue
        with Scratch() as scratch:
            test(scratch)
        end_all(children())
    tap.done()


if __name__ == "__main__":
    main()
