#!/usr/bin/python3
"""`make wheel`: the file is what PEP 427 asks for, the same each time, and needs no later
glibc than its name says and no library that it has not inside; pip installs it without a
network, its dsa measures a program with its dsa.py, and nothing stays when it goes. Speaks
TAP. SOAK=1: also in the newest bare Debian, as a user; needs root, debootstrap and a network."""

import base64
import csv
import glob
import hashlib
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "lib"))
from debian import bootstrap, run_inside
from house import BUDGET, DSA, Scratch, Tap

ROOT = os.path.dirname(HERE)
PYTHON = "/usr/bin/python3"
DATED = {"SOURCE_DATE_EPOCH": "1700000000"}  # 2023-11-14 22:13:20
# What its users' Linux has.
SYSTEM = re.compile(r"(linux-vdso|ld-linux[\w-]*|lib(c|m|dl|rt|pthread|util|gcc_s))\.so\b")
# A program that a wheel's dsa measures by a wheel's dsa.py; it tells where that came from.
PROGRAM = """import json, sys, time
import dsa
with dsa.Loader("images", batch=8, size=32) as loader:
    with open("/proc/self/maps") as maps:
        libraries = sorted({line.split(None, 5)[5].strip() for line in maps
                            if "libdsa.so" in line})
    with open("told", "w") as file:
        json.dump([dsa.__file__, *libraries], file)
    for images, labels in loader.forever():
        time.sleep(.002)
"""


def make(scratch, dist, **environment):
    """The wheels that it leaves there, and what it said."""
    told = subprocess.run(["make", "-C", ROOT, "--no-print-directory", "wheel",
                           "DIST=" + scratch.at(dist)],
                          env=dict(scratch.environment, **environment), text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=600, check=False).stdout
    return glob.glob(scratch.at(dist, "*")), told


def digest(data):
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().strip("=")


def read(path):
    with open(path, "rb") as file:
        return file.read()


def files_below(folder):
    return {os.path.join(above, name) for above, _, names in os.walk(folder)
            for name in names}


def elves_below(folder):
    return [path for path in files_below(folder)
            if not os.path.islink(path) and read(path)[:4] == b"\x7fELF"]


# ---- the file ----


def test_form(tap, wheel):
    info = re.match(r"(dsa-[\d.]+)-", os.path.basename(wheel))[1] + ".dist-info/"
    with zipfile.ZipFile(wheel) as file:
        inside = {entry.filename: file.read(entry) for entry in file.infolist()}
        times = {entry.date_time for entry in file.infolist()}
        programs = [entry.filename for entry in file.infolist()
                    if entry.external_attr >> 16 & 0o111]
    rows = list(csv.reader(inside[info + "RECORD"].decode().splitlines()))
    want = [[name, digest(data), str(len(data))] for name, data in inside.items()
            if name != info + "RECORD"] + [[info + "RECORD", "", ""]]
    tap.ok(rows == want, "RECORD has every file in its order, with its hash and size, and "
                         "comes last", rows, want)
    tap.ok(list(inside)[:-1] == sorted(list(inside)[:-1]), "the files are sorted", *inside)
    tap.ok(times == {(2023, 11, 14, 22, 13, 20)}, "their time is SOURCE_DATE_EPOCH", times)
    tap.ok("dsa_prefix/bin/dsa" in programs, "dsa may be started", programs)
    tag = re.search(r"^Tag: (.*)$", inside[info + "WHEEL"].decode(), re.M)[1]
    tap.ok(f"-{tag}.whl" in wheel, "its tag stands in its name", wheel, tag)
    return inside


def test_licences(tap, inside):
    info = next(name for name in inside if name.endswith(".dist-info/METADATA"))
    told = inside[info].decode()
    files = re.findall(r"^License-File: (.*)$", told, re.M)
    lost = [name for name in files
            if f"{os.path.dirname(info)}/licenses/{name}" not in inside]
    tap.ok("LICENSE" in files and not lost, "licences lie where METADATA says", told, lost)
    bundled = [re.match(r"dsa-lib(\w+)", os.path.basename(name))[1] for name in inside
               if "/bundled/dsa-" in name]
    unknown = [name for name in bundled if not re.search(rf"^License-File: bundled/lib{name}",
                                                         told, re.M)]
    tap.ok({"jpeg", "pfm"} <= set(bundled) and not unknown,
           "each library inside has the licence of its Debian package", bundled, told)


