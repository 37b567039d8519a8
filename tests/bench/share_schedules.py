#!/usr/bin/python3
"""Random schedules against a shared loader: jobs of all sizes that come late, leave early,
are killed or stopped, and loaders that are killed and taken over.

usage: share_schedules.py [--count N] [--seed S] [--first N] [--parallel N] [-v]

Every job holds each sample that it gets against what a loader of its own made of it, when
it gets it and when it gives it back, and each of its epochs must have every good sample
exactly once. The loader's own audit must find the same. Whatever is left when all should
be over, or hangs, is a failure. A failed schedule is named by its seed: --first SEED
--count 1 runs it again.
"""
import argparse
import concurrent.futures
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "../..")
BUILD = os.path.abspath(os.environ.get("BUILD") or os.path.join(ROOT, "build/plain"))
DSA = os.path.join(BUILD, "dsa")
JOB = os.path.join(BUILD, "tests/tool/audit_job")
HANG = 60


def make_dataset(folder):
    """300 small pictures, two of which can't be used; and what each should become."""
    path = os.path.join(folder, "pictures")
    subprocess.run([DSA, "dataset", "make", "--count", "300", "--seed", "3",
                    "--size-mean", "12K", path], check=True, stdout=subprocess.DEVNULL)
    pictures = sorted(os.path.join(root, name)
                      for root, _, names in os.walk(path) for name in names)
    for number, keep in ((7, 100), (270, 10)):
        with open(pictures[number], "r+b") as file:
            file.truncate(keep)
    table = os.path.join(folder, "table")
    subprocess.run([JOB, path, "table=" + table], check=True)
    return path, table


