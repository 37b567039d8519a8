#!/usr/bin/python3
"""One copy for all jobs of a device: dsa serve --device and jobs with a device, processes of
their own, on the fake driver (tests/tool/cuda/fake_cuda.h). Speaks TAP. SLEEPS some of the
time."""

import json
import os
import signal
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "lib"))
from house import BUILD, Scratch, Tap, wait_until
from shared_loader import SharedLoader, finish

COUNT, EPOCHS = 96, 2
SAMPLE = 32 * 32 * 3

JOB = r'''
import ctypes, json, os, signal, sys, zlib
import dsa

data, batch, device, epochs, dies, pauses = sys.argv[1:7]
cuda = ctypes.CDLL("libcuda.so.1")
options = dict(batch=int(batch), size=32, epochs=int(epochs), type="uint8", evaluate=True,
               workers=1, drop_last=False)
if device == "none":
    loader = dsa.Loader(data, arrays="numpy", share="", **options)
else:
    loader = dsa.Loader(data, device=device, prefetch=3, **options)
    context = ctypes.c_void_p()
    cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), int(device[-1]))
    cuda.cuCtxPushCurrent_v2(context)
print("joined", flush=True)


def raw(array):
    if device == "none":
        return array.tobytes()
    told = array.__cuda_array_interface__
    size = int(told["typestr"][2:])
    for side in told["shape"]:
        size *= side
    return ctypes.string_at(told["data"][0], size)


seen = [{} for _ in range(int(epochs))]
taken = 0
while True:
    one = loader.next()
    if one is None:
        break
    images, labels = one.images, one.labels
    cuda.cuCtxSynchronize()
    pixels, numbers = raw(images), raw(labels)
    each, width = len(pixels) // len(one.samples), len(numbers) // len(one.samples)
    for i, sample in enumerate(one.samples):
        label = int.from_bytes(numbers[i * width:(i + 1) * width], "little")
        was = seen[one.epoch].setdefault(
            int(sample), [label, zlib.crc32(pixels[i * each:(i + 1) * each])])
    taken += 1
    if taken == 1 and pauses == "pauses":
        sys.stdin.readline()
    if taken == int(dies):
        os.kill(os.getpid(), signal.SIGKILL)
    del images, labels
    one.release()
stats = loader.stats
print(json.dumps({"samples": [zlib.crc32(json.dumps(sorted(one.items())).encode())
                              for one in seen],
                  "counts": [len(one) for one in seen],
                  "copied": stats.copied_bytes, "shared": stats.shared,
                  "all": stats.samples}))
'''

tap = Tap()


class Loader(SharedLoader):
    def __init__(self, scratch, data, *words, device="cuda:0", wait=True):
        self.data = data
        where = ["--device", device] if device is not None else []
        super().__init__(scratch, [data], "--layout", "nhwc", "--batch", "8", *where, *words,
                         wait=wait)

    def start(self, batch=8, device="cuda:0", epochs=EPOCHS, dies=0, settings="", pauses=""):
        job = program(self.scratch, self.data, batch, device, epochs, dies, pauses,
                      DSA_SHARE=self.socket, DSA_LOADER=settings)
        self.jobs.append(job)
        return job

    def figures(self):
        return json.loads(self.process.communicate(timeout=60)[0])

    def ways(self):
        return sorted(job.get("device", "") for job in self.status()["jobs"])


