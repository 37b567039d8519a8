#!/usr/bin/python3
"""Kills the program, one of its processes, or dsa, at random moments. Each time a session
or a result can be read, the exit status is a documented one, and nothing is left behind.
Speaks TAP. 20 kills; SOAK=1 tests/kills.t: 200.
"""
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.abspath(os.environ.get("BUILD") or os.path.join(HERE, "../build/plain"))
DSA = os.path.join(BUILD, "dsa")
TRAIN = os.path.join(BUILD, "examples/train")
KILLS = 200 if os.environ.get("SOAK") else 20
LAST_REQUEST = 120  # offset of trace->last_request_ns in a session


def processes(mark):
    """Living processes that carry our mark in their environment."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                marked = mark in file.read().split(b"\0")
            with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
                state = file.read().rsplit(")", 1)[1].split()[0]
        except OSError:
            continue
        if marked and state not in "ZX":
            found.append(int(pid))
    return found


def wait_for(condition, what):
    for _ in range(6000):
        value = condition()
        if value:
            return value
        time.sleep(.01)
    raise AssertionError(f"waited in vain: {what}")


def last_request(out):
    with open(os.path.join(out, "session"), "rb") as file:
        return struct.unpack_from("<Q", file.read(LAST_REQUEST + 8), LAST_REQUEST)[0]


def goes_on_alone(out, mark):
    """dsa is dead: the program asks for batches all the same, until we end it."""
    if not os.path.exists(os.path.join(out, "session")):
        return
    before = last_request(out)
    wait_for(lambda: last_request(out) > before or not processes(mark), "another batch")
    assert last_request(out) > before or before == 0, "the program stopped with dsa"


def readable(out):
    """What is there is read; the status of dsa report, which is 3 when nothing is."""
    done = subprocess.run([DSA, "report", "--format=json", out], text=True,
                          capture_output=True, check=False)
    assert done.returncode in (0, 3), (done.returncode, done.stderr)
    if done.returncode == 0:
        assert json.loads(done.stdout)["schema"] == "dsa.result/1"
    return done.returncode


def kill_once(who, delay, folder):
    out = os.path.join(folder, "out")
    mark = f"DSA_TEST_MARK={os.path.basename(folder)}".encode()
    name, value = mark.decode().split("=")
    trainer = f"{TRAIN} --dataset synthetic:400 --batch 8 --emulate-gpu 800"
    with subprocess.Popen(
            [DSA, "run", "-q", "-o", out, "--workers", "2", "--budget", "60s", "--", "sh", "-c",
             f"sleep 1000 & {trainer}; wait $!"],
            env={**os.environ, name: value}, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as dsa:
        time.sleep(delay)  # the moment is what is random here
        others = [pid for pid in processes(mark) if pid != dsa.pid]
        if who == "dsa":
            dsa.kill()
            dsa.wait()
            goes_on_alone(out, mark)
        elif others:
            victims = others if who == "all" else [random.choice(others)]
            for pid in victims:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
        status = readable(out)
        has_session = os.path.exists(os.path.join(out, "session"))
        if who == "dsa":
            assert status == 0 or not has_session, "the session can't be read"
            for pid in processes(mark):
                os.kill(pid, signal.SIGKILL)
        else:
            if dsa.poll() is None and len(processes(mark)) > 1:
                dsa.terminate()  # it was a process that the run can do without
            status = dsa.wait(timeout=60)
            assert status in (0, 3), f"dsa ended with {status}"
            left = os.listdir(out)
            assert "session" not in left, left
        wait_for(lambda: not processes(mark), "the last process to end")


def main():
    print(f"1..{KILLS}", flush=True)
    random.seed(os.environ.get("SEED", "1"))
    failed = 0
    for number in range(1, KILLS + 1):
        who = ("dsa", "all", "one")[number % 3]
        delay = random.uniform(0, 3)
        folder = tempfile.mkdtemp()
        why = None
        try:
            kill_once(who, delay, folder)
        except (AssertionError, subprocess.SubprocessError) as error:
            why = f"{type(error).__name__}: {error}"
        shutil.rmtree(folder, ignore_errors=True)
        print(f"{'not ' if why else ''}ok {number} - {who} after {delay:.2f} s", flush=True)
        if why:
            print(f"# {why}", flush=True)
            failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
