#!/usr/bin/python3
"""False alarms and power of the gate, on repetitions of the demo's workload.

usage: gate.py [--same N] [--slowed N] [--step N] [--judge | --keep TO] [FOLDER]

Records N launches of some 2.5 s of the same program, then N in ABBA order of which every
second one has its prep slowed down (with --prep-delay, by some 25 %), and N of a program
that its accelerator limits, of which every second one's is slower (600 and 500 samples/s),
2 hours together, and then draws trials from them: consecutive, in order, each as long as the gate goes on, and the next
begins where it ended. Recording takes hours; it goes on where it was interrupted, and what
there is can be judged meanwhile (--judge). --keep copies what a judge reads of it: so
tests/data/gate was made.

Within a side a regression is a false alarm: none or one in 200 trials, of which 9 in 10
pass; and one in 1,000 where what is launched is held against 12 launches of another part of
the recording, as against a baseline of one session. The slowdown is measured over the whole
recording, and found in 95 of 100 trials; so it is where the limit is set such that it is the
limit plus the smallest change that the gate says it can see, or less; and where it is half
of that, or more, it must not be found. In 95 of 100 trials the launches take 180 s at most.
"""
import argparse
import json
import math
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
DELAY = .9  # of a sample's mean time; small pictures become slower, large ones don't
ACCELERATOR = "4000"  # samples/s: more than two cores prepare
SECONDS = ".8"  # of windows; with its start a launch takes some 2.5 s
METRIC = "samples_per_s"
ROUNDING = 1e-5  # of limits
STEP = "600", "500"  # the same of a program that does not wait for its data
SAME, SLOWED, SLOWER_STEP = "same.jsonl", "slowed.jsonl", "step.jsonl"
KEPT = METRIC, "fetch_stall", "prep_stall", "cpu_s_per_sample", "wall_s"
MOST_S = 180  # of the launches of a trial
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


