#!/usr/bin/python3
"""CUPTI as dsa run uses it, played by tests/tool/fake_cupti.c: what is found of the device,
that the program never notices, and that each thing in the way is one line. Speaks TAP.
SLEEPS most of the time.
"""

import glob
import json
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/lib")
from house import (BUILD, DSA, HERE, Scratch, Tap, adopt_orphans, children,
                   wait_until)

LOOP = os.path.join(BUILD, "tests/tool/device_loop")
FAKES = os.path.join(BUILD, "fake/cupti")
NEAR = .05  # a share; sums are exact
PROGRAM_STATUS = 7

tap = Tap()


def observe(scratch, name, *words, version="13", fake="", options=(), variables=(), steps=30):
    """dsa run --observe of the loop; (what it ended with, its result or None)."""
    out = scratch.at(name)
    library = glob.glob(os.path.join(FAKES, version, "*"))
    told = scratch.run(DSA, "run", "-o", out, "--observe", "--exit-status=target", *options, "--",
                       LOOP, scratch.at("images"), f"steps={steps}", *words,
                       variables={"DSA_CUPTI": library[0] if library else "",
                                  "FAKE_CUPTI": fake, "FAKE_CUPTI_LOG": scratch.at("log"),
                                  **dict(variables)})
    return told, result_of(out)


def result_of(out):
    try:
        with open(os.path.join(out, "run.json"), encoding="utf-8") as file:
            return json.load(file)
    except FileNotFoundError:
        return None


def row(result, kind="real"):
    return next((row for row in result.get("devices", []) if row["kind"] == kind), None)


def agrees(share, first):
    """Within a few points, and what a busy machine adds to the interval."""
    half = (first["high"] - first["low"]) / 2 if "high" in first else 1
    return abs(share - first["share"]) < NEAR + half


def is_whole(device):
    total = sum(device[name] for name in ("busy_s", "copy_s", "idle_data_s", "idle_host_s"))
    return abs(total - device["length_s"]) < 1e-7 * max(1, device["length_s"])


def check_version(scratch, version, number):
    """Kernels of 6 ms, copies of 2, a host that is 2 late; storage in memory."""
    told, result = observe(scratch, "version-" + version, "kernel=6", "copy=2", "late=2",
                           version=version, options=["--timeline", "when.json"])
    device = row(result) or {}
    steps = next(window["steps"] for window in result["windows"] if window["kind"] == "real")
    tap.ok(device and is_whole(device) and abs(device["busy_s"] - steps * .006) < 1e-6
           and abs(device["copy_s"] - steps * .002) < 1e-6
           and device["idle_host_s"] > steps * .002 - 1e-6,
           f"CUPTI {number}: busy, copying and idle are what they were", steps, device,
           told.stderr)
    with open(scratch.at("when.json"), encoding="utf-8") as file:
        kernels = [event for event in json.load(file) if event["name"] == "kernels"]
    busy_us = sum(event["dur"] - event["args"]["idle_us"] for event in kernels)
    tap.ok(abs(busy_us - 30 * 6000) < 1, f"CUPTI {number}: the timeline has all kernels", busy_us)
    tap.ok(result["cupti"]["about"].startswith(f"CUPTI {number}, ")
           and result["cupti"]["lost_records"] == 0, f"CUPTI {number} is named",
           result.get("cupti"))
    tap.ok(told.returncode == PROGRAM_STATUS and "30 steps" in told.stdout,
           f"CUPTI {number}: the program ends as it would", told)


def check_pause(scratch):
    """An evaluation, say: no share counts it, and so the device's do not."""
    _, result = observe(scratch, "pause", "kernel=6", "copy=2", "late=2", "pause=400")
    device = row(result) or {}
    real = next(window for window in result["windows"] if window["kind"] == "real")
    tap.ok(device and is_whole(device) and real["outside_s"] >= .4
           and abs(device["busy_s"] - real["steps"] * .006) < 1e-6
           and device["length_s"] < real["length_s"] - .4 + 1e-6,
           "a pause is left out of what the device did", device, real)


def check_refused(scratch, name, fake, said, version="13", **more):
    told, result = observe(scratch, name, fake=fake, version=version, steps=5, **more)
    about = result.get("cupti", {}).get("about", "")
    tap.ok(said in about and "\n" not in about and "devices" not in result
           and "not seen" in told.stdout
           and told.returncode == PROGRAM_STATUS, f"{name}: one line, and the program goes on",
           about, told.stdout, told.stderr, told.returncode)


