#!/usr/bin/python3
"""dsa whatif and dsa run --sweep with real runs: what is verified is kept one by one,
what can't be tried is refused before anything runs, and a kill loses nothing that was
measured. How good predictions are is no matter here. Speaks TAP.
SLEEPS most of the time. SOAK=1: more changes, for longer.

	tests/whatif.t		all of it
	tests/whatif.t killed	one of the tests below
"""

import json
import os
import random
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/lib")
from house import BUDGET, DSA, TRAIN, Scratch, Tap, adopt_orphans, children, end_all, wait_until

SOAK = bool(os.environ.get("SOAK"))
RATE_BUDGET = "6s" if SOAK else "2.5s"  # of each change that is tried
WORKERS = [1, 2, 3] if SOAK else [1, 2]

tap = Tap()


def run(scratch, *options):
    """A run of throttled storage and a small cache."""
    done = scratch.run(DSA, "run", "-o", "out", "--budget", BUDGET, "--workers", "2",
                       "--cache", "30%", "--storage-bandwidth", "1200K", *options, "--", TRAIN,
                       "--dataset", scratch.at("images"), "--size", "32", "--batch", "8",
                       "--emulate-gpu", "800")
    tap.ok(done.returncode == 0, f"dsa run {' '.join(options)}", done.stderr)
    return done


def result_of(scratch, out="out"):
    with open(scratch.at(out, "run.json"), encoding="utf-8") as file:
        return json.load(file)


def verified(scratch, out="out"):
    return result_of(scratch, out)["verifications"]


def whatif(scratch, *words):
    return scratch.run(DSA, "whatif", *words, "--budget", RATE_BUDGET)


def verify(scratch, *words):
    return whatif(scratch, *words, "--resume")


def clean(scratch, out="out"):
    return not children() and sorted(os.listdir(scratch.at(out))) == ["report.html", "run.json"]


def sound(one):
    """Rate, error and coverage of a verification fit each other."""
    rate = one["measured_per_s"]
    good = rate["value"] > 0 and one["when"].endswith("Z") and one["why"]
    if "predicted_per_s" in one and "value" in one["predicted_per_s"]:
        told = one["predicted_per_s"]
        good = good and abs(told["value"] / rate["value"] - 1 - one["error"]) < 1e-6 and \
            one["covered"] == int(told["low"] <= rate["value"] <= told["high"])
    return good


def verifies(scratch):
    result = result_of(scratch)
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


def applies(scratch):
    """The change is what the program really runs with."""
    # The emulated accelerator is all that limits a run whose cache holds everything.
    done = verify(scratch, "out", "--cache", "100%", "--gpu-speed", "0.25,0.5")
    rates = {one["change"]["gpu_speed"]: one["measured_per_s"]["value"]
             for one in verified(scratch)}
    tap.ok(done.returncode == 0 and rates[.25] <= 200 and rates[.25] < rates[.5] <= 400,
           "a slower accelerator takes no more than it can", rates, done.stderr)
    done = verify(scratch, "out", "--cache", "0%", "--storage-bandwidth", "1M")
    slow = verified(scratch)[-1]
    size = result_of(scratch)["dataset"]["bytes"] / result_of(scratch)["dataset"]["samples"]
    tap.ok(slow["measured_per_s"]["value"] * size <= 1.2e6 and "hit_ratio" not in slow,
           "slower storage gives no more than it may", slow, size)
    policies = ["lru", "fifo"] if SOAK else ["lru"]
    done = verify(scratch, "out", "--cache", "60%", "--cache-policy", ",".join(policies))
    tap.ok(all(0 < one["hit_ratio"] < .6 for one in verified(scratch)[-len(policies):]),
           "another policy has other hits", verified(scratch), done.stderr)


def jobs(scratch):
    """Several at once, and each with the accelerator that it was given."""
    done = verify(scratch, "out", "--cache", "100%", "--gpu-speed", "0.25",
                  "--jobs", "1,2,1x+0.5x" if SOAK else "2,1x+0.5x")
    rates = {(one["change"]["jobs"], "job_speeds" in one["change"]):
             one["measured_per_s"]["value"] for one in verified(scratch)}
    tap.ok(done.returncode == 0 and all(sound(one) for one in verified(scratch)),
           "jobs are tried together", verified(scratch), done.stderr)
    tap.ok(200 < rates[2, False] <= 400 and rates[2, True] <= 300 and
           rates[2, True] < rates[2, False] and
           (not SOAK or rates[1, False] <= 200 and rates[1, False] < rates[2, False]),
           "each is as fast as its accelerator", rates)
    done = verify(scratch, "out", "--cache", "100%", "--gpu-speed", "0.25",
                  "--jobs", "2,1x+0.5x", "--share")
    shared = {"job_speeds" in one["change"]: one["measured_per_s"]["value"]
              for one in verified(scratch) if one["change"].get("share")}
    tap.ok(done.returncode == 0 and all(sound(one) for one in verified(scratch)) and
           "share the loader x2" in done.stdout, "jobs that share a loader are tried",
           verified(scratch), done.stderr)
    tap.ok(200 < shared[False] <= 400 and shared[True] <= 230,
           "and go at the pace of the slowest", shared)
    tap.ok(clean(scratch), "nothing is left behind", children(), os.listdir(scratch.at("out")))


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


def sweeps(scratch):
    done = run(scratch, "--sweep", "cores=1,1", "--sweep", "cache=0%,60%", "--sweep",
               "cache-policy=minio,lru", "--sweep-budget", RATE_BUDGET)
    changes = [one["change"] for one in verified(scratch)]
    tap.ok(changes == [{"cores": 1, "cache_share": 0},
                       {"cores": 1, "cache_share": .6, "cache_policy": "minio"},
                       {"cores": 1, "cache_share": .6, "cache_policy": "lru"}],
           "each combination is measured once, and kept in their order", changes, done.stderr)
    tap.ok("dsa: 1 of 3: 1 core, " in done.stderr and "dsa: 3 of 3: 1 core, " in done.stderr,
           "which one is measured is told", done.stderr)
    tap.ok(all(sound(one) for one in verified(scratch)) and clean(scratch), "and is sound",
           verified(scratch))
    done = scratch.run(DSA, "run", "--sweep", "cores=500", "-o", "not-made", "--", TRAIN)
    tap.ok(done.returncode == 3 and not os.path.exists(scratch.at("not-made")),
           "a sweep that can't be tried is refused before the run", done.stderr)


def begin(scratch, count):
    """A verification of some changes that has kept so many."""
    process = subprocess.Popen(
        [DSA, "whatif", "out", "--workers", f"1..{WORKERS[-1]}", "--verify", "--budget", RATE_BUDGET],
        env=scratch.environment, cwd=scratch.path, stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
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


TESTS = [verifies, applies, jobs, refuses, observed, sweeps, killed, interrupted, together, hostile]

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # it may be ignored where this runs
    adopt_orphans()
    with Scratch() as place:
        place.images(count=100)
        run(place)
        os.rename(place.at("out"), place.at("one run"))
        for test in TESTS:
            if len(sys.argv) > 1 and test.__name__ not in sys.argv[1:]:
                continue
            for folder in ("out", "other"):
                shutil.rmtree(place.at(folder), ignore_errors=True)
            shutil.copytree(place.at("one run"), place.at("out"))
            test(place)
            end_all(children())
    tap.done()
