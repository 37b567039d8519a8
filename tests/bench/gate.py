#!/usr/bin/python3
"""False alarms and power of the gate, on repetitions of the demo's workload.

usage: gate.py [--same N] [--slowed N] [--judge] [FOLDER]

Records N launches of some 2.5 s of the same program, then N in ABBA order of which every
second one has its prep slowed down (with --prep-delay, by some 20 %), and then draws
trials of 8 pairs from them: disjoint, consecutive, in order. Recording takes hours; it
goes on where it was interrupted, and what there is can be judged meanwhile (--judge).
The recordings in tests/data/gate come from here.

Without a slowdown a regression is a false alarm: none or one in 200 trials. The slowdown
is measured over the whole recording; the limit is set so that it is the limit plus the
smallest change that the gate says it can see, and then it has to be found in 95 of 100
trials; and at half of that, where it must not be.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "../..")
BUILD = os.path.abspath(os.environ.get("BUILD") or os.path.join(ROOT, "build/plain"))
DSA = os.path.join(BUILD, "dsa")
REPEAT = os.path.join(BUILD, "tests/tool/repeat")
TRIALS = os.path.join(BUILD, "tests/tool/gate_trials")
DELAY = .85  # of a sample's mean time; small pictures become slower, large ones don't
ACCELERATOR = "4000"  # samples/s: more than two cores prepare
SECONDS = ".8"  # of windows; with its start a launch takes some 2.5 s
METRIC = "samples_per_s"
WORKERS = 2


def dataset(folder):
    path = os.path.join(folder, "pictures")
    if not os.path.exists(path + ".made"):
        os.makedirs(folder, exist_ok=True)
        subprocess.run(["rm", "-rf", path], check=True)
        subprocess.run([DSA, "dataset", "make", "--count", "1000", "--seed", "1", path],
                       check=True, stdout=subprocess.DEVNULL)
        with open(path + ".made", "w", encoding="ascii"):
            pass
    return path


def lines(path):
    if not os.path.exists(path):
        return []
    with open(path, encoding="ascii") as file:
        return [json.loads(line) for line in file if line.endswith("\n")]


def record(path, count, pictures, *options):
    """In pieces, to tell how far it is."""
    environment = dict(os.environ, DSA_LOADER="workers=%d" % WORKERS)
    done = began = len(lines(path))
    spent = 0
    while done < count:
        result = subprocess.run(
            [REPEAT, "-o", path, *options, str(min(count, done + 16)), SECONDS, pictures,
             "--emulate-gpu", ACCELERATOR],
            env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            check=False)
        if result.returncode != 0:
            sys.exit(result.stderr)
        new = lines(path)
        spent += sum(line["wall_s"] for line in new[done:])
        done = len(new)
        left = spent / (done - began) * (count - done)
        print("%s: %d of %d, %d:%02d h left" % (
            os.path.basename(path), done, count, left // 3600, left % 3600 // 60),
            file=sys.stderr)


def judge(*words):
    result = subprocess.run([TRIALS, *words], check=True, stdout=subprocess.PIPE,
                            text=True)
    return [json.loads(line) for line in result.stdout.splitlines()]


def told(what, found, goal):
    print("%-44s %3d of %3d  %-14s pass %d, inconclusive %d" % (
        what, found["regression"], found["trials"], goal, found["pass"],
        found["inconclusive"]))


def judge_all(same, slowed):
    """Whether the goals are met as far as there are trials."""
    quiet = [judge(same)[0]]
    if lines(slowed):  # each side of it with itself
        quiet += [judge("-s", side, slowed)[0] for side in ("0", "1")]
    total = {key: sum(one[key] for one in quiet)
             for key in ("trials", "regression", "pass", "inconclusive")}
    told("nothing changed: regressions", total, "<= 1")
    sees = judge("-m", METRIC, same)[0]["detectable"]
    print("%-44s %.1f %% beyond the limit" % ("the gate says that it can see", 100 * sees))
    good = total["regression"] <= 1
    if not lines(slowed):
        return good
    rates = [[line[METRIC] for line in lines(slowed) if line["side"] == side]
             for side in (0, 1)]
    slower = statistics.median(rates[0]) / statistics.median(rates[1]) - 1
    print("%-44s %.1f %% slower, over the whole recording" % (
        "prep slowed down", 100 * slower))
    limits = [slower - sees, 2 * slower - sees]
    at, half = judge("-m", METRIC, "-l", ",".join("%.6f" % one for one in limits), slowed)
    told("at limit + that (%.1f %%): regressions" % (100 * limits[0]), at, ">= 95 in 100")
    told("at half of both (limit %.1f %%): regressions" % (100 * limits[1]), half, "none")
    return good and at["regression"] >= .95 * at["trials"] and half["regression"] == 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?",
                        default=os.path.join(ROOT, "build/bench/gate"))
    parser.add_argument("--same", type=int, default=1600)
    parser.add_argument("--slowed", type=int, default=1600)
    parser.add_argument("--judge", action="store_true")
    options = parser.parse_args()
    same = os.path.join(options.folder, "same.jsonl")
    slowed = os.path.join(options.folder, "slowed.jsonl")
    if not options.judge:
        pictures = dataset(options.folder)
        record(same, min(32, options.same), pictures)
        rate = statistics.median(line[METRIC] for line in lines(same)[:32])
        delay = os.path.join(options.folder, "delay")
        if not os.path.exists(delay):
            with open(delay, "w", encoding="ascii") as file:
                file.write("%.0f" % (1e9 * WORKERS * DELAY / rate))
        with open(delay, encoding="ascii") as file:
            slow = "prep_delay=%sns" % file.read()
        # in turns, so that both see the same hours
        for part in range(1, 11):
            record(slowed, options.slowed * part // 160 * 16, pictures, "-b", slow)
            record(same, options.same * part // 160 * 16, pictures)
    return 0 if judge_all(same, slowed) else 1


if __name__ == "__main__":
    sys.exit(main())
