#!/usr/bin/python3
"""One loader for several jobs against a loader for each: rates, CPU, and what is read.

usage: share.py [--rounds N] [--seconds S] [-o FILE] [FOLDER]

Emulated accelerators that are faster than the data; prep is the limit. Each round runs
every setting once, in an order drawn anew, and ratios are taken within rounds; the table
has their medians and the range from the lowest to the highest. Rounds are kept in FOLDER
(build/bench/share): a run that was interrupted goes on where it was.
"""
import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "../..")
BUILD = os.path.abspath(os.environ.get("BUILD") or os.path.join(ROOT, "build/plain"))
DSA = os.path.join(BUILD, "dsa")
JOB = os.path.join(BUILD, "tests/tool/audit_job")
TICK = os.sysconf("SC_CLK_TCK")
WARM_S = 3

# name: jobs, shared
SETTINGS = {"own 1": (1, False), "own 4": (4, False),
            "shared 1": (1, True), "shared 4": (4, True)}


def dataset(folder):
    path = os.path.join(folder, "pictures")
    if not os.path.exists(path + ".made"):
        os.makedirs(folder, exist_ok=True)
        subprocess.run(["rm", "-rf", path], check=True)
        subprocess.run([DSA, "dataset", "make", "--count", "1500", "--seed", "1", path],
                       check=True, stdout=subprocess.DEVNULL)
        with open(path + ".made", "w", encoding="utf-8"):
            pass
    for root, _, names in os.walk(path):  # into the page cache
        for name in names:
            with open(os.path.join(root, name), "rb") as file:
                file.read()
    return path


def cpu_s(pid):
    with open("/proc/%d/stat" % pid, encoding="ascii", errors="replace") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def start_server(folder, data, jobs, options=()):
    socket = os.path.join(folder, "socket")
    server = subprocess.Popen(
        [DSA, "serve", *([data] if isinstance(data, str) else data), "--socket", socket,
         "--jobs", str(jobs), "--slow", "wait", "-q", *options],
        stdout=subprocess.DEVNULL)
    while not os.path.exists(socket):
        if server.poll() is not None:
            sys.exit("dsa serve did not start")
        time.sleep(.05)
    return server, dict(os.environ, DSA_SHARE=socket)


def stop_server(server):
    server.terminate()
    if server.wait(30) != 0:
        sys.exit("dsa serve ended with status %d" % server.returncode)


def measure(folder, data, setting, seconds):
    """Samples/s of each job and CPU seconds a sample of all processes together."""
    jobs, shared = SETTINGS[setting]
    environment, server = os.environ, None
    if shared:
        server, environment = start_server(folder, data, jobs)
    begin = time.monotonic() + WARM_S
    running = [subprocess.Popen(
        [JOB, data, "recipe=1", "size=224", "batch=64", "rate=20000", "from=%f" % begin,
         "to=%f" % (begin + seconds)], env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(jobs)]
    cpu = 0
    if server is not None:
        time.sleep(max(0, begin - time.monotonic()))
        cpu = -cpu_s(server.pid)
        time.sleep(max(0, begin + seconds - time.monotonic()))
        cpu += cpu_s(server.pid)
    rates, counted = [], 0
    for job in running:
        words = job.communicate()[0].split()
        if job.returncode != 0:
            sys.exit("a job ended with status %d" % job.returncode)
        facts = dict(zip(words[::2], map(float, words[1::2])))
        rates.append(facts["counted"] / facts["seconds"])
        counted += facts["counted"]
        cpu += facts["cpu"]
    if server is not None:
        stop_server(server)
    return {"per_s": rates, "cpu_s_per_sample": cpu / counted}


def gap(folder, data, kill):
    """Longest wait for a batch of two jobs in 3 s, a third one killed in it or not."""
    server, environment = start_server(folder, data, 3, ("--batch", "16"))
    begin = time.monotonic() + WARM_S
    words = ["recipe=1", "size=224", "batch=16"]
    victim = subprocess.Popen([JOB, data, *words], env=environment,
                              stdout=subprocess.DEVNULL)
    others = [subprocess.Popen([JOB, data, *words, "from=%f" % begin, "to=%f" % (begin + 3)],
                               env=environment, stdout=subprocess.PIPE, text=True)
              for _ in range(2)]
    time.sleep(max(0, begin + 1 + random.random() - time.monotonic()))
    if kill:
        victim.kill()
    longest = 0
    for job in others:
        facts = job.communicate()[0].split()
        longest = max(longest, float(facts[facts.index("longest") + 1]))
    victim.kill()
    victim.wait()
    stop_server(server)
    return longest


def load(path):
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except FileNotFoundError:
        return []


def save(path, rounds):
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump(rounds, file, indent=1, sort_keys=True)
    os.replace(path + ".new", path)


def tell(name, goal, ratios):
    print("%-52s %6.3f  (%.3f .. %.3f)  %s" % (
        name, statistics.median(ratios), min(ratios), max(ratios), goal))


def report(rounds):
    def all_jobs(a_round, setting):
        return sum(a_round[setting]["per_s"])

    for setting in SETTINGS:
        print("%-10s %8.0f samples/s together, slowest job %6.0f, %.0f us CPU a sample" % (
            setting, statistics.median(all_jobs(r, setting) for r in rounds),
            statistics.median(min(r[setting]["per_s"]) for r in rounds),
            1e6 * statistics.median(r[setting]["cpu_s_per_sample"] for r in rounds)))
    tell("4 shared jobs together to 4 unshared", ">= 3.9",
         [all_jobs(r, "shared 4") / all_jobs(r, "own 4") for r in rounds])
    tell("a job of 4 shared to 1 shared", ">= .97",
         [min(r["shared 4"]["per_s"]) / all_jobs(r, "shared 1") for r in rounds])
    tell("CPU a delivered sample, 4 shared to 4 unshared", "<= .27",
         [r["shared 4"]["cpu_s_per_sample"] / r["own 4"]["cpu_s_per_sample"]
          for r in rounds])
    tell("1 shared to 1 with its own loader", ">= .98",
         [all_jobs(r, "shared 1") / all_jobs(r, "own 1") for r in rounds])
    tell("longest wait of two jobs, ms; a third one killed", "< 50",
         [1e3 * r["gap killed"] for r in rounds])
    tell("the same, none killed", "", [1e3 * r["gap"] for r in rounds])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("-o")
    parser.add_argument("folder", nargs="?", default=os.path.join(ROOT, "build/bench/share"))
    options = parser.parse_args()
    data = dataset(options.folder)
    path = options.o or os.path.join(options.folder, "rounds.json")
    rounds = load(path)
    while len(rounds) < options.rounds:
        order = list(SETTINGS)
        random.shuffle(order)
        rounds.append({setting: measure(options.folder, data, setting, options.seconds)
                       for setting in order})
        rounds[-1]["gap killed"] = gap(options.folder, data, True)
        rounds[-1]["gap"] = gap(options.folder, data, False)
        save(path, rounds)
        print("round %d of %d" % (len(rounds), options.rounds), file=sys.stderr)
    report(rounds)


if __name__ == "__main__":
    main()