def record(path, count, pictures, *options, accelerator=ACCELERATOR):
    """In pieces, to tell how far it is."""
    environment = dict(os.environ, DSA_LOADER="workers=%d" % WORKERS)
    done = began = len(lines(path))
    spent = 0
    while done < count:
        result = subprocess.run(
            [REPEAT, "-o", path, *options, str(min(count, done + 16)), SECONDS, pictures,
             "--emulate-gpu", accelerator],
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


def recordings(folder):
    return [os.path.join(folder, name) for name in sorted(os.listdir(folder))
            if name.endswith(".jsonl")]


def sides(path):
    return sorted({line["side"] for line in lines(path)})


def slowdown(path):
    """Of side 1, as a share of the rate."""
    rates = [[line[METRIC] for line in lines(path) if line["side"] == side]
             for side in (0, 1)]
    return 1 - statistics.median(rates[1]) / statistics.median(rates[0])


def told(slower, seen):
    return "%.1f%% slower, limit %.1f + detectable %.1f" % (
        100 * slower, 100 * seen["limit"], 100 * seen["detectable"])


def add(parts):
    return {key: sum((part[key] for part in parts), type(parts[0][key])())
            for key in parts[0] if isinstance(parts[0][key], (int, list))}


def wrong(found):
    """False regressions, or false improvements where these are more."""
    return max(found["regression"], found["improvement"])


def median_s(found):
    return statistics.median(found["seconds"])


def p95_s(found):
    return sorted(found["seconds"])[math.ceil(.95 * found["trials"]) - 1]


def goals(folder):
    """Those of judged(), where their trials are short enough, too."""
    for what, found, goal, met in judged(folder):
        yield what, found, goal, met and p95_s(found) <= MOST_S


def judged(folder):
    """Of each goal what it is, trials by outcome, the goal, and whether it is met."""
    same, slowed, step = (os.path.join(folder, name) for name in (SAME, SLOWED, SLOWER_STEP))
    quiet = add([judge("-s", str(side), path)[0] for path in recordings(folder)
                 for side in sides(path)])
    yield ("nothing changed", quiet, "<= 1 in 200",
           wrong(quiet) <= max(1, quiet["trials"] // 200) and
           quiet["pass"] >= .9 * quiet["trials"])
    apart = add([judge("-a", "-s", str(side), path)[0] for path in recordings(folder)
                 for side in sides(path)])
    yield ("nothing changed, an earlier session", apart, "<= 1 in 1,000",
           wrong(apart) <= max(1, apart["trials"] // 1000))
    for what, path in ("step", step), ("prep", slowed):
        if not lines(path):
            continue
        slower = slowdown(path)
        found = judge(path)[0]
        yield ("%s %.1f%% slower, usual limits" % (what, 100 * slower), found,
               ">= 95 in 100", found["regression"] >= .95 * found["trials"])
    sees = judge("-m", METRIC, same)[0]["detectable"]
    limits = ",".join("%.6f" % limit for limit in (slower - sees, 2 * slower - sees))
    at, half = judge("-m", METRIC, "-l", limits, slowed)
    seen, seen_half = judge("-m", METRIC, "-l", limits, same)
    yield (told(slower, seen), at, ">= 95 in 100",
           seen["limit"] + seen["detectable"] >= slower - ROUNDING and
           at["regression"] >= .95 * at["trials"])
    yield (told(slower, seen_half), half, "none",
           seen_half["limit"] + seen_half["detectable"] <= 2 * slower + ROUNDING and
           half["regression"] == 0)


def tell(folder):
    """Whether all goals are met."""
    good, assumed = True, 0
    print("%-42s %11s  %-13s %4s %12s %8s %5s" % (
        "", "regressions", "goal", "pass", "inconclusive", "median s", "p95 s"))
    for what, found, goal, met in goals(folder):
        print("%-42s %4d of %3d  %-13s %4d %12d %8.0f %5.0f" % (
            what, found["regression"], found["trials"], goal, found["pass"],
            found["inconclusive"], median_s(found), p95_s(found)))
        good, assumed = good and met, assumed + found["assumed"]
    if assumed > 0:
        print("of %d launches no seconds were recorded: 2.5 each" % assumed)
    return good


def keep(path, folder):
    """A copy with what a judge reads."""
    with open(os.path.join(folder, os.path.basename(path)), "w", encoding="ascii") as file:
        for line in lines(path):
            kept = {key: float("%.5g" % line[key]) for key in KEPT if key in line}
            file.write(json.dumps({**kept, "side": line["side"]}, sort_keys=True,
                                  separators=(",", ":")) + "\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?",
                        default=os.path.join(ROOT, "build/bench/gate"))
    parser.add_argument("--same", type=int, default=480)
    parser.add_argument("--slowed", type=int, default=1120)
    parser.add_argument("--step", type=int, default=1120)
    parser.add_argument("--judge", action="store_true")
    parser.add_argument("--keep", metavar="TO")
    options = parser.parse_args()
    same, slowed, step = (os.path.join(options.folder, name)
                          for name in (SAME, SLOWED, SLOWER_STEP))
    if not options.judge and not options.keep:
        pictures = dataset(options.folder)
        record(same, min(32, options.same), pictures)
        rate = statistics.median(line[METRIC] for line in lines(same)[:32])
        delay = os.path.join(options.folder, "delay")
        if not os.path.exists(delay):
            with open(delay, "w", encoding="ascii") as file:
                file.write("%.0f" % (1e9 * WORKERS * DELAY / rate))
        with open(delay, encoding="ascii") as file:
            slow = "prep_delay=%sns" % file.read()
        # in turns, so that all see the same hours
        for part in range(1, 11):
            record(slowed, options.slowed * part // 160 * 16, pictures, "-b", slow)
            record(step, options.step * part // 160 * 16, pictures, "-t",
                   "--emulate-gpu=" + STEP[1], accelerator=STEP[0])
            record(same, options.same * part // 160 * 16, pictures)
    if options.keep:
        for path in recordings(options.folder):
            keep(path, options.keep)
    return 0 if tell(options.folder) else 1


if __name__ == "__main__":
    sys.exit(main())
