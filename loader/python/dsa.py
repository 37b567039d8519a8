"""Batches of prepared samples for a training program in Python, by libdsa.

    import dsa

    loader = dsa.Loader("images/", batch=64, size=224)
    for epoch in range(10):
        for images, labels in loader:
            train(images, labels)
        if loader.ended:
            break

Samples are read and prepared by threads of the library, outside Python, and `images`
lies where they put it: a NumPy array or a torch tensor over the library's memory,
which is not copied. The program can be measured with `dsa run`, configured from outside
with DSA_LOADER, and share one loader with other programs (DSA_SHARE): see dsa-run(1)
and dsa_loader(3). Only ctypes is used, nothing is compiled; Python 3.9 or later.

Arrays. `images` is float32, float16 or uint8 of shape (n, 3, size, size), with
layout="nhwc" (n, size, size, 3), with prep="raw" uint8 of shape (n, bytes). With
prep="tokens" they are int64, or with type="int32" int32, of shape (n, length + 1): inputs
are [:, :-1] and targets [:, 1:]. With prep="audio" they are float32 of shape
(n, seconds * rate), or with features="logmel" (n, 80, frames). `labels`
are n numbers, int64, a copy (loader.classes has their names). With arrays="auto" they
are tensors if torch is imported already when the loader is opened, else NumPy arrays;
arrays="numpy" and arrays="torch" decide.

Images are read-only. NumPy refuses to write to them; torch cannot know, and writing to
such a tensor changes the loader's memory or, when it is shared, ends the program. Write
to a copy: images.copy() or images.clone(). What torch computes from them, and .to() of
another device or type, is new memory anyway.

Devices. With device="cuda" (or "cuda:1", or a torch.device) batches arrive on the device:
`images` and `labels` are torch tensors there, not copied, which torch's current stream at
the hand-over may use; the copy is on its way while the program computes. What other streams
do with them is to be awaited by that one before the arrays go. arrays="dlpack", the default
without torch, gives objects with __dlpack__(), __dlpack_device__() and
__cuda_array_interface__ for CuPy, JAX or Numba, whose batches go back by the stream that
asked for them last; `samples` is a list then.

Lifetime. A batch goes back to the library when the last array over it is gone: with
`for images, labels in loader` as soon as the next one has taken its names. Arrays
never see their memory change or vanish, whatever happens to the loader. Who keeps
arrays keeps batches: at most `prefetch` of them, and of a shared loader what its window
has room for; then Error says so. Keep copies, or raise `prefetch`. A forked child
(multiprocessing's "fork") inherits no images: touching them ends it with SIGSEGV. Copy
before the fork.

Epochs. `for ... in loader` runs until the end of the epoch; the next loop takes the
next one, and one that was left early goes on where it was left. loader.forever() runs
on; loader.batches() too, with Batch objects, which know their epoch and step. The data
ends after `epochs`, or when `dsa run` has seen enough: then loops end at once and
loader.ended is true. A program that does more than train in an epoch looks at it, or it
would go on with that alone. Samples that were skipped are told by a RuntimeWarning at the
end of an epoch; where no sample at all was good the end of the data is an Error.

torch.utils.data.DataLoader(dsa.torch_dataset(loader), batch_size=None) takes batches
from a loader for programs that want a DataLoader; without batch_size=None it is refused.

A program that loads with anything else is measured where it iterates over its loader:

    for batch in dsa.watch(loader):
        train(batch)

That needs no library, and without `dsa run` watch() gives the loader itself.

Threads may share a loader; each batch goes to one of them. A forked child cannot use a
loader of its parent: Error is raised. Ctrl-C works while a program waits for data, and
loses no batch. (Under `dsa run` it ends the run, and with it the data.)

The library is sought in DSA_LIBRARY, beside this file, then where the system's loader
finds libdsa.so.1.
"""

import atexit
import collections
import ctypes
import errno
import gc
import math
import operator
import os
import queue
import re
import sys
import threading
import urllib.parse
import warnings
import weakref

__version__ = "0.1.0"
__all__ = ["Batch", "DeviceArray", "Error", "Loader", "Stats", "torch_dataset", "watch"]

_ABI = 1
_WHY = 256


class Error(RuntimeError):
    """What the library could not do, in its own words. `errno` is the reason's number,
    or None."""

    def __init__(self, why, code=None):
        super().__init__(why)
        self.errno = code


# ---- the library ----


def _members(*groups):
    return [(name, kind) for kind, names in groups for name in names.split()]


class _Config(ctypes.Structure):
    """struct dsa_config"""
    _fields_ = _members(
        (ctypes.c_char_p, "dataset"),
        (ctypes.c_uint, "batch workers prefetch fetch_depth"),
        (ctypes.c_char_p, "fetch cache cache_size"),
        (ctypes.c_uint64, "seed"),
        (ctypes.c_uint, "rank world epochs"),
        (ctypes.c_uint64, "start_epoch start_step"),
        (ctypes.c_int, "in_order drop_last evaluate on_error"),
        (ctypes.c_char_p, "prep"),
        (ctypes.c_uint, "size"),
        (ctypes.c_int, "layout type"),
        (ctypes.POINTER(ctypes.c_float), "mean std"),
        (ctypes.c_char_p, "share"))


class _Config2(ctypes.Structure):
    """the same of DSA_2. (Not derived: ctypes would keep strings of both classes' members
    under the same numbers, and lose some.)"""
    _fields_ = [*_Config._fields_, *_members((ctypes.c_char_p, "device"),
                                             (ctypes.c_uint, "length token_bits rate"),
                                             (ctypes.c_int, "features"),
                                             (ctypes.c_double, "seconds"),
                                             (ctypes.c_char_p, "cache_dir"),
                                             (ctypes.c_int, "shuffle"),
                                             (ctypes.c_double, "deadline"),
                                             (ctypes.c_uint64, "prefetch_bytes"),
                                             (ctypes.c_int, "hedge"),
                                             (ctypes.c_uint64, "read_gap"))]


