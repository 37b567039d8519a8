"""The steps of tests/gpu/run: what they do, and what they have to find."""

import contextlib
import glob
import json
import os
import re
import shutil
import signal
import statistics
import sys

from lab import BUILD, DSA, ROOT, NotHere, last_line, python_with_torch

sys.path.insert(0, os.path.join(ROOT, "tests/lib"))
from punctual import torch_truth

LIMIT = .95  # of what a copy could have
COST = .02  # of a step
POINTS = 3  # that a share may be off the truth
GROWS = 8192  # KB: CUPTI holds several buffers of half a MB between two flushes
ERROR, MEAN_ERROR = .08, .05  # of a predicted rate; of all of them


# ---- what there is ----


def libraries(lab, name):
    """Where a library lies: on the linker's path, beside Python's packages, in a toolkit."""
    linker = shutil.which("ldconfig", path="/sbin:/usr/sbin")
    known = lab.call(linker, "-p").stdout if linker else ""
    found = re.findall(rf"=> (/.*/{name}\.so\S*)$", known, re.M)
    for folder in filter(None, sys.path):
        found += glob.glob(f"{folder}/nvidia/*/lib/{name}.so*")
    for above in ("lib64", "extras/CUPTI/lib64"):
        found += glob.glob(f"/usr/local/cuda*/{above}/{name}.so*")
    return sorted(set(found))


def watching(lab):
    """What has a program that brings no CUPTI of its own find one: the caller's, or any."""
    found = list(filter(None, [os.environ.get("DSA_CUPTI")])) or libraries(lab, "libcupti")
    return {"DSA_CUPTI": found[0]} if found else {}


def read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def tell_found(lab, check, figure, reason):
    lab.tell(check, figure, "", "ok" if figure else "n/a", "" if figure else reason)


def machine(lab):
    smi = shutil.which("nvidia-smi", path=lab.environment["PATH"])
    told = lab.call(smi, "--query-gpu=name,driver_version,memory.total",
                    "--format=csv,noheader").stdout if smi else ""
    tell_found(lab, "nvidia-smi", "; ".join(told.splitlines()), "there is none on PATH")
    if smi:
        lab.call(smi, "-q")
    models = [re.search(r"^Model:\s*(.*)", read(path), re.M)
              for path in sorted(glob.glob("/proc/driver/nvidia/gpus/*/information"))]
    tell_found(lab, "/proc/driver/nvidia", "; ".join(found[1] for found in models if found),
               "it lists no device")
    lab.log.write(read("/proc/driver/nvidia/version"))
    for name in ("libcupti", "libnccl"):
        found = libraries(lab, name)
        lab.log.write("".join(f"{one}\n" for one in found))
        tell_found(lab, name, found[0] if found else "",
                   "neither on the linker's path nor beside Python's packages")


def doctor(lab):
    done = lab.call(DSA, "doctor", **watching(lab))
    said = [line.split()[0] for line in done.stdout.splitlines() if not line.startswith(" ")]
    broken = re.search(r"^broken .*", done.stdout, re.M)
    lab.tell("dsa doctor", f"{said.count('ok')} ok, {said.count('limited')} limited, "
             f"{said.count('broken')} broken", "nothing broken",
             "FAILED" if broken or done.returncode not in (0, 3) else "ok",
             " ".join(broken[0].split()) if broken else last_line(done.stderr))
    for status, name, found in re.findall(r"^(\w+) +(gpu.*?)  +(.*)", done.stdout, re.M):
        lab.tell(f"doctor: {name}", found, "", "ok" if status == "ok" else "FAILED")


# ---- the driver by itself ----


def driver(lab):
    lab.probe(lab.tool("gpu_probe"), "device")


def kernel(lab):
    lab.probe(lab.tool("gpu_probe"), "jit", os.path.join(ROOT, "tests/lib/gpu_work.ptx"),
              os.path.join(ROOT, "loader/gpu/convert.ptx"))
    lab.probe(lab.tool("gpu_probe"), "work")


def register(lab):
    lab.probe(lab.tool("gpu_probe"), "register")
    lab.probe(lab.tool("gpu_probe"), "queue")


def mirror(lab):
    lab.probe(lab.tool("gpu_mirror"))


def records(lab):
    """Whose buffers are kept, for tests/data/cupti."""
    lab.probe(lab.tool("gpu_records"), lab.at("cupti.records"), **watching(lab))


# ---- batches that arrive there ----


def data(lab):
    """In a step of its own, as a slow disk takes its time."""
    lab.need_gpu()
    lab.pictures()


