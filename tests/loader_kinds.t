#!/usr/bin/python3
"""Loaders of PyTorch that differ from the plain one, under dsa run: the same shares, or by
name why not. Speaks TAP. SLEEPS most of the time.

    tests/loader_kinds.t [KIND...]
    SOAK=1 tests/loader_kinds.t        all kinds
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/lib")
from house import AWAKE, DSA, HERE, Scratch, Tap, middle_stalls, unsure
from punctual import torch_truth
from torch_own import torch_own, torch_own_mean

PYTHON = os.environ.get("KINDS_PYTHON", "/usr/bin/python3")
PROGRAM = os.path.join(HERE, "lib/loader_kinds_program.py")
FILES = 480
RATE, PREP, LATENCY = 75, 32, 16  # samples/s, ms, ms
FETCH_OFF, OFF = .02, .03

# Kind: its workers
SHORT = {"iterable": 2, "ahead": 2, "mapped": 2}
LONG = {"fork": 2, "spawn": 2, "forkserver": 2, "persistent": 2, "prefetch": 2,
        "timeout": 2, "any_order": 2, "three": 3, "batch_sampler": 2, "forever": 2, "no_batch": 2,
        "together": 2, "iterable_alone": 0, "connected": 2, "decoded": 2}
# What a run without cached windows says of prep and fetch.
SPLIT = {"iterable": "replay", "iterable_alone": "replay", "mapped": "none",
         "connected": "none", "decoded": "none"}
UNSEEN = ("mapped", "connected", "decoded")  # what the emulated storage does not act on

SOAK = bool(os.environ.get("SOAK"))
# Small batches, as in hook.t; what giving one takes drifts by half a millisecond, of steps that
# are twice as long 1 %.
BATCH, BUDGET = (4, "20s") if SOAK else (2, "10s")
tap, wanted = Tap(), sys.argv[1:]


def own_of(scratch, workers):
    return torch_own(scratch, PYTHON, f"batch={BATCH}", f"workers={workers}", f"rate={RATE}",
                     f"prep={PREP}")


def measured(scratch, kind, workers):
    latency = [] if kind in UNSEEN else ["--storage-latency", f"{LATENCY}ms"]
    done = scratch.run(DSA, "run", "-q", "-o", f"out-{kind}", "--budget", BUDGET, *latency,
                       "--", AWAKE, PYTHON, PROGRAM, kind, "data", f"workers={workers}",
                       f"rate={RATE}", f"prep={PREP}", f"batch={BATCH}")
    if not os.path.exists(scratch.at(f"out-{kind}", "run.json")):
        return done, {"windows": []}
    return done, scratch.result(f"out-{kind}")


def check_shares(kind, result, true):
    shares = middle_stalls(result)
    for stage, value in true.items():
        share = shares.get(stage, float("nan"))
        print(f"#   {stage:8} {100 * share:6.2f}   truth {100 * value:6.2f}")
        off = (FETCH_OFF if stage == "fetch" else OFF) + unsure(result, stage)
        tap.ok(abs(share - value) <= off,
               f"{kind}: {stage} is the true share", f"{share} instead of {value}",
               *(f'{w["kind"]} {w.get("rate_per_s")}/s: {w["why"]}'
                 for w in result["windows"]))


def check(scratch, kind, workers, own):
    """Without `own`, what giving a batch takes is that of before and after."""
    before = own or own_of(scratch, workers)
    done, result = measured(scratch, kind, workers)
    if kind == "any_order" and "in_order" in done.stderr:
        tap.skip(f"{kind}: the true shares", "this torch has no in_order")
        return
    kinds = {w["kind"] for w in result["windows"] if w["used"]}
    if not tap.ok(done.returncode == 0 and kinds >= {"synthetic", "real"},
                  f"{kind}: measured", done.returncode, done.stderr, kinds):
        return
    blind = [w["why"] for w in result["windows"] if "in 0 batches" in w["why"]]
    tap.ok(not blind, f"{kind}: batches were seen in each window", *blind)
    split = result.get("split", {}).get("by")
    if kind == "mapped" and split == "storage":
        tap.ok(result["stalls"]["fetch"]["share"] == 0, f"{kind}: nothing is fetched",
               result["stalls"])
        split = "none"
    held_up = not SOAK and SPLIT.get(kind) == "replay" and split == "none" and \
        "replay" in result["split"]["why"]  # by others: the replay does not fit
    tap.ok((split == SPLIT.get(kind) or held_up) and ("cached" in kinds) == (kind not in SPLIT),
           f"{kind}: says what tells prep and fetch apart", split, kinds)
    loaded = workers == 0 or SOAK or "loaded" in kinds  # some are void among others
    tap.ok(("waiting_share" in result.get("prep_split", {})) ==
           (loaded and result.get("split", {}).get("by") != "none"),
           f"{kind}: waiting and contention are told apart", result.get("prep_split"), kinds)
    if kind not in UNSEEN:
        own = torch_own_mean(before, own or own_of(scratch, workers))
        true = torch_truth(workers, own, BATCH / RATE, BATCH * PREP / 1e3, BATCH * LATENCY / 1e3)
        check_shares(kind, result, {"compute": true["compute"]} if held_up else true)
    elif result["split"]["by"] == "none":
        tap.ok("prep" not in result["stalls"], f"{kind}: prep and fetch are not told apart",
               result["stalls"])


def make_files(scratch):
    scratch.folder("data")
    for i in range(FILES):
        with open(scratch.at("data", f"{i:04}"), "wb") as file:
            file.write(os.urandom(4096))
    with open(scratch.at("mapped"), "wb") as file:
        file.write(os.urandom(FILES * 4096))


def main():
    if not os.path.exists("/usr/lib/python3/dist-packages/torch"):
        tap.skip("loaders of PyTorch", "no python3-torch")
        tap.done()
    kinds = {**SHORT, **LONG}
    with Scratch() as scratch:
        make_files(scratch)
        own = None if SOAK else own_of(scratch, 2)
        for kind in wanted or (kinds if SOAK else SHORT):
            check(scratch, kind, kinds[kind], own)
    tap.done()


main()
