#!/usr/bin/python3
"""Programs that nobody changed, measured as a person would by hand, and what being measured
costs them. Interleaved; prints what was found beside its goal.

usage: hooks.py [cost | epochs | images | newest]...

cost     a step, a read, `import torch`, the rate of an observed run
epochs   what an epoch's start costs, against persistent_workers by hand
images   ImageFolder and a small network: shares against the same script's own measurement,
         its waits against its own timers; evicted lists under a device that is limited
newest   tests/hook.t, loader_kinds.t, transforms.t and recipe.t with the wheel and the newest
         PyTorch, in a bare Debian: needs root, debootstrap and a network
"""
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, ROOT + "/tests/lib")
from debian import bootstrap, run_inside

BUILD = os.path.abspath(os.environ.get("BUILD", ROOT + "/build/plain"))
DSA = os.path.join(BUILD, "dsa")
PYTHON = [os.environ.get("DSA_TEST_PYTHON", "/usr/bin/python3"), "-W", "ignore"]
STEPS = PYTHON + [ROOT + "/tests/lib/torch_program.py"]
# How often a step had to grow a heap again that had shrunk would be by chance.
IMAGES = ["env", "MALLOC_TRIM_THRESHOLD_=1000000000", "MALLOC_MMAP_MAX_=0", *PYTHON,
          ROOT + "/tests/lib/image_program.py"]
LIMIT = 25e6  # bytes a second
BATCH = 32  # of image_program.py
SHARES = "compute", "prep", "fetch"
GROUP = "/sys/fs/cgroup/{}/dsa-bench"


def call(*command, **environment):
    done = subprocess.run(command, check=False, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env={**os.environ, "PYTHONDONTWRITEBYTECODE": "", **environment})
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: status {done.returncode}\n{done.stderr}")
    return done.stdout


def dsa(out, options, *program):
    call(DSA, "run", "-q", "-o", out, *options.split(), "--", *program)
    with open(os.path.join(out, "run.json"), encoding="utf-8") as file:
        return json.load(file)


def ratios(a, b):
    each = [x / y for x, y in zip(a, b)]
    return f"{statistics.median(each):6.3f} ({min(each):.3f} .. {max(each):.3f})"


# ---- what it costs ----

def cost_step(folder):
    found = {"without": [], "observed": [], "measured": []}
    ways = {"without": [], "observed": [DSA, "run", "-q", "--observe", "-o", folder + "/o", "--"],
            "measured": [DSA, "run", "-q", "--budget", "6s", "-o", folder + "/m", "--"]}
    for _ in range(7):
        for name, prefix in ways.items():
            most = ["most=3000000"] if name == "measured" else []  # until dsa has enough
            found[name].append(float(call(*prefix, *STEPS, "steps", folder + "/data",
                                          *most).strip()))
    for name, times in found.items():
        more = [t - w for t, w in zip(times, found["without"])]
        print(f"  a step of an empty loader, {name:9} {1e6 * statistics.median(times):6.1f} us, "
              f"{1e6 * statistics.median(more):+5.1f} us, {ratios(times, found['without'])} x"
              f"{'   goal: +10 us' if name == 'observed' else ''}")
    return statistics.median(t - w for t, w in zip(found["observed"], found["without"]))


# Prints the seconds that arming took while torch was imported, and the calls that read.
ARMED = """
import sys, time
names, took = type(sys.meta_path[0]).find_spec.__globals__, []
def timed(module, arm=names["_arm"]):
    began = time.perf_counter()
    arm(module)
    took.append(time.perf_counter() - began)
names["_arm"] = timed
import torch, torch.utils.data
print(*took, open("/proc/self/io").read().split()[5])
"""


def cost_import(folder):
    """With what dsa run sets, but no session behind it. Importing torch differs by more than
    what is added from one time to the next, so the parts: in pairs, what Python's start takes
    of a CPU; within one program the rest."""
    hooked = {"DSA_SESSION": folder + "/none", "DSA_IO": folder + "/none",
              "LD_PRELOAD": BUILD + "/libdsa-io.so", "PYTHONPATH": BUILD + "/python"}
    code, more = "import time; print(time.process_time())", []
    for number in range(200):
        times = [float(call(*PYTHON, "-c", code, **variables))
                 for variables in (({}, hooked) if number % 2 else (hooked, {}))]
        more.append((times[1] - times[0]) * (1 if number % 2 else -1))
    arms, reads = zip(*(map(float, call(*PYTHON, "-c", ARMED, **hooked).split())
                        for _ in range(5)))
    print(f"  import torch, hooked: Python's start {1e3 * statistics.median(more):+.1f} ms, arming "
          f"{1e3 * statistics.median(arms):+.2f} ms, and {statistics.median(reads):.0f} calls "
          "that read   goal: +5 ms in all")


