#!/usr/bin/python3
"""PyTorch scripts that nobody changed, under dsa run: truth by construction, and that they
end as they would have. Speaks TAP. SLEEPS most of the time.

    tests/hook.t [NAME...]     some of the tests
    SOAK=1 tests/hook.t        more cases of truth
"""
import ast
import glob
import json
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/lib")
from house import AWAKE, BUILD, DSA, HERE, Scratch, SideBySide, Tap, middle_stalls, unsure
from punctual import torch_truth
from torch_own import torch_own, torch_own_mean

PYTHON = "/usr/bin/python3"
PROGRAM = os.path.join(HERE, "lib/torch_program.py")
BATCH, FILES = 8, 480
BUDGET = "24s" if os.environ.get("SOAK") else "8s"
PICTURES = 300  # more than there is room for names
FETCH_OFF, OFF, PROOF_OFF = .02, .03, .02

SOAK = bool(os.environ.get("SOAK"))
# Workers, samples/s of the accelerator, prep of a sample and latency of a file in ms, and
# whether it is asynchronous: from no stall to 80 %. Batches are small and samples slow: the
# less often a worker sleeps, the less of its time is to wake up.
FEW = 4 if SOAK else 2  # samples: what giving a batch takes differs by .5 ms between starts
SHORT = [(0, 100, 8, 4, 0), (2, 100, 12, 24, 0), (2, 75, 32, 16, 1)]
LONG = [(0, 50, 4, 16, 0), (0, 250, 4, 12, 0), (2, 75, 32, 16, 0), (2, 100, 32, 0, 0),
        (2, 62.5, 8, 8, 0), (2, 62.5, 30, 4, 0), (4, 100, 32, 32, 0), (4, 100, 16, 8, 0),
        (4, 200, 56, 24, 0), (4, 250, 12, 68, 0)]

tap, wanted = Tap(), sys.argv[1:]


def truth(case, own):
    workers, rate, prep, latency, _ = case
    return torch_truth(workers, own, FEW / rate, FEW * prep / 1e3, FEW * latency / 1e3)


def dsa_run(scratch, out, options, *command, variables=(), ahead=()):
    return scratch.run(DSA, "run", "-o", out, *options.split(), "--", *ahead, PYTHON, PROGRAM,
                       *command, variables=variables)


def check_share(name, result, stage, value):
    """A share against its truth. Without others on the machine, the result's own, and the
    second proof where that can know."""
    share = result["stalls"][stage]["share"] if SOAK else middle_stalls(result)[stage]
    proof = result.get("second_proof", {}).get(stage, {}).get("share")
    print(f"#   {stage:8} {100 * share:6.2f}   truth {100 * value:6.2f}   second proof",
          "n/a" if proof is None else f"{100 * proof:6.2f}")
    off = (FETCH_OFF if stage == "fetch" else OFF) + unsure(result, stage)
    tap.ok(abs(share - value) <= off,
           f"{name}: {stage} is the true share", f"{share} instead of {value}",
           *(f'{w["kind"]} {w.get("rate_per_s")}/s: {w["why"]}' for w in result["windows"]))
    if SOAK and proof is not None:
        tap.ok(abs(share - proof) <= PROOF_OFF,
               f"{name}: {stage} of the second proof is about the same", share, proof)


def check_truth(scratch, case, own):
    """Without `own`, what giving a batch takes is that of before and after."""
    workers, rate, prep, latency, device = case
    before = own or own_of(scratch, case)
    name = (f"{workers} workers, {rate}/s, prep {prep} ms, latency {latency} ms"
            f"{', asynchronous' if device else ''}")
    slow = f"--storage-latency {latency}ms" if latency else ""
    done = dsa_run(scratch, "out-truth", f"-q --budget {BUDGET} --timeline when.json {slow}",
                   "train", "data", f"workers={workers}", f"prep={prep}", f"rate={rate}",
                   f"device={device}", f"batch={FEW}", ahead=[AWAKE])
    if not tap.ok(done.returncode == 0, f"{name}: measured", done.returncode, done.stderr):
        return
    result = scratch.result("out-truth")
    kinds = {w["kind"] for w in result["windows"] if w["used"]}
    tap.ok(kinds >= {"synthetic", "cached", "real"}, f"{name}: windows of three kinds", kinds)
    prep = [w for w in result["windows"] if w["kind"] == "prep"]
    lost = [w for w in prep if "though all had been read" in w["why"]]  # the kernel took a page
    tap.ok(len(lost) <= 1 and all(w["used"] or w in lost or "disturbed by others" in w["why"]
                                  for w in prep), f"{name}: windows of prep alone are proven",
           *(w["why"] for w in prep))
    tap.ok(abs(sum(s["share"] for s in result["stalls"].values()) - 1) < 1e-6,
           f"{name}: the shares are all of it", result["stalls"])
    with open(scratch.at("when.json"), encoding="utf-8") as file:
        batches = [event for event in json.load(file) if event["name"] == "batch"]
    tap.ok(len({event["tid"] for event in batches}) >= max(workers, 1) and
           sum(event["args"]["samples"] for event in batches) == FEW * len(batches),
           f"{name}: the timeline has who made batches", batches[:3])
    after = own or own_of(scratch, case)
    for stage, value in truth(case, torch_own_mean(before, after)).items():
        check_share(name, result, stage, value)
    shutil.rmtree(scratch.at("out-truth"))


