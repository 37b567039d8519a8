#!/usr/bin/python3
"""Changes that dsa whatif and dsa run --sweep try are what the program really runs with:
its accelerator, storage, cache, jobs and cores. Speaks TAP. SLEEPS most of the time.
SOAK=1: more changes, for longer.

	tests/whatif_tried.t		all of it
	tests/whatif_tried.t jobs	one of the tests below
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/lib")
from house import DSA, TRAIN, Tap, children
from tried import RATE_BUDGET, SOAK, clean, run, run_all, sound, verified, verify

tap = Tap()


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
    size = scratch.result()["dataset"]["bytes"] / scratch.result()["dataset"]["samples"]
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
    shared = {"job_speeds" in one["change"]: one["measured_per_s"]
              for one in verified(scratch) if one["change"].get("share")}
    tap.ok(done.returncode == 0 and all(sound(one) for one in verified(scratch)) and
           "share the loader x2" in done.stdout, "jobs that share a loader are tried",
           verified(scratch), done.stderr)
    # Of a busy machine one window, which has no interval and begins with the faster one ahead.
    most = 230 if "low" in shared[True] else 270
    tap.ok(200 < shared[False]["value"] <= 400 and shared[True]["value"] <= most,
           "and go at the pace of the slowest", shared)
    tap.ok(clean(scratch), "nothing is left behind", children(), os.listdir(scratch.at("out")))


def sweeps(scratch):
    done = run(tap, scratch, "--sweep", "cores=1,1", "--sweep", "cache=0%,60%", "--sweep",
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


if __name__ == "__main__":
    run_all(tap, [applies, jobs, sweeps])