class _Batch(ctypes.Structure):
    """struct dsa_batch"""
    _fields_ = _members(
        (ctypes.c_void_p, "data labels samples"),
        (ctypes.c_size_t, "sample_bytes"),
        (ctypes.c_uint32, "count slot"),
        (ctypes.c_uint64, "epoch step number"),
        (ctypes.c_uint32, "repeated reserved"),
        # of DSA_2; an older library leaves them 0
        (ctypes.c_int, "type"),
        (ctypes.c_uint32, "dims"),
        (ctypes.c_uint32 * 4, "shape"))


class _DeviceBatch(ctypes.Structure):
    """struct dsa_device_batch"""
    _fields_ = [("batch", _Batch), *_members((ctypes.c_uint64, "data labels"))]


class _Stats(ctypes.Structure):
    """struct dsa_stats"""
    _fields_ = _members(
        (ctypes.c_uint64, "samples batches skipped hits misses resident_bytes"
                          " fetched_bytes blocked_ns epoch step steps_per_epoch"
                          " dataset_samples dataset_bytes"),
        (ctypes.c_uint32, "classes workers shared lossy_epochs"),
        (ctypes.c_uint64, "copied_bytes"))


Stats = collections.namedtuple("Stats", [name for name, _ in _Stats._fields_])
Stats.__doc__ = """Counters of a loader since it was opened.

samples, batches: delivered. skipped: samples that could not be read or decoded. hits,
misses, resident_bytes: of the cache. fetched_bytes: read from files or servers, whether
or not the kernel had them in memory. blocked_ns: time that the program waited for
batches. epoch, step: of the next batch: open a loader with start_epoch and start_step to
resume there. steps_per_epoch, dataset_samples,
dataset_bytes, classes, workers: of the loader. shared: 1 when a shared loader delivers,
2 when it did and this one went on alone, else 0. lossy_epochs: that lost over 1 % of
their samples to reads that failed; 0 while a shared loader delivers, whose log says so.
copied_bytes: of its batches that had to be copied."""

_FUNCTIONS = {
    "dsa_open": (ctypes.c_int, (ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p),
                                ctypes.c_char_p)),
    "dsa_next": (ctypes.c_int, (ctypes.c_void_p, ctypes.POINTER(_Batch))),
    "dsa_release": (ctypes.c_int, (ctypes.c_void_p, ctypes.POINTER(_Batch))),
    "dsa_compute": (ctypes.c_int, (ctypes.c_void_p, ctypes.POINTER(_Batch),
                                   ctypes.c_double)),
    "dsa_stats": (ctypes.c_int, (ctypes.c_void_p, ctypes.POINTER(_Stats))),
    "dsa_why": (ctypes.c_char_p, (ctypes.c_void_p,)),
    "dsa_class": (ctypes.c_char_p, (ctypes.c_void_p, ctypes.c_uint32)),
    "dsa_close": (None, (ctypes.c_void_p,)),
}
_FUNCTIONS_2 = {
    "dsa_next_device": (ctypes.c_int, (ctypes.c_void_p, ctypes.c_void_p,
                                       ctypes.POINTER(_DeviceBatch))),
    "dsa_wait_device": (ctypes.c_int, (ctypes.c_void_p, ctypes.POINTER(_DeviceBatch),
                                       ctypes.c_void_p)),
    "dsa_release_device": (ctypes.c_int, (ctypes.c_void_p, ctypes.POINTER(_DeviceBatch),
                                          ctypes.c_void_p)),
}
_loaded = {}


def _places():
    """Where it may be, in order: a source tree, a wheel, an installation, the system."""
    chosen = os.environ.get("DSA_LIBRARY")
    if chosen:
        return [chosen]
    here = os.path.dirname(os.path.abspath(__file__))
    above = os.path.join(here, "..", "..")
    files = [os.path.join(above, "build", "plain", "libdsa.so"),
             os.path.join(here, "dsa_prefix", "lib", f"libdsa.so.{_ABI}"),
             os.path.join(above, f"libdsa.so.{_ABI}")]
    return [file for file in files if os.path.exists(file)] + [f"libdsa.so.{_ABI}"]


def _library():
    path = _places()[0]
    if path in _loaded:
        return _loaded[path]
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise Error(f"no library: {error}; DSA_LIBRARY may name libdsa.so.{_ABI}",
                    errno.ENOENT) from None
    find = ctypes.CDLL(None).dlvsym
    find.restype = ctypes.c_void_p
    find.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p)
    library.version = 2 if find(library._handle, b"dsa_open", b"DSA_2") else 1
    functions = dict(_FUNCTIONS, **(_FUNCTIONS_2 if library.version == 2 else {}))
    for name, (result, arguments) in functions.items():
        version = 2 if name in _FUNCTIONS_2 else 1
        if not find(library._handle, name.encode(), b"DSA_%d" % version):
            raise Error(f"{path} has no {name} of DSA_{version}: it is another version of "
                        "libdsa than this dsa.py", errno.ENOSYS)
        getattr(library, name).restype = result
        getattr(library, name).argtypes = arguments
    _loaded[path] = library
    return library


# ---- an open loader, and what it has lent ----


class _Held:
    """A batch that is ours until the last reference to this goes."""
    __slots__ = ("core", "raw", "there", "stream")

    def __init__(self, core, stream=None):
        self.stream = stream  # of the device, that may use it
        self.there = _DeviceBatch() if core.device is not None else None
        self.raw = _Batch() if self.there is None else self.there.batch
        core.held += 1
        self.core = core

    def __del__(self):
        core = getattr(self, "core", None)
        if core is not None:
            core.give_back((self.raw, self.there, self.stream))

    def use_on(self, stream):
        """From now on that stream of the device is the one that uses it."""
        if stream != self.stream:
            self.core.locked(self.core.wait_now, self.there, stream)
            self.stream = stream