def batches(lab):
    lab.need_gpu()
    lab.probe(lab.tool("gpu_batches"), lab.pictures())


def copy(lab):
    lab.need_gpu()
    told = json.loads(lab.dsa("bench", "copy", "--json").stdout)
    for point in told["points"]:
        rate, limit = point["copy_bytes_per_s"], point["limit_bytes_per_s"]
        lab.check(f"dsa bench copy, transfer={point['transfer']}", rate >= LIMIT * limit,
                  f"{rate / 1e9:.1f} of {limit / 1e9:.1f} GB/s", f"{100 * LIMIT:.0f} %")
    sent_as_bytes(lab)
    bound_by_copy(lab, next(point["copy_bytes_per_s"] for point in told["points"]
                            if point["transfer"] == "output"))


def sent_as_bytes(lab, size=224):
    """Samples/s of copied windows, in which nothing else takes time."""
    rates = {}
    for transfer in ("uint8", "output"):
        lab.dsa("run", "-q", "-o", "copied-" + transfer, "--budget", "5s", "--",
                lab.tool("gpu_step"), "-d", "-b", 64, "-s", size, "-w", .01, "synthetic",
                **{**watching(lab), "DSA_LOADER": "transfer=" + transfer})
        rates[transfer] = lab.result("copied-" + transfer)["rates"]["copied_per_s"]["value"]
    lab.check("copied samples/s of transfer=uint8", rates["uint8"] >= 2 * rates["output"],
              f"{rates['uint8']:.0f}, {rates['uint8'] / rates['output']:.2f} x",
              "2 x those of float32")


def bound_by_copy(lab, bytes_per_s, size=768):
    """A program whose batches take four times as long to arrive as to be computed; files
    are sent as they are, with zeros behind them, which takes next to no preparation."""
    name, sent = "gpu_step, bound by the copy", 8 * 3 * 4 * size ** 2 / bytes_per_s
    lab.dsa("run", "-q", "-o", "step-copy", "--budget", "6s", "--workers",
            min(16, len(os.sched_getaffinity(0))), "--", lab.tool("gpu_step"), "-d", "-b", 8,
            "-s", size, "-w", 1e3 * sent / 4, "-o", lab.at("told"), "synthetic",
            **{**watching(lab), "DSA_LOADER": "prep=raw,transfer=output"})
    own, result = told_by_program(lab)["step_s"], lab.result("step-copy")
    took = 8 / result["rates"]["real_per_s"]["value"]
    check_shares(lab, name, result, {"compute": own / took, "copy": (sent - own) / took})
    check_idle(lab, name, result)


def trained(lab, *program):
    """What a program says that was given pictures and a device."""
    done = lab.call(*program, "--device", "cuda")
    if done.returncode != 0:
        raise RuntimeError(last_line(done.stderr))
    return done.stdout


def train(lab):
    """examples/train.py; then, of pictures that take it no time to prepare, with batches that
    arrive and in turn with batches in memory that it sends there itself."""
    python, *_ = python_with_torch(lab)
    for name, *more in (("unseen",), ("small", "--size-mean", "8K")):
        lab.dsa("dataset", "make", "--count", 500, "--seed", 2, *more, lab.at(name))
    example = os.path.join(ROOT, "examples/train.py")
    said = trained(lab, python, example, "--dataset", lab.pictures(), "--test",
                   lab.at("unseen"), "--epochs", 12)
    loss = [float(found) for found in re.findall(r"loss ([\d.]+)", said)]
    accuracy = float(re.search(r"held-out accuracy ([\d.]+)", said)[1])
    lab.check("train.py --device cuda: loss", loss[-1] < .8 * loss[0],
              f"{loss[0]:.2f}, then {loss[-1]:.2f}", "falls by a fifth")
    lab.check("... of unseen pictures", accuracy >= 30, f"{accuracy:.1f} % right",
              "30 %, by chance 10 %")
    said = trained(lab, python, os.path.join(ROOT, "tests/gpu/sent.py"), example, "--dataset",
                   lab.at("small"))
    took = json.loads(re.search(r"^\{.*\}$", said, re.M)[0])
    ratio = statistics.median(took["sent"]) / statistics.median(took["arrive"])
    lab.check("... its samples/s", ratio >= .97, f"{ratio:.2f} x those of .to('cuda')",
              "not slower: .97 x")
    lab.dsa("run", "-q", "-o", "train", "--budget", "8s", "--", python, example, "--dataset",
            lab.pictures(), "--device", "cuda")
    lab.tell("... measured by dsa run", ", ".join(
        f"{stage} {100 * share['share']:.1f} %"
        for stage, share in lab.result("train")["stalls"].items() if "share" in share))