def test_content(tap, inside):
    pages = {os.path.basename(path) for path in glob.glob(ROOT + "/man/*.[1-9]")}
    missing = pages - {os.path.basename(name) for name in inside
                       if re.search(r"\.data/data/share/man/man\d/", name)}
    tap.ok(not missing, "every manual page is inside", missing)
    tap.ok("dsa.py" in inside and "dsa_prefix/lib/libdsa.so.1" in inside,
           "and so are dsa.py and its library", *inside)
    useless = [name for name in inside if re.search(r"\.a$|\.h$|\.pc$|libdsa\.so$", name)
               and "/doc/" not in name]
    tap.ok(not useless, "but nothing to compile programs with", useless)


def glibc_needed(path):
    told = subprocess.run(["readelf", "-W", "--dyn-syms", path], check=True, text=True,
                          stdout=subprocess.PIPE).stdout
    return max((int(a), int(b)) for a, b in re.findall(r"@GLIBC_(\d+)\.(\d+)", told))


def test_glibc(tap, wheel, elves):
    """Where glibc is newer than 2.37, its headers alone ask for more."""
    needed = {path: glibc_needed(path) for path in elves}
    asks = tuple(map(int, re.search(r"manylinux_(\d+)_(\d+)_", wheel).groups()))
    most = max(needed.values())
    tap.ok(asks == max(most, (2, 34)) and wheel.endswith(platform.machine() + ".whl"),
           "the name tells which glibc and which machine are needed", wheel, needed)
    here = tuple(map(int, platform.libc_ver()[1].split(".")))
    if here >= (2, 38):
        tap.skip("nothing needs a later glibc than 2.34", f"made with glibc {here}")
    else:
        tap.ok(most <= (2, 34), "nothing needs a later glibc than 2.34", needed)


# ---- installed ----


def environment(scratch):
    """A fresh one, with the NumPy of the system, and a shell's view of it."""
    scratch.run(PYTHON, "-m", "venv", "--system-site-packages", "a venv")
    for name in ("DSA_LIBRARY", "LD_LIBRARY_PATH", "PYTHONPATH"):
        scratch.environment.pop(name, None)
    scratch.environment.update(PATH=f"{scratch.at('a venv/bin')}:{os.environ['PATH']}",
                               PYTHONDONTWRITEBYTECODE="1", PIP_NO_INDEX="1",
                               PIP_DISABLE_PIP_VERSION_CHECK="1")
    return scratch.at("a venv")


def strangers(elves, venv):
    """What a program would load from elsewhere."""
    found = []
    for path in elves:
        if os.path.basename(path) in ("libdsa-audio.so", "libdsa-net.so"):
            continue  # the system's libsndfile and libcurl, where they are wanted
        told = subprocess.run(["ldd", path], check=True, text=True,
                              stdout=subprocess.PIPE).stdout
        found += [line for line in told.splitlines()
                  if not SYSTEM.match(os.path.basename(line.split()[0]))
                  and f"=> {venv}/" not in line]
    return found


def test_installed(tap, scratch, venv, elves):
    told, want = scratch.run("dsa", "--version").stdout, scratch.run(DSA, "--version").stdout
    tap.ok(told == want, "dsa is on PATH", told, want)
    tap.ok(not strangers(elves, venv), "libraries come from inside, but for those of glibc",
           *strangers(elves, venv))
    told, want = (scratch.run(dsa, "doctor") for dsa in ("dsa", DSA))
    tap.ok(told.returncode == want.returncode and told.stdout,
           "dsa doctor finds what the dsa of the source tree finds", told, want)
    tap.ok(os.path.exists(os.path.join(venv, "share/man/man1/dsa-run.1")),
           "manual pages lie where man looks for them, beside bin")


def test_run(tap, scratch, venv):
    scratch.images(count=60, size="6K")
    with open(scratch.at("train.py"), "w", encoding="ascii") as file:
        file.write(PROGRAM)
    ran = scratch.run("dsa", "run", "--budget=" + BUDGET, "-o", "out", "--", "sh", "-c",
                      "grep SigIgn /proc/self/status >signals; exec python train.py")
    tap.ok(ran.returncode == 0 and os.path.exists(scratch.at("out/report.html")),
           "its dsa measures a program", ran.stdout, ran.stderr)
    with open(scratch.at("told"), encoding="utf-8") as file:
        told = json.load(file)
    tap.ok(len(told) == 2 and all(path.startswith(venv + "/lib/") for path in told),
           "which loads by the wheel's dsa.py and library", told)
    ignored = int(read(scratch.at("signals")).split()[1], 16)
    tap.ok(not any(ignored >> number - 1 & 1 for number in (signal.SIGPIPE, signal.SIGXFSZ)),
           "and is started with no signal ignored for Python's sake", f"{ignored:x}")