class _Task:
    """A call made by another thread, so that signals find the main one in Python."""
    __slots__ = ("function", "done", "finished", "result", "error")

    def __init__(self, function):
        self.function = function
        self.done = threading.Lock()
        self.done.acquire()
        self.finished = False
        self.result = self.error = None

    def run(self):
        function, self.function = self.function, None
        if function is None:
            return  # it was put twice
        try:
            self.result = function()
        except BaseException as error:
            self.error = error
        del function
        self.finished = True
        self.done.release()

    def outcome(self):
        if self.error is not None:
            raise self.error
        return self.result


def _run_tasks(tasks):
    for task in iter(tasks.get, None):
        task.run()


class _Worker:
    """The thread that runs tasks, in turn."""

    def __init__(self):
        self.tasks = queue.SimpleQueue()
        self.thread = threading.Thread(target=_run_tasks, args=(self.tasks,),
                                       name="dsa", daemon=True)
        self.thread.start()

    def put(self, task):
        self.tasks.put(task)

    def end(self, wait):
        self.tasks.put(None)
        if wait and self.thread is not threading.current_thread():
            self.thread.join()

    def wait(self, task):
        # In slices: a signal that comes just before the wait does not end it.
        while not task.finished and not task.done.acquire(timeout=0.1):
            if not self.thread.is_alive():
                task.run()  # another thread ended it before the task was put


class _Core:
    """An open struct dsa_loader.

    The library wants one thread at a time: the lock. Batches come back at any moment,
    on any thread, even within a call (the garbage collector's work): they are put into
    `returned`, and whoever has the lock, or can have it, gives them to the library. The
    library's memory goes when the loader is closed, nothing is held any more, and
    nobody looks at counters, which needs no lock: a looker is seen by who closes, or
    sees that it is closed.
    """

    def __init__(self, library, device=None):
        self.library = library
        self.device = device  # whose arrays batches are given as; None: memory
        self.pid = os.getpid()
        self.measured = bool(os.environ.get("DSA_SESSION"))
        self.lock = threading.Lock()
        self.pointer = ctypes.c_void_p()
        self.returned, self.lookers = collections.deque(), collections.deque()
        self.held = 0
        self.closing = False
        self.failed = None  # what a release said, for the next call
        self.last = None   # struct dsa_batch of the last one
        self.worker = None  # once a task was sent
        self.asked = None  # a task that was interrupted
        self.sent = None   # the last task that is a call

    # Called with the lock.

    def drain(self):
        while self.returned:
            raw, there, stream = self.returned.popleft()
            if raw.count:
                code = self.release_now(raw, there, stream)
                if code < 0:
                    self.failed = code, self.library.dsa_why(self.pointer)
            self.held -= 1
        if self.closable():
            pointer, self.pointer = self.pointer, ctypes.c_void_p()
            self.library.dsa_close(pointer)

    def closable(self):
        return self.closing and self.held == 0 and not self.lookers and self.pointer

    def open_now(self, config):
        why = ctypes.create_string_buffer(_WHY)
        code = self.library.dsa_open(ctypes.byref(config), ctypes.byref(self.pointer),
                                     why)
        return code, why.value

    def release_now(self, raw, there, stream):
        if there is None:
            return self.library.dsa_release(self.pointer, ctypes.byref(raw))
        return self.library.dsa_release_device(self.pointer, ctypes.byref(there), stream)

    def wait_now(self, there, stream):
        code = self.library.dsa_wait_device(self.pointer, ctypes.byref(there), stream)
        if code < 0:
            raise Error(self.library.dsa_why(self.pointer).decode("utf-8", "replace"),
                        -code)

    def next_now(self, stream):
        if self.failed is not None:
            (code, why), self.failed = self.failed, None
            return code, why, None
        held = _Held(self, stream)
        if self.device is None:
            code = self.library.dsa_next(self.pointer, ctypes.byref(held.raw))
        else:
            code = self.library.dsa_next_device(self.pointer, stream,
                                                ctypes.byref(held.there))
        why = self.library.dsa_why(self.pointer) if code < 0 else b""
        return code, why, held

    def compute_now(self, raw, rate):
        return self.library.dsa_compute(self.pointer, ctypes.byref(raw), rate)

    # Called without it.

    def settle(self):
        """Gives back what came back, unless a call is on: then its end does. Ctrl-C
        must not come in between: the thread does it, where there is one."""
        worker = self.worker
        if worker is not None and self.interruptible():
            if self.returned:
                worker.put(_Task(self.settle))
            return
        while self.returned or self.closable():
            if os.getpid() != self.pid or not self.lock.acquire(blocking=False):
                return
            try:
                self.drain()
            finally:
                self.lock.release()

    def settled(self):
        """The same, and waits until it is done."""
        worker = self.worker
        if worker is None or not self.interruptible():
            return self.settle()
        task = _Task(self.settle)
        worker.put(task)
        worker.wait(task)

    def give_back(self, batch):
        self.returned.append(batch)
        self.settle()

    def check(self):
        if os.getpid() != self.pid:
            raise Error(f"the loader was opened by process {self.pid}, before fork(): "
                        "open one in each process", errno.EOWNERDEAD)
        if self.closing:
            raise ValueError("the loader is closed")

    def locked(self, function, *arguments):
        self.check()
        try:
            with self.lock:
                self.check()
                if not self.interruptible():
                    self.drain()
                return function(*arguments)
        finally:
            self.settle()

    def look(self, function):
        """Also while another thread waits for a batch."""
        self.lookers.append(None)
        try:
            self.check()
            return function(self.pointer)
        finally:
            self.lookers.pop()
            self.settle()

    def stats(self):
        stats = _Stats()
        self.look(lambda pointer: self.library.dsa_stats(pointer, ctypes.byref(stats)))
        return stats

    def classes(self):
        count = self.stats().classes
        return self.look(lambda pointer: [self.library.dsa_class(pointer, label)
                                          for label in range(count)])

    def task(self, function, *arguments):
        return _Task(lambda: self.locked(function, *arguments))

    def send(self, task):
        """Has another thread call, once; returns who."""
        self.sent = task
        worker = self.worker
        if worker is None:
            worker = self.worker = _Worker()
        worker.put(task)
        return worker

    def interruptible(self):
        """Not so a program that is measured: the thread that asks for batches is known
        to `dsa run`, which ends them on Ctrl-C."""
        return (threading.current_thread() is threading.main_thread() and
                os.getpid() == self.pid and not self.measured)

    def open(self, config):
        if not self.interruptible():
            return self.locked(self.open_now, config)
        task = self.task(self.open_now, config)
        self.send(task).wait(task)
        return task.outcome()

    def ask(self):
        stream = self.device.stream() if self.device is not None else None
        if not self.interruptible():
            return self.locked(self.next_now, stream)
        # It is known before it is sent, and sent again where an interrupt came in between:
        # its batch is never nobody's. A signal's handler may close() meanwhile.
        task = self.asked
        if task is None:
            task = self.asked = self.task(self.next_now, stream)
        self.send(task).wait(task)
        if task.error is not None:
            self.asked = None
        return task.outcome()

    def handed(self, held):
        """What take() returned is the program's: until now an interrupt has it taken
        again."""
        task = self.asked
        if task is not None and task.finished and task.result[2] is held:
            self.asked = None
            task.result = None  # the thread keeps its last task

    def take(self):
        """The next batch; None at the end of the data."""
        for garbage in (True, False):
            code, why, held = self.ask()
            if code > 0:
                self.last = held.raw
                return held
            self.handed(held)
            if code == 0:
                return None
            if code == -errno.EBUSY and garbage:
                gc.collect()  # cycles may keep arrays that nobody can reach
                continue
            break
        if code == -errno.EBUSY:
            held = None
            self.settled()
            more = " and dsa serve's --window" if self.stats().shared == 1 else ""
            raise Error(f"{self.held} batches are held: their arrays are still in use; "
                        "keep copies (images.copy(), images.clone()), or raise "
                        f"prefetch{more}", errno.EBUSY)
        raise Error(why.decode("utf-8", "replace") or os.strerror(-code), -code)

    def close(self):
        self.closing = True
        self.asked = self.last = None
        worker, self.worker = self.worker, None
        if worker is not None:  # which, where no call is on, may be about to close the loader
            worker.end(self.sent.finished)
        self.settle()


