#!/usr/bin/python3
"""Batches on a device, without one: the kernels that convert them, instruction by
instruction; programs built before there were devices; loaders in Python and `dsa bench copy`
on the fake driver (tests/tool/cuda/fake_cuda.h). Speaks TAP."""

import json
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "lib"))
from house import BUILD, Scratch, Tap

PYTHON = "/usr/bin/python3"
PTX = os.path.join(HERE, "../loader/gpu/convert.ptx")
FAKE = os.path.join(BUILD, "fake")


# ---- kernels ----


def test_assembled(tap):
    ptxas = shutil.which("ptxas") or "/usr/local/cuda/bin/ptxas"
    if not os.path.exists(ptxas):
        return tap.skip("convert.ptx can be assembled", "there is no ptxas")
    listed = subprocess.run([ptxas, "--help"], text=True, stdout=subprocess.PIPE,
                            check=False).stdout
    for arch in ("sm_75", "sm_90", "sm_121"):
        if f"'{arch}'" not in listed:
            continue
        told = subprocess.run([ptxas, f"-arch={arch}", "-o", "/dev/null", PTX], text=True,
                              stderr=subprocess.PIPE, check=False)
        tap.ok(told.returncode == 0, f"convert.ptx can be assembled for {arch}", told.stderr)


def reference(numpy, pictures, kind, nhwc, factors, offsets):
    """What they are to write: by two roundings."""
    if kind == "uint8":
        made = pictures
    else:
        made = pictures.astype(numpy.float32) * factors
        made = made.astype(numpy.float32) + offsets
        made = made.astype(numpy.float16 if kind == "float16" else numpy.float32)
    return made if nhwc else numpy.ascontiguousarray(made.transpose(0, 2, 1))


def test_kernels(tap):
    import numpy
    import ptx

    with open(PTX, encoding="ascii") as file:
        found = ptx.kernels(file.read())
    tap.ok(set(found) == {"convert_float32", "convert_float16", "convert_uint8"},
           "there is a kernel for each type", found)
    count, area = 3, 28 * 28  # more than a block, and no whole ones
    rng = numpy.random.default_rng(1)
    pictures = rng.integers(0, 256, (count, area, 3), numpy.uint8)
    pictures[0, :256, 0] = numpy.arange(256)
    factors = (1 / (255 * numpy.float32([.229, .224, .225]))).astype(numpy.float32)
    offsets = -numpy.float32([.485, .456, .406]) / numpy.float32([.229, .224, .225])
    for kind in ("float32", "float16", "uint8"):
        for nhwc in (False, True):
            want = reference(numpy, pictures, kind, nhwc, factors, offsets)
            memory = numpy.zeros(256 + pictures.nbytes + want.nbytes, numpy.uint8)
            memory[256:256 + pictures.nbytes] = pictures.ravel()
            start = 256 + pictures.nbytes
            threads = ptx.Thread(memory, {
                "from": 256, "to": start, "area": area, "step": 3 if nhwc else 1,
                "plane": 1 if nhwc else area,
                **{f"factor{c}": factors[c] for c in range(3)},
                **{f"offset{c}": offsets[c] for c in range(3)}}, count, 2)
            threads.run(found["convert_" + kind])
            same = memory[start:].tobytes() == want.tobytes()
            tap.ok(same and threads.stored[start:].all() and not threads.stored[:start].any(),
                   f"it writes {kind} {'NHWC' if nhwc else 'NCHW'} bit by bit, each once")


# ---- programs in C ----


