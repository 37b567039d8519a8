#!/usr/bin/python3
"""What ranks waited for each other in NCCL's collectives, as dsa run --observe tells it:
tests/tool/nccl_host plays NCCL for ranks whose delays are known. Speaks TAP.
SLEEPS most of the time.
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/lib")
from house import BUILD, DSA, Scratch, Tap

HOST = os.path.join(BUILD, "tests/tool/nccl_host")
MS, TRANSFER = (2, 4, 6, 12), 2
COLLECTIVES = 60
LATE = .6  # ms that the most punctual of so many may be late

tap = Tap()


def observe(scratch, out, *words, options=("--observe",), **variables):
    told = scratch.run(DSA, "run", "-q", "-o", scratch.at(out), "--exit-status=target", *options,
                       "--", HOST, *words, variables={"DSA_LOADER": "prep=raw", **variables})
    return told, scratch.result(out)


def check_ranks(name, ranks, delays):
    last = max(range(len(delays)), key=delays.__getitem__)
    tap.ok([row["rank"] for row in ranks] == list(range(len(delays))) and
           all(row["ranks"] == len(delays) and row["communicator"] == 0 for row in ranks) and
           len({row["pid"] for row in ranks}) == len(delays),
           f"{name}: each rank has a row, and a process", ranks)
    compared = {row["compared"] for row in ranks}
    tap.ok(compared == {COLLECTIVES}, f"{name}: all collectives are compared", compared)
    for row, delay in zip(ranks, delays):
        waits, inside = 1e3 * row["waited_s"], 1e3 * row["inside_s"]
        true = delays[last] - delay
        tap.ok(abs(waits - true) <= LATE and abs(inside - true - TRANSFER) <= 2 * LATE,
               f"{name}: rank {row['rank']} waits for {true} ms", f"{waits:.2f} ms of "
               f"{inside:.2f}")
    tap.ok(all(row.get("last") == last and 0 <= row["waited_s"] - row["last_s"] < 1e-3 * LATE
               for row in ranks if row["rank"] != last),
           f"{name}: for rank {last}", ranks)


def test_tells(scratch):
    for name, words in (("v5", ()), ("v4", ("-4",))):
        told, result = observe(scratch, name, *words, COLLECTIVES, *MS)
        tap.ok(told.returncode == 0, f"{name}: the program ends as without dsa", told.stderr)
        check_ranks(name, result.get("ranks", []), MS)
    said = scratch.run(DSA, "report", scratch.at("v5")).stdout
    tap.ok("rank 0 waits 8" in said and "most for rank 3" in said, "the verdict tells it", said)
    page = scratch.run(DSA, "report", "--format=html", scratch.at("v5")).stdout
    tap.ok("What ranks waited for each other" in page, "so does the report")


def test_leaves_alone(scratch):
    """The same program, none of whose collectives is told."""
    for name, options, variables in (
            ("a profiler that is set is left", ("--observe",),
             {"NCCL_PROFILER_PLUGIN": os.path.join(BUILD, "libdsa-nccl.so")}),
            ("--gpu=none watches none", ("--observe", "--gpu=none"), {})):
        told, result = observe(scratch, "left", 10, *MS, options=options, **variables)
        wanted = "NCCL_PROFILER_PLUGIN" in variables  # ours, but set by the user
        tap.ok(told.returncode == 0 and ("ranks" in result) == wanted, name, result.get("ranks"))
    told, result = observe(scratch, "windows", 400, 1, 1, options=("--budget", "1s"))
    tap.ok(told.returncode == 0 and "ranks" not in result,
           "windows that are switched tell nothing of ranks", told.stderr)
    told = scratch.run(HOST, 10, 1, 1, variables={
        "NCCL_PROFILER_PLUGIN": os.path.join(BUILD, "libdsa-nccl.so"), "DSA_LOADER": "prep=raw"})
    tap.ok(told.returncode == 0 and not told.stderr, "without a session it asks for no events",
           told.stderr)


def test_fork(scratch):
    told, result = observe(scratch, "fork", "-f", 10, 1, 3)
    ranks = result.get("ranks", [])
    tap.ok(told.returncode == 0 and [row["compared"] for row in ranks] == [10, 10],
           "a forked child tells nothing", ranks, told.stderr)


with Scratch() as scratch:
    test_tells(scratch)
    test_leaves_alone(scratch)
    test_fork(scratch)
tap.done()
