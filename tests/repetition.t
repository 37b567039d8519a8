#!/usr/bin/python3
"""Short launches of a program for a comparison: what they find, what becomes of programs
that are not well, and the order of a trial. Speaks TAP.
SLEEPS most of the time. SOAK=1: ten timed repetitions instead of three.

	tests/repetition.t		all of it
	tests/repetition.t failures	one of the tests below
"""

import json
import os
import signal
import stat
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/lib")
from house import BUILD, TRAIN, Scratch, Tap, adopt_orphans, children, end_all, wait_until

TOOL = os.path.join(BUILD, "tests/tool/repetition")
BESIDE = os.path.join(BUILD, "tests/tool/odd_reads.so")
GPU = 400
TRAINER = [TRAIN, "--dataset", "synthetic:300", "--size", "32", "--batch", "8",
           "--emulate-gpu", str(GPU)]
TIMEOUT = 60
TIMED = 10 if os.environ.get("SOAK") else 3
PATIENCE = 6  # until a program that hangs has asked for its first batch
WINDOW_NOW = 68  # offset of trace->window_now in a session
FIRST_REQUEST = 120  # and of trace->first_request_ns

tap = Tap()


def repetition(scratch, kind, amount, *program, timeout=TIMEOUT):
    return scratch.run(TOOL, kind, amount, timeout, scratch.folder("sessions"),
                       *(program or TRAINER), timeout=600)


def clean(scratch):
    """No process, no session."""
    return not children() and os.listdir(scratch.at("sessions")) == []


def timed(scratch):
    for _ in range(TIMED):
        done = repetition(scratch, "time", .3)
        if done.returncode != 0:
            break
        found = json.loads(done.stdout)
        stalls, real = found["stalls"], found["rates"]["real_per_s"]
        used = [window for window in found["windows"] if window["used"]]
        good = (abs(sum(share["share"] for share in stalls.values()) - 1) < 1e-6 and
                "low" not in real and 0 < real["value"] < GPU * 1.02 and
                sorted(window["kind"] for window in used) == ["cached", "real", "synthetic"] and
                all(window["steps"] >= 1 for window in used) and found["run"]["blocks"] == 1 and
                found["counters"]["cpu_s_per_sample"] > 0 and
                found["run"]["status"] == "complete")
        if not good:
            break
    tap.ok(done.returncode == 0 and good, f"{TIMED} timed repetitions", done.stdout, done.stderr)
    tap.ok(found["environment"]["kernel"] and found["run"]["command"] == TRAINER and
           found["run"]["protocol"] == "repetition" and found["dataset"]["samples"] == 300 and
           "budget_s" not in found["run"], "it says what was measured, and where", done.stdout)
    tap.ok(clean(scratch), "nothing is left of them", os.listdir(scratch.at("sessions")))


def slowed(scratch):
    """Two workers that take 20 ms a sample: it can't be faster, and prep is to blame."""
    scratch.environment["DSA_LOADER"] = "workers=2,prep_delay=20ms"
    done = repetition(scratch, "time", .3)
    del scratch.environment["DSA_LOADER"]
    found = json.loads(done.stdout) if done.returncode == 0 else None
    tap.ok(found and found["rates"]["real_per_s"]["value"] < 102 and
           found["stalls"]["prep"]["share"] > max(.3, found["stalls"]["fetch"]["share"]),
           "where prep is slow, it says so", done.stdout, done.stderr)


def counted(scratch):
    pictures = scratch.images(count=100)
    program = [TRAIN, "--dataset", pictures, "--batch", "8", "--emulate-gpu", "2000"]
    results = [repetition(scratch, "count", 60, *program) for _ in range(3)]
    found = [json.loads(done.stdout)["counted"] for done in results if done.returncode == 0]
    tap.ok(len(found) == 3 and found[0] == found[1] == found[2] and
           found[0]["samples"] == 64 and found[0]["opens"] == 64,
           "whole batches are counted, and the same each time", found, results[0].stderr)
    done = repetition(scratch, "count", 0, *program)
    tap.ok(done.returncode == 0 and json.loads(done.stdout)["counted"]["samples"] == 100,
           "a small data set is counted once", done.stdout, done.stderr)
    done = repetition(scratch, "count", 250, *program)
    tap.ok(done.returncode == 0 and json.loads(done.stdout)["counted"]["samples"] == 256,
           "or as often as asked", done.stdout, done.stderr)
    done = repetition(scratch, "count", 0, *program, "--steps", 5)
    tap.ok(done.returncode == 0 and json.loads(done.stdout)["counted"]["samples"] == 40,
           "a program that has enough before", done.stdout, done.stderr)
    tap.ok(clean(scratch), "nothing is left of them", os.listdir(scratch.at("sessions")))
    beside(scratch, program)


def beside(scratch, program):
    """The program reads a file of its own after each of 26 batches, the last of an epoch half."""
    path = script(scratch, "beside", "x" * 5000)
    before = dict(scratch.environment)
    for engine in "pread", "uring":
        found = []
        for more in {}, {"LD_PRELOAD": BESIDE, "READ_BESIDE": path}:
            scratch.environment.update(more, DSA_LOADER=f"fetch={engine}")
            done = repetition(scratch, "count", 200, *program)
            found.append(json.loads(done.stdout)["counted"] if done.returncode == 0 else {})
            scratch.environment = dict(before)
        if engine == "uring" and "io_uring is not allowed" in done.stderr:
            tap.skip(f"what the program reads beside {engine}", done.stderr.strip())
            continue
        # threads that compete for memory let glibc read how many CPUs there are
        tap.ok(found[0].get("program_reads", 9) < 4 and found[0]["program_bytes"] < 40 and
               0 <= found[1].get("program_reads", 0) - 26 < 4 and
               0 <= found[1]["program_bytes"] - 26 * 5000 < 40 and found[1]["opens"] == 200,
               f"what the program reads beside {engine} is apart", found, done.stderr)


