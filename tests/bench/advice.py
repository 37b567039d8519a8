#!/usr/bin/python3
"""Advice, tried: ten profiles from stall-free to 90 % stalled, each with its remedies run.

usage: advice.py [FOLDER]

Each profile is run once (45 s), and what `dsa whatif` advises and can be tried here is really
run, the unchanged program first. A profile with a stall needs at least one remedy that gains
what was said, within its interval; none may be ranked first whose gain may be a loss. Runs and
trials are kept in FOLDER (build/bench/advice): one that was interrupted goes on where it was.
"""
import json
import os
import subprocess
import sys

from models import DSA, ROOT, TRAIN, call, dataset, load, words

# name, options of dsa run, samples/s of the accelerator
PROFILES = [
    ("no stall", [], 500),
    ("prep, a little", [], 3000),
    ("prep, half", [], 5000),
    ("prep, most", [], 12000),
    ("prep, one core", ["--cores", "1"], 6500),
    ("fetch, a third", ["--storage-bandwidth", "70M"], 900),
    ("fetch, most", ["--storage-bandwidth", "40M"], 2000),
    ("fetch, one core", ["--cores", "1", "--storage-bandwidth", "30M", "--cache", "35%"], 900),
    ("both", ["--storage-bandwidth", "100M", "--cache", "35%"], 4000),
    ("both, one core", ["--cores", "1", "--storage-bandwidth", "60M"], 12000),
]
STALL = .02  # less needs no remedy


def measure(name, options, rate, folder, pictures):
    run = os.path.join(folder, name.replace(",", "").replace(" ", "-"))
    if not os.path.exists(os.path.join(run, "run.json")):
        call([DSA, "run", "-o", run, "--dataset", pictures, "--budget", "45s", *options, "--",
              TRAIN, "--dataset", pictures, "--emulate-gpu", str(rate)])
    call([DSA, "whatif", run, "--verify", "--resume", "--budget", "20s"])
    return load(run)


def show(name, result):
    shares = result["stalls"]
    print(f"\n{name}: prep {100 * shares['prep']['share']:.1f} %, fetch "
          f"{100 * shares['fetch']['share']:.1f} %; limit {result['limit']['what']}, then "
          f"{result['limit'].get('next', '-')}{'; ' + result['model']['why'] if 'why' in result['model'] else ''}")
    for one in result.get("predictions", []):
        gain = one.get("speedup", {})
        bounds = f"{gain.get('low', float('nan')):.2f} .. {gain.get('high', float('nan')):.2f}"
        print(f"  {one.get('rank', '-'):>2} {words(one['change']):42} {bounds:16} "
              f"{'' if 'rank' in one else one.get('why', '')}")
    for one in result.get("verifications", []):
        print(f"     tried {words(one['change']):36} "
              f"{one.get('predicted_per_s', {}).get('value', float('nan')):7.0f} "
              f"{one['measured_per_s']['value']:7.0f} samples/s "
              f"{100 * one.get('error', float('nan')):+6.1f}% "
              f"{'inside' if one.get('covered') else 'outside'}")


def faults(result):
    """What is wrong with the advice of a profile, in words."""
    stalled = sum(result["stalls"][stage]["share"] for stage in ("prep", "fetch")) > STALL
    ranked = [p for p in result.get("predictions", []) if "rank" in p]
    tried = result.get("verifications", [])
    found = []
    if "why" in result["model"]:
        found.append("no model")
    if stalled and not any(v.get("covered") for v in tried):
        found.append("no remedy gained what was said")
    if ranked and min(ranked, key=lambda p: p["rank"])["speedup"]["low"] < 1:
        found.append("the first may be a loss")
    if not stalled and ranked:
        found.append("advice without a stall")
    return found


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.join(ROOT, "build/bench/advice")
    pictures = dataset(folder)
    failed = 0
    for name, options, rate in PROFILES:
        result = measure(name, options, rate, folder, pictures)
        show(name, result)
        found = faults(result)
        failed += bool(found)
        print(f"  {'; '.join(found) or 'as it should be'}")
    sys.exit(f"{failed} of {len(PROFILES)} profiles" if failed else 0)


if __name__ == "__main__":
    try:
        main()
    except (subprocess.CalledProcessError, OSError, json.JSONDecodeError) as error:
        sys.exit(str(error))
