#!/usr/bin/python3
"""dsa whatif with real runs: what is verified is kept one by one, what can't be tried is
refused before anything runs, and a kill loses nothing that was measured. How good
predictions are is no matter here, and what a change does is tested in whatif_tried.t.
Speaks TAP.
SLEEPS most of the time. SOAK=1: more changes, for longer.

	tests/whatif.t		all of it
	tests/whatif.t killed	one of the tests below
"""

import os
import random
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/lib")
from house import DSA, TRAIN, Tap, children, end_all, wait_until
from tried import RATE_BUDGET, SOAK, clean, run_all, sound, verified, verify, whatif

WORKERS = [1, 2, 3] if SOAK else [1, 2]

tap = Tap()


def verifies(scratch):
    result = scratch.result()
    tap.ok("model" in result and ("why" in result["model"] or result["predictions"]),
           "a run tells what would help, or why it can't", result.get("model"))
    done = verify(scratch, "out", "--cache", "60%")
    tap.ok(done.returncode == 0 and "cache 60%" in done.stdout, "a change is tried",
           done.stdout, done.stderr)
    found = verified(scratch)
    tap.ok(len(found) == 1 and found[0]["change"] == {"cache_share": .6} and sound(found[0]),
           "and kept beside its prediction", found)
    tap.ok(clean(scratch), "nothing is left behind", children(), os.listdir(scratch.at("out")))
    again = whatif(scratch, "out", "--cache", "60%", "--resume")
    tap.ok(again.returncode == 0 and verified(scratch) == found and
           "cache 60%" in again.stdout, "--resume shows it and measures nothing again",
           again.stdout, again.stderr)
    done = verify(scratch, "out/run.json", "--cores", "1", "-o", "other")
    tap.ok(done.returncode == 0 and verified(scratch) == found and
           [one["change"] for one in verified(scratch, "other")] ==
           [{"cache_share": .6}, {"cores": 1}],
           "-o keeps it elsewhere, with what was there", done.stderr)


def refuses(scratch):
    with open(scratch.at("out", "run.json"), "rb") as file:
        before = file.read()
    cases = [
        (3, "500 cores can't be tried here", ["--cores", "1,500", "--verify"]),
        (3, "at most 32 jobs", ["--jobs", "2,33", "--verify"]),
        (3, "cache-policy nextuse", ["--cache", "50%", "--cache-policy", "nextuse", "--verify"]),
        (3, "page cache of a given size", ["--cache", "50%", "--cache-policy", "page",
                                           "--verify"]),
        (2, "--cores is", ["--cores", "0", "--verify"]),
        (2, "--cache is", ["--cache", "300%"]),
    ]
    for status, words, options in cases:
        done = scratch.run(DSA, "whatif", "out", *options)
        lines = [line for line in done.stderr.splitlines() if not line.startswith("Try ")]
        tap.ok(done.returncode == status and words in done.stderr and len(lines) == 1 and
               done.stdout == "", f"refused: {' '.join(options)}", done.stderr, done.stdout)
    with open(scratch.at("out", "run.json"), "rb") as file:
        tap.ok(file.read() == before, "nothing was run, and the result is as it was")
    os.rename(scratch.at("images"), scratch.at("gone"))
    done = whatif(scratch, "out", "--cores", "1", "--verify")
    tap.ok(done.returncode == 3 and "could not be measured" in done.stderr and not children() and
           verified(scratch) == [], "a data set that is gone", done.stderr)
    os.rename(scratch.at("gone"), scratch.at("images"))


def observed(scratch):
    scratch.run(DSA, "run", "-o", "seen", "--observe", "--", TRAIN, "--dataset",
                scratch.at("images"), "--size", "32", "--steps", "50")
    done = scratch.run(DSA, "whatif", "seen")
    tap.ok(done.returncode == 3 and len(done.stderr.splitlines()) == 1 and done.stdout == "",
           "a run that was only observed tells nothing", done.stderr, done.stdout)


def begin(scratch, count):
    """A verification of some changes that has kept so many."""
    with open(scratch.at("said"), "wb") as said:
        process = subprocess.Popen(
            [DSA, "whatif", "out", "--workers", f"1..{WORKERS[-1]}", "--verify", "--budget",
             RATE_BUDGET],
            env=scratch.environment, cwd=scratch.path, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=said)
    wait_until(lambda: process.poll() is not None or len(verified(scratch)) == count, 120)
    wait_until(lambda: process.poll() is not None or
               os.path.exists(scratch.at("out", "session.rate")), 120)
    return process


def killed(scratch):
    process = begin(scratch, 1)
    process.kill()
    process.wait()
    end_all(children())
    wait_until(lambda: not children())
    kept = verified(scratch)
    tap.ok(len(kept) == 1 and sound(kept[0]), "dsa is killed: what was measured is kept", kept)
    done = scratch.run(DSA, "report", "out")
    tap.ok(done.returncode == 0, "and can be read", done.stderr)
    done = verify(scratch, "out", "--workers", f"1..{WORKERS[-1]}")
    tap.ok(done.returncode == 0 and kept[0] in verified(scratch) and
           [one["change"]["workers"] for one in verified(scratch)] == WORKERS,
           "--resume measures the others alone", verified(scratch), done.stderr)
    tap.ok(clean(scratch), "nothing is left behind", os.listdir(scratch.at("out")))


def interrupted(scratch):
    process = begin(scratch, 1)
    process.send_signal(signal.SIGINT)
    process.wait(timeout=120)
    tap.ok(process.returncode == 3 and len(verified(scratch)) == 1 and clean(scratch),
           "Ctrl-C keeps what is measured", process.returncode, verified(scratch))
    with open(scratch.at("said"), encoding="utf-8") as file:
        said = file.read()
    tap.ok(f"1 of {len(WORKERS)} measured and kept; the others: the same changes with "
           "dsa whatif out --resume" in said,
           "and says how to go on from there", said)


def together(scratch):
    process = begin(scratch, 0)
    done = whatif(scratch, "out", "--cores", "1", "--verify")
    tap.ok(done.returncode == 3 and "another dsa" in done.stderr,
           "two do not write the same result", done.stderr)
    process.send_signal(signal.SIGTERM)
    process.wait(timeout=120)


def hostile(scratch):
    """A result cut short or changed at random: an answer, or one line and status 2 or 3."""
    with open(scratch.at("out", "run.json"), "rb") as file:
        whole = file.read()
    chance = random.Random(7)
    complaints = []
    for number in range(60):
        text = bytearray(whole)
        if number % 3 == 0:
            del text[chance.randrange(len(text)):]
        else:
            for _ in range(chance.choice([1, 3, 30])):
                text[chance.randrange(len(text))] = chance.choice(b'0123456789-eE".,{}[]')
        with open(scratch.at("run.json"), "wb") as file:
            file.write(text)
        done = scratch.run(DSA, "whatif", "run.json", "--cores", "1,4", "--cache", "50%")
        lines = done.stderr.splitlines()
        if done.returncode not in (0, 2, 3) or len(lines) != (done.returncode != 0):
            complaints += [f"{number}: status {done.returncode}", *lines]
    tap.ok(not complaints, "results that are damaged", *complaints)


if __name__ == "__main__":
    run_all(tap, [verifies, refuses, observed, killed, interrupted, together, hostile])