def is_true(result, true):
    return all(abs(result["stalls"][stage].get("share", 9) - value) <= OFF
               for stage, value in true.items())


def check_undrained(scratch, own):
    """If windows began with a queue that is not empty, these tests would tell."""
    with open(scratch.at(scratch.folder("undrained"), "sitecustomize.py"), "w",
              encoding="ascii") as file:
        file.write(f"import sys\nsys.path.append({os.path.join(BUILD, 'python')!r})\n"
                   "import dsa_hook\n"
                   "dsa_hook.Loading.drain = lambda self: self.stream.given.clear()\n")
    case = (2, 75, 32, 16, 0)
    done = dsa_run(scratch, "out-undrained", f"-q --budget {BUDGET} --storage-latency 16ms",
                   "train", "data", f"batch={FEW}", "workers=2", "prep=32", "rate=75", ahead=[AWAKE],
                   variables={"PYTHONPATH": scratch.at("undrained")})
    result = scratch.result("out-undrained")
    tap.ok(done.returncode == 3 or not is_true(result, truth(case, own)),
           "a queue that is not emptied shows", done.returncode, result.get("stalls"))


# torch has two texts for it, and says which it was that noticed first.
KILLED = re.compile(r"^RuntimeError: DataLoader worker \((pid \d+\) is killed by signal: Killed\."
                    r"|pid\(s\) \d+\) exited unexpectedly)", re.M)


def check_killed(scratch):
    """A worker that dies ends the program as it does without dsa."""
    words = ("train", "data", "workers=2", "prep=5", "rate=100000", "kill=20")
    plain = scratch.run(PYTHON, PROGRAM, *words)
    done = dsa_run(scratch, "out-killed", "-q --budget 60s", *words)
    said = [plain.stderr, result_text(done.stderr)]  # a worker may say something behind it
    tap.ok(all(KILLED.search(text) for text in said), "a killed worker: torch's text", *said)
    status = scratch.result("out-killed")["run"].get("target_status")
    tap.ok(status == plain.returncode == 1, "a killed worker: the same status", status)


def result_text(text):
    """Without what dsa says."""
    return "\n".join(line for line in text.splitlines() if not line.startswith("dsa:"))


def is_mine(path):
    with open(path, "rb") as file:
        return file.read() == b"mine"


def check_evaluates(scratch):
    keep, early, inside, old, log = map(
        scratch.at, ("checkpoint", "early", "inside", "old", "log"))
    for name in (keep, early, inside, old, log):
        with open(name, "w", encoding="ascii") as file:
            file.write("mine")
    done = dsa_run(scratch, "out-evaluates", "-q --budget 9s --grace 1m", "evaluates", "data",
                   "workers=2", f"keep={keep}", f"early={early}", f"inside={inside}",
                   f"pictures={PICTURES}", f"old={old}", f"log={log}")
    tap.ok(done.returncode == 0, "validation first: measured", done.stderr)
    result = scratch.result("out-evaluates")
    tap.ok(result["configuration"]["batch"] == BATCH, "validation first: the loader that "
           "trains is measured", result["configuration"])
    tap.ok(result["run"].get("target_status") == 0, "validation first: it ends with status 0",
           result["run"])
    tap.ok(is_mine(keep), "validation first: the checkpoint that was there stays")
    names, more = result["files_written"], result["files_written_more"]
    tap.ok(inside + ".0" in names and len(names) + more > PICTURES and not is_mine(inside) and
           log in names and not is_mine(log),
           "what it wrote inside its loop is told", len(names), more)
    tap.ok(result["files_kept"]["count"] == 4 and result["files_kept"]["lost"] == 0,
           "what was there before is kept, however many there are", result["files_kept"])
    subprocess.run(["sh", result["files_kept"]["put_back"]], check=True)
    tap.ok(all(map(is_mine, (early, inside, old, log))), "and can be put back, as can what it removed")


