#!/usr/bin/python3
"""The kernel's page cache under a memory limit: predicted hits against measured ones.

usage: page_cache.py [--shares X,...] [--epochs N] [-o FILE] [DATASET]

Our example trainer reads DATASET (build/bench/pages, 3,000 pictures, made here) through
the page cache, every file once an epoch in a fresh order, in a memory group of its own
whose limit leaves room for the wanted share. Misses are the bytes that it caused to be
read from storage; the first epochs, until the lists are steady, do not count. The
prediction knows the share that was really cached, and no measurement.

The kernel brings a group's statistics, by which it balances its lists, up to date every
two seconds: often, in an epoch of minutes, but not in one of half a second as here. So
they are read all the time, which brings them up to date too.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from statistics import mean

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "../..")
BUILD = os.path.abspath(os.environ.get("BUILD") or os.path.join(ROOT, "build/plain"))
PAGE = os.sysconf("SC_PAGE_SIZE")
GROUPS = "/sys/fs/cgroup"
WARM = 10  # epochs
EPOCH_S = 0.5
GOAL = 3  # points


class Refused(Exception):
    """Nothing can be measured here, and why."""


def memory_hierarchy():
    """Top of the groups that limit memory, our own group, the name of the limit."""
    with open("/proc/self/cgroup", encoding="ascii") as file:
        lines = [line.rstrip("\n").split(":", 2) for line in file]
    for _, controllers, path in lines:
        if "memory" in controllers.split(","):
            return f"{GROUPS}/memory", path, "memory.limit_in_bytes"
    return GROUPS, next((path for _, names, path in lines if not names), "/"), "memory.max"


class Group:
    """A memory group, below our own one or, where that can't be, at the top."""

    def __init__(self):
        top, own, self.limit_file = memory_hierarchy()
        why = "no memory controller"
        for parent in (top + own, top):
            self.path = os.path.join(parent, f"dsa-{os.getpid()}")
            try:
                os.mkdir(self.path)
            except OSError as refusal:
                why = refusal.strerror
                continue
            try:
                self.limit(1 << 40)
                return
            except OSError as refusal:
                why = f"{self.limit_file}: {refusal.strerror}"
                os.rmdir(self.path)
        raise Refused(f"no memory group can be had ({why})")

    def limit(self, size):
        with open(os.path.join(self.path, self.limit_file), "r+", encoding="ascii") as file:
            file.write(str(size))

    def join(self):
        with open(os.path.join(self.path, "cgroup.procs"), "w", encoding="ascii") as file:
            file.write(str(os.getpid()))

    def cached(self):
        """Bytes of files on the two lists."""
        with open(os.path.join(self.path, "memory.stat"), encoding="ascii") as file:
            return sum(int(line.split()[1]) for line in file
                       if line.startswith(("inactive_file ", "active_file ")))

    def used(self):
        name = {"memory.max": "memory.current"}.get(self.limit_file,
                                                    "memory.usage_in_bytes")
        with open(os.path.join(self.path, name), encoding="ascii") as file:
            return int(file.read())

    def remove(self):
        """The kernel may need a moment to let go of the last process."""
        for _ in range(500):
            try:
                return os.rmdir(self.path)
            except OSError:
                time.sleep(0.01)
        return None


def files_of(folder):
    for here, _, names in os.walk(folder):
        for name in names:
            yield os.path.join(here, name)


def evict(folder):
    """Pages belong to the group that read them first: let it be ours."""
    for path in files_of(folder):
        file = os.open(path, os.O_RDONLY)
        os.fsync(file)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(file)


