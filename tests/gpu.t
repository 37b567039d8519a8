#!/usr/bin/python3
"""`make gpu-bundle` and tests/gpu/run as far as they go without a GPU: the bundle is small,
needs nothing of this Debian but glibc and Python, and runs from any folder without an
environment; what needs a GPU is n/a, with the reason; a step that fails or hangs stops no
other. Speaks TAP. SOAK=1: also a load on the fake driver, and in the newest bare Debian,
which needs root, debootstrap and a network."""

import glob
import json
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE + "/lib", HERE + "/gpu"]
from debian import bootstrap, run_inside
from house import BUILD, Scratch, Tap, children
from lab import Lab, NotHere
import steps

ROOT = os.path.dirname(HERE)
PYTHON = "/usr/bin/python3"
FAKE_CUPTI = BUILD + "/fake/cupti/13/libcupti.so.13"
MOST_BYTES, MOST_FILES, MOST_FILE = 16 << 20, 6, 16 << 20
# Steps without a device to work on; those of dsa's predictions take minutes.
ASK_GPU = ("driver", "kernel", "register", "mirror", "records", "batches", "copy", "step",
           "cost", "speed", "sanitizer", "torch", "train")
STEPS = ("machine", "doctor") + ASK_GPU
SYSTEM = re.compile(r"(linux-vdso|ld-linux[\w-]*|lib(c|m|dl|rt|pthread|util|gcc_s))\.so\b")


def make(tap):
    """The bundle; None: there is none."""
    told = subprocess.run(["make", "-C", ROOT, "--no-print-directory", "gpu-bundle",
                           "B=" + os.path.relpath(BUILD, ROOT)], text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=600, check=False)
    bundle = os.path.join(BUILD, "gpu-bundle")
    good = told.returncode == 0 and os.path.exists(bundle + "/tests/gpu/run")
    return bundle if tap.ok(good, "make gpu-bundle makes a folder", told.stdout) else None


def files_below(folder):
    return [os.path.join(above, name) for above, _, names in os.walk(folder)
            for name in names]


def strangers(bundle):
    """What its programs would load from elsewhere."""
    found = []
    for path in files_below(bundle):
        with open(path, "rb") as file:
            if file.read(4) != b"\x7fELF":
                continue
        told = subprocess.run(["ldd", path], check=True, text=True, stdout=subprocess.PIPE)
        found += [f"{path}: {line}" for line in told.stdout.splitlines()
                  if not SYSTEM.match(os.path.basename(line.split()[0]))
                  and f"=> {bundle}/" not in line]
    return found


def test_form(tap, bundle):
    size = sum(os.path.getsize(path) for path in files_below(bundle))
    tap.ok(size < MOST_BYTES, "it has less than 16 MiB", f"{size / 2**20:.1f} MiB")
    found = strangers(bundle)
    tap.ok(not found, "its programs load nothing from elsewhere, but glibc", *found)


def test_ptx(tap, scratch):
    """The driver's own compiler is not at hand, but the toolkit's may be."""
    ptxas = shutil.which("ptxas") or next(iter(glob.glob("/usr/local/cuda*/bin/ptxas")), None)
    if ptxas is None:
        tap.skip("PTX is assembled", "there is no ptxas")
        return
    path = ROOT + "/tests/lib/gpu_work.ptx"
    for target in ("sm_75", "sm_90"):
        told = scratch.run(ptxas, "-arch=" + target, "-o", "work.cubin", path)
        tap.ok(told.returncode == 0, f"PTX is assembled for {target}", told.stderr)


def test_run(tap, scratch, bundle):
    """Somewhere else, as another session would call it."""
    subprocess.run(["env", "-i", PYTHON, bundle + "/tests/gpu/run", "-o", "out", *STEPS],
                   cwd=scratch.path, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                   stderr=subprocess.STDOUT, text=True, timeout=120, check=False)
    with open(scratch.at("out/gpu.json"), encoding="utf-8") as file:
        result = json.load(file)
    checks = {step: [check for check in result["checks"] if check["step"] == step]
              for step in STEPS}
    tap.ok(all(checks.values()), "each step says something", checks)
    tap.ok(any(check["figure"] for check in checks["doctor"]), "dsa doctor runs there",
           checks["doctor"])
    if "CUDA version of the driver" in {check["check"] for check in checks["driver"]}:
        tap.skip("what needs a GPU is n/a", "this machine has one")
    else:
        wrong = [check for step in ASK_GPU for check in checks[step]
                 if check["verdict"] != "n/a" or not check["reason"]]
        tap.ok(not wrong, "what needs a GPU is n/a, with the reason", *wrong)
        tap.ok("libcuda.so.1" in checks["driver"][0]["reason"], "which names the driver",
               checks["driver"])
    with open(scratch.at("out/gpu.txt"), encoding="utf-8") as file:
        text = file.read()
    told = re.findall(r"  (n/a|ok|FAILED)(?:: |$)", text, re.M)
    tap.ok(len(told) == len(result["checks"]), "the table has a line for each", text)
    sizes = [os.path.getsize(path) for path in files_below(scratch.at("out"))]
    tap.ok(len(sizes) <= MOST_FILES and max(sizes) < MOST_FILE, "few files, and small ones",
           *sizes)