def test_torch(tap, scratch):
    """Its path has a space, which LD_PRELOAD can't have."""
    if not os.path.exists("/usr/lib/python3/dist-packages/torch"):
        tap.skip("its dsa measures a PyTorch script", "no python3-torch")
        return
    for number in range(100):
        with open(os.path.join(scratch.folder("files"), str(number)), "wb") as file:
            file.write(bytes(4096))
    ran = scratch.run("dsa", "run", "-q", "--observe", "-o", "torch", "--", "python",
                      os.path.join(HERE, "lib/torch_program.py"), "train", "files",
                      "workers=1", "rate=4000", "epochs=2")
    result = scratch.result("torch")
    tap.ok(ran.returncode == 0 and result.get("loader", {}).get("kind") == "torch" and
           result["stalls"].get("compute", {}).get("share", 0) > 0, "its dsa measures a PyTorch script",
           ran.stdout, ran.stderr, result.get("loader"), result["stalls"])


def test_environment(tap, scratch, wheel):
    venv = environment(scratch)
    before = files_below(venv)
    told = scratch.run("pip", "install", wheel)
    if not tap.ok(told.returncode == 0, "pip installs it without a network", told.stdout,
                  told.stderr):
        return
    elves = elves_below(venv)
    test_glibc(tap, wheel, elves)
    test_installed(tap, scratch, venv, elves)
    test_run(tap, scratch, venv)
    test_torch(tap, scratch)
    told = scratch.run("pip", "uninstall", "-y", "dsa")
    left = files_below(venv) ^ before
    tap.ok(told.returncode == 0 and not left, "no file stays when it is uninstalled",
           told.stdout, told.stderr, *left)


# ---- in a bare Debian ----

IN_DEBIAN = """python3 -m venv --system-site-packages ~/venv
. ~/venv/bin/activate
cd ~
pip install --no-index /wheel/*.whl || echo no pip
dsa --version
dsa doctor >/dev/null; echo doctor $?
dsa dataset make --count 60 --size-mean 6K images >/dev/null
dsa run --budget=3s -o out -- python /wheel/train.py; echo run $?
cat told; echo
pip uninstall -y dsa; find ~/venv -iname '*dsa*'; echo left
"""


def test_debian(tap, scratch, wheel):
    root = scratch.at("debian")
    why = bootstrap(root, "stable", "python3", "python3-venv", "python3-numpy")
    if why is not None:
        tap.skip("in the newest bare Debian", why)
        return
    subprocess.run(["chroot", root, "useradd", "-m", "-s", "/bin/bash", "user"], check=True)
    os.mkdir(os.path.join(root, "wheel"))
    shutil.copy(wheel, os.path.join(root, "wheel"))
    for name, text in (("train.py", PROGRAM), ("script", IN_DEBIAN)):
        with open(os.path.join(root, "wheel", name), "w", encoding="utf-8") as file:
            file.write(text)
    told = run_inside(root, "user", "/wheel/script")
    with open(os.path.join(root, "etc/debian_version"), encoding="ascii") as file:
        name = file.read().strip()
    tap.ok(re.search(r"^dsa [\d.]+$.*^doctor [03]$.*^run 0$.*/home/user/venv/lib/.*"
                     r"/home/user/venv/lib/.*^\s*Successfully uninstalled [^\n]*\nleft$", told,
                     re.M | re.S), f"in a bare Debian {name} it needs nothing else", told)


def main():
    tap = Tap()
    with Scratch() as scratch:
        made, told = make(scratch, "dist", **DATED)
        if not tap.ok(len(made) == 1 and made[0].endswith(".whl"), "make wheel makes one file",
                      told, *made):
            tap.done()
        inside = test_form(tap, made[0])
        test_licences(tap, inside)
        test_content(tap, inside)
        again, told = make(scratch, "again", **DATED)
        tap.ok(again and read(made[0]) == read(again[0]), "and the same one again", told)
        test_environment(tap, scratch, made[0])
        if os.environ.get("SOAK"):
            test_debian(tap, scratch, made[0])
    tap.done()


if __name__ == "__main__":
    main()
