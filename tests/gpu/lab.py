"""What the steps of tests/gpu/run share: where things lie, commands that end in time, and
what was found."""

import collections
import ctypes
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# A bundle has its programs where a source tree has its folders.
HERE = ROOT if os.path.exists(os.path.join(ROOT, "dsa")) else os.path.join(ROOT, "build/plain")
BUILD = os.path.abspath(os.environ.get("BUILD", HERE))
DSA = os.path.join(BUILD, "dsa")
TOOLS = os.path.join(BUILD, "tests/tool")
PR_SET_CHILD_SUBREAPER = 36
LEAVES = 10  # seconds that a program has to end once it was asked to

Check = collections.namedtuple("Check", "step check figure goal verdict reason")


class NotHere(Exception):
    """This machine lacks what a step needs: it says what."""


class Late(Exception):
    """A step's time is over."""


def environment():
    """Nothing of the caller's that dsa reads; kernels are compiled each time."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("DSA_")}
    kept.setdefault("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin")
    kept.update(CUDA_CACHE_DISABLE="1", PYTHONDONTWRITEBYTECODE="1",
                PYTHONPATH=os.path.join(ROOT, "loader/python"))
    return kept


def children():
    """Those of others, too, whose parents are gone."""
    found = []
    for task in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{task}/children", encoding="ascii") as file:
                found += [int(pid) for pid in file.read().split()]
        except OSError:
            pass
    return found


def end_orphans():
    """What a command left behind."""
    for pid in children():
        try:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        except OSError:
            pass


def signal_group(group, number):
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        pass


class Program(subprocess.Popen):
    """Is ended where nobody waited for it."""

    def __exit__(self, *what):
        if self.poll() is None:
            signal_group(self.pid, signal.SIGKILL)
        return super().__exit__(*what)


class Lab:
    """A folder for what commands write, and a list of checks."""

    def __init__(self, seconds):
        self.folder = tempfile.mkdtemp(prefix="dsa-gpu-")
        self.environment = environment()
        self.checks, self.took = [], {}
        self.step, self.end = None, 0
        self.last = time.monotonic() + seconds
        self.log = open(self.at("log.txt"), "w", encoding="utf-8", errors="replace")
        self.no_gpu = self.torch = None
        self.leaves = LEAVES
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)

    def close(self):
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def at(self, *names):
        return os.path.join(self.folder, *names)

    # ---- commands ----

    def begin(self, *command, **variables):
        command = [str(word) for word in command]
        self.log.write(f"\n$ {shlex.join(command)}\n")
        return Program(command, cwd=self.folder, env={**self.environment, **variables},
                       text=True, errors="replace", stdin=subprocess.DEVNULL,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)

    def call(self, *command, **variables):
        """Runs it to its end, or to that of the step's time."""
        began = time.monotonic()
        with self.begin(*command, **variables) as process:
            out, said = self.finish(process)
        end_orphans()
        self.log.write(f"[{time.monotonic() - began:.1f} s]\n")
        if time.monotonic() > self.end:
            raise Late(os.path.basename(process.args[0]))
        return subprocess.CompletedProcess(process.args, process.returncode, out, said)

    def wait(self, done):
        """Until it is so, or the step's time is over."""
        while not done():
            if time.monotonic() > self.end:
                raise Late("what was waited for")
            time.sleep(.01)

    def finish(self, process):
        """What it printed; once the step's time is over it is asked to end, then ended."""
        out, said = "", "it could not be ended\n"
        left = self.end - time.monotonic()
        for number in (signal.SIGTERM, signal.SIGKILL, None):
            try:
                out, said = process.communicate(timeout=max(0, left))
                break
            except subprocess.TimeoutExpired:
                left = self.leaves
            if number is not None:
                signal_group(process.pid, number)
        self.log.write(f"{out}{said}[status {process.returncode}]\n")
        self.log.flush()
        return out, said

    def dsa(self, *words, **variables):
        done = self.call(DSA, *words, **variables)
        if done.returncode != 0:
            raise RuntimeError(last_line(done.stderr) or f"dsa ended with {done.returncode}")
        return done

    def result(self, out):
        with open(self.at(out, "run.json"), encoding="utf-8") as file:
            return json.load(file)

    def pictures(self):
        """A data set of JPEGs."""
        if not os.path.exists(self.at("pictures.made")):
            shutil.rmtree(self.at("pictures"), ignore_errors=True)
            self.dsa("dataset", "make", "--count", 1500, "--seed", 1, self.at("pictures"))
            with open(self.at("pictures.made"), "w", encoding="ascii"):
                pass
        return self.at("pictures")

    def tool(self, name):
        return os.path.join(TOOLS, name)

    # ---- what was found ----

    def tell(self, check, figure, goal="", verdict="ok", reason=""):
        self.checks.append(Check(self.step, check, str(figure), goal, verdict, reason))

    def check(self, check, good, figure, goal):
        self.tell(check, figure, goal, "ok" if good else "FAILED")

    def need_gpu(self):
        """NotHere, with what the driver says."""
        if self.no_gpu is None:
            told = self.call(self.tool("gpu_probe"), "device").stdout.split("\t")
            self.no_gpu = "" if told[0] == "ok" else told[-1].strip() or "no answer"
        if self.no_gpu:
            raise NotHere(self.no_gpu)

    def probe(self, *command, **variables):
        """A tool that says itself what it found."""
        self.need_gpu()
        done = self.call(*command, **variables)
        for line in done.stdout.splitlines():
            verdict, check, figure, goal, reason = line.split("\t")
            self.tell(check, figure, goal, verdict, reason)
        if done.returncode != 0:
            raise RuntimeError(last_line(done.stderr) or f"status {done.returncode}")

    def run(self, name, step, limit):
        """One step, whatever becomes of it."""
        began = time.monotonic()
        self.step, self.end = name, min(began + limit, self.last)
        try:
            if self.last - began < 1:
                raise NotHere("the time for all steps was over")
            step(self)
        except NotHere as missing:
            self.tell(name, "", verdict="n/a", reason=str(missing))
        except Late as late:
            self.tell(name, "", f"{self.end - began:.0f} s", "FAILED",
                      f"{late} took longer")
        except Exception as error:  # one step's failure stops no other
            self.tell(name, "", verdict="FAILED", reason=f"{type(error).__name__}: {error}")
        self.took[name] = time.monotonic() - began


def last_line(text):
    lines = text.strip().splitlines()
    return lines[-1] if lines else ""


def find_torch(lab):
    """(a Python whose PyTorch has a device, its version, PyTorch's), or NotHere."""
    reason = "no python3"
    for python in dict.fromkeys(filter(None, (sys.executable, shutil.which("python3")))):
        done = lab.call(python, "-c", "import sys, torch; print(sys.version.split()[0], "
                        "torch.__version__, torch.cuda.is_available())")
        words = done.stdout.split()
        if done.returncode == 0 and words[-1] == "True":
            return python, words[0], words[1]
        reason = (f"torch {words[1]} of {python} finds no device" if done.returncode == 0
                  else f"{python}: {last_line(done.stderr)}")
    return NotHere(reason)


def python_with_torch(lab):
    """That, looked for once."""
    if lab.torch is None:
        lab.torch = find_torch(lab)
    if isinstance(lab.torch, NotHere):
        raise lab.torch
    return lab.torch