def cost_observed(folder, hook_s):
    """By CPU time and in turn within one program: rates of two differ by more, as of one that
    is started twice."""
    program = [*IMAGES, folder + "/pictures", "0", "looks", "200"]
    *ratios, step_s = map(float, call(DSA, "run", "-q", "--observe", "-o", folder + "/r", "--",
                                      *program).split())
    looks, off = statistics.fmean(ratios), 2 * statistics.stdev(ratios) / len(ratios) ** .5
    print(f"  an observed run of pictures: looks at transforms take {looks:+.2%} +-{off:.2%} of "
          f"a step of {1e3 * step_s:.0f} ms, the hook {hook_s / step_s:.3%}   goal: 1 % in all")


def cost(folder):
    hook_s = cost_step(folder)
    cost_import(folder)
    cost_observed(folder, hook_s)
    print(call("/usr/bin/python3", ROOT + "/tests/bench/io_cost.py", BUILD=BUILD), end="")


# ---- epochs ----

def epochs(folder):
    """18 steps an epoch, with workers that are started anew or stay. In turn, as either differs
    by a quarter from one start to the next."""
    by_dsa, by_hand = [], []
    for number in range(6):
        took = [float(call(*STEPS, "epochs", folder + "/data", f"persistent={persistent}"))
                for persistent in (0, 1)]
        by_hand.append(took[0] - took[1])
        result = dsa(f"{folder}/e{number}", "--observe", *STEPS, "epochs", folder + "/data")
        by_dsa.append(result["epoch_starts"]["persistent_saves_s"])
    saves, hand = statistics.fmean(by_dsa), statistics.fmean(by_hand)
    print("  workers that stay save" + ",".join(
        f" {1e3 * statistics.fmean(each):.0f} ms of an epoch by {whom} ({1e3 * min(each):.0f} .. "
        f"{1e3 * max(each):.0f})" for whom, each in (("dsa", by_dsa), ("hand", by_hand))) +
        f", {saves / hand - 1:+.0%}   goal: 20 %")


# ---- images ----

def shares_of(times):
    s, c, r = (statistics.fmean(times[k]) for k in ("synthetic", "cached", "real"))
    return {"compute": s / r, "prep": (c - s) / r, "fetch": (r - c) / r, "step": r}


def limited(folder):
    """(words before a command that put it into groups with a slow device and little memory,
    the file that limits the device); None: not on this machine."""
    device, memory = GROUP.format("blkio"), GROUP.format("memory")
    try:
        for group in (device, memory):
            os.makedirs(group, exist_ok=True)
        slow = device + "/blkio.throttle.read_bps_device"
        number = os.stat(folder).st_dev
        with open(slow, "w", encoding="ascii") as file:
            file.write(f"{os.major(number)}:{os.minor(number)} {LIMIT:.0f}\n")
        with open(memory + "/memory.limit_in_bytes", "w", encoding="ascii") as file:
            file.write(str(600 << 20))
    except OSError as error:
        print(f"  no limited device: {error}")
        return None, None
    enter = f'echo $$ > {device}/cgroup.procs; echo $$ > {memory}/cgroup.procs; exec "$@"'
    return ["sh", "-c", enter, "sh"], slow


def real_windows(result):
    """Of those that are used: seconds, bytes that were read, of these from storage, and of
    them evicted before."""
    for window in result["windows"]:
        said = re.match(r"(\d+) of (\d+) bytes came from storage, (\d+) were", window["why"])
        if window["kind"] == "real" and window["used"] and said:
            part = window["fetched_bytes"] / int(said[2])
            yield window["length_s"], *(part * int(said[i]) for i in (2, 1, 3))


def show_shares(name, found):
    print(f"    {name:10}" + "".join(
        f"{k} {100 * statistics.fmean(f[k] for f in found):5.1f}   "
        for k in SHARES) +
        "steps of" + "".join(f" {1e3 * f['step']:.0f}" for f in found) + " ms")


