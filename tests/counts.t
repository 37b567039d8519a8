#!/usr/bin/python3
"""What the same samples take is counted the same, to the number, on a busy machine too.

Speaks TAP. The storage of some cases has odd ways (tests/tool/odd_reads.c).
Runs ALONE: it keeps every core busy. SOAK=1: with more numbers of threads.
"""
import collections
import contextlib
import glob
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from house import BUILD, TRAIN, Scratch, Tap, in_memory

IMAGES, BATCH, SPARE_SLOTS = 1000, 50, 2
EPOCH = IMAGES // BATCH  # steps
COUNTS = os.path.join(BUILD, "tests/tool/counts")
DUMP = os.path.join(BUILD, "tests/tool/batch_dump")
ODD = os.path.join(BUILD, "tests/tool/odd_reads.so")
SETTINGS = [(1, 1), (4, 8), (2, 3)]  # workers, prefetch
if os.environ.get("SOAK"):
    SETTINGS += [(2, 1), (4, 5)]

Counted = collections.namedtuple(
    "Counted", "samples opens reads read_bytes hits pixels skipped")


class Stream:
    """Counts what samples of one data set take."""

    def __init__(self, scratch):
        self.scratch = scratch
        self.path = scratch.images(count=IMAGES, size="10K")
        # Samples are numbered in the order of their paths.
        self.sizes = [os.path.getsize(path) for path in
                      sorted(glob.glob(os.path.join(self.path, "*/*.jpg")))]

    def run(self, command, loader, odd):
        environment = self.scratch.environment
        environment.update(odd, DSA_LOADER=f"batch={BATCH},size=32,{loader}")
        if odd:
            environment["LD_PRELOAD"] = ODD
        try:
            return self.scratch.run(COUNTS, self.scratch.at("session"), *command)
        finally:
            for name in [*odd, "LD_PRELOAD", "DSA_LOADER"]:
                environment.pop(name, None)

    def count(self, steps, loader, **odd):
        """Of the example; or what it says when it could not."""
        told = self.run([TRAIN, "--dataset", self.path, "--emulate-gpu", "1000000"],
                        f"steps={steps},cache=none,{loader}", odd)
        if told.returncode != 0:
            return told.stderr
        return Counted(*map(int, told.stdout.splitlines()[-1].split()))

    def batches(self, loader):
        """Sample numbers of each batch, and the counts."""
        told = self.run([DUMP, self.path, "/dev/null"], loader, {})
        *batches, counted = [[int(word) for word in line.split()]
                             for line in told.stdout.splitlines()]
        return [one[2 + len(one[2:]) // 2:] for one in batches], Counted(*counted)


@contextlib.contextmanager
def busy():
    """Every core has something else to do."""
    burners = [subprocess.Popen([sys.executable, "-c", "while True: pass"])
               for _ in os.sched_getaffinity(0)]
    try:
        yield
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()


def check_runs(tap, stream, steps):
    """All engines, some numbers of threads and batches ahead."""
    first = None
    for engine in ("pread", "pread-direct", "uring", "uring-direct"):
        runs = []
        name = f"{len(SETTINGS)} runs with {engine} count the same"
        for workers, prefetch in SETTINGS:
            runs.append(stream.count(steps, f"fetch={engine},workers={workers},"
                                            f"prefetch={prefetch}"))
        if "uring" in engine and "uring" in str(runs[0]):
            tap.skip(name, str(runs[0]).strip())
            continue
        first = first or runs[0]
        tap.ok(runs == [first] * len(runs) and first.samples == steps * BATCH, name,
               *runs)


def direct(path):
    """Storage here can be read past the page cache."""
    try:
        os.close(os.open(glob.glob(os.path.join(path, "*/*.jpg"))[0],
                         os.O_RDONLY | os.O_DIRECT))
    except OSError:
        return False
    return not in_memory(path)


def check_odd(tap, stream):
    """One epoch with storage that has odd ways."""
    plain = stream.count(EPOCH, "fetch=pread")
    tap.ok(plain[:5] == (IMAGES, IMAGES, IMAGES, sum(stream.sizes), 0) and plain.skipped == 0,
           "whole files are opened once and read at once", plain)
    again = plain._replace(opens=IMAGES + 1, reads=IMAGES + 1)  # the refused one is a read
    short = plain._replace(reads=sum(-(-size // 4096) for size in stream.sizes))
    cases = [("one extra open per 1,000 samples is seen", again,
              "pread-direct", {"OPEN_AGAIN_EVERY": "1000"}),
             ("so are reads of 4 KiB instead of whole ones", short,
              "pread", {"READ_MOST": "4096"}),
             ("past the page cache as well", short, "pread-direct", {"READ_MOST": "4096"})]
    for name, wanted, engine, odd in cases:
        if engine == "pread-direct" and not direct(stream.path):
            tap.skip(name, "no direct reads here")
        else:
            counted = [stream.count(EPOCH, f"fetch={engine},workers={workers}", **odd)
                       for workers in (1, 4)]
            tap.ok(counted == [wanted] * 2, name, wanted, *counted)


def minio_hits(stream, batches, slots, capacity):
    """What a batch brought is offered when its slot is filled anew; nothing leaves."""
    cached, hits = set(), [[] for _ in batches]
    for number, batch in enumerate(batches):
        if number >= slots:
            for sample in batches[number - slots]:
                if sample not in cached and stream.sizes[sample] <= capacity:
                    capacity -= stream.sizes[sample]
                    cached.add(sample)
        hits[number] = sum(sample in cached for sample in batch)
    return hits


def check_cache(tap, stream):
    for share, prefetch in ((100, 1), (100, 8), (40, 4)):
        batches, counted = stream.batches(f"epochs=2,cache=minio,cache_size={share}%,"
                                          f"prefetch={prefetch},workers=4,fetch=pread")
        hits = minio_hits(stream, batches, prefetch + SPARE_SLOTS,
                          sum(stream.sizes) * share // 100)
        tap.ok(sum(hits[:EPOCH]) == 0 and 0 < sum(hits) == counted.hits and
               counted.opens == counted.samples - counted.hits == 2 * IMAGES - sum(hits),
               f"minio of {share}%, {prefetch} ahead: the second epoch's hits are exact",
               counted, sum(hits))


def main():
    tap = Tap()
    with Scratch() as scratch:
        stream = Stream(scratch)
        with busy():
            check_runs(tap, stream, EPOCH + 5)
            check_odd(tap, stream)
            check_cache(tap, stream)
    tap.done()


main()
