#!/usr/bin/python3
"""Ranks of one job under dsa run: they come into windows together, a step waits for the slowest
of them, and they end as one. Speaks TAP. SLEEPS most of the time.

    tests/ranks.t [NAME...]    some of the tests
"""
import os
import re
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/lib")
from house import DSA, HERE, Scratch, SideBySide, Tap, middle_stalls, unsure, wait_until

PYTHON = "/usr/bin/python3"
PROGRAM = os.path.join(HERE, "lib/ranks_program.py")
FILES, BATCH = 400, 4
OFF = .04
# Torch 1.13 fails at its own defaults of these with a newer Python.
TORCHRUN = (PYTHON, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2",
            "--redirects=9:1", "--tee=9:1")

tap, wanted = Tap(), sys.argv[1:]


def dsa_run(scratch, out, options, *words, ahead=(PYTHON,)):
    return scratch.run(DSA, "run", "-q", "-o", out, *options.split(), "--", *ahead, PROGRAM,
                       "data", *words)


def left(text):
    """Rank by rank, after how many steps, and how many of them were of its last epoch."""
    return {int(rank): (int(steps), int(last)) for rank, steps, last in
            re.findall(r"rank (\d) left after (\d+) steps, (\d+) of", text)}


def check_shares(scratch):
    """The first rank's loader is fast, and so are both from memory: the last one's is what all
    of them wait for."""
    step, prep, latency = 24, BATCH * 4, BATCH * 3
    done = dsa_run(scratch, "out-shares", "--budget 8s --storage-latency 3ms", "prep=1", "last=4",
                   f"step={step}", ahead=TORCHRUN)
    if not tap.ok(done.returncode == 0, "torchrun: its ranks are measured", done):
        return
    result = scratch.result("out-shares")
    shares = middle_stalls(result)
    for stage, ms in (("compute", step), ("prep", prep), ("fetch", latency)):
        true = ms / (step + prep + latency)
        print(f"#   {stage:8} {100 * shares[stage]:6.2f}   truth {100 * true:6.2f}")
        tap.ok(abs(shares[stage] - true) <= OFF + unsure(result, stage),
               f"{stage} is the slowest rank's share", shares,
               *(f'{w["kind"]} {w.get("rate_per_s")}/s: {w["why"]}' for w in result["windows"]))
    first, last = (rank["blocked_share"] for rank in result["ranks"])
    tap.ok(last - first > .1 and "rank 1 makes the others wait" in
           scratch.run(DSA, "report", "out-shares").stdout, "which is told", result["ranks"])
    ranks = left(done.stdout)
    tap.ok(len(ranks) == 2 and len(set(ranks.values())) == 1 and "Error" not in done.stderr,
           "all ranks end at the same step", done.stdout, done.stderr)


def check_spawned(scratch):
    """By the program itself, which has the ranks' numbers alone; their workers are spawned. Two
    batches are taken before a backward."""
    done = dsa_run(scratch, "out-spawned", "--budget 6s", "starts=spawn", "workers=1", "takes=2",
                   "step=40", "prep=6", "last=6")
    result = scratch.result("out-spawned")
    tap.ok(done.returncode == 0 and len(left(done.stdout)) == 2 and
           result["configuration"]["world"] == 2, "spawned ranks are measured", done)
    tap.ok([process["role"] for process in result["processes"]] == ["driver", "worker"],
           "what the first rank loads is counted by itself", result["processes"])
    tap.ok("each of 2 ranks" in scratch.run(DSA, "report", "out-spawned").stdout,
           "the report is of each rank")
    asked = scratch.run(DSA, "whatif", "out-spawned", "--cores", "1")
    tap.ok(asked.returncode == 3 and "ranks share cores" in asked.stderr,
           "what ranks share is not predicted", asked)


def check_left(scratch):
    """dsa dies in the middle of windows."""
    with open(scratch.at("left.txt"), "w+", encoding="utf-8") as said, \
            subprocess.Popen([DSA, "run", "-q", "-o", "out-left", "--budget", "60s", "--", PYTHON,
                              PROGRAM, "data", "epochs=3", "step=5", "steady=steady"], stdout=said,
                             stderr=said, cwd=scratch.path, env=scratch.environment) as dsa:
        wait_until(lambda: os.path.exists(scratch.at("steady")))
        dsa.send_signal(signal.SIGKILL)
        with open(scratch.at("left.txt"), encoding="utf-8") as told:
            wait_until(lambda: told.seek(0) == 0 and len(left(told.read())) == 2)
            told.seek(0)
            text = told.read()
    ranks = left(text)
    tap.ok(len(ranks) == 2 and len(set(ranks.values())) == 1 and "Error" not in text,
           "without dsa all ranks go on to the same step", text)
    tap.ok(ranks and ranks[0][1] == FILES // 2 // BATCH, "and later epochs are whole", text)


def check_missing(scratch):
    epoch = -(-FILES // 3 // BATCH)
    done = dsa_run(scratch, "out-missing", "", "world=3", "meets=0", "epochs=4", "step=4")
    tap.ok(done.returncode == 3 and "only 2 of the job's 3 ranks" in done.stderr and
           done.stderr.count("ranks") == 1 and
           left(done.stdout) == {rank: (4 * epoch, epoch) for rank in (0, 1)},
           "a rank that another dsa has: nothing is measured, and all go on", done)


def main():
    tests = {"shares": check_shares, "spawned": check_spawned, "left": check_left,
             "missing": check_missing}
    with Scratch() as scratch, SideBySide(2) as pool:
        scratch.folder("data")
        for i in range(FILES):
            with open(scratch.at("data", f"{i:04}"), "wb") as file:
                file.write(os.urandom(4096))
        futures = [pool.submit(test, scratch) for name, test in tests.items()
                   if not wanted or name in wanted]
        for future in futures:
            future.result()
    tap.done()


if __name__ == "__main__":
    main()