# ---- shares of programs, against what is true by construction ----


def check_shares(lab, name, result, truth):
    for stage, true in truth.items():
        share = result["stalls"][stage].get("share")
        if share is None:
            lab.tell(f"{name}: {stage}", "", f"{POINTS} points", "FAILED", "not measured")
            continue
        lab.check(f"{name}: {stage}", abs(share - true) <= POINTS / 100,
                  f"{100 * share:.1f} %, truth {100 * true:.1f} %", f"{POINTS} points")


def told_by_program(lab):
    with open(lab.at("told"), encoding="ascii") as file:
        return json.load(file)


def check_idle(lab, name, result):
    """All that the program waits for, by differences of windows, and by its device."""
    proof = result.get("second_proof", {})
    if not proof.get("basis", "").startswith("device idle"):
        lab.tell(f"{name}: data idle by CUPTI", "", f"{POINTS} points", "FAILED",
                 f"none was seen: {result.get('cupti', {}).get('about', 'no CUPTI')}")
        return
    waits, idle = (sum(result_of[stage].get("share", 9) for stage in ("prep", "fetch"))
                   for result_of in (result["stalls"], proof))
    lab.check(f"{name}: data idle by CUPTI", abs(waits - idle) <= POINTS / 100,
              f"{100 * idle:.1f} %, by windows {100 * waits:.1f} %", f"{POINTS} points")


# Name, options, ms that prepare a sample. A batch of 8 takes four workers twice as long.
LOADS = (
    ("no stall", [], 0), ("half", [], 5), ("half, far ahead", ["-a", 8], 5),
    ("arriving, no stall", ["-d"], 0), ("arriving, 80 %, far ahead", ["-d", "-a", 8], 12.5),
)


def step(lab):
    """A kernel a batch, copied by the program or by the loader."""
    lab.need_gpu()
    pictures, variables = lab.pictures(), watching(lab)
    for number, (name, options, delay) in enumerate(LOADS):
        slow = ["--prep-delay", f"{delay}ms"] if delay else []
        lab.dsa("run", "-q", "-o", f"step-{number}", "--budget", "6s", "--workers", 4, *slow,
                "--", lab.tool("gpu_step"), *options, "-b", 8, "-w", 5, "-o", lab.at("told"),
                pictures, **variables)
        own, result = told_by_program(lab)["step_s"], lab.result(f"step-{number}")
        true = own / max(own, 2e-3 * delay)
        copies = {"copy": 0} if "-d" in options else {}
        check_shares(lab, f"gpu_step, {name}", result,
                     {"compute": true, **copies, "prep": 1 - true, "fetch": 0})
        check_idle(lab, f"gpu_step, {name}", result)


def lost_records(result):
    """Of a run that CUPTI watched; what it costs where it doesn't is nothing."""
    about = result.get("cupti", {})
    if not result.get("devices"):
        raise NotHere(about.get("about", "CUPTI saw nothing, and says nothing"))
    return about["lost_records"]


def watched(lab, way, *options):
    """What gpu_step says at its end, observed with CUPTI or without; nothing is decoded."""
    return lab.dsa("run", "-q", "--observe", f"--gpu={way}", "-o", "cost-" + way, "--",
                   lab.tool("gpu_step"), "-s", 16, *options, "synthetic",
                   **{**watching(lab), "DSA_LOADER": "prep=raw"}).stdout


def cost(lab):
    """Steps of a millisecond, launched ahead, the same work watched by CUPTI and not; then
    many of them."""
    lab.need_gpu()
    lab.call(lab.tool("gpu_step"), "-b", 2, "-s", 16, "-w", 1, "-n", 9, "-o", lab.at("told"),
             "synthetic")
    took, rounds = {"cupti": [], "none": []}, told_by_program(lab)["rounds"]
    for turn in range(4):
        for way in sorted(took, reverse=bool(turn % 2)):
            said = watched(lab, way, "-b", 2, "-r", rounds, "-a", 4, "-n", 2000)
            took[way].append(float(re.search(r"([\d.]+) ms each", said)[1]))
    lost = lost_records(lab.result("cost-cupti"))
    more = statistics.median(took["cupti"]) / statistics.median(took["none"]) - 1
    lab.check("CUPTI's cost of a step", more < COST, f"{100 * more:+.2f} % of "
              f"{statistics.median(took['none']):.3f} ms, {lost} records lost",
              f"{100 * COST:.0f} %")
    said = watched(lab, "cupti", "-b", 1, "-w", .01, "-a", 8, "-n", 99999)
    lost = lost_records(lab.result("cost-cupti"))
    grew = int(re.search(r"memory ([+-]\d+) KB", said)[1])
    lab.check("memory of 200,000 records, beyond that of 67,000", grew <= GROWS,
              f"{grew:+} KB, {lost} records lost", f"{GROWS // 1024} MB")


