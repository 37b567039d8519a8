#!/usr/bin/python3
"""Truth by construction: measures shares whose true values follow from what the throttles
and the emulated accelerator counted, and compares. Speaks TAP.
SLEEPS most of the time.

    tests/truth.t [NAME...]     some cases
    SOAK=1 tests/truth.t        all of them, each as precise as the issue asks

The short form has some seconds for a case, and throttles and paddings twice as slow, which
sleep; slower ones are no use, since what was read ahead then is much of what a window
delivers. It allows half of the interval that the run reports, and 8 points: with ten busy
processes beside it on two cores, 23 of 24 cases were at most 7.6 points off, and none more
than its interval and a point. The second proof replays few steps: the short form judges
it only where the interval says that the machine was quiet.
"""
import collections
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from house import BUILD, HERE, half_of, unsure

SOAK = bool(os.environ.get("SOAK"))
OFF, APART = (.02, .03) if SOAK else (.08, .15)  # a share, and the second proof of it
QUIET = 1 if SOAK else .05  # half of an interval for which the second proof is judged
KNOWN = .015  # half an interval of the long form
NEAR = .05  # a prediction
# Of a run, or of a result that lacks something; the cases behind it run all the same.
FAILURES = (subprocess.SubprocessError, LookupError, ArithmeticError, OSError, ValueError)
BUDGET = "150s" if SOAK else "9s"
SLOWER = 1 if SOAK else 2

# What dsa dataset make is told, and the loader: about as many bytes a sample of each.
PICTURES = ["--count", "2000", "--size-mean", "20K"]
DATA = {
    "tree": (PICTURES, ""),
    "tar": ([*PICTURES, "--format", "tar"], ""),
    "tfrecord": ([*PICTURES, "--format", "tfrecord"], ""),
    "audio": ([*PICTURES, "--format", "audio"], "prep=audio,seconds=.3,rate=16000"),
    "tokens": (["--count", "40", "--size-mean", "1M", "--format", "tokens"],
               "prep=tokens,length=10000"),
}

# samples/s of the accelerator; options of dsa run; in the short form too; a change that is
# predicted, and then tried, in the long form
Case = collections.namedtuple("Case", "name rate options short kind change",
                              defaults=("tree", None))
CASES = [Case(*of) for of in (
    ("compute", 700, "--cache-policy none", True),
    ("prep", 1500, "--prep-delay 3ms --cache-policy none", True),
    ("prep, four workers", 1500, "--prep-delay 5ms --workers 4 --cache-policy none", False),
    ("prep, just", 900, "--prep-delay 2.5ms --cache-policy none", False),
    ("bandwidth", 1000, "--storage-bandwidth 10M", False),
    ("bandwidth, just", 700, "--storage-bandwidth 12M", False),
    ("latency", 1000, "--storage-latency 20ms --fetch-depth 8 --cache-policy none", False),
    ("latency and bandwidth", 1200,
     "--storage-latency 10ms --storage-bandwidth 15M --fetch-depth 8 --cache-policy none", False),
    ("prep and bandwidth", 1200,
     "--prep-delay 2.2ms --storage-bandwidth 12M --cache-policy none", True),
    ("prep and latency", 1500,
     "--prep-delay 2ms --storage-latency 25ms --fetch-depth 16 --cache-policy none", False),
    ("minio", 1100, "--storage-bandwidth 8M --cache 50%", False),
    ("lru", 1100, "--storage-bandwidth 12M --cache 50% --cache-policy lru", False),
    ("minio and prep", 1200, "--storage-bandwidth 6M --cache 40% --prep-delay 2.2ms", False),
    ("tar", 1000, "--storage-bandwidth 10M", True, "tar"),
    ("tar, minio", 1100, "--storage-bandwidth 8M --cache 50%", False, "tar", "--cache=75%"),
    ("tfrecord", 1200,
     "--storage-latency 10ms --storage-bandwidth 15M --fetch-depth 8 --cache-policy none", False,
     "tfrecord"),
    ("audio", 1200,
     "--prep-delay 2.2ms --storage-bandwidth 12M --cache-policy none", False, "audio"),
    ("tokens", 1500,
     "--prep-delay 2ms --storage-latency 25ms --fetch-depth 16 --cache-policy none", False,
     "tokens", "--cache=25%"),
)]