def check_obstacles(scratch):
    check_refused(scratch, "held by another tool", "held", "CUPTI is held by Fake Nsight")
    check_refused(scratch, "held, by an older CUPTI", "held", "CUPTI is held by another tool",
                  version="12")
    check_refused(scratch, "not initialised", "off",
                  "CUPTI answers 15, CUPTI_ERROR_NOT_INITIALIZED")
    check_refused(scratch, "a function is missing", "",
                  "has no cuptiActivityGetNumDroppedRecords", version="lacking")
    check_refused(scratch, "no such CUPTI", "", "/no/such/libcupti.so: cannot open shared object",
                  version="none",
                  variables={"DSA_CUPTI": "/no/such/libcupti.so"})
    told, result = observe(scratch, "taken", steps=5,
                           variables={"CUDA_INJECTION64_PATH": "/their/tool.so"})
    tap.ok("/their/tool.so" in told.stderr and "/their/tool.so" in result["cupti"]["about"]
           and told.returncode == PROGRAM_STATUS,
           "a variable that is set is left, and named", told.stderr, result.get("cupti"))
    told, _ = observe(scratch, "insists", steps=5, options=["--gpu=cupti"],
                      variables={"CUDA_INJECTION64_PATH": "/their/tool.so"})
    tap.ok("/their/tool.so" in told.stderr and told.returncode not in (0, PROGRAM_STATUS)
           and "steps" not in told.stdout, "--gpu=cupti does not go on without", told)
    told, result = observe(scratch, "none", steps=5, options=["--gpu=none"])
    tap.ok("cupti" not in result and told.returncode == PROGRAM_STATUS,
           "--gpu=none sets nothing", result.get("cupti"))


def check_unfit(scratch):
    """One that does not work with the driver stands before one that does."""
    path = ":".join(os.path.join(FAKES, version) for version in ("13", "12"))
    told, result = observe(scratch, "unfit", fake="unfit", steps=5,
                           variables={"DSA_CUPTI": "", "LD_LIBRARY_PATH": path})
    about = result.get("cupti", {}).get("about", "")
    tap.ok(about.startswith("CUPTI 22, ") and told.returncode == PROGRAM_STATUS,
           "a CUPTI that does not work is passed over", about, told)


def check_two(scratch):
    """The first program can't be watched, and the next one is."""
    loop = f"{LOOP} {scratch.at('images')} steps=5"
    out = scratch.at("two")
    scratch.run(DSA, "run", "-q", "-o", out, "--observe", "--", "sh", "-c",
                f"FAKE_CUPTI=held {loop}; {loop}",
                variables={"DSA_CUPTI": glob.glob(FAKES + "/13/*")[0]})
    about = result_of(out).get("cupti", {}).get("about", "")
    tap.ok(about.startswith("CUPTI 130001, "), "a process that is watched speaks for all", about)


def check_lost(scratch):
    _, result = observe(scratch, "drops", fake="drops")
    tap.ok(result["cupti"]["lost_records"] >= 3 and result["devices"], "drops are counted",
           result["cupti"])
    _, result = observe(scratch, "unknown", fake="unknown", steps=300)
    tap.ok(result["cupti"]["lost_records"] > 0 and result["devices"],
           "records behind one of an unknown kind are lost", result["cupti"])
    _, result = observe(scratch, "incomplete", fake="incomplete", steps=300)
    tap.ok(result["cupti"]["lost_records"] > 0, "records without times are lost",
           result["cupti"])


def check_ends(scratch):
    """Each leaves a session, which lacks a second at the most."""
    began = time.monotonic()
    told, result = observe(scratch, "hangs", "kernel=5", fake="hangs", steps=240)
    tap.ok(told.returncode == PROGRAM_STATUS and row(result) and time.monotonic() - began < 20,
           "a last flush that hangs does not keep the program", told)
    for end, steps, least in (("exit", 40, .19), ("fork", 40, .19), ("_exit", 280, .3),
                              ("kill", 280, .3)):
        told, result = observe(scratch, "end-" + end, "kernel=5", f"end={end}", steps=steps)
        device = row(result) if result else None
        busy = device["busy_s"] if device else 0
        status = 128 + signal.SIGKILL if end == "kill" else PROGRAM_STATUS
        tap.ok(busy >= least and told.returncode == status,
               f"ends by {end}: the work before it is known", busy, told)