def script(scratch, name, text):
    path = scratch.at(name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, stat.S_IRWXU)
    return path


def with_trainer(scratch, name, then):
    """A program that does something when its trainer has begun the first window."""
    return script(scratch, name, f"""#!/usr/bin/python3
import os, signal, struct, subprocess, sys, time
trainer = subprocess.Popen({TRAINER})
while True:
    with open(os.environ["DSA_SESSION"], "rb") as session:
        if struct.unpack_from("<I", session.read({WINDOW_NOW} + 4), {WINDOW_NOW})[0] > 0:
            break
    time.sleep(.01)
{then}
""")


def failures(scratch):
    stuck = with_trainer(scratch, "stuck", "trainer.send_signal(signal.SIGSTOP)\n"
                                           "trainer.wait()")
    killed = with_trainer(scratch, "killed", "trainer.kill()\n"
                                             "os.kill(os.getpid(), signal.SIGKILL)")
    steps = [*TRAINER, "--steps", "12"]
    left = script(scratch, "left", "#!/bin/sh\n" + " ".join(TRAINER) + "\nexit 7\n")
    cases = [
        ("time", "false", ["false"], 60, "ECHILD", "status 1 before it asked for a batch"),
        ("time", "one that never asks", ["sleep", "60"], 1, "ETIMEDOUT",
         "asked for no batch in 1 s"),
        ("time", "one that hangs", [stuck], PATIENCE, "ETIMEDOUT",
         f"came no further in {PATIENCE} s"),
        ("time", "one that is killed", [killed], 60, "ECHILD",
         "was killed (SIGKILL) before it was measured"),
        ("time", "one that has enough", steps, 60, "ECHILD",
         "finished before it was measured: let it train longer"),
        ("time", "no such program", [scratch.at("none")], 60, "ENOENT", "no program"),
        ("count", "false, counted", ["false"], 60, "ECHILD", "status 1 before it asked"),
        ("count", "one that is killed, counted", [killed], 60, "ECHILD", "was killed (SIGKILL)"),
    ]
    for kind, name, program, timeout, code, why in cases:
        done = repetition(scratch, kind, 100000 if kind == "count" else 30, *program,
                          timeout=timeout)
        tap.ok(done.returncode == 1 and f"\n{code}: " in "\n" + done.stderr and
               why in done.stderr and clean(scratch), name, done.stderr, children())
    asked = script(scratch, "asked", f"""#!/usr/bin/python3
import os, struct, time
with open(os.environ["DSA_SESSION"], "r+b") as session:
    session.seek({FIRST_REQUEST})
    session.write(struct.pack("<Q", 1))
time.sleep(60)
""")
    patience, began = 2, time.monotonic()
    done = repetition(scratch, "time", 30, asked, timeout=patience)
    tap.ok(f"came no further in {patience} s" in done.stderr and
           time.monotonic() - began >= patience,
           "one that has only just asked is waited for", done.stderr)
    for kind, amount in ("time", .3), ("count", 40):
        done = repetition(scratch, kind, amount, left)
        tap.ok(done.returncode == 0 and json.loads(done.stdout)["run"]["target_status"] == 7,
               f"one that fails after its data ended, {kind}", done.stdout, done.stderr)


def order(scratch):
    done = repetition(scratch, "trial", 2)
    lines = done.stdout.splitlines()
    launches = [line.split() for line in lines if not line.startswith("of ")]
    tap.ok([" ".join(words[:2]) for words in launches] ==
           [f"counted {side}" for side in "01"] + [f"timed {side}" for side in "0110"],
           "each side is counted, then ABBA", done.stdout, done.stderr)
    tap.ok([words[2] for words in launches[:2]] == ["56", "56"], "counted alike", launches)
    first = [words[3] for words in launches[2:]]
    tap.ok(first[0::2] == first[1::2] and len(set(first)) > 1,
           "a pair has its windows in one order, the next in another", first)
    news = [line for line in lines if line.startswith("of ")]
    tap.ok(news == [f"of 6: {i} done, {'known' if i > 2 else 'unknown'}" for i in range(6)],
           "it says how far it is", news)


def interrupted(scratch):
    with open(scratch.at("said"), "w+", encoding="utf-8") as said:
        process = subprocess.Popen([TOOL, "trial", "500", "60", scratch.folder("sessions"),
                                    *TRAINER], env=scratch.environment, stdout=said,
                                   stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        begun = wait_until(lambda: "timed 1" in open(said.name, encoding="utf-8").read(),
                           300)
        process.send_signal(signal.SIGINT)
        process.wait(60)
        said.seek(0)
        text = said.read()
    tap.ok(begun and process.returncode == 1 and "EINTR: interrupted: Interrupt" in text,
           "a signal ends a trial", process.returncode, text)
    tap.ok(clean(scratch), "and leaves nothing", os.listdir(scratch.at("sessions")))


def main():
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # it may be ignored where this runs
    adopt_orphans()
    tests = {test.__name__: test for test in (timed, slowed, counted, failures, order, interrupted)}
    with Scratch() as scratch:
        for name in sys.argv[1:] or tests:
            tests[name](scratch)
            end_all(children())
    tap.done()


main()