def check_batches(scratch):
    """Copies come whole each time, whatever the program does to them, and keep nothing of
    the workers' memory."""
    little = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs -o size=8m none /dev/shm; exec "$@"',
              "-"]
    has_root = subprocess.run(little + ["true"], check=False,
                              stderr=subprocess.DEVNULL).returncode == 0
    done = scratch.run(*(little if has_root else ()), PYTHON, PROGRAM, "batches", "data",
                       variables={"PYTHONPATH": os.path.join(BUILD, "python")})
    tap.ok(done.returncode == 0, "batches that are given again are whole", done.stderr)
    if not has_root:
        tap.skip("with 8 MB of shared memory", "it needs root")


def check_validates(scratch):
    """Batches of another loader are none of those that it was trained with, nor are they what
    the program read unseen."""
    done = dsa_run(scratch, "out-validates", "-q --observe", "validates", "data", "leaves=40")
    if tap.ok(done.returncode == 0, "validation after each epoch: observed", done.returncode,
              done.stdout, done.stderr):
        result = scratch.result("out-validates")
        stalls = {stage: stall.get("share") for stage, stall in result["stalls"].items()}
        tap.ok(stalls.get("prep", 0) > .5 and abs(stalls.get("fetch", 9)) < .1,
               "prep is told from fetch", stalls, result.get("split"), done.stderr)
        tap.ok(result["configuration"]["batch"] == 8 and
               {w["used"] for w in result["windows"]} == {True}, "and its batches are counted",
               result["configuration"], *result["windows"])
    done = dsa_run(scratch, "out-within", "-q --budget 10s", "validates", "data", "workers=2",
                   "every=15")
    if not tap.ok(done.returncode == 0, "one within the loop: measured", done.returncode,
                  done.stdout, done.stderr):
        return
    windows = scratch.result("out-within")["windows"]
    tap.ok({w["kind"] for w in windows if w["certified"]} >= {"synthetic", "cached", "real"} and
           not any("batches were made" in w["why"] for w in windows
                   if w["kind"] == "synthetic" and not w["certified"]),
           "it leaves windows valid",
           *((w["kind"], w["certified"], w["why"]) for w in windows))


def check_reuses(scratch):
    """An evaluation with the loader that trains is none of the training, and ends."""
    steps, epochs = FILES // BATCH, 3
    for first in ("first=1", "first=0")[:1 + SOAK]:
        done = dsa_run(scratch, "out-reuses", "-q --observe", "reuses", "data",
                       f"epochs={epochs}", first)
        result = scratch.result("out-reuses")
        tap.ok(done.returncode == 0 and result["epoch_starts"]["count"] == epochs and
               result["processes"][0]["samples"] == epochs * (steps - 1) * BATCH and
               "untrained" not in result["loader"],
               f"{first}: evaluations with the same loader: only what trains is counted",
               result["epoch_starts"], result["processes"][0], result["loader"], done.stderr)
    for options, leaves in ("--budget 3s", "leaves=20"), ("--budget 6s --epochs=own", "leaves=1000"):
        done = dsa_run(scratch, "out-leaves", "-q " + options, "reuses", "data", leaves,
                       "epochs=1000")
        tap.ok(set(done.stdout.split()) == {str(steps)},
               f"{options} {leaves}: and they are as long as they were", done.stdout, done.stderr)


def check_untrained(scratch):
    """The remedy is in the message, and the program ends as without dsa."""
    for part, options, why in (
            ("two same=1", "--observe", "another iterator of its loader, another loader "
             "each time or one in another thread gives a batch in each step"),
            ("infers", "", "before a loop was measured: torch's DataLoader made batches, but no "
             "backward() ran between two of them: --observe measures")):
        name, *words = part.split()
        done = dsa_run(scratch, f"out-{part}", options, name, "data", *words)
        tap.ok(done.returncode == 3 and why in done.stderr and "the end" in done.stdout,
               f"{part}: why there is no result", done.stdout, done.stderr)
    done = dsa_run(scratch, "out-observed", "--observe", "infers", "data")
    result = scratch.result("out-observed")
    tap.ok("no backward() of torch followed a batch: inference, evaluation" in done.stdout and
           result["loader"].get("untrained") is True and
           result["processes"][0]["samples"] == FILES - BATCH,
           "infers: observed, and told", done.stdout, done.stderr, result["processes"][0])