def test_old_program(tap, scratch):
    """Compiled when struct dsa_config had no device and struct dsa_batch no type, and
    linked with DSA_1."""
    os.makedirs(scratch.at("include/dsa"))
    shutil.copy(os.path.join(HERE, "data/loader-1.h"), scratch.at("include/dsa/loader.h"))
    with open(scratch.at("old.h"), "w", encoding="ascii") as file:
        for name in ("dsa_open", "dsa_next"):
            file.write(f'__asm__(".symver {name},{name}@DSA_1");\n')
    made = scratch.run("gcc", "-DDSA_1", "-include", "old.h", "-I", scratch.at("include"),
                       os.path.join(HERE, "installed.c"), "-o", "old", "-L", BUILD, "-ldsa",
                       f"-Wl,-rpath,{BUILD}")
    tap.ok(made.returncode == 0, "an old program links", made.stderr)
    told = scratch.run("./old")
    tap.ok(told.returncode == 0, "and gets its batches", told.stderr)
    symbols = scratch.run("objdump", "-T", "old").stdout
    tap.ok(all("DSA_1" in line for line in symbols.splitlines()
               if "dsa_open" in line or "dsa_next" in line),
           "by the version that it was linked with", symbols)
    for name in ("libdsa.so.1", "libdsa-io.so", "dsa"):
        needed = scratch.run("objdump", "-p", os.path.join(BUILD, name)).stdout
        tap.ok("libc.so.6" in needed and "libcu" not in "".join(
            line for line in needed.splitlines() if "NEEDED" in line),
            f"{name} needs no library of CUDA", needed)


def bench(scratch, *arguments, library=FAKE, fake=""):
    return scratch.run(os.path.join(BUILD, "dsa"), "bench", "copy", *arguments,
                       variables={"LD_LIBRARY_PATH": library, "FAKE_CUDA": fake})


def test_bench(tap, scratch):
    told = bench(scratch, "--json", "--steps", 24, "--batch", 8, fake="rate=4e9")
    copied = json.loads(told.stdout or "{}")
    points = {point["transfer"]: point for point in copied.get("points", ())}
    tap.ok(told.returncode == 0 and set(points) == {"uint8", "output"}, "both ways are copied",
           told.stderr, told.stdout)
    tap.ok(copied["device"] == "cuda:0" and copied["batches"] == 24 and
           not copied["unpinned"] and copied["stage"] == "copy", "with what was copied", copied)
    tap.ok(points["uint8"]["batch_bytes"] * 4 == points["output"]["batch_bytes"] ==
           8 * 3 * 224 * 224 * 4, "bytes are a quarter", points)
    rates = [point[key] for point in points.values()
             for key in ("copy_bytes_per_s", "limit_bytes_per_s")]
    tap.ok(all(0 < rate <= 4.01e9 for rate in rates),
           "nothing beats the device", copied)
    told = bench(scratch, "--steps", 6, "--batch", 8, fake="register=refused")
    tap.ok(told.returncode == 0 and "pinned                      no" in told.stdout,
           "unpinned memory is named", told.stdout)


def test_no_driver(tap, scratch):
    told = bench(scratch, library=os.path.join(FAKE, "old"))
    tap.ok(told.returncode == 3 and told.stderr ==
           "dsa: device: libcuda.so.1 has no cuDriverGetVersion: a newer NVIDIA driver is "
           "needed\n", "an old driver is one line", told.stderr)
    empty = scratch.folder("empty")
    with open(os.path.join(empty, "libcuda.so.1"), "wb"):
        pass
    told = bench(scratch, library=empty)
    tap.ok(told.returncode == 3 and told.stderr.startswith(
        "dsa: device: there is no NVIDIA driver: ") and told.stderr.count("\n") == 1,
           "and so is one that can't be opened", told.stderr)


# ---- programs in Python ----


TORCH = '''
"""What dsa.py needs of torch: tensors are DLPack's, on a device or not."""
import ctypes
import types

int32, int64 = "int32", "int64"
stream = 7
waited = []


class Tensor:
    def __init__(self, capsule):
        python = ctypes.pythonapi
        python.PyCapsule_GetPointer.restype = ctypes.c_void_p
        python.PyCapsule_GetPointer.argtypes = (ctypes.py_object, ctypes.c_char_p)
        python.PyCapsule_SetName.argtypes = (ctypes.py_object, ctypes.c_char_p)
        address = python.PyCapsule_GetPointer(capsule, b"dltensor")
        python.PyCapsule_SetName(capsule, b"used_dltensor")
        self.managed = dsa._DLTensor.from_address(address)
        self.address = address
        self.shape = tuple(self.managed.shape[i] for i in range(self.managed.ndim))
        self.bytes = self.managed.bits // 8

    def data_ptr(self):
        return self.managed.data

    def raw(self):
        size = self.bytes
        for side in self.shape:
            size *= side
        return ctypes.string_at(self.data_ptr(), size)

    def __del__(self):
        self.managed.deleter(self.address)


class Numbers(list):
    def to(self, kind):
        return self

    def bitwise_and_(self, mask):
        return self


def frombuffer(memory, dtype):
    return Numbers((ctypes.c_uint32 * (len(memory) // 4)).from_buffer(memory)[:])


class cuda:
    @staticmethod
    def current_device():
        return 1

    @staticmethod
    def current_stream(device):
        return types.SimpleNamespace(cuda_stream=current, device=device)


current = 0
utils = types.SimpleNamespace(dlpack=types.SimpleNamespace(from_dlpack=Tensor))
import dsa
'''

