#!/usr/bin/python3
"""dsa run with programs that are well: how a run ends, what it says and leaves behind.
Speaks TAP. What programs and data can do wrong is in bad.t, kills in kill.t.
SLEEPS most of the time.

	tests/run.t		all of it
	tests/run.t observe	one of the tests below
"""

import fcntl
import json
import os
import re
import shlex
import signal
import struct
import subprocess
import sys
import termios
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/lib")
from house import BUDGET, DSA, TRAIN, Scratch, Tap, adopt_orphans, children, end_all, wait_until

WINDOW_NOW = 68  # offset of trace->window_now in a session
TRAINER = [TRAIN, "--batch", "8", "--size", "32", "--emulate-gpu", "800"]
PAUSE_S = .08  # a step of 10 ms whose compute is longer is left out as a pause

tap = Tap()


def words(*options, budget=BUDGET, program=(), out="out"):
    return [DSA, "run", "-o", out, "--workers", "2", "--budget", budget, *options, "--",
            *(program or TRAINER)]


def clean(scratch, out="out"):
    """No process, no session, no half-written file."""
    return not children() and sorted(os.listdir(scratch.at(out))) == ["report.html", "run.json"]


def windows_begun(scratch):
    """-1: there is no session yet."""
    try:
        with open(scratch.at("out", "session"), "rb") as file:
            return struct.unpack_from("<I", file.read(WINDOW_NOW + 4), WINDOW_NOW)[0]
    except (FileNotFoundError, struct.error):
        return -1


def start(scratch, *options, program=(), windows=0, stdin=subprocess.DEVNULL, **more):
    """A run of a minute's budget that has begun so many windows."""
    with open(scratch.at("said"), "wb") as said:
        process = subprocess.Popen(words(*options, budget="60s", program=program),
                                   env=scratch.environment, cwd=scratch.path,
                                   stdin=stdin, stdout=said, stderr=said, **more)
    if not wait_until(lambda: windows_begun(scratch) >= windows, 120):
        raise TimeoutError(f"{windows} windows never began")
    return process


def used_kinds(result):
    return {window["kind"] for window in result["windows"] if window["used"]}


def waits_as_told(result, events):
    """Of each window, the steps of a timeline take and wait what the result says."""
    took, waited = {}, {}
    for event in events:
        if event["name"] in ("step", "steps"):
            window = event["args"]["window"]
            took[window] = took.get(window, 0) + event["dur"]
            waited[window] = waited.get(window, 0) + event["args"]["waited_us"]
    return took and all(
        abs(took[i] / 1e6 - window["length_s"]) < 1e-4 and
        abs(waited[i] / 1e6 - window["blocked_s"]) < 1e-4
        for i, window in enumerate(result["windows"]) if i in took and window["used"])


def shares(scratch):
    every = {"real", "cached", "synthetic", "loaded", "prep", "fetch"}
    done = scratch.run("script", "-qec", shlex.join(words("--timeline=when.json", budget="14s")),
                       "/dev/null")  # a terminal, and time for the curves
    result = scratch.result()
    total = sum(result["stalls"][name]["share"] for name in ("compute", "prep", "fetch"))
    tap.ok(done.returncode == 0 and abs(total - 1) < 1e-6, "the three shares sum to 1",
           done.stdout, total)
    tap.ok(all(window["certified"] for window in result["windows"] if window["used"]),
           "every window used is certified")
    tap.ok("Discard this model" in done.stdout, "a run says what windows do", done.stdout)
    told = [line for line in done.stdout.splitlines() if "s left" in line]
    tap.ok(told and all(re.fullmatch(r"dsa: (no shares yet|compute .*); at most \d+ s left", line)
                        for line in told) and
           "dsa: measured; waiting for the program" in done.stdout,
           "how far it is stands in lines of its own", done.stdout)
    tap.ok(every <= used_kinds(result), "each kind of window is used",
           [w["kind"] for w in result["windows"]])
    tap.ok("sums to 100.0%" in done.stdout or "not known" in done.stdout,
           "the verdict says so, or that they are not known", done.stdout)
    tap.ok(result["run"]["target_status"] == 0 and clean(scratch), "nothing is left behind",
           os.listdir(scratch.at("out")), children())
    tap.ok("workers=2" in result["run"]["loader"].split(",") and
           result["run"]["directory"] == scratch.path, "what it ran under and where is told",
           result["run"])
    with open(scratch.at("when.json"), encoding="utf-8") as file:
        events = json.load(file)
    tap.ok(waits_as_told(result, events), "--timeline: steps and waits as in the result",
           len(events))
    again = scratch.run(*shlex.split(result["run"]["repeat"].replace("dsa", DSA, 1)
                                         .replace("--budget 14s", "--budget " + BUDGET)))
    tap.ok(again.returncode == 0, "the command to repeat it works", result["run"]["repeat"])


