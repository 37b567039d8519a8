#!/usr/bin/python3
"""The rate of one configuration, as --verify measures it, against what throttle, padding
and seeded order say it must be. Speaks TAP. SLEEPS most of the time.

	tests/rate.t		all cases
	tests/rate.t minio	one of them

The short form has slow throttles that sleep most of the time, all cases at once, and
generous margins; SOAK=1: one by one, and as precise as the issue asks.
"""

import os
import sys
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/lib")
from house import BUILD, TRAIN, Scratch, Tap

SOAK = bool(os.environ.get("SOAK"))
SLOWER = 1 if SOAK else 5  # everything
COUNT, BATCH, SLOTS = 800 // SLOWER, 20 // SLOWER, 6
TOLERANCE = .025 if SOAK else .15
BUDGET = 60 if SOAK else 15
PRECISION = .005 if SOAK else .05
PREP_MS = 8 if SOAK else 20

tap = Tap()


def lru_hits(share):
    """Mean over an epoch of what lru has, in its steady state."""
    import math
    return share + (1 - share) * math.log(1 - share)


def measure(scratch, dataset, out, rate, settings):
    """samples/s, low, high, hit ratio, and how it was measured."""
    done = scratch.run(os.path.join(BUILD, "tests/tool/rate"), out, BUDGET, PRECISION,
                       f"batch={BATCH},size=32,workers=2,{settings}", TRAIN, "--dataset",
                       dataset, "--emulate-gpu", rate, timeout=600)
    if done.returncode != 0:
        return None, done.stderr
    words = done.stdout.split(maxsplit=5)
    return [float(word) for word in words[:4]], words[5].strip()


def case(scratch, dataset, name, rate, settings, expect):
    """expect(hit ratio) is the rate; None: the hit ratio makes no sense."""
    out = scratch.folder("out-" + name)
    found, how = measure(scratch, dataset, out, rate, settings)
    wanted = expect(found[3]) if found else None
    good = wanted is not None and abs(found[0] / wanted - 1) <= TOLERANCE
    return lambda: (
        print("#", name, found, how, "expected", wanted),
        tap.ok(good and "whole epochs" in how, name, found, how, wanted),
        tap.ok(os.listdir(out) == [], name + ": no session is left"))


def main():
    with Scratch() as scratch:
        dataset = scratch.images(count=COUNT)
        size = sum(os.path.getsize(os.path.join(folder, name))
                   for folder, _, names in os.walk(dataset) for name in names) / COUNT
        os.sync()

        def stored(hits):
            return 10e6 / SLOWER / size / (1 - hits)

        def minio(hits):
            # Half of the bytes; of the samples it may be a little more or less.
            return stored(.5) if abs(hits - .5) < (.03 if SOAK else .06) else None

        def lru(hits):
            # Batches on their way make the cache look larger.
            low = lru_hits(.5) - .03
            high = lru_hits(.5 + SLOTS * BATCH / COUNT) + .03
            return stored(hits) if low < hits < high else None

        fast, bandwidth = 4000 // SLOWER, f"storage_bandwidth={10 / SLOWER:g}M"
        cases = {
            "accelerator": (800 // SLOWER, "cache=none", lambda _: 800 / SLOWER),
            "prep": (fast, f"cache=none,prep_delay={PREP_MS}ms", lambda _: 2000 / PREP_MS),
            "minio": (fast, f"cache=minio,cache_size=50%,{bandwidth}", minio),
            "lru": (fast, f"cache=lru,cache_size=50%,{bandwidth}", lru),
        }
        with ThreadPoolExecutor(1 if SOAK else len(cases)) as pool:
            for say in pool.map(lambda name: case(scratch, dataset, name, *cases[name]),
                                sys.argv[1:] or cases):
                say()
        done = scratch.run(os.path.join(BUILD, "tests/tool/rate"), scratch.folder("out"), 5, .01,
                           "batch=16", "false")
        tap.ok(done.returncode == 3 and "before it asked for a batch" in done.stderr and
               os.listdir(scratch.at("out")) == [], "a program that asks for nothing",
               done.returncode, done.stderr)
    tap.done()


main()