def program(scratch, data, batch, device, epochs, dies, pauses, **more):
    return subprocess.Popen(
        ["/usr/bin/python3", "-c", JOB, data, str(batch), device, str(epochs), str(dies),
         pauses],
        env=dict(scratch.environment, **more), cwd=scratch.path, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def told(job):
    status, words = finish(job)
    try:
        return json.loads(words.splitlines()[-1]) if status == 0 else {"failed": words}
    except (ValueError, IndexError):
        return {"failed": words}


def go_on(job):
    job.stdin.write("\n")
    job.stdin.flush()


def same(job, wanted, epochs=EPOCHS):
    return job.get("samples") == wanted * epochs


def together(scratch, data, wanted):
    """On a slow device."""
    bytes_of = {}
    scratch.environment["FAKE_CUDA"] = "rate=1e7"
    for count in (1, 4):
        with Loader(scratch, data, "--jobs", str(count), "--leave", "--json", "--epochs",
                    str(EPOCHS)) as loader:
            jobs = [told(job) for job in [loader.start(8 - i) for i in range(count)]]
            figures = loader.figures()
            tap.ok(all(same(job, wanted) for job in jobs),
                   f"{count} on a device: what a loader of their own gives, exactly once",
                   jobs, wanted)
            tap.ok(all(job.get("copied") == 0 and job.get("shared") == 1 for job in jobs) and
                   {job.get("device") for job in figures["jobs"]} == {"mirror"},
                   f"{count} on a device: all of it is there already", jobs, figures)
            tap.ok("exactly once" in loader.verdict(), f"{count}: and its audit agrees",
                   loader.verdict())
            bytes_of[count] = figures.get("device_bytes")
    tap.ok(bytes_of[4] == bytes_of[1] == COUNT * EPOCHS * SAMPLE,
           "bytes copied for 4 jobs are those for one", bytes_of)


def others(scratch, data, wanted):
    """One of another device, one in memory, one that may not map it."""
    with Loader(scratch, data, "--jobs", "2", "--leave", "--json") as loader:
        jobs = [loader.start(device="cuda:1"), loader.start()]
        results = [told(job) for job in jobs]
        ways = sorted(job.get("device", "") for job in loader.figures()["jobs"])
        tap.ok(all(same(job, wanted) for job in results), "so does a job of another device",
               results)
        tap.ok(ways == ["buffer", "mirror"], "which copies for itself", ways)
    with Loader(scratch, data, "--leave", "--json", device=None) as loader:
        job = told(loader.start())
        figures = loader.figures()
        tap.ok(same(job, wanted) and figures["jobs"][0].get("device") == "buffer" and
               "device_bytes" not in figures, "and any, where the loader has no device", job,
               figures)


def killed(scratch, data, wanted):
    with Loader(scratch, data, "--jobs", "3", "--leave") as loader:
        jobs = [loader.start(5, pauses="pauses"), loader.start(8), loader.start(dies=4)]
        jobs[2].wait(60)
        late = loader.start(7)
        late.stdout.readline()
        go_on(jobs[0])
        results = [told(job) for job in [*jobs[:2], late]]
        tap.ok(all(same(job, wanted) for job in results),
               "a job is killed: the others go on, and a late one joins", results)
        tap.ok(jobs[2].returncode == -signal.SIGKILL and loader.process.wait(60) == 0,
               "its places are free", loader.words())


def taken_over(scratch, data, wanted):
    with Loader(scratch, data) as loader:
        jobs = [loader.start(4, epochs=8, settings="takeover=10s", pauses="pauses"),
                loader.start(8, epochs=8, settings="alone=load",
                             pauses="pauses")]
        for job in jobs:
            job.stdout.readline()
        loader.process.kill()
        loader.process.wait()
        with Loader(scratch, data, "--takeover=10s") as other:
            for job in jobs:
                go_on(job)
            results = [told(job) for job in jobs]
        tap.ok(all(same(job, wanted, 8) for job in results),
               "a loader is killed: one job is taken over, one goes on alone", results,
               other.words())
        tap.ok([job.get("shared") for job in results] == [1, 2], "as they were told to",
               results)


def measured(scratch, data, wanted):
    """By dsa run: each job takes from the mirror in every kind of window."""
    del wanted
    done = scratch.run(
        os.path.join(BUILD, "dsa"), "run", "--share", "--device=cuda", "--gpu=none", "--jobs",
        "2", "--budget", "3s", "-o", scratch.at("out"), "--",
        os.path.join(BUILD, "tests/tool/gpu_step"), "-d", "-b", "16", "-w", "1", data)
    windows = scratch.result()["windows"]
    kinds = {window["kind"] for window in windows if window["certified"]}
    tap.ok(done.returncode == 0 and {"synthetic", "cached", "real"} <= kinds and
           not any("device" in window["why"] for window in windows),
           "dsa run --share --device measures such jobs", kinds, done.stdout, done.stderr)
    refusal = scratch.run(os.path.join(BUILD, "dsa"), "run", "--device=cuda", "--", "true")
    tap.ok(refusal.returncode == 2 and "--device is of a shared loader" in refusal.stderr,
           "without --share it is refused", refusal.returncode, refusal.stderr)


def refused(scratch, data, wanted):
    del wanted
    for settings, says in (("devices=0", "device: the NVIDIA driver finds no device"),
                           ("memory=1e5", "device: cuMemCreate: out of memory")):
        scratch.environment["FAKE_CUDA"] = settings
        with Loader(scratch, data, "--size", "32", wait=False) as loader:
            if settings.startswith("memory"):
                wait_until(lambda: loader.process.poll() is not None or loader.answers())
                scratch.environment["FAKE_CUDA"] = ""
                job = finish(loader.start())
                tap.ok(says in job[1], f"{settings}: the job is told", job)
            else:
                tap.ok(loader.process.wait(60) == 3 and says in loader.words(),
                       f"{settings}: one line", loader.words())
    scratch.environment["FAKE_CUDA"] = "devices=2,rate=1e8,fail=9"
    with Loader(scratch, data) as loader:
        scratch.environment["FAKE_CUDA"] = "devices=2"
        job = finish(loader.start())
        tap.ok(job[0] != 0 and "illegal memory access" in job[1],
               "a device that fails ends the data with its error", job)
        tap.ok(loader.process.wait(60) != 0 and "illegal memory access" in loader.words(),
               "and the loader", loader.words())


def main():
    with Scratch() as scratch:
        data = scratch.images("pictures", count=COUNT, size="6K")
        scratch.environment.update(
            LD_LIBRARY_PATH=os.path.join(BUILD, "fake"),
            FAKE_CUDA="devices=2,rate=1e9", DSA_LIBRARY=os.path.join(BUILD, "libdsa.so"),
            PYTHONPATH=os.path.join(HERE, "../loader/python"))
        alone = told(program(scratch, data, 8, "none", 1, 0, ""))
        wanted = alone.get("samples")
        tap.ok(alone.get("counts") == [COUNT], "a loader in memory says what is wanted", alone)
        for group in (together, others, killed, taken_over, measured, refused):
            if len(sys.argv) < 2 or group.__name__ in sys.argv[1:]:
                scratch.environment["FAKE_CUDA"] = "devices=2,rate=1e9"
                group(scratch, data, wanted)
    tap.done()


main()