def slowed(options):
    """Delays and latencies longer, bandwidths lower."""
    options = re.sub(r"([0-9.]+)ms", lambda m: f"{float(m[1]) * SLOWER:g}ms", options)
    return re.sub(r"([0-9.]+)M", lambda m: f"{float(m[1]) / SLOWER:g}M", options)


def data(scratch, kind):
    """The path of a data set, which is made when it is first wanted."""
    path = os.path.join(scratch, kind)
    if not os.path.exists(path):
        subprocess.run([os.path.join(BUILD, "dsa"), "dataset", "make", "--seed", "1",
                        *DATA[kind][0], path],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        subprocess.run(["sync"], check=True)
    return path


def loader_of(case):
    return dict(os.environ, DSA_LOADER=DATA[case.kind][1])


def run(case, scratch, budget):
    """Profiles the example on an emulated accelerator; the result."""
    out = os.path.join(scratch, "out")
    command = [os.path.join(BUILD, "dsa"), "run", "-q", "-o", out, "--budget", budget,
               "--batch", str(16 // SLOWER), *slowed(case.options).split(), "--",
               os.path.join(BUILD, "examples/train"), "--dataset",
               data(scratch, case.kind), "--emulate-gpu", str(case.rate / SLOWER)]
    if not SOAK:
        command += ["--size", "32"]
    if "--workers" not in case.options:
        command[2:2] = ["--workers", "2"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=600,
                   env=loader_of(case))
    with open(os.path.join(out, "run.json"), encoding="utf-8") as file:
        return json.load(file)


def pick(result, kind):
    return [w for w in result["windows"]
            if w["kind"] == kind and w["used"] and "block" in w]


def per_sample(windows, seconds, samples):
    return sum(w[seconds] for w in windows) / max(1, sum(w[samples] for w in windows))


def compute_time(windows):
    return per_sample(windows, "emulated_busy_s", "emulated_samples")


def prep_time(windows, workers):
    return per_sample(windows, "prep_busy_s", "prepared") / workers


def fetch_time(windows, config):
    """Of a delivered sample: the bucket's occupation, or the latency over the depth. Of the
    whole data set's, where that is known, not of those that the windows happened to read."""
    reads = max(1, sum(w["throttle_reads"] for w in windows))
    bucket = sum(w["throttle_busy_s"] for w in windows) / reads
    if config["cache"] == "lru":
        misses = sum(w["misses"] for w in windows) / max(
            1, sum(w["hits"] + w["misses"] for w in windows))
    else:
        misses = 1 - config.get("cache_share", 0)
        bucket *= config["mean_bytes"] * reads / max(
            1, sum(w["fetched_bytes"] for w in windows))
    latency = config.get("storage_latency_s", 0) / config["fetch_depth"]
    return max(bucket, latency) * misses


def truth(result):
    """The shares as the counts of throttles and accelerator have them."""
    dataset = result["dataset"]
    config = {**result["configuration"], **result["emulated"],
              "mean_bytes": dataset["bytes"] / dataset["samples"]}
    workers = config["workers"]
    synthetic = compute_time(pick(result, "synthetic"))
    cached = [max(compute_time([w]), prep_time([w], workers))
              for w in pick(result, "cached")]
    real = [max(compute_time([w]), prep_time([w], workers), fetch_time([w], config))
            for w in pick(result, "real")]
    cached, real = sum(cached) / len(cached), sum(real) / len(real)
    return {"compute": synthetic / real, "prep": (cached - synthetic) / real,
            "fetch": (real - cached) / real}


def judge(case, result):
    """What is wrong with a result, and how many of its intervals cover the truth."""
    wrong, covered, true = [], 0, truth(result)
    for name, value in true.items():
        share = result["stalls"][name]
        half = half_of(share)
        print(f"#   {name:8} {100 * share['share']:6.2f} ±{100 * half:.2f}"
              f"   truth {100 * value:6.2f}")
        if abs(share["share"] - value) > OFF + unsure(result, name):
            wrong.append(f"{name} is {100 * (share['share'] - value):+.2f} points off")
        if SOAK and half > KNOWN:
            wrong.append(f"{name} is known to {100 * half:.2f} points only")
        covered += abs(share["share"] - value) <= half
    proof = result["second_proof"]
    for name in ("prep", "fetch"):
        share = result["stalls"][name]
        gap = proof[name]["share"] - share["share"]
        half = half_of(share)
        print(f"#   {name:8} {100 * proof[name]['share']:6.2f}         second proof")
        if half <= QUIET and abs(gap) > APART:
            wrong.append(f"the second proof of {name} is {100 * gap:+.2f} points away")
    if SOAK and case == "compute":
        for name in ("prep", "fetch"):
            share = result["stalls"][name]
            if not share["low"] <= .002 or not share["high"] >= -.002:
                wrong.append(f"a {name} stall is reported where there is none")
    if not all(w["certified"] for w in result["windows"] if w["used"]):
        wrong.append("a window is used and not certified")
    return wrong, covered


def predicted(case, scratch):
    """What is wrong with a what-if of the last run, which is tried."""
    told = subprocess.run([os.path.join(BUILD, "dsa"), "whatif", os.path.join(scratch, "out"),
                           case.change, "--verify", "--budget", "30s", "--json"], check=True,
                          stdout=subprocess.PIPE, timeout=600, env=loader_of(case))
    one = json.loads(told.stdout)["verifications"][-1]
    print(f"#   {case.change}: {one['predicted_per_s']['value']:.0f} samples/s,"
          f" {one['measured_per_s']['value']:.0f} measured, {100 * one['error']:+.1f} %")
    return ([f"{case.change} is not within {100 * NEAR:.0f} %"] if abs(one["error"]) > NEAR
            else [])


def separate(scratch, budget):
    """Both protocols on the same workload: what is more than 2 points apart."""
    shares = []
    for protocol in ("interleaved", "separate"):
        options = "--prep-delay 2.2ms --storage-bandwidth 12M --protocol " + protocol
        shares.append(run(Case("", 1200, options, False), scratch, budget)["stalls"])
    wrong = []
    for name in ("compute", "prep", "fetch"):
        a, b = (share[name]["share"] for share in shares)
        print(f"#   {name:8} {100 * a:6.2f} interleaved {100 * b:6.2f} separate")
        if abs(a - b) > OFF:
            wrong.append(f"{name} differs by {100 * (b - a):+.2f} points")
    return wrong


def overhead(scratch, budget):
    """What the instrumentation costs on a workload that prep limits."""
    result = run(Case("", 50000, "--cache-policy none", False), scratch, budget)
    found = result["overhead"]
    print(f"#   {100 * found['share']:.3f} % of CPU per sample, "
          f"{100 * found['low']:.3f} .. {100 * found['high']:.3f}")
    return [] if found["high"] < .005 else ["the interval reaches 0.5 % and more"]


def main():
    names = sys.argv[1:]
    cases = [c for c in CASES if c.name in names or not names and (SOAK or c.short)]
    others = [f for f in (separate, overhead) if f.__name__ in names or not names and SOAK]
    print(f"1..{len(cases) + len(others) + SOAK}")
    scratch = tempfile.mkdtemp(dir=os.environ.get("TMPDIR"))
    failed, covered, number = 0, 0, 0

    def say(wrong, name):
        nonlocal failed, number
        number += 1
        failed += bool(wrong)
        print(f"{'not ' if wrong else ''}ok {number} - {name}")
        for line in wrong:
            print(f"# {line}")
        sys.stdout.flush()

    try:
        for case in cases:
            print(f"# {case.name}: {case.options}")
            try:
                wrong, right = judge(case.name, run(case, scratch, BUDGET))
                if SOAK and case.change:
                    wrong += predicted(case, scratch)
            except FAILURES as error:
                wrong, right = [repr(error)], 0
            covered += right
            say(wrong, case.name)
        if SOAK:
            few = covered < len(cases) * 3 * 10 / 12
            say([f"{covered} of {3 * len(cases)}"] if few else [], "intervals cover the truth")
        for other in others:
            print(f"# {other.__name__}")
            try:
                wrong = other(scratch, "120s")
            except FAILURES as error:
                wrong = [repr(error)]
            say(wrong, other.__name__)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
