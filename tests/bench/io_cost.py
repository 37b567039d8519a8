#!/usr/bin/python3
"""What libdsa-io.so costs a program, call by call: the same reads without it, with it, and
in a batch, interleaved; medians, and ratios to none."""

import os
import statistics
import subprocess
import sys
import tempfile

BUILD = os.path.abspath(os.environ.get("BUILD", "build/plain"))
TOOL = os.path.join(BUILD, "tests/tool")
ROUNDS, CALLS = 15, 100000


def run(path, **environment):
    done = subprocess.run([f"{TOOL}/io_reader", "cost", path, str(CALLS)], check=True, text=True,
                          stdout=subprocess.PIPE, env={**os.environ, **environment})
    return [list(map(float, line.split())) for line in done.stdout.splitlines()]


def main():
    library = os.path.join(BUILD, "libdsa-io.so")
    found = {"without": [], "no part of it": [], "outside of batches": [], "in a batch": []}
    with tempfile.TemporaryDirectory() as folder:
        path, page = os.path.join(folder, "data"), os.path.join(folder, "page")
        with open(path, "wb") as file:
            file.write(os.urandom(20000))
        subprocess.run([f"{TOOL}/io_page", "make", page], check=True)
        for _ in range(ROUNDS):
            found["without"].append(run(path, DSA_IO="")[1])
            found["no part of it"].append(run(path, DSA_IO="", LD_PRELOAD=library)[1])
            outside, inside = run(path, DSA_IO=page, LD_PRELOAD=library)
            found["outside of batches"].append(outside)
            found["in a batch"].append(inside)
    print(f"{'':20}{'pread, 4 KiB':>26}{'open, read, close':>26}")
    for name, costs in found.items():
        words = f"{name:20}"
        for which in range(2):
            of = [cost[which] for cost in costs]
            ratio = statistics.median(a[which] / b[which]
                                      for a, b in zip(costs, found["without"]))
            words += f"{statistics.median(of):15.0f} ns {ratio:6.2f} x"
        print(words)


if __name__ == "__main__":
    sys.exit(main())