def check_orphan(scratch):
    """dsa is killed: the program goes on, and what it did is in the session."""
    out, mark = scratch.at("orphan"), scratch.at("mark")
    adopt_orphans()
    dsa = subprocess.Popen([DSA, "run", "-q", "-o", out, "--observe", "--", LOOP,
                            scratch.at("images"), "kernel=5", "steps=40", "mark=" + mark],
                           env=dict(scratch.environment, DSA_CUPTI=glob.glob(FAKES + "/13/*")[0]),
                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    wait_until(lambda: os.path.exists(mark))
    dsa.kill()
    dsa.wait()
    ended = wait_until(lambda: not children())
    told = scratch.run(DSA, "report", "--format=json", out)
    device = row(json.loads(told.stdout)) if told.returncode == 0 else None
    tap.ok(ended and device and device["busy_s"] >= .19, "dsa is killed: the session tells",
           told, device)


def check_switched(scratch):
    """Windows: compute by synthetic ones, prep by cached ones, and the device agrees."""
    out = scratch.at("switched")
    told = scratch.run(DSA, "run", "-o", out, "--budget=5s", "--prep-delay=4ms", "--workers=1",
                       "--cache-policy=none", "--storage-bandwidth=1G", "--", LOOP,
                       scratch.at("images"), "kernel=12", "copy=2",
                       variables={"LD_LIBRARY_PATH": os.path.join(FAKES, "13"),
                                  # which stands before a real one there
                                  "FAKE_CUPTI_LOG": scratch.at("log")})
    result = result_of(out)
    rows = result.get("devices", [])
    tap.ok({r["kind"] for r in rows} >= {"real", "cached", "synthetic"}
           and all(is_whole(r) for r in rows), "each kind of window has a row, which adds up",
           rows, told.stderr)
    proof = result["second_proof"]
    tap.ok(proof["basis"].startswith("device idle for data"), "the check is by the device", proof)
    tap.ok(all(agrees(proof[stage]["share"], result["stalls"][stage])
               for stage in ("prep", "fetch")), "both measurements agree", proof,
           result["stalls"])
    tap.ok("gpu        device 0 busy" in told.stdout, "the terminal tells", told.stdout)
    page = scratch.at("switched/report.html")
    with open(page, encoding="utf-8") as file:
        tap.ok("What the GPU did" in file.read(), "the report has a section")


def check_headers():
    """Where CUDA's headers are, they say the same of numbers and places."""
    name = "offsets and numbers are those of <cupti.h>"
    folders = glob.glob("/usr/local/cuda*/include") + ["/usr/include"]
    folder = next((f for f in folders if os.path.exists(f + "/cupti.h")), None)
    if folder is None:
        tap.skip(name, "no cupti.h")
        return
    told = subprocess.run(["cc", "-fsyntax-only", "-x", "c", "-I" + folder,
                           os.path.join(HERE, "data/cupti_places.inc")], text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    tap.ok(told.returncode == 0, name, told.stdout)


def check_doctor(scratch):
    told = scratch.run(DSA, "doctor", variables={"LD_LIBRARY_PATH": ""})
    lines = [line for line in told.stdout.splitlines() if line[8:].startswith("gpu")]
    if os.path.exists("/proc/driver/nvidia/version"):
        tap.skip("without a GPU the doctor has one line", "there is a GPU")
    else:
        tap.ok([line.split() for line in lines] == [["ok", "gpu", "none"]],
               "without a GPU the doctor has one line", told.stdout)


with Scratch() as scratch:
    scratch.environment.pop("CUDA_INJECTION64_PATH", None)
    scratch.images(count=400, size="4K")
    check_version(scratch, "11.8", "18")
    check_version(scratch, "12", "22")
    check_version(scratch, "13", "130001")
    check_pause(scratch)
    check_obstacles(scratch)
    check_unfit(scratch)
    check_two(scratch)
    check_lost(scratch)
    check_ends(scratch)
    check_orphan(scratch)
    check_switched(scratch)
    log = scratch.at("log")
    broken = open(log, encoding="utf-8").read() if os.path.exists(log) else ""
    tap.ok(broken == "", "CUPTI is never called in a child, nor from its callback", broken)
    check_headers()
    check_doctor(scratch)
tap.done()