def speed(lab):
    """What --gpu-speed 2x says of a run, against one with half the kernel, which waits for
    preparation: 8 ms a sample, longer than any takes."""
    lab.need_gpu()
    for work in (20, 10):
        lab.dsa("run", "-q", "-o", f"speed-{work}", "--budget", "10s", "--workers", 4,
                "--prep-delay", "8ms", "--", lab.tool("gpu_step"), "-b", 8, "-w", work,
                lab.pictures(), **watching(lab))
    told = json.loads(lab.dsa("whatif", "speed-20", "--gpu-speed", "2x", "--json").stdout)
    if not told["predictions"] or "rate_per_s" not in told["predictions"][0]:
        raise RuntimeError(f"nothing predicted: {told.get('model')}")
    rate = told["predictions"][0]["rate_per_s"]
    found = lab.result("speed-10")["rates"]["real_per_s"]
    lab.check("whatif --gpu-speed 2x", rate["low"] <= found["value"] <= rate["high"],
              f"{rate['low']:.0f} to {rate['high']:.0f}, measured {found['value']:.0f} "
              "samples/s", "within its interval")


# ---- one loader for the jobs of a device ----

JOBS, WORKERS, SHARED_EPOCHS = 4, 4, 3


def jobs_at_once(lab, count, dies=False, **variables):
    """(samples/s of each that went to its end, how many did not)"""
    begun = lab.at("begun")
    words = [lab.tool("gpu_step"), "-d", "-b", 8, "-w", .1, lab.pictures()]
    with contextlib.ExitStack() as stack:
        jobs = [stack.enter_context(lab.begin(*words, *["-o", begun] * (dies and not i),
                                              **variables)) for i in range(count)]
        if dies:  # once it has its first batch
            lab.wait(lambda: jobs[0].poll() is not None or os.path.exists(begun))
            jobs[0].send_signal(signal.SIGKILL)
        said = [lab.finish(job)[0] for job in jobs]
    each = [re.search(r"([\d.]+) ms each", words) for words in said]
    return [8e3 / float(found[1]) for found in each if found], each.count(None)


def shared(lab, count, dies=False):
    """The same, and the bytes that the loader copied and its verdict."""
    audit = lab.at(f"audit-{count}-{dies}")
    with lab.begin(DSA, "serve", lab.pictures(), "--device", "cuda", "--jobs", count, "--leave",
                   "--json", "--workers", WORKERS, "--epochs", SHARED_EPOCHS, "--socket", lab.at("socket"), "--audit",
                   audit) as loader:
        lab.wait(lambda: loader.poll() is not None or os.path.exists(lab.at("socket")))
        rates, ended = jobs_at_once(lab, count, dies, DSA_SHARE=lab.at("socket"),
                                    DSA_LOADER=f"epochs={SHARED_EPOCHS}")
        figures = json.loads(lab.finish(loader)[0])
    return rates, ended, figures["device_bytes"], read(audit).splitlines()[-1]


def share(lab):
    """1, 2 and 4 jobs, with a loader of their own each and with one for all, on as many
    cores of preparation; then one of 4 is killed."""
    lab.need_gpu()
    sent, sum_of = {}, {}
    for count in (1, 2, JOBS):
        rates, ended, sent[count], verdict = shared(lab, count)
        sum_of[count] = sum(rates)
        lab.check(f"{count} sharing: each sample", not ended and "exactly once" in verdict,
                  verdict, "exactly once")
    for count in (2, JOBS):
        lab.check(f"bytes copied for {count} sharing", sent[count] == sent[1],
                  f"{sent[count] / sent[1]:.3f} x", "those for one")
    alone, _ = jobs_at_once(lab, JOBS, DSA_LOADER=f"workers={WORKERS // JOBS},"
                            f"epochs={SHARED_EPOCHS}")
    ratio = sum_of[JOBS] / sum(alone)
    lab.check(f"samples/s of {JOBS} sharing, on {WORKERS} cores of preparation", ratio >= 3,
              f"{sum_of[JOBS]:.0f}, {ratio:.2f} x", f"3 x those of {JOBS} with their own")
    rates, ended, _, verdict = shared(lab, JOBS, dies=True)
    lab.check(f"one of {JOBS} is killed: the others", ended == 1 and len(rates) == JOBS - 1 and
              "exactly once" in verdict, f"{len(rates)} go on, {verdict}", "exactly once")