def streams(scratch):
    shell = ["sh", "-c", f"{shlex.join(TRAINER)}; exit 9"]
    done = scratch.run(*words("--json", "--exit-status=target", program=shell))
    tap.ok(json.loads(done.stdout)["schema"] == "dsa.result/1" and "step " in done.stderr,
           "--json: the result alone on standard output", done.stdout[:200])
    tap.ok(done.returncode == 9, "--exit-status=target: the program's status",
           done.returncode)
    shell = ["sh", "-c", f"{shlex.join(TRAINER)} >/dev/null; echo mine; exit 9"]
    done = scratch.run(*words("-q", program=shell))
    tap.ok(done.stdout == "mine\n" and done.stderr == "", "-q: what the program prints alone",
           done.stdout, done.stderr)
    tap.ok(done.returncode == 0, "else its status is its own", done.returncode)


def ends(scratch):
    scratch.run(*words("--steps", "30", budget="60s"))
    tap.ok(scratch.result()["run"]["status"] == "steps", "--steps ends the run",
           scratch.result()["run"])
    done = scratch.run(*words("--sweep", "cores=1", budget="60s",
                              program=[*TRAINER, "--steps", "20"]))
    tap.ok(done.returncode == 3 and "not all three shares" in done.stderr and
           "nothing of --sweep was tried" in done.stderr and
           scratch.result()["run"]["status"] == "target ended" and clean(scratch),
           "a program that ends its data too early", done.stderr)
    shell = ["sh", "-c", f"setsid sh -c 'trap \"\" TERM; sleep 1000' & {shlex.join(TRAINER)}"]
    done = scratch.run(*words(program=shell))
    tap.ok(done.returncode == 0 and clean(scratch), "a daemon that it leaves is ended",
           children(), done.stderr)


def signals(scratch):
    shell = ["sh", "-c", f"trap 'echo heard' TERM; {shlex.join(TRAINER)} & wait; wait"]
    process = start(scratch, program=shell, windows=2)
    process.send_signal(signal.SIGTERM)
    process.wait(timeout=120)
    with open(scratch.at("said"), encoding="utf-8") as file:
        said = file.read()
    tap.ok("heard" in said and not children(), "a signal is passed on", said)
    tap.ok(scratch.result()["run"]["status"] == "interrupted", "and told", said)
    shell = ["sh", "-c", f"trap 'echo >user' USR1; {shlex.join(TRAINER)} & wait; wait"]
    process = start(scratch, program=shell, windows=1)
    process.send_signal(signal.SIGUSR1)
    wait_until(lambda: process.poll() is not None or os.path.exists(scratch.at("user")))
    begun = windows_begun(scratch)
    wait_until(lambda: process.poll() is not None or windows_begun(scratch) > begun)
    tap.ok(process.poll() is None, "SIGUSR1 is passed on to the program, and ends nothing")
    process.terminate()
    process.wait(timeout=120)