PROGRAM = r'''
import ctypes, gc, os, sys
sys.path.insert(0, sys.argv[1])
WITH_TORCH = sys.argv[2] == "torch"
if WITH_TORCH:
    import torch
import dsa
import numpy

cuda = ctypes.CDLL("libcuda.so.1")
options = dict(batch=8, size=8, epochs=1, seed=3, type="float32")


def say(good, what, *more):
    print("ok" if good else "not ok", what, *([] if good else more), flush=True)


def sync():
    cuda.cuCtxSynchronize()


def array(tensor):
    """On the fake device, whose memory is ours."""
    if WITH_TORCH:
        address, size, shape = tensor.data_ptr(), len(tensor.raw()), tensor.shape
        kind = {4: numpy.float32, 8: numpy.int64}[tensor.bytes]
    else:
        told = tensor.__cuda_array_interface__
        address, shape, kind = told["data"][0], told["shape"], numpy.dtype(told["typestr"])
        size = int(numpy.prod(shape)) * numpy.dtype(kind).itemsize
    return numpy.frombuffer(ctypes.string_at(address, size), kind).reshape(shape)


with dsa.Loader("synthetic:64", arrays="numpy", **options) as loader:
    want = [(images.copy(), labels) for images, labels in loader]
os.environ["DSA_LOADER"] = "transfer=output"
loader = dsa.Loader("synthetic:64", device="cuda", **options)
context = ctypes.c_void_p()
cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 1 if WITH_TORCH else 0)
cuda.cuCtxPushCurrent_v2(context)
count = 0
for (images, labels), (wanted, numbers) in zip(loader.forever(), want):
    sync()
    count += (array(images) == wanted).all() and (array(labels) == numbers).all()
say(count == len(want) == 8, "a loader on a device gives what one in memory does", count)
say(next(iter(loader), None) is None and loader.ended, "and ends where it does")
del images, labels
gc.collect()
loader._core.settled()
say(loader._core.held == 0 and not dsa._lent, "batches go back with their last tensor",
    loader._core.held, dsa._lent)
loader.close()

loader = dsa.Loader("synthetic:64", device="cuda", prefetch=2, **options)
batch = loader.next()
say(batch.images.shape == (8, 3, 8, 8) and batch.labels.shape == (8,) and
    list(batch.samples) == list(batch.samples)[:8], "a Batch has them, too")
images, labels = batch.images, batch.labels
batch.release()
loader.close()
sync()
before = array(images).copy()
say((before == want[0][0]).all(), "tensors outlive their loader")
del batch, images, labels
gc.collect()
say(not loader._core.pointer and not dsa._lent, "which goes with the last of them")

loader = dsa.Loader("synthetic:64", device="cuda:0", prefetch=2, **options)
kept = []
try:
    for pair in loader:
        kept.append(pair)
    say(False, "who keeps tensors keeps batches")
except dsa.Error as error:
    say("batches are held" in str(error), "who keeps tensors keeps batches", error)
pair = None
kept.clear()
say(sum(1 for _ in loader.forever()) == 5, "and gets the others once they are gone")
loader.close()

if WITH_TORCH:
    loader = dsa.Loader("synthetic:64", device="cuda", **options)
    other = ctypes.c_void_p()
    cuda.cuStreamCreate(ctypes.byref(other), 1)
    batch = loader._take()
    torch.current = other.value
    images, labels = loader._pair(batch)
    say(batch.stream == other.value, "the stream of the hand-over is that of the moment",
        batch.stream)
    cuda.cuStreamSynchronize(other)
    say((array(images) == want[0][0]).all(), "and waits for the copy")
    del images, labels, batch
    say(torch.Numbers and loader.next().samples is not None, "numbers of samples are host's")
    loader.close()
    for wrong, device in ((ValueError, "cuda:x"), (ValueError, "tpu")):
        try:
            dsa.Loader("synthetic", device=device)
            say(False, device)
        except wrong as error:
            say(str(error) == f"device is 'cuda', or as 'cuda:1', not {device!r}", device)
else:
    others = ctypes.pythonapi.PyCapsule_GetPointer  # as another library declares it
    others.argtypes = ctypes.py_object, ctypes.c_char_p
    loader = dsa.Loader("synthetic:64", device="cuda", **options)
    images, labels = next(iter(loader))
    say(repr(images) == "<dsa.DeviceArray float32 (8, 3, 8, 8) on cuda:0>" and
        images.__dlpack_device__() == (2, 0) and len(labels) == 8, "an array says what it is",
        repr(images))
    told = images.__cuda_array_interface__
    say(told["version"] == 3 and told["typestr"] == "<f4" and told["data"][1] is False and
        told["stream"] == 1, "also by __cuda_array_interface__", told)
    other = ctypes.c_void_p()
    cuda.cuStreamCreate(ctypes.byref(other), 1)
    capsule = images.__dlpack__(stream=other.value)
    say(images._held.stream == other.value and len(dsa._lent) == 1,
        "a consumer's stream is the one that uses it")
    for asked in {"copy": True}, {"dl_device": (1, 0)}:
        try:
            images.__dlpack__(**asked)
            say(False, asked)
        except BufferError as error:
            say(True, f"{asked}: {error}")
    say(others(images.__dlpack__(dl_device=(2, 0), copy=False), b"dltensor"),
        "what it can do it does")
    del images, labels
    say(loader._core.held == 1, "a capsule keeps the batch")
    del capsule
    loader._core.settled()
    say(loader._core.held == 0 and not dsa._lent, "which nobody took gives it back")
    loader.close()
    for arguments, said in (({"arrays": "dlpack"}, "arrays='dlpack' is for batches on"),
                            ({"arrays": "numpy", "device": "cuda"}, "NumPy has no arrays on")):
        try:
            dsa.Loader("synthetic", **arguments)
            say(False, said)
        except ValueError as error:
            say(str(error).startswith(said), said, error)
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    say(os.waitpid(pid, 0)[1] == 0, "a child ends as ever")
    context = ctypes.c_void_p()
    cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 1)
    cuda.cuCtxPushCurrent_v2(context)
    with dsa.Loader("synthetic:64", device="cuda", **options) as loader:
        say(loader.next().images.device == 1, "the device is that of the thread's context")
    cuda.cuCtxPopCurrent_v2(ctypes.byref(context))
    keep = dsa.Loader("synthetic:64", device="cuda", **options).next()
print("end", flush=True)
'''


def test_python(tap, scratch, kind):
    folder = scratch.folder("modules" + kind)
    if kind == "torch":
        with open(os.path.join(folder, "torch.py"), "w", encoding="utf-8") as file:
            file.write(TORCH)
    told = scratch.run(PYTHON, "-c", PROGRAM, folder, kind, variables={
        "LD_LIBRARY_PATH": FAKE, "FAKE_CUDA": "devices=2,rate=1e8",
        "DSA_LIBRARY": os.path.join(BUILD, "libdsa.so"),
        "PYTHONPATH": os.path.join(HERE, "../loader/python")})
    for line in told.stdout.splitlines():
        good, _, rest = line.partition("ok ")
        if line != "end":
            tap.ok(good == "", f"{kind}: {rest}")
    tap.ok(told.stdout.endswith("end\n") and told.returncode == 0 and not told.stderr,
           f"{kind}: it ends well", told.returncode, told.stderr)


def main():
    tap = Tap()
    with Scratch() as scratch:
        test_assembled(tap)
        test_kernels(tap)
        test_old_program(tap, scratch)
        test_bench(tap, scratch)
        test_no_driver(tap, scratch)
        test_python(tap, scratch, "torch")
        test_python(tap, scratch, "dlpack")
    tap.done()


main()