class Schedule:
    """What happens when; decided by the seed alone."""

    def __init__(self, seed):
        draw = random.Random(seed)
        self.seed = seed
        self.batch = draw.choice([8, 16, 33, 64])
        self.window = draw.randint(4, 8)
        self.slow_s = draw.choice([.3, .6, 1])
        room = (self.window - 1) * self.batch
        self.jobs = []
        for _ in range(draw.randint(1, 5)):
            batch = draw.randint(1, max(1, min(100, room // 4)))
            self.jobs.append({
                "batch": batch,
                "hold": draw.randint(1, max(1, min(3, room // 2 // batch - 1))),
                "epochs": draw.randint(1, 4),
                "start": draw.choice([0, 0, draw.uniform(0, .4)]),
                "rate": draw.choice([0, 0, 2000, 800]),
                "leave": draw.choice([0, 0, 0, draw.randint(1, 30)]),
                "kill": draw.choice([None] * 4 + [draw.uniform(.05, .8)]),
                "stop": draw.choice([None] * 4 + [(draw.uniform(.05, .5),
                                                   draw.uniform(.1, 1.5))]),
            })
        self.kill_server = draw.choice([None] * 3 + [draw.uniform(.1, .6)])
        self.takeover = draw.random() < .7
        self.restart_s = draw.uniform(0, .2)

    def events(self):
        """(time, what, job) in order."""
        events = []
        for number, job in enumerate(self.jobs):
            events.append((job["start"], "start", number))
            if job["kill"] is not None:
                events.append((job["start"] + job["kill"], "kill", number))
            if job["stop"] is not None:
                events.append((job["start"] + job["stop"][0], "stop", number))
                events.append((job["start"] + sum(job["stop"]), "go on", number))
        if self.kill_server is not None:
            events.append((self.kill_server, "kill server", None))
            if self.takeover:
                events.append((self.kill_server + self.restart_s, "take over", None))
        return sorted(events)


class Run:
    def __init__(self, schedule, folder, dataset, table):
        self.schedule, self.folder = schedule, folder
        self.dataset, self.table = dataset, table
        self.socket = os.path.join(folder, "socket")
        self.server, self.servers = None, 0
        self.jobs = {}
        self.problems = []

    def audit(self, number):
        return os.path.join(self.folder, "audit.%d" % number)

    def start_server(self, takeover):
        schedule = self.schedule
        command = [DSA, "serve", self.dataset, "--socket", self.socket,
                   "--mode", "free", "--batch", str(schedule.batch),
                   "--window", str(schedule.window), "--size", "32",
                   "--type", "uint8", "--evaluate", "--slow", "%gs" % schedule.slow_s,
                   "--audit", self.audit(self.servers)]
        if takeover:
            command.append("--takeover")
        log = open(os.path.join(self.folder, "server.%d" % self.servers), "wb")
        self.servers += 1
        self.server = subprocess.Popen(command, stdout=log, stderr=log)
        log.close()

    def wait_for_socket(self):
        end = time.monotonic() + HANG
        while not self.answers():
            if self.server.poll() is not None or time.monotonic() > end:
                raise RuntimeError("the loader did not start")
            time.sleep(.01)

    def answers(self):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as peer:
            try:
                peer.connect(self.socket)
            except OSError:
                return False
        return True

    def start_job(self, number):
        job = self.schedule.jobs[number]
        environment = dict(os.environ, DSA_SHARE=self.socket, DSA_JOB="job %d" % number)
        environment["DSA_LOADER"] = "takeover=20s" if self.schedule.takeover else "alone=load"
        log = open(os.path.join(self.folder, "job.%d" % number), "wb")
        self.jobs[number] = subprocess.Popen(
            [JOB, self.dataset, "table=" + self.table] +
            ["%s=%s" % (key, job[key]) for key in ("batch", "hold", "epochs", "rate",
                                                   "leave")],
            env=environment, stdout=log, stderr=log)
        log.close()

    def act(self, what, number):
        process = self.jobs.get(number)
        if what == "start":
            if self.server.poll() is None or self.schedule.takeover:
                self.start_job(number)
        elif what == "kill server":
            self.server.send_signal(signal.SIGKILL)
            self.server.wait()
        elif what == "take over":
            self.start_server(True)
        elif process is not None and process.poll() is None:
            process.send_signal({"kill": signal.SIGKILL, "stop": signal.SIGSTOP,
                                 "go on": signal.SIGCONT}[what])

    def play(self):
        self.start_server(False)
        self.wait_for_socket()
        began = time.monotonic()
        for at, what, number in self.schedule.events():
            time.sleep(max(0, began + at - time.monotonic()))
            self.act(what, number)

    def end(self):
        end = time.monotonic() + HANG
        for number, process in self.jobs.items():
            try:
                process.wait(max(.1, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                self.problems.append("job %d hangs" % number)
                process.send_signal(signal.SIGKILL)
                process.wait()
        self.server.terminate()
        try:
            self.server.wait(max(.1, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.problems.append("the loader hangs")
            self.server.send_signal(signal.SIGKILL)
            self.server.wait()

    def text(self, name):
        with open(os.path.join(self.folder, name), errors="replace") as file:
            return file.read().strip()

    def judge(self):
        for number, process in self.jobs.items():
            killed = self.schedule.jobs[number]["kill"] is not None
            if process.returncode != 0 and not (killed and process.returncode == -9):
                self.problems.append("job %d: status %s: %s" % (
                    number, process.returncode, self.text("job.%d" % number)))
        if self.server.returncode not in (0, -9, -15):  # -15: it had hardly begun
            self.problems.append("the loader: status %s: %s" % (
                self.server.returncode, self.text("server.%d" % (self.servers - 1))))
        if self.server.returncode == 0:
            audit = self.text("audit.%d" % (self.servers - 1))
            if not audit.splitlines() or "exactly once" not in audit.splitlines()[-1]:
                self.problems.append("the audit says: " + audit[-300:])


def play(seed, dataset, table):
    folder = tempfile.mkdtemp(prefix="dsa-share-")
    run = Run(Schedule(seed), folder, dataset, table)
    try:
        run.play()
    except (RuntimeError, OSError) as error:
        run.problems.append(str(error))
    run.end()
    run.judge()
    facts = {"jobs": len(run.jobs), "servers": run.servers,
             "killed": sum(job.returncode == -9 for job in run.jobs.values())}
    if run.problems:
        print("# kept: %s" % folder, file=sys.stderr)
    else:
        shutil.rmtree(folder)
    return seed, run.problems, facts


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--parallel", type=int, default=4)
    parser.add_argument("-v", action="store_true")
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="dsa-share-data-")
    dataset, table = make_dataset(folder)
    failed, total = 0, {"jobs": 0, "servers": 0, "killed": 0}
    with concurrent.futures.ThreadPoolExecutor(options.parallel) as pool:
        runs = [pool.submit(play, seed, dataset, table)
                for seed in range(options.first, options.first + options.count)]
        for done, run in enumerate(concurrent.futures.as_completed(runs), 1):
            seed, problems, facts = run.result()
            failed += bool(problems)
            for key in total:
                total[key] += facts[key]
            for problem in problems:
                print("schedule %d: %s" % (seed, problem), flush=True)
            if options.v or sys.stderr.isatty():
                print("%d of %d schedules, %d failed" % (done, options.count, failed),
                      end="\n" if options.v else "\r", file=sys.stderr, flush=True)
    shutil.rmtree(folder)
    print("%d schedules, %d jobs (%d killed), %d loaders: %d failed" % (
        options.count, total["jobs"], total["killed"], total["servers"], failed))
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