TORCH = (  # workers, then ms: compute of a batch of 8; prep and latency of a sample
    ("never waits", 4, 20, 1, 0),
    ("half", 4, 20, 20, 0),
    ("prep and fetch", 4, 20, 20, 16),
)


def torch(lab):
    """Unchanged, and asynchronous: the hook waits for the device where a window begins."""
    python, *_ = python_with_torch(lab)
    os.makedirs(lab.at("files"), exist_ok=True)
    for number in range(480):
        with open(lab.at("files", f"{number:04}"), "wb") as file:
            file.write(bytes([number % 256]) * 4096)
    for name, workers, compute, prep, latency in TORCH:
        slow = ["--storage-latency", f"{latency}ms"] if latency else []
        out = f"torch-{prep}-{latency}"
        lab.dsa("run", "-q", "-o", out, "--budget", "9s", *slow, "--", python,
                os.path.join(ROOT, "tests/gpu/torch_step.py"), lab.at("files"),
                f"workers={workers}", f"compute={compute}", f"prep={prep}",
                f"told={lab.at('told')}")
        truth = torch_truth(workers, {"over": 0, "batch": 0}, told_by_program(lab)["step_s"],
                            8e-3 * prep, 8e-3 * latency)
        check_shares(lab, f"torch, {name}", lab.result(out), truth)


def sanitizer_refusal(told):
    """What it says of a device that it can't check; "" where it did, whatever it found."""
    refused = re.search(r"^=+ ((?:Internal Sanitizer )?Error:.*not supported.*)$", told,
                        re.M | re.I)
    return refused[1] if refused and "ERROR SUMMARY" not in told else ""


def sanitizer(lab):
    lab.need_gpu()
    found = shutil.which("compute-sanitizer", path=lab.environment["PATH"]) or next(
        iter(glob.glob("/usr/local/cuda*/bin/compute-sanitizer")), None)
    if found is None:
        raise NotHere("there is no compute-sanitizer")
    for way in ([], ["-d"]):
        done = lab.call(found, "--error-exitcode", 9, lab.tool("gpu_step"), *way, "-b", 8,
                        "-n", 40, "-c", lab.pictures())
        refused = sanitizer_refusal(done.stdout + done.stderr)
        if refused:
            raise NotHere(refused)
        lab.check(" ".join(["compute-sanitizer of gpu_step", *way]), done.returncode == 0,
                  last_line(done.stdout).strip("= "), "no error")


# ---- predictions of other numbers of cores, verified ----


def words(change):
    return " ".join(f"{name} {value}" for name, value in sorted(change.items()))


def cores(lab):
    """An emulated accelerator that few cores can't feed, and all of many can."""
    here = len(os.sched_getaffinity(0))
    if here < 4:
        raise NotHere(f"{here} cores: nothing to compare")
    tried = ",".join(str(here * part // 16) for part in (2, 4, 8) if here * part // 16)
    lab.dsa("run", "-q", "-o", "cores", "--budget", "25s", "--",
            os.path.join(BUILD, "examples/train"), "--dataset", lab.pictures(),
            "--emulate-gpu", 400 * here)
    lab.dsa("whatif", "cores", f"--cores={tried}", "--verify", "--budget", "6s")
    known = [one for one in lab.result("cores").get("verifications", []) if "error" in one]
    for one in known:
        lab.check(f"predicted: {words(one['change'])}", abs(one["error"]) <= ERROR,
                  f"{one['predicted_per_s']['value']:.0f} samples/s, measured "
                  f"{one['measured_per_s']['value']:.0f}, {100 * one['error']:+.1f} %",
                  f"{100 * ERROR:.0f} %")
    mean = sum(abs(one["error"]) for one in known) / len(known) if known else 1
    lab.check(f"mean error of {len(known)} predictions", known and mean <= MEAN_ERROR,
              f"{100 * mean:.1f} %", f"{100 * MEAN_ERROR:.0f} %")


# Name, step and the seconds that it may take; tests/gpu/run says what all may take together.
STEPS = (
    ("machine", machine, 10), ("doctor", doctor, 10), ("driver", driver, 10),
    ("kernel", kernel, 10), ("register", register, 15), ("mirror", mirror, 10),
    ("records", records, 15), ("data", data, 30), ("batches", batches, 20), ("copy", copy, 45),
    ("step", step, 60), ("cost", cost, 50), ("share", share, 40), ("speed", speed, 35),
    ("sanitizer", sanitizer, 30), ("torch", torch, 90), ("train", train, 90),
    ("cores", cores, 70),
)