class Dataset:
    def __init__(self, path):
        sizes = [os.path.getsize(file) for file in files_of(path)]
        self.path = path
        self.count = len(sizes)
        self.bytes = sum((size + PAGE - 1) // PAGE * PAGE for size in sizes)


def train(group, dataset, epochs, seed):
    """Mean bytes cached, what the rest of the group takes, bytes read from storage."""
    environment = dict(os.environ, DSA_LOADER="cache=page,fetch=pread,prep=raw")
    environment.pop("DSA_SESSION", None)
    command = [os.path.join(BUILD, "examples/train"), "--dataset", dataset.path,
               "--emulate-gpu", str(dataset.count / EPOCH_S), "--epochs", str(epochs),
               "--seed", str(seed)]
    with subprocess.Popen(command, env=environment, preexec_fn=group.join,
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True) as process:
        cached, others = [], []
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid != 0:
                break
            cached.append(group.cached())
            others.append(group.used() - cached[-1])
            time.sleep(EPOCH_S / 250)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise Refused(f"train: {process.stderr.read().strip() or process.returncode}")
    half = len(cached) // 2
    return (mean(cached[half:]), mean(others[half:]),
            usage.ru_inblock * 512)


def measure(dataset, share, epochs):
    """The share that was cached, and the hits."""
    group = Group()
    try:
        evict(dataset.path)
        group.limit(int(share * dataset.bytes) + (64 << 20))
        for epochs_before in (2, WARM):  # what the rest takes is known better once it is steady
            _, others, _ = train(group, dataset, epochs_before, epochs_before)
            group.limit(int(share * dataset.bytes + others))
        cached, _, missed = train(group, dataset, epochs, 3)
    finally:
        group.remove()
        evict(dataset.path)
    return cached / dataset.bytes, 1 - missed / epochs / dataset.bytes


def predict(dataset, share):
    """Of the page cache, of a plain LRU."""
    said = subprocess.run([os.path.join(BUILD, "tests/tool/page_hits"),
                           str(dataset.bytes), str(share)],
                          check=True, stdout=subprocess.PIPE, text=True)
    return map(float, said.stdout.split())


def row_of(dataset, share, epochs):
    cached, measured = measure(dataset, share, epochs)
    predicted, lru = predict(dataset, cached)
    return {"share": cached, "measured_hits": measured, "predicted_hits": predicted,
            "error_points": 100 * (predicted - measured), "lru_hits": lru,
            "lru_error_points": 100 * (lru - measured),
            "share_as_hits_error_points": 100 * (cached - measured)}


def dataset_at(path):
    if path is not None:
        return Dataset(path)
    path = os.path.join(ROOT, "build/bench/pages")
    if not os.path.exists(path + ".made"):
        shutil.rmtree(path, ignore_errors=True)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        subprocess.run([os.path.join(BUILD, "dsa"), "dataset", "make", "--count", "3000",
                        "--seed", "1", path], check=True, stdout=subprocess.DEVNULL)
        with open(path + ".made", "w", encoding="ascii"):
            pass
    return Dataset(path)


def generations():
    """Whether this kernel has the other kind of lists, and uses it."""
    try:
        with open("/sys/kernel/mm/lru_gen/enabled", encoding="ascii") as file:
            return int(file.read(), 16) != 0
    except FileNotFoundError:
        return False


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--shares", default=".25,.35,.5,.65,.75,.9")
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("-o", dest="output")
    parser.add_argument("dataset", nargs="?")
    options = parser.parse_args()
    result = {"kernel": os.uname().release, "rows": []}
    try:
        if generations():
            raise Refused("this kernel uses the multi-generation LRU")
        Group().remove()
        dataset = dataset_at(options.dataset)
        result["dataset_bytes"] = dataset.bytes
        print(f"{'cached':>7}{'hits':>8}{'predicted':>11}{'error':>8}"
              f"{'LRU theory':>13}{'DS-Analyzer':>14}   (points off)")
        for share in map(float, options.shares.split(",")):
            row = row_of(dataset, share, options.epochs)
            result["rows"].append(row)
            print(f"{row['share']:7.3f}{row['measured_hits']:8.3f}"
                  f"{row['predicted_hits']:11.3f}{row['error_points']:+8.1f}"
                  f"{row['lru_error_points']:+13.1f}"
                  f"{row['share_as_hits_error_points']:+14.1f}", flush=True)
    except Refused as why:
        result["why"] = str(why)
        print(f"page cache: n/a, {why}")
    if options.output:
        with open(options.output, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1, sort_keys=True)
    if any(abs(row["error_points"]) > GOAL for row in result["rows"]):
        sys.exit(f"a prediction is off by more than {GOAL} points")


if __name__ == "__main__":
    main()
