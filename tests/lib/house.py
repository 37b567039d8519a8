"""What the Python tests share: TAP, dsa and its example, what a run leaves behind."""

import concurrent.futures
import ctypes
import json
import math
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.abspath(os.environ.get("BUILD", os.path.join(HERE, "../build/plain")))
DSA = os.path.join(BUILD, "dsa")
TRAIN = os.path.join(BUILD, "examples/train")
AWAKE = os.path.join(HERE, "lib/awake")
ROOM = os.path.join(HERE, "lib/room")
BUDGET = "4s"  # two to four blocks of windows; half of it is enough on a busy machine
WIDEST = .3  # of an interval, the part beside its value, that still says something
PR_SET_CHILD_SUBREAPER = 36


class Tap:
    """Numbers the tests, in the order in which they are told, from any thread; and remembers
    failures."""

    def __init__(self):
        self.count = self.failed = 0
        self.telling = threading.Lock()

    def ok(self, good, name, *details):
        with self.telling:
            self.count += 1
            self.failed += not good
            print(f"{'ok' if good else 'not ok'} {self.count} - {name}", flush=True)
            for line in [] if good else "\n".join(map(str, details)).splitlines():
                print("#", line)
        return good

    def skip(self, name, why):
        with self.telling:
            self.count += 1
            print(f"ok {self.count} - {name} # SKIP {why}", flush=True)

    def done(self):
        print(f"1..{self.count}")
        sys.exit(1 if self.failed else 0)


class SideBySide(concurrent.futures.ThreadPoolExecutor):
    """Calls that mostly sleep: each begins when there is room for it."""

    def submit(self, function, /, *args, **kwargs):
        def begin():
            subprocess.run([ROOM], env=dict(os.environ, BUILD=BUILD), check=True)
            return function(*args, **kwargs)
        return super().submit(begin)


class Scratch:
    """A folder of one's own, readable by all, with HOME and TMPDIR in it."""

    def __init__(self):
        self.path = tempfile.mkdtemp(prefix="dsa-test-")
        os.chmod(self.path, 0o755)
        self.environment = dict(os.environ, BUILD=BUILD)
        for name, folder in (("XDG_CACHE_HOME", "cache"), ("TMPDIR", "tmp")):
            self.environment[name] = self.folder(folder)
        for name in ("DSA_LOADER", "DSA_SESSION", "DSA_SHARE", "DSA_IO"):
            self.environment.pop(name, None)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)

    def at(self, *names):
        return os.path.join(self.path, *names)

    def folder(self, *names):
        """Makes a folder that everyone may write into."""
        path = self.at(*names)
        os.makedirs(path, exist_ok=True)
        os.chmod(path, 0o777)
        return path

    def result(self, out="out"):
        """What dsa run left in that folder."""
        with open(self.at(out, "run.json"), encoding="utf-8") as file:
            return json.load(file)

    def images(self, name="images", count=200, size="6K"):
        """A data set of small pictures."""
        path = self.at(name)
        subprocess.run([DSA, "dataset", "make", "--count", str(count), "--size-mean",
                        size, path], check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        return path

    def run(self, *command, timeout=120, variables=(), **more):
        return subprocess.run([str(word) for word in command], text=True,
                              errors="surrogateescape", stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=dict(self.environment, **dict(variables)),
                              cwd=self.path, timeout=timeout,
                              check=False, **more)


def in_memory(path):
    """What lies there is on no storage."""
    return subprocess.run(["stat", "-f", "-c", "%T", path], text=True, check=True,
                          stdout=subprocess.PIPE).stdout.strip() in ("tmpfs", "ramfs")


def adopt_orphans():
    """Processes whose parents die become ours, so that none can hide."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def children():
    """Living children of this process, adopted ones too."""
    found = []
    for task in os.listdir("/proc/self/task"):
        with open(f"/proc/self/task/{task}/children", encoding="ascii") as file:
            found += [int(pid) for pid in file.read().split()]
    return [pid for pid in found if state(pid) not in (None, "Z", "X")]


def state(pid):
    """One letter, as ps shows it; None when there is no such process."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return None


def wait_until(condition, seconds=60):
    """True as soon as the condition holds; False when it did not for so long."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def end_all(pids):
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def middle_rates(result):
    """Samples a second of the median window of each kind."""
    rates = {}
    for window in result["windows"]:
        if window["used"]:
            rates.setdefault(window["kind"], []).append(window["rate_per_s"])
    return {kind: statistics.median(of) for kind, of in rates.items()}


def is_pace(rate, most):
    """Of what sleeps between samples and can take so many a second: never more, and fewer
    where others on the machine wake it late."""
    return .6 * most <= rate <= 1.05 * most


def middle_stalls(result):
    """Shares of a run by the median window of each kind, so that one which the machine held
    up does not count. Without cached windows prep and fetch are as the result has them."""
    shares = {stage: share.get("share") for stage, share in result["stalls"].items()}
    times = {kind: 1 / rate for kind, rate in middle_rates(result).items()}
    if {"synthetic", "real"} <= set(times):
        shares["compute"] = times["synthetic"] / times["real"]
    if {"synthetic", "cached", "real"} <= set(times):
        shares["prep"] = (times["cached"] - times["synthetic"]) / times["real"]
        shares["fetch"] = 1 - times["cached"] / times["real"]
    return shares


def half_of(share):
    """The larger part of its interval, which may be cut at one end to what is possible; the
    truth is not: where nothing waits, real windows may well have been the faster ones."""
    return max(share["high"] - share["share"], share["share"] - share["low"])


def unsure(result, stage):
    """How far beside the truth a share may be that others on the machine disturbed, as the
    result itself tells. An interval that is wider than WIDEST says nothing. 0 in the long form
    of a test."""
    share = result["stalls"][stage]
    if os.environ.get("SOAK") or "low" not in share:
        return 0
    half = half_of(share)
    if half <= WIDEST:
        return half
    print(f"#   {stage} ±{100 * half:.0f} points: it says nothing")
    return math.inf
