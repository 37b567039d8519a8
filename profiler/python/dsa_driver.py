"""A loader that is driven through the windows of dsa by libdsa-io.so, whatever loader it
is."""

import atexit
import ctypes
import errno
import os
import signal
import sys
import threading

import dsa_library
from dsa_library import Calls

END_DATA = os.environ.get("DSA_END") == "data"
OWN_EPOCHS = os.environ.get("DSA_EPOCHS") == "own"
ONLY_WATCHES = 1  # HOOK_WATCH of enum hook_wish
NO_DEVICES, UNAWAITED, AWAITED, CAPTURED = range(4)  # enum trace_devices


HERE = os.path.dirname(os.path.abspath(__file__))


class Unmeasured(Exception):
    """Why the program runs on as without dsa."""


def is_own(error):
    """True of what the hook raised, or failed at, itself: as of a loader that is not as it
    was. What its calls into the program raise is the program's."""
    if isinstance(error, StopIteration) or not isinstance(error, Exception):
        return False
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and \
        os.path.dirname(os.path.abspath(trace.tb_frame.f_code.co_filename)) == HERE


def copied(call, *arguments):
    """What a call for copies of batches gives: the program does not see that it fails."""
    try:
        return call(*arguments)
    except Exception as error:
        raise Unmeasured(f"a batch cannot be copied: {error!r}") from None


def device():
    """torch.cuda, or the like, where the program computes later than it says; else None."""
    torch = sys.modules.get("torch")
    for name in ("cuda", "xpu"):
        found = getattr(torch, name, None)
        if found is not None and found.is_initialized():
            return found
    return None


def is_elsewhere():
    """True where it computes by what has no way to be waited for as a whole: XLA, or JAX."""
    bridge = sys.modules.get("jax._src.xla_bridge")
    return "torch_xla" in sys.modules or bool(getattr(bridge, "_backends", None))


class Relaxed:
    """Around calls that may not spoil a graph that another thread captures; nothing where
    NVIDIA's driver is not there."""

    RELAXED = 2  # CU_STREAM_CAPTURE_MODE_RELAXED

    def __init__(self):
        try:
            driver = ctypes.CDLL("libcuda.so.1", mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
            self.exchange = driver.cuThreadExchangeStreamCaptureMode
        except (OSError, AttributeError):
            self.exchange = lambda mode: None
        self.mode = ctypes.c_int(self.RELAXED)

    def __enter__(self):
        self.exchange(ctypes.byref(self.mode))

    def __exit__(self, *_):
        self.exchange(ctypes.byref(self.mode))


def still():
    """Waits until devices have done what they were given: enum trace_devices."""
    found = device()
    if found is None:
        return UNAWAITED if is_elsewhere() else NO_DEVICES
    try:
        if getattr(found, "is_current_stream_capturing", bool)():
            return CAPTURED
        with Relaxed():
            found.synchronize()
        return AWAITED
    except RuntimeError as error:  # of another stream that is captured
        return CAPTURED if "captur" in str(error) else UNAWAITED


def initialised_ranks():
    """torch.distributed where the program has begun it; else None."""
    distributed = sys.modules.get("torch.distributed")
    begun = getattr(distributed, "is_available", bool)() and distributed.is_initialized()
    return distributed if begun else None


def ranks_of_job():
    """What says that it is one of several: its launcher or torch, where the program started
    them itself; else None."""
    ranks = os.environ.get("WORLD_SIZE", "1")
    if ranks.isdigit() and int(ranks) > 1:
        return f"WORLD_SIZE is {ranks}"
    distributed = initialised_ranks()
    ranks = 1 if distributed is None else distributed.get_world_size()
    return f"torch.distributed has {ranks} ranks" if ranks > 1 else None


def own_rank():
    """(rank, ranks) of this process's job, as its launcher or torch says; else (0, 1)."""
    rank, ranks = os.environ.get("RANK", ""), os.environ.get("WORLD_SIZE", "")
    if rank.isdigit() and ranks.isdigit():
        return int(rank), int(ranks)
    distributed = initialised_ranks()
    if distributed is None:
        return 0, 1
    return distributed.get_rank(), distributed.get_world_size()


def leaves_rank(library):
    """True of a rank of a job of which another one is observed: it does nothing from now on, nor
    do its workers, if they have not begun. One that is measured joins the others."""
    if dsa_library.other_rank or dsa_library.joined:
        return dsa_library.other_rank
    rank, ranks = own_rank()
    if ranks > 1 and library.observes() != ONLY_WATCHES:
        dsa_library.joined = bool(library.join(rank, ranks))
        if dsa_library.joined:
            os.environ["DSA_IO_RANK"] = str(rank)  # of workers that are not forked
    elif ranks > 1 and not library.rank(rank, ranks):
        dsa_library.other_rank = True
        os.environ.pop("DSA_IO", None)
    return dsa_library.other_rank


def refusal(settings, other):
    """Why this can't be measured, by what dsa was asked for in DSA_ASKED (what the user's own
    DSA_LOADER has is for libdsa): `settings` act, of any other its option and `other` are
    said. None: it can."""
    ranks = ranks_of_job()
    if ranks is not None and not dsa_library.joined:
        why = "no RANK says which one this is" if own_rank()[1] == 1 else \
            "up to 16 can be measured, on this machine and in dsa's namespace of processes"
        return f"{ranks}: {why}; --observe watches one of them"
    for setting in filter(None, os.environ.get("DSA_ASKED", "").split(",")):
        name = setting.partition("=")[0]
        if name not in settings:
            option = name.replace("_size", "").replace("_", "-")
            return f"--{option} {other}: leave it out"
    return None


def leave(_number, _frame):
    raise SystemExit(0)


def free_signal():
    """A signal that nobody handles, now by leave(); or None. In the main thread alone."""
    for number in range(signal.SIGRTMAX, signal.SIGRTMIN, -1):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, leave)
            return number
    return None


