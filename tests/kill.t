#!/usr/bin/python3
"""SIGKILL at random moments: to the target, to one of its processes, to dsa, to dsa and
then the target. What is wanted: a readable session or result, the documented exit
status, a target that goes on alone, and nothing left behind. Speaks TAP.

	tests/kill.t		10 kills; with SOAK=1 200
	tests/kill.t 17		the kill of seed 17 alone
"""

import json
import os
import random
import re
import shlex
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/lib")
from house import DSA, TRAIN, Scratch, Tap, adopt_orphans, children, end_all, wait_until

LONGEST = 3.0  # seconds until the kill; a run lasts about as long
STEPS = 250    # of the target when nobody ends its data


class Case:
    """One run and one kill. Complaints are collected, not raised."""

    def __init__(self, seed, scratch, images):
        self.random = random.Random(seed)
        self.scratch = scratch
        self.out = scratch.at("out")
        self.complaints = []
        self.statuses = {}
        train = [TRAIN, "--size", "32", "--emulate-gpu", "4000", "--steps", str(STEPS),
                 "--dataset", images]
        self.command = train if self.random.random() < 0.5 else \
            ["sh", "-c", f"{shlex.join(train)} & wait $!"]
        self.words = self.random.choice([[], [], ["--protocol", "separate"], ["--observe"]])
        self.victim = self.random.choice(["target", "process", "dsa", "both"])
        self.moment = self.random.uniform(0, LONGEST)

    def __str__(self):
        shape = "forking " if self.command[0] == "sh" else ""
        words = " ".join(["dsa run", *self.words])
        return f"{self.victim} of a {shape}target of {words} after {self.moment:.2f} s"

    def want(self, good, complaint):
        if not good:
            self.complaints.append(complaint)

    def start(self):
        with open(self.scratch.at("said"), "wb") as said:
            return subprocess.Popen(
                [DSA, "run", "-q", "-o", self.out, "--budget", "2s", *self.words, "--",
                 *self.command], env=self.scratch.environment, cwd=self.scratch.path,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=said)

    def said(self):
        with open(self.scratch.at("said"), encoding="utf-8", errors="replace") as file:
            return [line for line in file.read().splitlines() if line.startswith("dsa")]

    def choose(self, dsa):
        """The process to kill, and whether it is dsa itself."""
        below = descendants(dsa.pid)
        if self.victim in ("dsa", "both") or not below:
            return dsa.pid, True
        if self.victim == "target":
            return below[0], False
        return self.random.choice(below), False

    def run(self):
        dsa = self.start()
        time.sleep(self.moment)  # the random moment itself
        pid, own = self.choose(dsa)
        targets = descendants(dsa.pid)
        end_all([pid])  # it may be gone by itself
        if own and dsa.wait() == -signal.SIGKILL:
            if self.victim == "both":
                time.sleep(self.random.uniform(0, 0.5))
                end_all(targets)
            self.after_dsa(targets if self.victim == "dsa" else [])
        else:
            self.after_target(dsa)
        self.leftovers()

    def after_dsa(self, targets):
        """The target ends by itself and well; the session can be read."""
        while True:
            try:
                pid, status = os.wait()
            except ChildProcessError:
                break
            self.statuses[pid] = os.waitstatus_to_exitcode(status)
        for pid in targets:
            self.want(self.statuses.get(pid, 0) == 0,
                      f"alone, process {pid} ended with {self.statuses.get(pid)}")
        names = self.names()
        # It may have died while it put the result in the place of its sessions.
        results = [name for name in names if not name.startswith("session")]
        self.want("session" in names or results in ([], ["report.html", "run.json"]),
                  f"dsa died and left {names}")
        if names == ["session"] and not self.begun():
            result = self.scratch.run(DSA, "report", self.out)
            self.want(result.returncode == 3 and len(result.stderr.splitlines()) == 1,
                      f"a session that was not begun: {result.stderr}")
        elif names:
            found = self.report()
            self.want(found is None or "run.json" in names or
                      found["run"]["status"] == "dsa died", "who died is not told")
            self.want("run.json" in names or "session" not in self.names(),
                      f"the report of {names} leaves {self.names()}")

    def after_target(self, dsa):
        """dsa ends by itself with what it has."""
        try:
            status = dsa.wait(timeout=60)
        except subprocess.TimeoutExpired:
            dsa.kill()
            self.want(False, "dsa goes on for ever")
            return
        self.want(not children(), f"dsa ended before {children()}")
        said = self.said()
        self.want(status in (0, 3), f"dsa ended with status {status}")
        self.want(len(said) == (status == 3), f"status {status} and {len(said)} lines: {said}")
        names = self.names()
        self.want(names in ([], ["report.html", "run.json"]), f"dsa left {names}")
        if not names:
            self.want(status == 3 and re.search("the program (was )?(ended|killed)", said[0]),
                      f"no result, and why is not told: {said}")
            return
        found = self.report()
        if found is not None:
            shares = [found.get("stalls", {}).get(name, {}).get("share")
                      for name in ("compute", "prep", "fetch")]
            self.want((None not in shares) == (status == 0),
                      f"status {status} with shares {shares}")

    def report(self):
        """The result as `dsa report` shows it."""
        result = self.scratch.run(DSA, "report", "--format=json", self.out)
        if result.returncode != 0:
            self.want(False, f"dsa report ended with {result.returncode}: {result.stderr}")
            return None
        return json.loads(result.stdout)

    def begun(self):
        """False when dsa died while it made the session."""
        with open(os.path.join(self.out, "session"), "rb") as file:
            return file.read(8) == b"dsa-sess"

    def names(self):
        return sorted(os.listdir(self.out)) if os.path.isdir(self.out) else []

    def leftovers(self):
        self.want(wait_until(lambda: not children(), 10), f"processes survive: {children()}")
        self.want(not os.listdir(self.scratch.at("tmp")), "temporary files survive")
        shared = [name for name in os.listdir("/dev/shm")
                  if "dsa" in name and os.path.isfile(os.path.join("/dev/shm", name))]
        self.want(not shared, f"shared memory survives: {shared}")
        groups = [path for path, _, _ in os.walk("/sys/fs/cgroup")
                  if os.path.basename(path).startswith("dsa")]
        self.want(not groups, f"control groups survive: {groups}")


def descendants(pid):
    """All processes below one, the oldest first."""
    found = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as file:
                found += [int(child) for child in file.read().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []
    found.sort()
    return found + [below for child in found for below in descendants(child)]


def run_case(seed, images):
    """In a process of its own, so that every orphan is the case's."""
    adopt_orphans()
    with Scratch() as scratch:
        case = Case(seed, scratch, images)
        case.run()
        print(f"seed {seed}: {case}")
        for complaint in case.complaints:
            print(complaint)
        sys.exit(1 if case.complaints else 0)


def run_all(seeds):
    tap = Tap()
    with Scratch() as scratch, ThreadPoolExecutor(2) as pool:
        images = scratch.images(count=100, size="10K")

        def one(seed):
            return scratch.run(sys.executable, os.path.abspath(__file__), "case", seed, images,
                               timeout=300)

        for seed, result in zip(seeds, pool.map(one, seeds)):
            lines = result.stdout.splitlines() or [f"seed {seed}"]
            tap.ok(result.returncode == 0, lines[0], *lines[1:], result.stderr)
    tap.done()


if sys.argv[1:2] == ["case"]:
    run_case(int(sys.argv[2]), sys.argv[3])
elif len(sys.argv) > 1:
    run_all([int(word) for word in sys.argv[1:]])
else:
    run_all(range(200 if os.environ.get("SOAK") else 10))