def check_beside(scratch):
    """A step waits for both of its loaders, in windows and observed; for none where copies are
    given."""
    prep = 4  # ms a sample
    alone = ["alone=61"] if SOAK else []
    for options, words in (("--budget " + BUDGET, ["kept=1", "seconds=100", *alone]),
                           ("--observe", [])):
        done = dsa_run(scratch, "out-beside", "-q " + options, "two", "data", f"prep={prep}", *words)
        result = scratch.result("out-beside")
        waits = {kind: [w["blocked_s"] * 1e3 / w["steps"] for w in result["windows"]
                        if w["kind"] == kind and w["used"]] for kind in ("real", "synthetic")}
        tap.ok("too long" not in done.stdout, f"{options}: and alone it has its own end", done.stdout)
        tap.ok(done.returncode == 0 and waits["real"] and min(waits["real"]) > 1.9 * prep * BATCH and
               result["configuration"]["beside"] == 1 and
               (words == [] or waits["synthetic"] and
                "several loaders in each step" in result["model"]["why"]),
               f"{options}: two loaders in each step", waits, done.stderr,
               *(w["why"] for w in result["windows"]))


def check_after(scratch):
    """What only evaluated gives way to what trains, in another process, too."""
    done = scratch.run(DSA, "run", "-q", "-o", "out-after", "--observe", "--", "sh", "-c",
                       '"$0" "$1" infers data; "$0" "$1" train data rate=4000 epochs=1', PYTHON,
                       PROGRAM)
    result = scratch.result("out-after")
    tap.ok(done.stdout.count("the end") == 2 and "untrained" not in result["loader"] and
           result["processes"][0]["samples"] == FILES - BATCH,
           "a program that trains after one that does not is measured", done.stdout,
           done.stderr, result["loader"], result["processes"])


def check_alone(scratch):
    """A program that was told to go on without dsa is ended by nothing of dsa's."""
    for options in "--budget 1s --grace 1s", "--observe":
        done = dsa_run(scratch, "out-alone", "-q " + options, "two", "data", "same=1",
                       "seconds=4", "prep=1")
        run = scratch.result("out-alone")["run"]
        tap.ok(done.returncode == 3 and "the end" in done.stdout and
               run["target_status"] == 0 and run["status"] == "target ended" and
               "went on without dsa: torch" in run.get("status_why", ""),
               f"{options}: left alone, it comes to its end, and the result says why", run,
               done.stdout, done.stderr)


def check_breaks(scratch):
    for anew in ("persistent=1", "anew=1", "anew=0")[:2 + SOAK]:
        done = dsa_run(scratch, "out-" + anew, "-q --budget 8s", "breaks", "data", anew)
        result = scratch.result("out-" + anew)
        windows = result["windows"]
        kinds = {w["kind"] for w in windows if w["used"]}
        tap.ok(result["configuration"]["batch"] == BATCH and result["configuration"]["loaders"] == 1,
               f"{anew}: the loader that trains is measured, and not those that were tried before",
               result["configuration"], done.stderr)
        tap.ok(done.returncode == 0 and kinds >= {"synthetic", "cached", "real"} and
               any("began another epoch" in w["why"] for w in windows) == (anew == "anew=1"),
               f"{anew}: a loop that the program leaves is followed into its next epoch, and "
               "windows go on there if its loader does", kinds, done.stderr, *windows)
        tap.ok(("epoch_starts" in result) == (anew != "persistent=1"),
               f"{anew}: what begins once is no cost of each epoch", result.get("epoch_starts"))