def end_main(number):
    """Where another thread asks for batches, as of a loader that reads ahead, what it is raised
    ends that thread alone: the main one gets the same, at once where the signal does that, even
    if it waits for that thread; else once it runs."""
    main = threading.main_thread()
    if threading.current_thread() is main:
        return
    if number is not None and signal.getsignal(number) is leave:
        signal.pthread_kill(main.ident, number)
    else:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(main.ident),
                                                   ctypes.py_object(SystemExit))


def guarded(hook, call, *arguments):
    """What fails of dsa's is no failure of the program's."""
    try:
        call(*arguments)
    except Exception as error:
        hook.give_up(error)


class Driver:
    """Of one process. `loading` of open() has drain(), list(), start(), count() and
    make(), as struct hook_calls says."""

    def __init__(self, library):
        self.library = library
        self.error = None  # that the program is to see
        self.ended = False  # its loops end at once
        self.told = False  # the program is to end
        self.signal = None  # that ends its main thread, where another asks for batches

    def open(self, about, loading):
        """True: it drives from its next batch on."""
        calls = Calls(Calls.DRAIN(self.guarded(loading.drain)),
                      Calls.LIST(self.guarded(loading.list)),
                      Calls.START(self.guarded(loading.start)),
                      Calls.STILL(self.guarded(still)),
                      Calls.COUNT(self.guarded(loading.count)),
                      Calls.MAKE(self.guarded(loading.make)))
        about.libdsa = "dsa" in sys.modules
        result = self.library.open(ctypes.byref(about), ctypes.byref(calls))
        if result == -errno.ENOENT:
            self.say_unseen()
        if result != 0:
            return False  # libdsa drives, or another process, or dsa is gone
        self.calls = calls  # libdsa-io has their addresses
        dsa_library.driving = about.kind, os.getpid()
        atexit.register(self.library.close)
        return True

    def say_unseen(self):
        """What is shared with dsa could not be opened: dsa is told, or the user."""
        self.library.refuse(b"it can't open the file 'io' of the run's folder, through which "
                            b"its workers are seen")
        try:
            with open(os.environ["DSA_SESSION"], "r+b"):
                pass
        except (KeyError, OSError) as error:
            print(f"dsa: this program is not measured: {error}: start dsa as the user that "
                  "it runs as, and where it runs see that folder", file=sys.stderr)

    def guarded(self, call):
        """What fails is told to the program later, from where it asked."""
        def run(*arguments):
            try:
                return call(*arguments) or 0
            except BaseException as error:
                self.error = error
                return -1
        return run

    def end(self):
        """What the program sees that asked for a batch and gets none: what failed; or dsa
        has seen enough."""
        error, self.error = self.error, None
        if error is not None:
            return error
        self.ended = END_DATA
        if END_DATA:
            return StopIteration()
        if not self.told:
            self.told = True
            end_main(self.signal)
        return SystemExit(0)
