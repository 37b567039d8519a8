#!/usr/bin/python3
"""Shards beside a folder of the same small pictures: how fast they are indexed and read.

usage: shards.py [--small]

The same pictures lie in a folder per class, in tar and in TFRecord shards, and are read as they
are (prep raw), by one seed, turn by turn: warm, from the page cache, both by a loader that has
just been opened and has yet to be given memory, and in its next epoch; cold, after the kernel
has dropped what it kept, which root alone may ask for. Every batch is compared.
--small: a twentieth of it, to see that it works."""

import hashlib
import os
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../lib"))
sys.path.insert(0, os.path.join(HERE, "../../loader/python"))
from house import BUILD, DSA, Scratch

os.environ["DSA_LIBRARY"] = os.path.join(BUILD, "libdsa.so")
SMALL = "--small" in sys.argv[1:]
PICTURES = 1000 if SMALL else 20000
ROUNDS = {"warm": 3 if SMALL else 7, "cold": 2 if SMALL else 5}
DROP = "/proc/sys/vm/drop_caches"


def forget():
    os.sync()
    with open(DROP, "w", encoding="ascii") as file:
        file.write("3")


def epoch(dataset, cold=False, digest=None, skip=0, **more):
    """Samples a second of one epoch, after `skip`; what opening takes is not in it."""
    import dsa

    count = 0
    if cold:
        forget()
    with dsa.Loader(dataset, batch=64, epochs=skip + 1, seed=1, prep="raw", type="uint8", size=36,
                    arrays="numpy", **more) as loader:
        for _ in range(skip):
            for _ in loader:
                pass
        began = time.monotonic()
        for data, labels in loader:
            count += len(labels)
            if digest is not None:
                digest.update(data.tobytes() + labels.tobytes())
        return count / (time.monotonic() - began)


def digest_of(dataset, **more):
    digest = hashlib.sha256()
    epoch(dataset, digest=digest, **more)
    return digest.hexdigest()


def rates(kinds, state, goal, **more):
    """In turn; the folder's rate is what the others are compared to."""
    rows = {kind: [] for kind in kinds}
    for _ in range(ROUNDS[state]):
        for kind, dataset in kinds.items():
            rows[kind].append(epoch(dataset, state == "cold", **more))
    for kind, row in rows.items():
        share = statistics.median(a / b for a, b in zip(row, rows["tree"]))
        print(f"  {kind:9}{statistics.median(row):9.0f} samples/s" +
              (f"{share:7.2f} x the folder's (wanted: {goal})" if kind != "tree" else ""),
              flush=True)


def pictures(scratch):
    kinds = {"tree": scratch.images(count=PICTURES, size="4K")}
    for kind in ("tar", "tfrecord"):
        kinds[kind] = scratch.at(kind)
        subprocess.run([DSA, "dataset", "convert", f"--format={kind}", kinds["tree"], kinds[kind]],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return kinds


def main():
    with Scratch() as scratch:
        os.environ["XDG_CACHE_HOME"] = scratch.environment["XDG_CACHE_HOME"]
        kinds = pictures(scratch)
        for shuffle in ("global", "blocks"):
            digests = {digest_of(dataset, shuffle=shuffle) for dataset in kinds.values()}
            print(f"{PICTURES} pictures of 4 kB, shuffle {shuffle}: batches "
                  f"{'are the same' if len(digests) == 1 else 'DIFFER'}")
            for skip, which in enumerate(("the first epoch", "the second one")):
                print(f" warm, {which}, {ROUNDS['warm']} rounds")
                rates(kinds, "warm", "1", skip=skip, shuffle=shuffle)
            if os.access(DROP, os.W_OK):
                print(f" cold, {ROUNDS['cold']} rounds")
                rates(kinds, "cold", "2", shuffle=shuffle)
        subprocess.run([os.path.join(BUILD, "tests/bench/shard_rate"),
                        str(65000 if SMALL else 1300000), scratch.path], check=True)


main()