def check_ahead(scratch):
    """What ends the thread that asks ends the program, too; its queue is no training."""
    done = dsa_run(scratch, "out-ahead", "-q --budget 6s", "ahead", "data", "rate=400")
    result = scratch.result("out-ahead")
    windows = result["windows"]
    rates = [w["rate_per_s"] for w in windows if w["used"] and w["kind"] == "synthetic"]
    tap.ok(rates and sorted(rates)[len(rates) // 2] < 1.3 * 400,
           "windows do not have what fills the queue", *windows)
    tap.ok(result["loader"].get("reads_ahead") is True and
           "for a queue" in result.get("second_proof", {}).get("basis", ""),
           "a thread's batches are told, and what training waits for them",
           result["loader"], result.get("second_proof"))
    tap.ok(done.returncode == 0 and done.stdout.count("an epoch's end") <= 1 and
           "did not leave" not in done.stdout, "a thread asks for batches: the program ends",
           done.returncode, done.stdout[-2000:], done.stderr)


def check_wholes(scratch):
    """Batches that the data set makes have their samples, in the program and where made."""
    for words in (("stream=1",), ("stream=0",), ("stream=1", "bare=1"))[:1 + 2 * SOAK]:
        done = dsa_run(scratch, "out-wholes", "-q --observe", "wholes", "data", *words)
        result = scratch.result("out-wholes")
        window, = result["windows"]
        made = [(p["samples"], BATCH * p["batches"]) for p in result["processes"]
                if "batches" in p]
        tap.ok(done.returncode == 0 and result["configuration"]["batch"] == BATCH and
               window["samples"] == BATCH * window["steps"] and
               made and all(samples == whole for samples, whole in made) and
               result["dataset"].get("samples", FILES) == FILES,
               f"wholes {words}: a batch is no sample", result["configuration"],
               result["dataset"], window, made)


def check_meets(scratch):
    """Workers that wait for one another do not for ever."""
    done = dsa_run(scratch, "out-meets", "-q --budget 8s", "meets", "data")
    result = scratch.result("out-meets")
    kinds = {w["kind"] for w in result["windows"] if w["certified"]}
    tap.ok(done.returncode == 0 and kinds >= {"synthetic", "real"} and
           result["run"].get("target_status") == 0,
           "workers that meet at a barrier come to rest", kinds, result["run"], done.stderr)
    why = result["model"].get("why", "")
    tap.ok("samples" not in result["dataset"] and
           (result["predictions"] or result["split"]["by"] != "replay" or
            "off" in why or "too little" in why),
           "a stream without length is predicted, if its model is near enough", why,
           result["split"])


def lasted(done):
    """Steps of the epochs that it printed."""
    return {line for line in done.stdout.split("\n") if line.isdigit()}


def check_counts(scratch):
    """A program that can't go on beyond the end of its epoch is measured with its own ones."""
    for words, options in ((("workers=0", "--sweep=workers=1 --sweep-budget=3s"),
                            ("skips=1", "")) +
                           (("persistent=1", "--epochs=own"),) * SOAK):
        done = dsa_run(scratch, "out-counts", "--budget 5s " + options, "counts", "data", words)
        result = scratch.result("out-counts")
        kinds = {w["kind"] for w in result["windows"] if w["used"]}
        name = f"counts {words} {options}"
        tap.ok(done.returncode == 0 and kinds >= {"synthetic", "cached", "real"} and
               result["run"]["epoch_ends"] == "own" and
               not any("began another epoch" in w["why"] for w in result["windows"]),
               f"{name}: measured", done.returncode, result["run"], kinds, done.stderr,
               *result["windows"])
        tap.ok(lasted(done) == {str(FILES // BATCH)}, f"{name}: epochs have their length",
               done.stdout)
        tap.ok(("measuring once more" in done.stderr) == ("--epochs" not in options),
               f"{name}: what was started anew is told", done.stderr)
        if "sweep" in options:
            tap.ok(result["verifications"][0]["measured_per_s"]["value"] > 0 and
                   0 < result["loader"]["share_s"] < .1 and
                   0 < result["loader"]["unpickle_s"] < .1,
                   f"{name}: and tried so; what it takes to hand a batch over was measured",
                   result["verifications"], result["loader"])


def is_of_python_3_8(path):
    with open(path, encoding="utf-8") as file:
        try:
            return ast.parse(file.read(), path, feature_version=(3, 8)) is not None
        except SyntaxError:
            return False


def check_python(_):
    """By the grammar of the hook's files."""
    paths = glob.glob(os.path.join(BUILD, "python/*.py"))
    younger = [path for path in paths if not is_of_python_3_8(path)]
    tap.ok(len(paths) > 10 and not younger, "the hook is written for Python 3.8", *younger)


def check_guards(scratch):
    folder = os.path.join(BUILD, "python")
    done = scratch.run(PYTHON, os.path.join(HERE, "lib/torch_guards.py"),
                       variables={"PYTHONPATH": folder})
    tap.ok(done.returncode == 0, "odd things of programs do not fail in the hook", done.stderr)


def check_uncopied(scratch):
    """The program ends as without dsa."""
    for options, seconds, why in (
            ("--budget 3s", 4, "a batch cannot be copied"),
            ("--workers 2", 0, "--workers needs a DataLoader that the program keeps")):
        done = dsa_run(scratch, "out-uncopied", options, "uncopied", "data",
                       f"seconds={seconds}")
        tap.ok(done.returncode == 3 and why in done.stderr and "the end" in done.stdout,
               f"{why}: said, and the program goes on", done.stdout, done.stderr)


def check_end_of_data(scratch):
    done = dsa_run(scratch, "out-end", "-q --budget 3s --end=data", "train", "data", "rate=4000",
                   "epochs=1000")
    tap.ok(done.stdout == "the end\n" and done.returncode == 0,
           "--end=data ends all loops, and what follows runs", done.stdout, done.stderr)


def check_odd(scratch, kind):
    """What reads something else the next time, or nothing, is found out."""
    done = dsa_run(scratch, f"out-{kind}", "-q --budget 6s", "odd", "data", f"kind={kind}")
    result = scratch.result(f"out-{kind}")
    windows = [w for w in result["windows"] if w["kind"] == "cached" and w.get("steps")]
    if kind == "memory":
        tap.ok(done.returncode == 0 and all("no file read" in w["why"] for w in windows),
               "data in memory: no file is read", *windows)
    else:
        tap.ok(done.returncode == 0 and windows and not any(w["certified"] for w in windows) and
               any(w["certified"] for w in result["windows"] if w["kind"] == "real"),
               f"a data set with {kind}: measured as it comes, without cached windows",
               done.stdout, *windows)


def check_unmeasured(scratch):
    """What can't be measured runs on as without dsa."""
    variables = {"PYTHONPATH": scratch.folder("mine"), "LD_PRELOAD": "libm.so.6"}
    with open(scratch.at("mine", "sitecustomize.py"), "w", encoding="ascii") as file:
        file.write("print('mine ran')\n")
    done = dsa_run(scratch, "out-lacks", "", "lacks", "data", variables=variables)
    tap.ok("mine ran" in done.stdout, "the user's sitecustomize ran", done.stdout)
    tap.ok("the end libm.so.6:" in done.stdout and "libdsa-io.so" in done.stdout,
           "the user's LD_PRELOAD is kept, and the program ended as without dsa", done.stdout)
    tap.ok(done.returncode == 3 and "_index_sampler" in done.stderr,
           "a missing attribute is named", done.returncode, done.stderr)


def check_unloaded(scratch):
    """Whoever took the library out of the environment is told so."""
    done = dsa_run(scratch, "out-unloaded", "", "losses", "data",
                   ahead=["env", "-u", "LD_PRELOAD"])
    tap.ok(done.returncode == 3 and "libdsa-io.so is not in LD_PRELOAD any more" in done.stderr,
           "a library that is not preloaded any more: said", done.stdout, done.stderr)


def check_container(scratch):
    """Where processes have other numbers, as in a container, dsa's memory is not found."""
    if subprocess.run(["unshare", "-pf", "--mount-proc", "true"], check=False,
                      stderr=subprocess.DEVNULL).returncode != 0:
        tap.skip("in another namespace of processes", "it needs root")
        return
    done = dsa_run(scratch, "out-container", "-q --budget 3s", "train", "data", "workers=2",
                   "rate=400", "prep=2", ahead=["unshare", "-pf", "--mount-proc"])
    made = [w for w in scratch.result("out-container")["windows"]
            if w["kind"] == "real" and w.get("steps") and w.get("fetched_bytes")]
    tap.ok(made and not os.path.exists(scratch.at("out-container/io")),
           "in another namespace of processes: measured", done.stderr, *made)


def check_losses(scratch):
    """What is only observed trains the same."""
    plain = scratch.run(PYTHON, PROGRAM, "losses", "data")
    seen = dsa_run(scratch, "out-losses", "-q --observe", "losses", "data")
    tap.ok(seen.returncode == 0 and len(plain.stdout.split()) == 3 * (FILES // BATCH) and
           plain.stdout == seen.stdout, "--observe: the same losses to the last bit",
           plain.stdout[:200], seen.stdout[:200], seen.stderr)


def check_ranks(scratch):
    done = dsa_run(scratch, "out-observed", "-q --observe", "train", "data", "epochs=1",
                   "rate=4000", "workers=2", variables={"WORLD_SIZE": "2"},
                   ahead=("sh", "-c", 'RANK=1 "$@" & RANK=0 "$@"; wait', "sh"))
    result = scratch.result("out-observed")
    rank = result["configuration"].get("rank")
    tap.ok(done.returncode == 0 and done.stdout.count("the end") == 2 and rank in (0, 1) and
           f"rank {rank} of 2" in scratch.run(DSA, "report", "out-observed").stdout and
           [process["role"] for process in result["processes"]] ==
           ["driver", "worker", "worker"] and
           sum(process.get("batches", 0) for process in result["processes"]) ==
           FILES // BATCH, "--observe of several ranks: one of them alone, which is told",
           done, result["configuration"], result["processes"])


def check_without_backward(scratch):
    """Takes 20 s to find out."""
    dsa_run(scratch, "out-without", "-q --budget 3s", "without_backward", "data")
    tap.ok(scratch.result("out-without")["configuration"]["batch"] == 4,
           "without a backward the loader with most steps is measured")


def check_refused(scratch):
    words = ("train", "data", "epochs=1", "rate=4000")
    done = dsa_run(scratch, "out-ranks", "", *words, variables={"WORLD_SIZE": "2"})
    tap.ok(done.returncode == 3 and "--observe" in done.stderr and "the end" in done.stdout and
           done.stderr.count("WORLD_SIZE") == 1 and "Discard" not in done.stderr,
           "a job whose rank is not known: refused, and the program goes on", done.returncode,
           done.stderr)
    done = dsa_run(scratch, "out-cache", "--cache 10%", *words)
    tap.ok(done.returncode == 3 and "(Ctrl-C ends it): --cache acts on libdsa's loader alone, and "
           "this is torch's: leave it out" in done.stderr,
           "settings of libdsa alone are refused by name", done.returncode, done.stderr)


def make_files(scratch):
    scratch.folder("data")
    for i in range(FILES):
        with open(scratch.at("data", f"{i:04}"), "wb") as file:
            file.write(os.urandom(4096))


def own_of(scratch, case):
    workers, rate, prep, _, _ = case
    return torch_own(scratch, PYTHON, f"batch={FEW}", f"workers={workers}", f"rate={rate}",
                     f"prep={prep}")


def run_all(scratch, pool):
    tests = {"killed": check_killed, "evaluates": check_evaluates,
             "unmeasured": check_unmeasured, "refused": check_refused,
             "validates": check_validates, "untrained": check_untrained,
             "reuses": check_reuses, "after": check_after, "alone": check_alone,
             "beside": check_beside,
             "breaks": check_breaks, "counts": check_counts, "ahead": check_ahead,
             "wholes": check_wholes, "meets": check_meets, "python": check_python,
             "batches": check_batches,
             "guards": check_guards, "uncopied": check_uncopied,
             "end_of_data": check_end_of_data,
             "caches": lambda s: check_odd(s, "caches"),
             "partners": lambda s: check_odd(s, "partners"),
             "memory": lambda s: check_odd(s, "memory"), "losses": check_losses,
             "ranks": check_ranks,
             "unloaded": check_unloaded, "container": check_container}
    if SOAK:
        tests["without_backward"] = check_without_backward
    truth = not wanted or "truth" in wanted
    own = torch_own(scratch, PYTHON, f"batch={FEW}") if truth else None  # before others are busy
    futures = [pool.submit(test, scratch) for name, test in tests.items()
               if not wanted or name in wanted]
    if truth:
        for case in SHORT + LONG * SOAK:  # one after another: real-time priority is for one
            check_truth(scratch, case, None if SOAK else own)
        if SOAK:
            check_undrained(scratch, own)
    for future in futures:
        future.result()


def main():
    if not os.path.exists("/usr/lib/python3/dist-packages/torch"):
        tap.skip("PyTorch scripts", "no python3-torch")
        tap.done()
    with Scratch() as scratch:
        make_files(scratch)
        with SideBySide(4) as pool:
            run_all(scratch, pool)
    tap.done()


main()
