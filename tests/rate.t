#!/usr/bin/python3
"""The rate of one configuration, as --verify MEASURES it, against what throttle, padding
and seeded order say it must be. Speaks TAP.

	tests/rate.t		all cases
	tests/rate.t minio	one of them

On a busy machine a case is measured again, for longer, three times at the most.
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/lib")
from house import BUILD, TRAIN, Scratch, Tap

COUNT, BATCH, SLOTS = 800, 16, 6
TOLERANCE = .025
BUDGETS = [25, 50, 100, 100]

tap = Tap()


def lru_hits(share):
    """Mean over an epoch of what lru has, in its steady state."""
    import math
    return share + (1 - share) * math.log(1 - share)


def measure(scratch, dataset, rate, settings, budget):
    """samples/s, low, high, hit ratio, and how it was measured."""
    done = scratch.run(os.path.join(BUILD, "tests/tool/rate"), scratch.folder("out"), budget,
                       .005, f"batch={BATCH},workers=2,{settings}", TRAIN, "--dataset",
                       dataset, "--emulate-gpu", rate, timeout=600)
    if done.returncode != 0:
        return None, done.stderr
    words = done.stdout.split(maxsplit=5)
    return [float(word) for word in words[:4]], words[5].strip()


def case(scratch, dataset, name, rate, settings, expect):
    """expect(hit ratio) is the rate; None: the hit ratio makes no sense."""
    for budget in BUDGETS:
        found, how = measure(scratch, dataset, rate, settings, budget)
        wanted = expect(found[3]) if found else None
        good = wanted is not None and abs(found[0] / wanted - 1) <= TOLERANCE
        print("#", name, found, how, "expected", wanted)
        if good:
            break
    tap.ok(good and "whole epochs" in how, name, found, how, wanted)
    tap.ok(os.listdir(scratch.at("out")) == [], name + ": no session is left")


def main():
    with Scratch() as scratch:
        dataset = scratch.images(count=COUNT)
        size = sum(os.path.getsize(os.path.join(folder, name))
                   for folder, _, names in os.walk(dataset) for name in names) / COUNT
        os.sync()

        def stored(hits):
            return 10e6 / size / (1 - hits)

        def minio(hits):
            # Half of the bytes; of the samples it may be a little more or less.
            return stored(.5) if abs(hits - .5) < .03 else None

        def lru(hits):
            # Batches on their way make the cache look larger.
            low = lru_hits(.5) - .03
            high = lru_hits(.5 + SLOTS * BATCH / COUNT) + .03
            return stored(hits) if low < hits < high else None

        cases = {
            "accelerator": (800, "cache=none", lambda _: 800),
            "prep": (4000, "cache=none,prep_delay=8ms", lambda _: 2 / .008),
            "minio": (4000, "cache=minio,cache_size=50%,storage_bandwidth=10M", minio),
            "lru": (4000, "cache=lru,cache_size=50%,storage_bandwidth=10M", lru),
        }
        for name in sys.argv[1:] or cases:
            case(scratch, dataset, name, *cases[name])
        done = scratch.run(os.path.join(BUILD, "tests/tool/rate"), scratch.at("out"), 5, .01,
                           "batch=16", "false")
        tap.ok(done.returncode == 3 and "before it asked for a batch" in done.stderr and
               os.listdir(scratch.at("out")) == [], "a program that asks for nothing",
               done.returncode, done.stderr)
    tap.done()


main()
