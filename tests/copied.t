#!/usr/bin/python3
"""The copy to a device is a share of its own: programs on the fake driver, whose kernels and
copies take a known time, under throttles that count. Each of the four shares is what
arithmetic says, and the device is idle for data as long as prep and fetch say. Speaks TAP.
SLEEPS most of the time.

    tests/copied.t [NAME...]     some workloads
    SOAK=1 tests/copied.t        all of them, each as precise as the issue asks

A batch of 8 samples is 8 x (32 x 32 x 3 + 8) bytes. What runs beside each other takes as
long as the slowest of it; so the windows of a kind take the largest of what is at work in
them.
"""
import importlib.machinery
import importlib.util
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from house import BUILD, DSA, HERE, Scratch, Tap, half_of, unsure

SOAK = bool(os.environ.get("SOAK"))
FAKE = os.path.join(BUILD, "fake")
BATCH, BYTES = 8, 32 * 32 * 3 + 8  # which are sent as they are: nothing is converted
AHEAD = 64  # batches, more than the loader lets a program be
OFF = .02 if SOAK else .08  # as tests/truth.t
BUDGET = "90s" if SOAK else "9s"

# name, ms of a batch: kernel and copy; options of dsa run; runs far ahead; short form too
WORKLOADS = [
    ("stall-free", 20, 6, "--prep-delay 2ms", False, False),
    ("storage", 6, 3, "--prep-delay 3ms --storage-bandwidth 5M", False, False),
    ("copy", 8, 20, "--prep-delay 2ms", False, True),
    ("copy and prep", 8, 16, "--prep-delay 6ms", False, False),
    ("far ahead", 24, 6, "--prep-delay 2ms", True, False),
    ("far ahead, all", 8, 14, "--prep-delay 5ms --storage-bandwidth 5M", True, True),
]


def truth_of():
    """tests/truth.t: what throttles counted."""
    loader = importlib.machinery.SourceFileLoader("truth", os.path.join(HERE, "truth.t"))
    spec = importlib.util.spec_from_loader("truth", loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


TRUTH = truth_of()


def run(scratch, workload, dataset, copies=("-d",), more=""):
    """The result of a workload, whose program copies batches by itself where `copies` is
    empty; `more` settings of the fake driver."""
    _, work, copy, options, ahead, _ = workload
    rate = BATCH * BYTES / (copy * 1e-3)
    done = scratch.run(
        DSA, "run", "-q", "-o", scratch.at("out"), "--budget", BUDGET, "--batch", BATCH,
        "--workers", 2, "--cache-policy", "none", *options.split(), "--",
        os.path.join(BUILD, "tests/tool/gpu_step"), *copies, "-s", 32, "-w", work,
        "-a", AHEAD if ahead else 1, dataset,
        timeout=600, variables=[("FAKE_CUDA", f"rate={rate:.0f}{more}"),
                                ("LD_LIBRARY_PATH", FAKE),
                                ("DSA_CUPTI", os.path.join(FAKE, "cupti/13/libcupti.so.13")),
                                ("DSA_LOADER", "type=uint8,layout=nhwc")])
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return scratch.result()


def truth(workload, result):
    """The four shares, by the times of a sample in the windows of each kind."""
    _, work, copy, _, _, _ = workload
    dataset, workers = result["dataset"], result["configuration"]["workers"]
    config = {**result["configuration"], **result["emulated"],
              "mean_bytes": dataset["bytes"] / dataset["samples"]}
    compute, copied = work * 1e-3 / BATCH, copy * 1e-3 / BATCH
    ready = max(compute, copied)
    cached = [max(ready, TRUTH.prep_time([w], workers)) for w in TRUTH.pick(result, "cached")]
    real = [max(ready, TRUTH.prep_time([w], workers), TRUTH.fetch_time([w], config))
            for w in TRUTH.pick(result, "real")]
    cached, real = sum(cached) / len(cached), sum(real) / len(real)
    return {"compute": compute / real, "copy": (ready - compute) / real,
            "prep": (cached - ready) / real, "fetch": (real - cached) / real}


def off(workload, result):
    """What is wrong with a result."""
    wrong = []
    for name, value in truth(workload, result).items():
        share = result["stalls"][name]
        half = half_of(share)
        line = f"{name} {100 * share['share']:.2f} ±{100 * half:.2f}, truth {100 * value:.2f}"
        print(f"#   {line}", flush=True)
        if abs(share["share"] - value) > OFF + unsure(result, name):
            wrong.append(line)
    total = sum(share["share"] for share in result["stalls"].values())
    if abs(total - 1) > 1e-6:
        wrong.append(f"they sum to {total}")
    proof, stalls = result["second_proof"], result["stalls"]
    gap = sum(proof[name]["share"] - stalls[name]["share"] for name in ("prep", "fetch"))
    gap -= result.get("prep_split", {}).get("contention_share", 0)
    # no device is idle for what loaded windows say
    print(f"#   {proof['basis']}: prep and fetch {100 * gap:+.2f} points", flush=True)
    if ("device idle" not in proof["basis"] or
            abs(gap) > OFF + max(unsure(result, name) for name in stalls)):
        wrong.append(f"the device is idle for data {100 * gap:+.2f} points more")
    if not all(w["certified"] for w in result["windows"] if w["used"]):
        wrong.append("a window is used and not certified")
    return wrong


def judge(tap, scratch, workload, dataset):
    print(f"# {workload[0]}: {workload[3]}", flush=True)
    try:
        result = run(scratch, workload, dataset)
        wrong = off(workload, result)
    except (LookupError, ArithmeticError, OSError, RuntimeError, ValueError,
            subprocess.SubprocessError) as error:
        tap.ok(False, workload[0], repr(error))
        return
    tap.ok(not wrong, workload[0], *wrong)
    if workload[0] != "copy":
        return
    took = result["device"]["copy_s_per_sample"]["value"] * BATCH * 1e3
    tap.ok(abs(took / workload[2] - 1) < .02, "the device says how long a copy takes", took)
    model = result.get("model", {})
    tap.ok(not SOAK or abs(model.get("real_error", 1)) <= .02, "the model tells the real windows",
           model)


def own_copies(tap, scratch, dataset):
    """A program far ahead that copies by itself waits for nothing but its device; windows
    whose ends do not wait for that say something else."""
    for more, good in (("", True), (",synchronize=0", False)):
        found = run(scratch, WORKLOADS[4], dataset, (), more)["stalls"]["compute"]["share"]
        print(f"#   compute {100 * found:.2f}{more}", flush=True)
        tap.ok((abs(found - 1) <= OFF) == good,
               "far ahead with copies of its own" + ("" if good else ", and no idle ends"), found)


def main():
    names = sys.argv[1:]
    tap = Tap()
    with Scratch() as scratch:
        dataset = scratch.images("pictures", 2000)
        for workload in WORKLOADS:
            if workload[0] in names or not names and (SOAK or workload[5]):
                judge(tap, scratch, workload, dataset)
        if SOAK and not names:
            own_copies(tap, scratch, dataset)
    tap.done()


main()