def test_fake(tap, scratch, bundle):
    """The tools, on the fake driver, in which kernels of their own leave no result."""
    fake = {"LD_LIBRARY_PATH": BUILD + "/fake", "FAKE_CUDA": "rate=1e10"}
    tool = bundle + "/tests/tool/"
    told = scratch.run(tool + "gpu_probe", "jit", bundle + "/loader/gpu/convert.ptx",
                       variables=fake)
    tap.ok(re.fullmatch(r"ok\tJIT of convert.ptx\t[\d.]+ ms\t\t\n", told.stdout),
           "gpu_probe compiles PTX", told)
    told = scratch.run(tool + "gpu_mirror", variables=fake)
    tap.ok(told.stdout.startswith("n/a\tdevice memory by descriptor"),
           "gpu_mirror says what the device lacks", told)
    told = scratch.run(tool + "gpu_batches", scratch.images(count=40, size="4K"),
                       variables=fake)
    tap.ok(told.stdout.count("ok\t") == told.stdout.count("\n") == 12,
           "gpu_batches finds all batches as they should be", told)
    told = scratch.run(tool + "gpu_records", scratch.at("records"),
                       variables={**fake, "DSA_CUPTI": FAKE_CUPTI})
    tap.ok(told.stdout.count("ok\t") == told.stdout.count("\n") == 3
           and os.path.getsize(scratch.at("records")) > 40000, "gpu_records finds all records",
           told)
    for way in ("-d", "-a1"):
        told = scratch.run(tool + "gpu_step", way, "-w1", "-n20", "-o", scratch.at("told"),
                           "synthetic", variables=fake)
        with open(scratch.at("told"), encoding="ascii") as file:
            step_s = json.load(file)["step_s"]
        tap.ok(told.stdout.startswith("20 steps, ") and step_s > 1e-3,
               f"gpu_step {way} takes its steps", told, step_s)


def cupti_said(lab, **result):
    os.makedirs(lab.at("said"), exist_ok=True)
    with open(lab.at("said/run.json"), "w", encoding="utf-8") as file:
        json.dump(result, file)
    lab.tell("seen", steps.lost_records(lab.result("said")))


def test_verdicts(tap):
    """Of what only a GPU shows."""
    lab = Lab(100)
    try:
        about = {"about": "CUPTI 22, libcupti.so.12", "lost_records": 3}
        lab.run("watched", lambda lab: cupti_said(lab, devices=[{}], cupti=about), 10)
        lab.run("refused", lambda lab: cupti_said(lab, cupti={"about": "held"}), 10)
        lab.run("silent", cupti_said, 10)
    finally:
        lab.close()
    found = [(check.figure, check.verdict, check.reason) for check in lab.checks]
    tap.ok(found[:2] == [("3", "ok", ""), ("", "n/a", "held")] and found[2][1] == "n/a",
           "CUPTI costs nothing only where it watches", *lab.checks)
    refused = "========= Error: Device not supported. Please refer to the documentation"
    tap.ok(steps.sanitizer_refusal("a\n" + refused + "\n") == refused.strip("= ")
           and not steps.sanitizer_refusal(refused + "\n========= ERROR SUMMARY: 1 error\n")
           and not steps.sanitizer_refusal("gpu_step: operation not supported\n"),
           "compute-sanitizer refuses in its own words alone")


def test_bound(tap):
    """On a device to which a batch takes 4.4 ms."""
    lab = Lab(60)
    lab.environment.update(LD_LIBRARY_PATH=BUILD + "/fake", FAKE_CUDA="rate=2e8")
    os.environ["DSA_CUPTI"] = FAKE_CUPTI
    try:
        lab.run("copy", lambda lab: steps.bound_by_copy(lab, 2e8, 96), 40)
    finally:
        del os.environ["DSA_CUPTI"]
        lab.close()
    tap.ok([check.verdict for check in lab.checks] == ["ok"] * 3,
           "a load that is bound by the copy has its share", *lab.checks)


def hang(lab):
    lab.tell("before", 1)
    lab.call("sh", "-c", "trap '' TERM; sleep 1000 & exec sleep 1000")


def break_down(lab):
    raise ValueError("no such thing")


def lack(lab):
    raise NotHere("no such machine")


def test_steps(tap):
    lab = Lab(100)
    lab.leaves = .2
    try:
        lab.run("hangs", hang, 1)
        lab.run("breaks", break_down, 10)
        lab.run("lacks", lack, 10)
        lab.run("works", lambda lab: lab.check("it", True, 1, "1"), 10)
        lab.last = 0
        lab.run("late", break_down, 10)
    finally:
        lab.close()
    verdicts = [(check.check, check.verdict) for check in lab.checks]
    tap.ok(verdicts == [("before", "ok"), ("hangs", "FAILED"), ("breaks", "FAILED"),
                        ("lacks", "n/a"), ("it", "ok"), ("late", "n/a")],
           "a step that hangs or breaks down stops no other", *lab.checks)
    tap.ok(not children(), "and what it started is ended", *children())


def test_debian(tap, scratch, bundle):
    root = scratch.at("debian")
    why = bootstrap(root, "stable", "python3")
    if why is not None:
        tap.skip("in the newest bare Debian", why)
        return
    shutil.copytree(bundle, root + "/opt/bundle")
    with open(root + "/opt/script", "w", encoding="ascii") as file:
        file.write(f"cd /tmp && /opt/bundle/tests/gpu/run {' '.join(STEPS)}\n")
    told = run_inside(root, "root", "/opt/script")
    tap.ok(re.search(r"dsa doctor +\d+ ok.*\n\d+ ok, \d FAILED, \d+ n/a$", told, re.S),
           "in a bare Debian it needs nothing else", told)


def main():
    tap = Tap()
    test_steps(tap)
    test_verdicts(tap)
    bundle = make(tap)
    if bundle is not None:
        with Scratch() as scratch:
            test_form(tap, bundle)
            test_ptx(tap, scratch)
            test_run(tap, scratch, bundle)
            test_fake(tap, scratch, bundle)
            if os.environ.get("SOAK"):
                test_bound(tap)
                test_debian(tap, scratch, bundle)
    tap.done()


if __name__ == "__main__":
    main()
