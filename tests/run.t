#!/usr/bin/python3
"""dsa run with programs of all kinds: how it ends, what it says, what it leaves behind.
Speaks TAP.  tests/run.t [NAME...] runs some of the tests.
"""
import json
import os
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
TRAINER = [TRAIN, "--dataset", "synthetic:400", "--batch", "8", "--emulate-gpu", "800"]
SHORT = ["--budget", "3s", "--workers", "2"]
TESTS = []


def test(function):
    TESTS.append(function)
    return function


class Run:
    """One dsa run in a folder of its own; `alive` marks its processes by environment."""

    def __init__(self, *words, wait=True, env=None):
        self.folder = tempfile.mkdtemp()
        self.out = os.path.join(self.folder, "out")
        self.mark = f"DSA_TEST_MARK={os.path.basename(self.folder)}"
        environment = {**os.environ, **(env or {})}
        name, value = self.mark.split("=")
        environment[name] = value
        self.process = subprocess.Popen(
            [DSA, "run", "-o", self.out, *words], env=environment, cwd=self.folder,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if wait:
            self.wait()

    def wait(self):
        self.stdout, self.stderr = self.process.communicate(timeout=120)
        self.status = self.process.returncode
        self.lines = [line for line in self.stderr.splitlines()
                      if line.startswith("dsa: ") and "not for use" not in line]

    def processes(self):
        """Processes with our mark that are no zombies."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as file:
                    marked = self.mark.encode() in file.read().split(b"\0")
                with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
                    state = file.read().rsplit(")", 1)[1].split()[0]
            except OSError:
                continue
            if marked and state not in "ZX" and int(pid) != self.process.pid:
                found.append(int(pid))
        return found

    def result(self):
        with open(os.path.join(self.out, "run.json"), encoding="utf-8") as file:
            return json.load(file)

    def wait_for(self, condition):
        """Polls for something that the run itself brings about."""
        for _ in range(6000):
            value = condition()
            if value:
                return value
            time.sleep(.01)
        raise AssertionError(f"{condition.__name__} did not come")

    def done(self):
        for pid in self.processes():
            os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)


def fails_with(run, words):
    assert run.status == 3, (run.status, run.stderr)
    assert len(run.lines) == 1, run.stderr
    assert words in run.lines[0], run.lines
    assert not run.processes()


def clean(run):
    assert not run.processes(), run.processes()
    assert sorted(os.listdir(run.out)) == ["report.html", "run.json"], os.listdir(run.out)


@test
def shares_of_a_short_run_sum_to_100():
    run = Run(*SHORT, "--", *TRAINER)
    assert run.status == 0, run.stderr
    result = run.result()
    total = sum(result["stalls"][name]["share"] for name in ("compute", "prep", "fetch"))
    assert abs(total - 1) < 1e-6, total
    assert all(w["certified"] for w in result["windows"] if w["used"])
    assert result["run"]["target_status"] == 0
    assert "sums to 100.0%" in run.stdout
    clean(run)
    return run


@test
def json_alone_is_on_standard_output():
    run = Run(*SHORT, "--json", "--", *TRAINER)
    assert run.status == 0, run.stderr
    assert json.loads(run.stdout)["schema"] == "dsa.result/1"
    assert "step " in run.stderr
    return run


@test
def quiet_prints_only_what_the_program_prints():
    run = Run(*SHORT, "-q", "--", "sh", "-c", f"{' '.join(TRAINER)} >/dev/null; echo mine")
    assert run.status == 0 and run.stdout == "mine\n" and run.stderr == "", run.stderr
    return run


@test
def without_a_program_it_is_bad_usage():
    run = Run("--budget", "3s")
    assert run.status == 2 and "which program?" in run.stderr
    return run


@test
def impossible_values_are_bad_usage():
    for words in (["--budget", "soon"], ["--precision", "0"], ["--protocol", "x"],
                  ["--workers", "0"], ["--cache", "lots"], ["--exit-status", "x"]):
        run = Run(*words, "--", "true")
        assert run.status == 2 and words[0] in run.stderr, (words, run.stderr)
        run.done()


@test
def no_such_program():
    run = Run("--", "no-such-program")
    fails_with(run, "no program is called 'no-such-program'")
    return run


@test
def a_program_that_is_no_program():
    run = Run("--", "/etc/passwd")
    fails_with(run, "cannot start '/etc/passwd': Permission denied")
    return run


@test
def a_program_that_exits_at_once():
    run = Run("--", "sh", "-c", "exit 7")
    fails_with(run, "ended with status 7 before it asked for a batch")
    return run


@test
def a_program_that_never_asks_for_a_batch():
    run = Run("--timeout", "300ms", "--", "sleep", "1000")
    fails_with(run, "asked for no batch")
    return run


@test
def a_program_that_ignores_sigterm():
    run = Run("--timeout", "300ms", "--", "sh", "-c", "trap '' TERM INT; sleep 1000; sleep 1000")
    fails_with(run, "asked for no batch")
    return run


@test
def no_such_data_set():
    run = Run("--dataset", "/no/such/folder", "--", *TRAINER)
    fails_with(run, "before it asked for a batch")
    assert "/no/such/folder" in run.stderr
    return run


@test
def an_output_folder_that_cannot_be_made():
    run = Run("-o", "/proc/here", "--", "sh", "-c", "touch started")
    fails_with(run, "cannot make the folder /proc/here")
    assert not os.path.exists(os.path.join(run.folder, "started"))
    return run


@test
def an_output_folder_that_cannot_be_written():
    run = Run("-o", "/proc/self", "--", "sh", "-c", "touch started")
    fails_with(run, "cannot write into /proc/self")
    assert not os.path.exists(os.path.join(run.folder, "started"))
    return run


@test
def a_program_that_leaves_processes_behind():
    run = Run(*SHORT, "--", "sh", "-c",
              f"sleep 1000 & setsid sh -c 'trap \"\" TERM; sleep 1000' & {' '.join(TRAINER)}")
    assert run.status == 0, run.stderr
    clean(run)
    return run


@test
def a_program_that_does_not_leave():
    run = Run(*SHORT, "--grace", "200ms", "--", "sh", "-c", f"{' '.join(TRAINER)}; sleep 1000")
    assert run.status == 0, run.stderr
    assert "was stopped" in run.result()["run"]["status_why"]
    clean(run)
    return run


@test
def a_program_that_ends_its_data_early():
    run = Run("--budget", "60s", "--", *TRAINER, "--steps", "20")
    assert run.status == 3, run.status
    assert "not all three shares were measured" in run.lines[0]
    assert run.result()["run"]["status"] == "target ended"
    clean(run)
    return run


@test
def steps_end_the_run():
    run = Run("--budget", "60s", "--steps", "30", "--", *TRAINER)
    assert run.result()["run"]["status"] == "steps", run.result()["run"]
    return run


@test
def the_exit_status_of_the_program():
    run = Run(*SHORT, "--exit-status=target", "--", "sh", "-c", f"{' '.join(TRAINER)}; exit 9")
    assert run.status == 9, run.status
    return run


def trainer_of(run):
    for pid in run.processes():
        try:
            if os.readlink(f"/proc/{pid}/exe") == os.path.realpath(TRAIN):
                return pid
        except OSError:
            pass
    return None


def windows(run):
    """How many windows the driver has begun: trace->window_now in the session."""
    with open(os.path.join(run.out, "session"), "rb") as file:
        return struct.unpack_from("<I", file.read(72), 68)[0]


@test
def a_killed_program_leaves_what_was_measured():
    run = Run("--budget", "60s", "--precision", "0.05", "-v", "--", *TRAINER, wait=False)
    pid = run.wait_for(lambda: trainer_of(run))
    run.wait_for(lambda: windows(run) > 8)
    os.kill(pid, signal.SIGKILL)
    run.wait()
    assert run.status == 0, run.stderr
    result = run.result()
    assert result["run"]["status"] == "target died" and result["run"]["target_status"] == 137
    assert "Killed" in result["run"]["status_why"]
    clean(run)
    return run


@test
def a_signal_is_passed_on():
    run = Run("--budget", "60s", "--", "sh", "-c",
              f"trap 'echo heard' TERM; {' '.join(TRAINER)} & wait; wait", wait=False)
    run.wait_for(lambda: trainer_of(run))
    run.process.send_signal(signal.SIGTERM)
    run.wait()
    assert "heard" in run.stdout
    assert not run.processes()
    return run


@test
def when_dsa_is_killed_the_program_goes_on_alone():
    run = Run("--budget", "60s", "--", *TRAINER, "--steps", "2000", wait=False)
    pid = run.wait_for(lambda: trainer_of(run))
    run.wait_for(lambda: windows(run) > 3)
    run.process.kill()
    run.process.wait()
    assert os.path.exists(f"/proc/{pid}")
    report = subprocess.run([DSA, "report", "--format=json", run.out], text=True,
                            capture_output=True, check=True)
    result = json.loads(report.stdout)
    assert result["run"]["status"] == "dsa died", result["run"]
    assert any(w["certified"] for w in result["windows"])
    assert result["run"]["command"][0] == TRAIN
    os.kill(pid, signal.SIGKILL)
    run.wait_for(lambda: not run.processes())
    run.process.communicate()
    return run


@test
def two_runs_do_not_share_a_folder():
    run = Run("--budget", "60s", "--", *TRAINER, wait=False)
    run.wait_for(lambda: trainer_of(run))
    other = subprocess.run([DSA, "run", "-o", run.out, "--", "true"], text=True,
                           capture_output=True, check=False)
    assert other.returncode == 3 and "another run" in other.stderr, other.stderr
    run.process.terminate()
    run.wait()
    return run


@test
def observing_changes_nothing():
    run = Run("--observe", "--", *TRAINER, "--steps", "300")
    assert run.status == 0, run.stderr
    result = run.result()
    assert result["run"]["status"] == "complete" and result["run"]["protocol"] == "observe"
    assert [w["kind"] for w in result["windows"]] == ["real"]
    assert "low" not in result["stalls"]["prep"]
    assert result["windows"][0]["steps"] >= 299
    assert "not for use" not in run.stderr
    return run


@test
def separate_launches_measure_one_kind_each():
    run = Run("--protocol=separate", "--budget", "9s", "--workers", "2", "--", *TRAINER)
    assert run.status == 0, run.stderr
    kinds = [w["kind"] for w in run.result()["windows"] if w["used"]]
    assert sorted(set(kinds)) == ["cached", "real", "synthetic"], kinds
    assert kinds == sorted(kinds, key=["real", "cached", "synthetic"].index)
    clean(run)
    return run


def root_with_mounts():
    return os.geteuid() == 0 and subprocess.run(
        ["unshare", "-m", "true"], capture_output=True, check=False).returncode == 0


@test
def a_full_disk_is_told():
    if not root_with_mounts():
        return "needs the right to mount"
    # The second has room for the session of 13 MB, and not for the result beside it.
    for size, words in (("4M", "cannot make the session"), ("13024k", "run.json")):
        script = (f"mount -t tmpfs -o size={size} none $0 && "
                  f"{DSA} run {' '.join(SHORT)} -q -o $0 -- {' '.join(TRAINER)}; "
                  "status=$?; ls $0; exit $status")
        folder = tempfile.mkdtemp()
        done = subprocess.run(["unshare", "-m", "sh", "-c", script, folder], text=True,
                              capture_output=True, check=False)
        os.rmdir(folder)
        assert done.returncode == 3 and words in done.stderr, done.stderr
        assert done.stdout.endswith("" if size == "4M" else "session\n"), done.stdout
    return None


def main():
    chosen = [t for t in TESTS if len(sys.argv) < 2 or t.__name__ in sys.argv[1:]]
    print(f"1..{len(chosen)}", flush=True)
    failed = 0
    for number, function in enumerate(chosen, 1):
        run, why, skip = None, None, ""
        try:
            run = function()
            skip = f" # SKIP {run}" if isinstance(run, str) else ""
        except (AssertionError, subprocess.SubprocessError, KeyError, OSError) as error:
            why = f"{type(error).__name__}: {error}"
        if isinstance(run, Run):
            run.done()
        print(f"{'not ' if why else ''}ok {number} - {function.__name__}{skip}", flush=True)
        for line in (why or "").splitlines():
            print(f"# {line}")
        failed += bool(why)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