_open_cores = weakref.WeakSet()


@atexit.register
def _close_all():
    for core in list(_open_cores):
        core.close()


# ---- arrays ----


def _pick(arrays, device):
    if arrays not in ("auto", "numpy", "torch", "dlpack"):
        raise ValueError("arrays is 'auto', 'numpy', 'torch' or 'dlpack', "
                         f"not {arrays!r}")
    torch = arrays == "torch" or (arrays == "auto" and sys.modules.get("torch"))
    if device is None and arrays == "dlpack":
        raise ValueError("arrays='dlpack' is for batches on a device: name it, as "
                         "device='cuda'")
    if device is not None:
        if arrays == "numpy":
            raise ValueError("NumPy has no arrays on a device: arrays is 'auto', "
                             "'torch' or 'dlpack'")
        return _TorchOnDevice(device) if torch else _OnDevice(device)
    return _Torch() if torch else _Numpy()


def _memory(held, address, size):
    """Memory of the library that keeps its batch."""
    memory = (ctypes.c_ubyte * size).from_address(address)
    memory.held = held
    return memory


class _Numpy:
    def __init__(self):
        try:
            import numpy
        except ImportError:
            raise ImportError("dsa needs NumPy (python3-numpy) or, with "
                              "arrays='torch', torch; neither was found") from None
        self.numpy = numpy

    def images(self, memory, kind, shape):
        frozen = memoryview(memory).toreadonly()
        return self.numpy.frombuffer(frozen, kind).reshape(shape)

    def numbers(self, memory):
        return self.numpy.frombuffer(memory, self.numpy.uint32).astype(self.numpy.int64)


class _Torch:
    def __init__(self):
        try:
            import torch
        except ImportError:
            raise ImportError("arrays='torch' needs torch (python3-torch)") from None
        self.torch = torch

    def images(self, memory, kind, shape):
        kind = getattr(self.torch, kind)
        return self.torch.frombuffer(memory, dtype=kind).view(shape)

    def numbers(self, memory):
        numbers = self.torch.frombuffer(memory, dtype=self.torch.int32)
        return numbers.to(self.torch.int64).bitwise_and_(0xffffffff)


# ---- arrays on a device ----


_CUDA = 2  # kDLCUDA
_LEGACY = 1  # the default stream, by DLPack's numbers

# name: DLPack's code and bits, NumPy's letters
_DEVICE_TYPES = {"float32": (2, 32, "<f4"), "float16": (2, 16, "<f2"),
                 "uint8": (1, 8, "|u1"), "int32": (0, 32, "<i4"), "int64": (0, 64, "<i8")}

_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _DLTensor(ctypes.Structure):
    """DLManagedTensor of DLPack up to 0.8, which all that read it know"""
    _fields_ = [
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64),
        ("manager_ctx", ctypes.c_void_p), ("deleter", _Deleter)]


_lent = {}  # by the address of each tensor that others have: what it needs to live


@_Deleter
def _delete(address, lent=_lent):
    lent.pop(address, None)


# Called by who has a capsule that nobody took a tensor from, and with the tensor's address
# by who did: also when Python ends, after this module's names are gone.
_python = ctypes.PyDLL(None)  # others declare functions of ctypes.pythonapi as they need them
_python.PyCapsule_New.restype = ctypes.py_object
_python.PyCapsule_New.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
_python.PyCapsule_IsValid.argtypes = (ctypes.c_void_p, ctypes.c_char_p)
_python.PyCapsule_GetPointer.restype = ctypes.c_void_p
_python.PyCapsule_GetPointer.argtypes = (ctypes.c_void_p, ctypes.c_char_p)


