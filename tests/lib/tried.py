"""Changes that dsa whatif and dsa run --sweep try with real runs, for the tests of both."""

import os
import shutil
import signal
import sys

from house import BUDGET, DSA, TRAIN, Scratch, adopt_orphans, children, end_all

SOAK = bool(os.environ.get("SOAK"))
RATE_BUDGET = "6s" if SOAK else "2.5s"  # of each change that is tried


def run(tap, scratch, *options):
    """A run of throttled storage and a small cache."""
    done = scratch.run(DSA, "run", "-o", "out", "--budget", BUDGET, "--workers", "2",
                       "--cache", "30%", "--storage-bandwidth", "1200K", *options, "--", TRAIN,
                       "--dataset", scratch.at("images"), "--size", "32", "--batch", "8",
                       "--emulate-gpu", "800")
    tap.ok(done.returncode == 0, f"dsa run {' '.join(options)}", done.stderr)
    return done


def verified(scratch, out="out"):
    return scratch.result(out)["verifications"]


def whatif(scratch, *words):
    return scratch.run(DSA, "whatif", *words, "--budget", RATE_BUDGET)


def verify(scratch, *words):
    return whatif(scratch, *words, "--resume")


def clean(scratch, out="out"):
    return not children() and sorted(os.listdir(scratch.at(out))) == ["report.html", "run.json"]


def sound(one):
    """Rate, error and coverage of a verification fit each other."""
    rate = one["measured_per_s"]
    good = rate["value"] > 0 and one["when"].endswith("Z") and one["why"]
    if "predicted_per_s" in one and "value" in one["predicted_per_s"]:
        told = one["predicted_per_s"]
        good = good and abs(told["value"] / rate["value"] - 1 - one["error"]) < 1e-6 and \
            one["covered"] == int(told["low"] <= rate["value"] <= told["high"])
    return good


def run_all(tap, tests):
    """Each of the tests, or those of the command line, begins with the same result."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # it may be ignored where this runs
    adopt_orphans()
    with Scratch() as scratch:
        scratch.images(count=100)
        run(tap, scratch)
        os.rename(scratch.at("out"), scratch.at("one run"))
        for test in tests:
            if len(sys.argv) > 1 and test.__name__ not in sys.argv[1:]:
                continue
            for folder in ("out", "other"):
                shutil.rmtree(scratch.at(folder), ignore_errors=True)
            shutil.copytree(scratch.at("one run"), scratch.at("out"))
            test(scratch)
            end_all(children())
    tap.done()
