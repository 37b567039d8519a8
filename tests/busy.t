#!/usr/bin/python3
"""A busy machine is seen: by run, gate and doctor, while another program wants the CPU
that they have. Speaks TAP.

	tests/busy.t		all of it
	SOAK=1 tests/busy.t	20 runs under stress-ng at 50 and at 100 % of all CPUs: it is
				named each time, and no verdict is wrong. Wants a machine
				that is quiet but for that
"""

import os
import re
import shlex
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/lib")
from house import DSA, TRAIN, Scratch, Tap

SOAK = bool(os.environ.get("SOAK"))
RUNS = 20  # under each load
NAMED = re.compile(r"busy +other programs used (\d+)% of\s+the CPU")
CAUSE = re.compile(r"time: (preparation|storage) limits")
LEAST = .02  # a wait that a verdict may overlook, or see where there is none
OFF = .08    # an interval may be off: sleeps are longer on a busy machine
BANDWIDTH = 8e6

tap = Tap()


def is_possible(share):
    """Its ends lie between 0 and 1, but where the estimate itself does not."""
    return min(0, share["share"]) <= share["low"] <= share["share"] <= share["high"] \
        <= max(1, share["share"])


# ---- a program that spins on the one CPU that all have ----

def runs(scratch, trainer):
    done = scratch.run(DSA, "run", "-o", "out", "--workers", "1", "--budget", "3s", "--",
                       *trainer)
    result = scratch.result()
    busy = result.get("busy", {})
    tap.ok(done.returncode == 0 and NAMED.search(done.stdout) and
           int(NAMED.search(done.stdout)[1]) >= 10, "who else was busy is named", done.stdout,
           done.stderr)
    tap.ok(busy.get("others_cpu_share", 0) > .1 and "other programs" in busy.get("why", "") and
           busy["disturbed_windows"] > busy["windows"] / 2, "and is in the result", busy)
    shares = result["stalls"].values()
    tap.ok(busy.get("kept") and all(is_possible(share) for share in shares if "low" in share),
           "most windows were disturbed: all count, and no interval leaves what is possible",
           busy, result["stalls"])
    told = [w for w in result["windows"] if w.get("disturbed")]
    tap.ok(told and all("disturbed by others" in w["why"] and w["others_cpu_s"] > 0
                        for w in told), "each window says so", told[:3])


def observes(scratch, trainer):
    done = scratch.run(DSA, "run", "--observe", "-o", "seen", "--", *trainer, "--epochs", "8")
    window, = scratch.result("seen")["windows"]
    tap.ok(done.returncode == 0 and NAMED.search(done.stdout) and window["disturbed"] and
           "Training waits" in done.stdout, "what an observed run waited is so all the same",
           done.stdout, done.stderr)
    tap.ok(window["certified"] and "came from storage" in window["why"],
           "its window is of the run as it was, also where the kernel had the data", window)


def gates(scratch, trainer):
    def gate(pairs):
        return scratch.run(DSA, "gate", "--against", " ".join(trainer), "--pairs", pairs,
                           "--repetition", "200ms", "--samples", "512", "--", *trainer)
    timed, counted = gate(6), gate(0)
    tap.ok(NAMED.search(timed.stdout), "a gate that times names it, too", timed.stdout,
           timed.stderr)
    tap.ok(counted.returncode == 0 and not NAMED.search(counted.stdout),
           "one that only counts does not: counts have no noise", counted.stdout,
           counted.stderr)


def doctors(scratch):
    done = scratch.run(DSA, "doctor")
    tap.ok(re.search(r"limited other programs they use \d\d+% of the CPU now", done.stdout),
           "and so does the doctor", done.stdout)


def short(scratch):
    cpu = min(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cpu})
    images = scratch.images(count=200)
    trainer = [TRAIN, "--dataset", images, "--size", "64", "--batch", "8", "--emulate-gpu",
               "100000"]
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as spinner:
        try:
            runs(scratch, trainer)
            observes(scratch, trainer)
            gates(scratch, trainer)
            doctors(scratch)
        finally:
            spinner.kill()


# ---- the long form ----

def cases_for(size):
    """What training waits for, and how long: throttles and paddings use no CPU, so that this
    is so under any load. None: decoding takes the CPU, and the wait is most of the time."""
    none = "--cache-policy none"
    return [
        ("nothing", 0, "--emulate-gpu 300", none),
        ("preparation", 1 - 2 / (1500 * .005), "--emulate-gpu 1500", "--prep-delay 5ms " + none),
        ("storage", 1 - BANDWIDTH / size / 1500, "--emulate-gpu 1500",
         f"--storage-bandwidth {BANDWIDTH:.0f} " + none),
        ("preparation", None, "--emulate-gpu 100000", none),
    ]


def wrong_with(case, text, result):
    """What a verdict says that is not so; None: nothing."""
    cause, wait, _, _ = case
    found = CAUSE.search(text)
    compute = result["stalls"].get("compute", {})
    low, high = 1 - compute.get("high", 1), 1 - compute.get("low", 0)
    if not all(is_possible(share) for share in result["stalls"].values() if "low" in share):
        return "an interval leaves what is possible"
    if "not known" in text and "what limits" not in text:
        return None  # no verdict
    if found and found[1] != cause and low > LEAST:
        return f"it waits for {cause}"
    if "does not wait" in text and (wait is None or wait > LEAST):
        return f"it waits for {cause}"
    if wait is not None and not low - OFF <= wait <= high + OFF:
        return f"it waits {wait:.0%} of its time, not {low:.0%} to {high:.0%}"
    return None


def loaded(scratch, images, case, percent):
    """One run; what was wrong."""
    _, _, trainer, options = case
    done = scratch.run(DSA, "run", "-o", "out", "--workers", "2", "--batch", "16", "--budget",
                       "12s", *shlex.split(options), "--", TRAIN, "--dataset", images, "--size",
                       "64", *shlex.split(trainer))
    verdict = done.stdout.strip().split("\n\n")
    named = NAMED.search(done.stdout)
    print(f"# {percent} % {options}: {named and named[1]} % named;",
          " ".join(part for part in verdict if "for data" in part))
    if not named:
        return "it is not named\n" + done.stdout + done.stderr
    wrong = wrong_with(case, " ".join(done.stdout.split()), scratch.result())
    return wrong and wrong + "\n" + done.stdout


def long(scratch):
    if shutil.which("stress-ng") is None:
        tap.skip("runs under stress-ng", "there is no stress-ng")
        return
    images = scratch.images(count=2000)
    cases = cases_for(sum(os.path.getsize(os.path.join(folder, name))
                          for folder, _, names in os.walk(images) for name in names) / 2000)
    os.sync()
    for percent in (50, 100):
        command = ["stress-ng", "--quiet", "--cpu", "0", "--cpu-load", str(percent)]
        with subprocess.Popen(command) as stress:
            try:
                for number in range(RUNS):
                    wrong = loaded(scratch, images, cases[number % len(cases)], percent)
                    tap.ok(not wrong, f"run {number + 1} at {percent} %", wrong)
            finally:
                stress.terminate()


with Scratch() as here:
    (long if SOAK else short)(here)
tap.done()