@_Deleter
def _delete_capsule(capsule, python=_python, lent=_lent):
    if python.PyCapsule_IsValid(capsule, b"dltensor"):
        lent.pop(python.PyCapsule_GetPointer(capsule, b"dltensor"), None)


_python.Py_IncRef(ctypes.py_object(_delete))
_python.Py_IncRef(ctypes.py_object(_delete_capsule))


class DeviceArray:
    """An array on a device, for from_dlpack() of CuPy, JAX, torch ..., or for what reads
    __cuda_array_interface__. shape; dtype as a word; device, its number."""
    __slots__ = ("shape", "dtype", "device", "_address", "_held")

    def __init__(self, held, address, device, dtype, shape):
        self._held, self._address, self.device = held, address, device
        self.dtype, self.shape = dtype, shape

    def __len__(self):
        return self.shape[0]

    def __dlpack_device__(self):
        return _CUDA, self.device

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        """A capsule; the consumer's stream, the default one if it names none, uses it from
        now on. -1: one that waits by itself."""
        if copy:
            raise BufferError("a batch on a device is not copied: copy the array")
        if dl_device is not None and tuple(dl_device) != self.__dlpack_device__():
            raise BufferError(f"it lies on cuda:{self.device} alone")
        if stream != -1:
            self._held.use_on(stream if stream is not None else _LEGACY)
        return self._capsule()

    def _capsule(self):
        code, bits, _ = _DEVICE_TYPES[self.dtype]
        shape = (ctypes.c_int64 * len(self.shape))(*self.shape)
        tensor = _DLTensor(data=self._address, device_type=_CUDA, device_id=self.device,
                           ndim=len(shape), code=code, bits=bits, lanes=1, shape=shape,
                           deleter=_delete)
        address = ctypes.addressof(tensor)
        _lent[address] = tensor, shape, self._held
        return _python.PyCapsule_New(address, b"dltensor",
                                     ctypes.cast(_delete_capsule, ctypes.c_void_p))

    @property
    def __cuda_array_interface__(self):
        # torch refuses arrays that are read-only
        return {"shape": self.shape, "typestr": _DEVICE_TYPES[self.dtype][2],
                "data": (self._address, False), "version": 3,
                "stream": self._held.stream or _LEGACY}

    def __repr__(self):
        return f"<dsa.DeviceArray {self.dtype} {self.shape} on cuda:{self.device}>"


def _device(value):
    """As the library names it; None: memory."""
    if value is None or str(value) == "cpu":
        return None
    if not re.fullmatch("cuda(:[0-9]+)?", str(value)):
        raise ValueError(f"device is 'cuda', or as 'cuda:1', not {value!r}")
    return str(value)