def typed(scratch):
    """Ctrl-C goes to the program, which has the terminal."""
    keyboard, terminal = os.openpty()
    process = start(scratch, windows=1, stdin=terminal, start_new_session=True,
                    preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
    os.write(keyboard, b"\x03")
    process.wait(timeout=120)
    os.close(keyboard)
    os.close(terminal)
    with open(scratch.at("said"), encoding="utf-8") as file:
        said = file.read()
    tap.ok(scratch.result()["run"]["status"] == "interrupted" and
           "you interrupted it" in said, "Ctrl-C is the user's doing", said)


def asleep(scratch):
    """A machine that slept: nobody looked, and nobody was silent."""
    shell = ["sh", "-c", f"echo >began; sleep 5; {shlex.join(TRAINER)}"]
    process = start(scratch, "--timeout=3s", program=shell)
    wait_until(lambda: os.path.exists(scratch.at("began")))  # its sleep is not after ours
    process.send_signal(signal.SIGSTOP)
    time.sleep(4)
    process.send_signal(signal.SIGCONT)
    wait_until(lambda: windows_begun(scratch) > 0 or process.poll() is not None)
    tap.ok(process.poll() is None, "time that dsa slept is not counted as silence")
    process.terminate()
    process.wait(timeout=120)


def folders(scratch):
    process = start(scratch, windows=1)
    other = scratch.run(*words(program=["true"]))
    tap.ok(other.returncode == 3 and "another run" in other.stderr,
           "two runs do not share a folder", other.stderr)
    process.terminate()
    process.wait(timeout=120)


def orphan(scratch):
    process = start(scratch, program=[*TRAINER, "--steps", "100000"], windows=6)
    process.kill()
    process.wait()
    left = children()
    tap.ok(len(left) == 1, "dsa is killed: the program goes on alone", left)
    report = scratch.run(DSA, "report", "--format=json", scratch.at("out"))
    result = json.loads(report.stdout)
    tap.ok(result["run"]["status"] == "dsa died" and result["run"]["command"][0] == TRAIN and
           any(window["certified"] for window in result["windows"]),
           "and its session is reported", report.stderr)
    end_all(left)
    wait_until(lambda: not children())
    done = scratch.run(*words())
    tap.ok(done.returncode == 0 and clean(scratch), "the next run takes the folder over",
           done.stderr)


def contained(scratch):
    """A program in a pid namespace of its own, where dsa is not to be seen."""
    own = ["unshare", "--pid", "--fork", "--mount-proc"]
    if scratch.run(*own, "true").returncode != 0:
        tap.skip("a program in a container", "no pid namespace can be made")
        return
    process = start(scratch, program=[*own, *TRAINER])
    tap.ok(wait_until(lambda: windows_begun(scratch) >= 2 or process.poll() is not None, 20) and
           process.poll() is None, "a program in a container is led")
    process.terminate()
    process.wait(timeout=120)


def observe(scratch):
    done = scratch.run(*words("--observe", program=[*TRAINER, "--steps", "300"]))
    result = scratch.result()
    tap.ok(done.returncode == 0 and result["run"]["status"] == "complete" and
           [window["kind"] for window in result["windows"]] == ["real"],
           "--observe: one window, the whole training", done.stderr)
    # A step ends when the next batch is asked for: the last never does. What else is
    # missing are steps that a busy machine held up, and their time is told.
    window = result["windows"][0]
    missing = 299 - window["steps"]
    tap.ok(0 <= missing * PAUSE_S <= window.get("outside_s", 0) and
           "Discard" not in done.stderr, "with every step in it", window)
    tap.ok("low" not in result["stalls"]["prep"] and "upper bound" in result["limit"]["why"],
           "its shares have no interval and are called a bound", result["stalls"])


def separate(scratch):
    done = scratch.run(*words("--protocol=separate", budget="6s"))
    kinds = [window["kind"] for window in scratch.result()["windows"] if window["used"]]
    tap.ok(done.returncode == 0 and list(dict.fromkeys(kinds)) ==
           ["real", "cached", "synthetic"] and clean(scratch),
           "--protocol=separate: one kind a launch", kinds, done.stderr)


def unseen(scratch):
    """A program that opens other data once dsa has seen enough gets none, and ends well."""
    images = TRAINER[-1]
    scratch.run(*words(budget="2s", program=[TRAIN, "--batch", "8", "--size", "32", "--dataset",
                                             images, "--test", images]))
    run = scratch.result()["run"]
    tap.ok(run["status"] == "budget" and run["target_status"] == 0,
           "data that is opened after the run is empty, which is no error", run)


TESTS = [shares, streams, ends, signals, typed, asleep, folders, orphan, contained, observe,
         separate, unseen]


def main():
    adopt_orphans()
    with Scratch() as place:
        TRAINER.extend(["--dataset", place.images()])
        for test in TESTS:
            if len(sys.argv) > 1 and test.__name__ not in sys.argv[1:]:
                continue
            with Scratch() as scratch:
                test(scratch)
            end_all(children())
    tap.done()


if __name__ == "__main__":
    main()
