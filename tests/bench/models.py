#!/usr/bin/python3
"""Predictions against measurements: one profile each, then a grid of changes, really run.

usage: models.py [--quick] [--jobs] [-o FILE] [FOLDER]

Two workloads: an emulated accelerator, and a network that is trained on the CPU, where
compute and prep share the cores. Each is profiled once, in one configuration; every
other configuration of its grid is predicted from that profile alone, then run and
measured. With --jobs the grid is of one to six jobs at once, of equal and unequal speeds,
each with its own loader and all with one. Profiles and measurements are kept in FOLDER (build/bench/models): a run that
was interrupted goes on where it was. The table is written as JSON to FILE
(FOLDER/models.json).
"""
import argparse
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "../..")
BUILD = os.path.abspath(os.environ.get("BUILD") or os.path.join(ROOT, "build/plain"))
DSA = os.path.join(BUILD, "dsa")
TRAIN = os.path.join(BUILD, "examples/train")

# name, options of the profile, of the program, the grid, goals: mean and 95th percentile
# of the absolute error, share of the intervals that cover
WORKLOADS = [
    {"name": "emulated accelerator",
     "profile": ["--cache", "45%", "--storage-bandwidth", "90M", "--budget", "120s"],
     "program": ["--emulate-gpu", "1200"],
     "grid": {"gpu-speed": "0.5x,1x,2x", "cores": "1,2", "cache": "0%,30%,60%,90%",
              "cache-policy": "minio,lru", "storage-bandwidth": "60M,150M"},
     "quick": {"gpu-speed": "1x,2x", "cores": "1,2", "cache": "0%,60%",
               "storage-bandwidth": "60M"},
     "goals": (.03, .08, .90)},
    {"name": "trained on the CPU",
     "profile": ["--cache", "50%", "--storage-bandwidth", "60M", "--budget", "120s"],
     "program": [],
     "grid": {"cores": "1,2", "cache": "0%,40%,80%", "storage-bandwidth": "30M,90M"},
     "quick": {"cores": "1,2", "cache": "0%"},
     "goals": (.05, None, None)},
]

JOBS = {"jobs": "1,2,3,4,5,6,1x+0.5x,1x+1x+0.25x,0.5x+0.5x+0.25x+0.25x", "share": "no,yes"}
SOME = {"jobs": "2,4,1x+0.5x", "share": "no,yes"}
SHARED = [
    {"name": "jobs limited by prep",
     "profile": ["--budget", "60s"], "program": ["--emulate-gpu", "5000"],
     "grid": JOBS, "quick": SOME, "goals": (.05, None, None)},
    {"name": "jobs limited by prep from two on",
     "profile": ["--budget", "60s"], "program": ["--emulate-gpu", "900"],
     "grid": JOBS, "quick": SOME, "goals": (.05, None, None)},
    {"name": "jobs limited by storage",
     "profile": ["--budget", "60s", "--cache", "30%", "--storage-bandwidth", "40M"],
     "program": ["--emulate-gpu", "1200"],
     "grid": JOBS, "quick": SOME, "goals": (.05, None, None)},
]


def call(command):
    print("+", " ".join(command), file=sys.stderr, flush=True)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def dataset(folder):
    path = os.path.join(folder, "pictures")
    made = path + ".made"
    if not os.path.exists(made):
        os.makedirs(folder, exist_ok=True)
        subprocess.run(["rm", "-rf", path], check=True)
        call([DSA, "dataset", "make", "--count", "1500", "--seed", "1", path])
        with open(made, "w", encoding="utf-8"):
            pass
    return path


def load(run):
    with open(os.path.join(run, "run.json"), encoding="utf-8") as file:
        return json.load(file)


def measure(workload, folder, pictures, quick):
    """The profile, if there is none yet, and what is missing of the grid."""
    run = os.path.join(folder, workload["name"].replace(" ", "-"))
    if not os.path.exists(os.path.join(run, "run.json")):
        call([DSA, "run", "-o", run, "--dataset", pictures, *workload["profile"], "--",
              TRAIN, "--dataset", pictures, *workload["program"]])
    grid = workload["quick" if quick else "grid"]
    changes = [f"--{name}={values}" for name, values in grid.items()]
    call([DSA, "whatif", run, *changes, "--verify", "--resume", "--budget", "20s"])
    return load(run)


def words(change):
    return " ".join(f"{name}={value:g}" if isinstance(value, (int, float)) else
                    f"{name}={value}" for name, value in sorted(change.items()))


def percentile(values, share):
    """By nearest rank."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * share // 100) - 1)] if ordered else None


def summary(workload, result):
    known = [v for v in result.get("verifications", []) if "error" in v]
    errors = [abs(v["error"]) for v in known]
    count = len(known)
    return {
        "name": workload["name"],
        "configurations": count,
        "not_predicted": len(result.get("verifications", [])) - count,
        "profile_error": result["model"].get("real_error"),
        "mean_absolute_error": sum(errors) / count if count else None,
        "p95_absolute_error": percentile(errors, 95),
        "covered_share": sum(v["covered"] for v in known) / count if count else None,
        "advice": result.get("score", {}),
        "verifications": result.get("verifications", []),
    }


def show(line):
    print(f"\n{line['name']}: {line['configurations']} configurations, "
          f"{line['not_predicted']} not predicted")
    for v in line["verifications"]:
        predicted = v.get("predicted_per_s", {})
        print(f"  {words(v['change']):72} {predicted.get('value', float('nan')):7.0f} "
              f"{v['measured_per_s']['value']:7.0f} samples/s "
              f"{100 * v.get('error', float('nan')):+6.1f}% "
              f"{'covered' if v.get('covered') else ''}")
    if line["configurations"]:
        print(f"  mean absolute error {100 * line['mean_absolute_error']:.2f} %, "
              f"95th percentile {100 * line['p95_absolute_error']:.2f} %, "
              f"{100 * line['covered_share']:.0f} % covered")


def reached(line, goals):
    """A goal that is None is not asked for."""
    got = (line["mean_absolute_error"], line["p95_absolute_error"], line["covered_share"])
    if not line["configurations"] or line["not_predicted"]:
        return False
    return (got[0] <= goals[0] and (goals[1] is None or got[1] <= goals[1]) and
            (goals[2] is None or got[2] >= goals[2]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--quick", action="store_true", help="a few of each grid")
    parser.add_argument("-o", dest="output")
    parser.add_argument("folder", nargs="?",
                        default=os.path.join(ROOT, "build/bench/models"))
    parser.add_argument("--jobs", action="store_true", help="several jobs at once")
    options = parser.parse_args()
    pictures = dataset(options.folder)
    table, missed = [], []
    for workload in SHARED if options.jobs else WORKLOADS:
        line = summary(workload, measure(workload, options.folder, pictures,
                                         options.quick))
        show(line)
        table.append(line)
        if not reached(line, workload["goals"]):
            missed.append(workload["name"])
    output = options.output or os.path.join(
        options.folder, "jobs.json" if options.jobs else "models.json")
    with open(output + ".new", "w", encoding="utf-8") as file:
        json.dump(table, file, indent=1, sort_keys=True)
    os.replace(output + ".new", output)
    print(f"\nwritten to {os.path.relpath(output)}")
    if missed:
        sys.exit("short of the goals: " + ", ".join(missed))


if __name__ == "__main__":
    main()