class _OnDevice:
    """What batches are given as there: objects that others take by __dlpack__()."""

    def __init__(self, device):
        wanted = (_overridden(device=device)["device"].partition(":")[2] or
                  device.partition(":")[2])
        self.number = int(wanted) if wanted else self.current()

    def current(self):
        """That of this thread's context; the loader opens in another one."""
        number = ctypes.c_int(0)
        try:
            ctypes.CDLL("libcuda.so.1").cuCtxGetDevice(ctypes.byref(number))
        except (OSError, AttributeError):  # the library says what is missing
            pass
        return number.value

    def stream(self):
        """The stream that the program uses now."""
        return _LEGACY

    def pair(self, output, held):
        held.use_on(self.stream())
        kind, shape = output.of(held.raw)
        there = held.there
        return (self.array(DeviceArray(held, there.data, self.number, kind, shape)),
                self.array(DeviceArray(held, there.labels, self.number, "int64",
                                       (held.raw.count,))))

    def array(self, array):
        return array

    def numbers(self, memory):
        return (ctypes.c_uint32 * (len(memory) // 4)).from_buffer(memory)[:]


class _TorchOnDevice(_OnDevice):
    def __init__(self, device):
        self.host = _Torch()
        self.torch = self.host.torch
        super().__init__(device)

    def current(self):
        return self.torch.cuda.current_device()

    def stream(self):
        return self.torch.cuda.current_stream(self.number).cuda_stream or _LEGACY

    def array(self, array):
        return self.torch.utils.dlpack.from_dlpack(array._capsule())

    def numbers(self, memory):
        return self.host.numbers(memory)


# name: bytes; in the order of enum dsa_type
_TYPES = {"float32": 4, "float16": 2, "uint8": 1, "int32": 4, "int64": 8}


def _overridden(**settings):
    """These arguments, and what DSA_LOADER makes of them."""
    for item in os.environ.get("DSA_LOADER", "").split(","):
        key, _, value = item.partition("=")
        if key in settings:
            settings[key] = urllib.parse.unquote(value)
    return settings


class _Output:
    """What a sample looks like, as a batch says; of an older library's, by arguments and
    what DSA_LOADER makes of them."""

    def __init__(self, **output):
        output = _overridden(**output)
        size = int(output["size"])
        self.type = output["type"]
        self.shape = (3, size, size) if output["layout"] == "nchw" else (size, size, 3)
        self.raw = output["prep"] == "raw"

    def of(self, raw):
        if raw.dims:
            return tuple(_TYPES)[raw.type], tuple(raw.shape[:raw.dims])
        if self.raw:
            return "uint8", (raw.count, raw.sample_bytes)
        if math.prod(self.shape) * _TYPES[self.type] != raw.sample_bytes:
            raise Error(f"samples have {raw.sample_bytes} bytes, which is not "
                        f"{self.type} of shape {self.shape}")
        return self.type, (raw.count, *self.shape)


# ---- arguments ----


def _whole(name, value, least, bits=32):
    if isinstance(value, bool):
        raise TypeError(f"{name} is a whole number, not {value!r}")
    try:
        value = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is a whole number, not {value!r}") from None
    if value < least:
        raise ValueError(f"{name} is at least {least}, not {value}")
    if value >= 1 << bits:  # below that the library says how much it may be
        raise ValueError(f"{name} is too large: {value}")
    return value


def _text(name, value):
    if value is None:
        return None
    if not isinstance(value, (str, bytes, os.PathLike)):
        raise TypeError(f"{name} is a string, not {value!r}")
    value = os.fsencode(value)
    if b"\0" in value:
        raise ValueError(f"{name} has a NUL in it: {value!r}")
    return value


def _word(name, value, words):
    if value not in words:
        raise ValueError(f"{name} is {' or '.join(map(repr, words))}, not {value!r}")
    return words.index(value)


def _seconds(name, value):
    value = float(value)
    if not 0 < value < math.inf:
        raise ValueError(f"{name} is a positive number, not {value!r}")
    return value


def _three(name, value):
    if value is None:
        return None
    numbers = [float(number) for number in value]
    if len(numbers) != 3 or not all(map(math.isfinite, numbers)):
        raise ValueError(f"{name} is three numbers, not {value!r}")
    if name == "std" and 0 in numbers:
        raise ValueError("std divides: none of its numbers may be 0")
    return (ctypes.c_float * 3)(*numbers)


_TORCH = {
    "batch_size": "batch",
    "num_workers": "workers",
    "prefetch_factor": "prefetch",
    "shuffle": "in_order=True where nothing is to be shuffled",
    "sampler": "rank and world, seed",
    "pin_memory": "device='cuda', where batches arrive by themselves",
    "transform": "size, evaluate, mean and std",
}


def _other_words(names):
    """Of the first of these arguments, which Loader has not."""
    name = next(iter(names))
    here = f"; here it is {_TORCH[name]}" if name in _TORCH else ""
    return TypeError(f"Loader got an unexpected keyword argument {name!r}{here}")


# ---- what programs use ----


class Batch:
    """A batch: images (tokens and audio are called so, too), labels, samples (positions in
    the data set), count, epoch, step,
    number (since open, repeats included), repeated (delivered before: a measurement).

    A context manager: at its end, or at release(), the batch lets go of its arrays; it
    goes back to the library once nobody else has them either."""
    __slots__ = ("images", "labels", "samples", "count", "epoch", "step", "number",
                 "repeated", "_raw")

    def __init__(self, output, arrays, held):
        raw = held.raw
        self.images, self.labels = _pair(output, arrays, held)
        self.samples = arrays.numbers(_memory(held, raw.samples, 4 * raw.count))
        self.count, self.epoch, self.step = raw.count, raw.epoch, raw.step
        self.number, self.repeated = raw.number, bool(raw.repeated)
        self._raw = raw

    def release(self):
        """Lets go of images, labels and samples: they are None from now on."""
        self.images = self.labels = self.samples = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.release()

    def __len__(self):
        return self.count

    def __repr__(self):
        return (f"<dsa.Batch of {self.count}, epoch {self.epoch}, step {self.step}"
                f"{', repeated' if self.repeated else ''}>")


def _pair(output, arrays, held):
    raw = held.raw
    if held.there is not None:
        return arrays.pair(output, held)
    kind, shape = output.of(raw)
    images = arrays.images(_memory(held, raw.data, raw.count * raw.sample_bytes), kind,
                           shape)
    return images, arrays.numbers(_memory(held, raw.labels, 4 * raw.count))


class _Epoch:
    """Batches until their epoch ends."""

    def __init__(self, loader):
        self.loader = loader
        self.epoch = None
        self.ends = False

    def __iter__(self):
        return self

    def __next__(self):
        held = None if self.ends else self.loader._take()
        if held is None:
            self.ends = True
            self.loader._tell_skipped()
            raise StopIteration
        raw = held.raw
        if not raw.repeated:
            if self.epoch not in (None, raw.epoch):
                # The epoch was shorter than planned: samples were skipped.
                self.loader._ahead.append(held)
                self.loader._core.handed(held)
                self.ends = True
                self.loader._tell_skipped()
                raise StopIteration
            self.epoch = raw.epoch
            self.ends = self.loader._core.stats().epoch > raw.epoch
        return self.loader._pair(held)


class Loader:
    """Loads a data set: dsa.Loader("images/", batch=64, epochs=10). Iterate over it.

    dataset      directory with a folder for each class, list file, tar or TFRecord
                 shards, file of tokens, "synthetic[:COUNT]"
    batch        samples in a batch
    workers      threads that prepare [None: the cores that the process may use]
    prefetch     batches prepared ahead, and how many may be held
    fetch_depth  reads in flight [None: 16; of servers as many as it takes]
    prefetch_bytes  of encoded samples that are fetched and not used yet, at the most
                 [0: any]
    hedge        ask servers again where their answer is late, and take the first
    fetch        an engine of dsa_loader(3) ["auto"]
    cache        a policy of dsa_loader(3) [None: "page", or "minio" if it has a size]
    cache_size   bytes, or as "2G" or "35%" of the data set [None: 0]
    cache_dir    folder of a cache on local disk, which outlives the program [None]
    deadline     seconds after which a server that gives no answer ends the data [60]
    seed         of shuffle, crop and flip
    rank, world  this program is number rank of world that share the data set
    epochs       after so many, from start_epoch, the data ends [None: never]
    start_epoch, start_step  where to begin
    in_order     do not shuffle
    shuffle      "global": all samples at once, or "blocks": runs of neighbours
    read_gap     samples of a shard that lie no more bytes apart are one read [None: 65536]
    drop_last    no short batch at an epoch's end
    evaluate     resize and centre crop instead of random crop and flip
    on_error     "skip" or "fail" when a sample cannot be read or decoded
    prep         "image", "tokens", "audio", or "raw": the bytes as they are
    size         side of the square images, in pixels
    layout       "nchw" or "nhwc"
    type         "float32", "float16" or "uint8"; of tokens "int64" or "int32" [None:
                 "float32"; of tokens "int64"]
    length       tokens of a window, which has one more
    token_bits   16 or 32: of tokens in files not called *.u16 or *.u32 [None: 16]
    seconds      of a crop of audio, a number
    rate         that it is resampled to, Hz
    features     "waveform" or "logmel"
    mean, std    of float output, three numbers each on a scale of 0 to 1 [None:
                 ImageNet's]
    share        socket of a shared loader (dsa-serve(1)); "": none, whatever DSA_SHARE
                 says [None: what DSA_SHARE says]
    device       where batches arrive: "cuda", as "cuda:1", a torch.device [None: memory]
    arrays       "auto", "numpy", "torch" or "dlpack": what batches are given as

    The environment's DSA_LOADER overrides all but arrays, share, mean and std, and gives no
    loader a device;
    dsa_loader(3) describes each. Raises TypeError or ValueError for what no
    loader can have, and Error with the library's own words, such as for a data set that
    is not there.
    """

    def __init__(self, dataset, *, batch=64, workers=None, prefetch=4, fetch_depth=None,
                 fetch="auto", cache=None, cache_size=None, seed=0, rank=0, world=1,
                 epochs=None, start_epoch=0, start_step=0, in_order=False,
                 drop_last=False, evaluate=False, on_error="skip", prep="image",
                 size=224, layout="nchw", type=None, mean=None, std=None,
                 share=None, device=None, arrays="auto", length=1024, token_bits=None,
                 seconds=5, rate=16000, features="waveform", cache_dir=None,
                 shuffle="global", deadline=60, prefetch_bytes=0, hedge=False, read_gap=None,
                 **others):
        self.ended = False
        self._skipped = 0  # of them the user knows
        self._resumed = start_epoch != 0 or start_step != 0
        self._drops_rest = bool(drop_last)
        self._core = None
        self._ahead = []
        self._classes = None
        self._shown = f"of {dataset!r}, batch {batch}"
        if others:
            raise _other_words(others)
        if isinstance(cache_size, int):
            cache_size = str(_whole("cache_size", cache_size, 0, 64))
        device = _device(device)
        self._arrays = _pick(arrays, device)
        library = _library()
        config = (_Config2 if library.version == 2 else _Config)(
            dataset=_text("dataset", dataset),
            batch=_whole("batch", batch, 1),
            workers=_whole("workers", workers, 1) if workers is not None else 0,
            prefetch=_whole("prefetch", prefetch, 1),
            fetch_depth=_whole("fetch_depth", fetch_depth, 1) if fetch_depth is not None else 0,
            fetch=_text("fetch", fetch),
            cache=_text("cache", cache),
            cache_size=_text("cache_size", cache_size),
            seed=_whole("seed", seed, 0, 64),
            rank=_whole("rank", rank, 0),
            world=_whole("world", world, 1),
            epochs=_whole("epochs", epochs, 1) if epochs is not None else 0,
            start_epoch=_whole("start_epoch", start_epoch, 0, 64),
            start_step=_whole("start_step", start_step, 0, 64),
            in_order=bool(in_order),
            drop_last=bool(drop_last),
            evaluate=bool(evaluate),
            on_error=_word("on_error", on_error, ("skip", "fail")),
            prep=_text("prep", prep),
            size=_whole("size", size, 1),
            layout=_word("layout", layout, ("nchw", "nhwc")),
            type=_word("type", type, tuple(_TYPES)) if type is not None else 0,
            mean=_three("mean", mean),
            std=_three("std", std),
            share=_text("share", share))
        if device is not None:
            if library.version < 2:
                raise Error("the library is older than this dsa.py, and knows no device",
                            errno.ENOSYS)
            config.device = b"cuda:%d" % self._arrays.number
        if library.version < 2 and cache_dir is not None:
            raise Error("the library is older than this dsa.py, and knows no cache_dir",
                        errno.ENOSYS)
        if isinstance(shuffle, bool):
            raise _other_words({"shuffle": shuffle})
        shuffle = _word("shuffle", shuffle, ("global", "blocks"))
        if library.version < 2 and shuffle:
            raise Error("the library is older than this dsa.py, and shuffles no blocks",
                        errno.ENOSYS)
        if library.version < 2 and (prefetch_bytes or hedge):
            raise Error("the library is older than this dsa.py, and knows neither "
                        "prefetch_bytes nor hedge", errno.ENOSYS)
        if library.version >= 2:
            config.shuffle = shuffle
            config.prefetch_bytes = _whole("prefetch_bytes", prefetch_bytes, 0, 64)
            config.hedge = bool(hedge)
            if read_gap is not None:
                config.read_gap = _whole("read_gap", read_gap, 1, 64)
            config.cache_dir = _text("cache_dir", cache_dir)
            config.length = _whole("length", length, 1)
            config.deadline = _seconds("deadline", deadline)
            config.seconds = _seconds("seconds", seconds)
            config.rate = _whole("rate", rate, 1)
            config.features = _word("features", features, ("waveform", "logmel"))
            if token_bits is not None:
                config.token_bits = _whole("token_bits", token_bits, 16)
        elif prep not in ("image", "raw"):
            raise Error(f"the library is older than this dsa.py, and knows no {prep}",
                        errno.ENOSYS)
        self._core = _Core(library, self._arrays if device is not None else None)
        _open_cores.add(self._core)
        code, why = self._core.open(config)
        if code < 0:
            raise Error(why.decode("utf-8", "replace"), -code)
        self._output = _Output(size=size, layout=layout, type=type or "float32", prep=prep)

    # Iterating.

    def _take(self):
        try:
            held = self._ahead.pop()
        except IndexError:
            held = self._core.take()
        self.ended = held is None
        if self.ended:
            self._tell_skipped()
        return held

    def _tell_skipped(self):
        """Warns of samples that were skipped since it last did; an Error if all were, and
        not only those which a program that was resumed had left."""
        stats = self._core.stats()
        if stats.skipped > 0 and stats.batches == 0 and not self._resumed:
            none = "whole batch" if self._drops_rest else "sample"
            raise Error(f"no {none} could be read or decoded: on_error='fail' names the first "
                        "sample that can't be", errno.EBADMSG)
        news, self._skipped = stats.skipped - self._skipped, stats.skipped
        if news > 0:
            frame, level = sys._getframe(), 1
            while frame.f_back is not None and frame.f_globals is globals():
                frame, level = frame.f_back, level + 1
            warnings.warn(f"{news} of {stats.dataset_samples} samples could not be read or "
                          "decoded, and were skipped: on_error='fail' names the first",
                          RuntimeWarning, stacklevel=level)

    def _pair(self, held):
        pair = _pair(self._output, self._arrays, held)
        self._core.handed(held)
        return pair

    def __iter__(self):
        """(images, labels) until the end of the epoch."""
        return _Epoch(self)

    def __len__(self):
        """Steps in an epoch; samples that are skipped may shorten it."""
        return self._core.stats().steps_per_epoch

    def __getitem__(self, _):
        raise TypeError("a loader's batches have no numbers: iterate over it; for torch "
                        + _DATA_LOADER)

    def forever(self):
        """(images, labels) until the data ends, whatever the epoch."""
        return iter(lambda: self._forever(), None)

    def _forever(self):
        held = self._take()
        return self._pair(held) if held is not None else None

    def batches(self):
        """Batch objects until the data ends, whatever the epoch."""
        return iter(self.next, None)

    def next(self):
        """The next Batch; None at the end of the data."""
        held = self._take()
        if held is None:
            return None
        batch = Batch(self._output, self._arrays, held)
        self._core.handed(held)
        return batch

    # The rest.

    def compute(self, rate, batch=None):
        """An emulated accelerator of `rate` samples/s: sleeps until the step of a batch
        (the last one) would be done, count / rate after it was delivered."""
        raw = batch._raw if batch is not None else self._core.last
        if raw is None:
            raise ValueError("there is no batch yet")
        if self._core.locked(self._core.compute_now, raw, float(rate)) < 0:
            raise ValueError(f"rate is a positive number, not {rate!r}")

    @property
    def stats(self):
        """Counters: a Stats."""
        raw = self._core.stats()
        stats = Stats(*(getattr(raw, name) for name in Stats._fields))
        for held in self._ahead:  # of the next epoch, and nobody has it yet
            stats = stats._replace(epoch=held.raw.epoch, step=held.raw.step,
                                   batches=stats.batches - 1,
                                   samples=stats.samples - held.raw.count)
        return stats

    @property
    def classes(self):
        """Names of the classes: a tuple of strings; label i is that of classes[i]."""
        if self._classes is None:
            self._classes = tuple(map(os.fsdecode, self._core.classes()))
        return self._classes

    def __repr__(self):
        core = self._core
        open_here = (core is not None and core.pointer and not core.closing and
                     core.pid == os.getpid())
        more = f", {len(self)} steps an epoch" if open_here else ", closed"
        return f"<dsa.Loader {self._shown}{more}>"

    def close(self):
        """Stops the loader's threads and frees its memory; what arrays still refer to
        goes with the last of them. It may be closed twice."""
        if self._core is not None:
            self._ahead.clear()
            self._core.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        if getattr(self, "_core", None) is not None:
            self.close()

    def __reduce__(self):
        raise Error("a loader cannot go to another process: it has workers of its own "
                    "(num_workers=0)")


_DATA_LOADER = "DataLoader(dsa.torch_dataset(loader), batch_size=None)"


def torch_dataset(loader):
    """A torch.utils.data.IterableDataset of a loader's batches, one epoch at a time,
    for DataLoader(dsa.torch_dataset(loader), batch_size=None). Error is raised for any
    other batch_size, as batches come whole, and for num_workers above 0, as the loader
    has its own."""
    from torch.utils.data import IterableDataset, get_worker_info

    class LoaderDataset(IterableDataset):
        def __iter__(self):
            if get_worker_info() is not None:
                raise Error("a dsa loader has its own workers: use num_workers=0")
            # Who asks is DataLoader's fetcher: it alone knows whether it makes batches.
            if sys._getframe(1).f_locals.get("auto_collation"):
                raise Error(f"a dsa loader's batches come whole: {_DATA_LOADER}")
            return iter(loader)

        def __len__(self):
            return len(loader)

        def __reduce__(self):
            return loader.__reduce__()

    return LoaderDataset()


def watch(iterable):
    """What a program iterates over, so that `dsa run` can measure how long it waits for it:
    whatever gives batches, such as loaders of DALI, FFCV, grain, Ray or WebDataset, an
    iterator over tf.data, a generator, a queue of one's own.

        for batch in dsa.watch(loader):
            train(batch)

    Where there are epochs, give it an object whose __iter__() begins each, and the same one
    each time: a generator made anew for each pass ends windows that began in the one before,
    and of short passes nothing is measured.

    Without `dsa run` it is the iterable itself. Under it, it has the iterable's length and
    attributes, and gives its batches or, in some windows of time, copies of batches that came
    before: what they wait less is the data stall. (Names that begin with an underscore,
    indexing and isinstance() do not reach the iterable: keep it, too, for these.) A queue
    behind the loader may be full and hide for a while that it is slow: batches are thrown away
    then until one has to be waited for. When a pass ends the next one begins, until dsa run
    has seen enough and the program ends by SystemExit(0), or with --end=data the loop.

    Files that the program reads are seen, those of the loader's other processes are not. How
    much of the stall is fetch is told where batches are read by the thread that asks for
    them. The first loader that is watched is measured; one of torch or dsa below it is left
    alone. Loaders in other processes of the program are not measured.

    Tensors and arrays are copied, other things by copy.deepcopy(). Of NumPy arrays above
    64 KiB some elements tell whether the program changed them."""
    if not (os.environ.get("DSA_SESSION") and os.environ.get("DSA_IO")):
        return iterable
    try:
        import dsa_watch  # which `dsa run` puts on the path
    except ImportError:
        return iterable
    return dsa_watch.watched(iterable)