def images_evicted(folder, workers):
    """Files that do not all fit the memory there is, on a slow device. By hand those are
    evicted that dsa found not to fit. In turn and often, as the machine drifts and prep takes
    up to a tenth more in one start than in the next."""
    prefix, slow = limited(folder)
    if prefix is None:
        return
    program = [*IMAGES, folder + "/many", str(workers)]
    by_dsa, by_hand, rates = [], [], []
    for number in range(6):
        out = f"{folder}/i{workers}{number}"
        call(*prefix, DSA, "run", "-q", "-o", out, "--budget", "20s", "--", *program)
        with open(out + "/run.json", encoding="utf-8") as file:
            result = json.load(file)
        seconds, read, stored, evicted = map(sum, zip(*real_windows(result)))
        rates.append(stored / seconds / LIMIT - 1)
        by_dsa.append({"step": BATCH / result["rates"]["real_per_s"]["value"],
                       **{k: result["stalls"][k]["share"] for k in SHARES}})
        by_hand.append(shares_of(json.loads(call(*prefix, *program, "hand", "2", slow,
                                                 str(1 - evicted / read)))))
    show_shares("by hand", by_hand)
    show_shares("dsa", by_dsa)
    if all(run["fetch"] > run["prep"] for run in by_dsa):  # else it is not what limits
        print("    real windows read the device at its limit" +
              "".join(f" {rate:+.1%}" for rate in rates) + "   goal: 3 %")


def images_own_timers(folder, workers):
    """In turn, as who gets which core changes from one start to the next."""
    program = [*IMAGES, folder + "/many", str(workers)]
    by_dsa, own = [], []
    call(*program, "epochs", "1")  # brings the files into memory
    for number in range(4):
        own.append(float(call(*program, "epochs", "1")))
        result = dsa(f"{folder}/w{workers}{number}", "--budget 20s", *program)
        by_dsa.append(result["stalls"]["fetch"]["share"] +
                      result.get("prep_split", {}).get("waiting_share", float("nan")))
    print("    waits" + ",".join(
        f" {100 * statistics.fmean(each):.1f} % by {whom} ({100 * min(each):.1f} .. "
        f"{100 * max(each):.1f})" for whom, each in (("dsa", by_dsa), ("its own timers", own)))
        + "   goal: 3 points")


def evict(folder):
    """Whoever made the files had memory for all of them."""
    os.sync()
    for place, _, names in os.walk(folder):
        for name in names:
            file = os.open(os.path.join(place, name), os.O_RDONLY)
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(file)


def images(folder):
    evict(folder + "/many")
    for workers in (0, 2):
        print(f"  {workers} workers, goal: 3 points")
        try:
            images_evicted(folder, workers)
        finally:
            for group in map(GROUP.format, ("blkio", "memory")):
                if os.path.isdir(group):
                    os.rmdir(group)
        images_own_timers(folder, workers)


# ---- the newest PyTorch ----

def newest(folder):
    root = os.environ.get("DSA_BENCH_DEBIAN", folder + "/debian")
    if not os.path.exists(root + "/usr/bin/python3"):
        why = bootstrap(root, "sid", "python3-torch", "python3-torchvision", "python3-pip",
                        "util-linux")
        if why is not None:
            print("  " + why)
            return
    place = root + "/opt/dsa"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(ROOT + "/tests", place + "/tests")
    call("make", "-C", ROOT, "wheel", "DIST=" + place)
    os.makedirs(place + "/tool/tests/tool")
    shutil.copy(BUILD + "/tests/tool/io_page", place + "/tool/tests/tool")
    with open(place + "/run", "w", encoding="ascii") as file:
        file.write("""cd /opt/dsa
python3 -m pip install -q --no-index --break-system-packages --target . *.whl
chmod +x dsa_prefix/bin/dsa
mkdir build loader
ln -s ../dsa_prefix/bin/dsa ../dsa_prefix/lib/dsa/python ../dsa_prefix/lib/libdsa.so.1 \
    ../dsa_prefix/lib/bundled ../dsa_prefix/lib/dsa/libdsa-io.so ../tool/tests build
ln -s .. loader/python
python3 -c 'import torch; print("torch", torch.__version__)'
export SOAK=1 BUILD=/opt/dsa/build
tests/hook.t
tests/loader_kinds.t
tests/transforms.t
SOAK= tests/recipe.t
""")
    print(run_inside(root, "root", "/opt/dsa/run"))


def main(wanted):
    parts = {"cost": cost, "epochs": epochs, "images": images, "newest": newest}
    with tempfile.TemporaryDirectory(prefix="dsa-bench-", dir="/var/tmp") as folder:
        for name, count in ("pictures", 2000), ("many", 8000):
            call(DSA, "dataset", "make", "--count", str(count), "--seed", "1",
                 f"{folder}/{name}")
        os.mkdir(folder + "/data")
        for number in range(480):
            with open(f"{folder}/data/{number:04}", "wb") as file:
                file.write(os.urandom(4096))
        for name in wanted or parts:
            print(name, flush=True)
            parts[name](folder)


if __name__ == "__main__":
    main(sys.argv[1:])
