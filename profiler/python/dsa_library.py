"""What the hook calls in libdsa-io.so, which is preloaded: profiler/hook/hook.h and
profiler/io/dsa_io.h."""

import ctypes

WATCH = 2  # enum trace_loader_kind

watching = None  # the process whose loader dsa.watch() was given: none of torch takes over
other_rank = False  # another rank of the job is observed than that of this process
joined = False  # this process is a rank of a job that is measured
driving = None  # the kind of the loader that drives, and its process


class Calls(ctypes.Structure):
    """struct hook_calls"""
    DRAIN = STILL = ctypes.CFUNCTYPE(ctypes.c_int)
    LIST = START = COUNT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint32)
    MAKE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint32, ctypes.c_uint64)
    _fields_ = [("drain", DRAIN), ("list", LIST), ("start", START), ("still", STILL),
                ("count", COUNT), ("make", MAKE)]


class About(ctypes.Structure):
    """struct hook_about"""
    _fields_ = [("kind", ctypes.c_uint32),
                ("dataset", ctypes.c_char_p), ("source", ctypes.c_char_p),
                ("samples", ctypes.c_uint64), ("steps_per_epoch", ctypes.c_uint64),
                ("batch", ctypes.c_uint32), ("workers", ctypes.c_uint32),
                ("prefetch", ctypes.c_uint32), ("any_order", ctypes.c_uint32),
                ("no_list", ctypes.c_char_p), ("untrained", ctypes.c_uint32),
                ("libdsa", ctypes.c_uint32), ("apart", ctypes.c_uint32)]


class Recipe(ctypes.Structure):
    """struct hook_recipe"""
    _fields_ = [("folder", ctypes.c_char_p), ("lacks", ctypes.c_char_p),
                ("code", ctypes.c_char_p), ("size", ctypes.c_uint32),
                ("evaluate", ctypes.c_uint32), ("bytes", ctypes.c_uint32)]


FUNCTIONS = {
    "dsa_hook_open": [ctypes.POINTER(About), ctypes.POINTER(Calls)],
    "dsa_hook_close": [],
    "dsa_hook_request": [ctypes.c_uint64],
    "dsa_hook_delivered": [ctypes.c_uint32, ctypes.c_uint64],
    "dsa_hook_trained": [ctypes.c_uint32, ctypes.c_uint64],
    "dsa_hook_beside": [ctypes.c_uint32],
    "dsa_hook_loader_beside": [ctypes.c_uint32, ctypes.c_uint64],
    "dsa_hook_waited": [ctypes.c_uint64],
    "dsa_hook_counted": [ctypes.c_uint32],
    "dsa_hook_renewed": [ctypes.c_uint64],
    "dsa_hook_outside": [],
    "dsa_hook_round": [ctypes.c_uint32],
    "dsa_hook_cut": [ctypes.c_uint32],
    "dsa_hook_loader": [ctypes.c_uint64],
    "dsa_hook_epoch": [ctypes.c_uint64, ctypes.c_uint64],
    "dsa_hook_passing": [ctypes.c_uint64, ctypes.c_uint64],
    "dsa_hook_epoch_end": [ctypes.c_uint64],
    "dsa_hook_left": [],
    "dsa_hook_stopped": [],
    "dsa_hook_measured": [],
    "dsa_hook_observes": [],
    "dsa_hook_rank": [ctypes.c_uint32, ctypes.c_uint32],
    "dsa_hook_join": [ctypes.c_uint32, ctypes.c_uint32],
    "dsa_hook_over": [],
    "dsa_hook_refuse": [ctypes.c_char_p],
    "dsa_hook_beyond": [ctypes.c_uint32],
    "dsa_hook_recipe": [ctypes.POINTER(Recipe)],
    "dsa_hook_picture": [ctypes.c_char_p, ctypes.c_uint32, ctypes.c_void_p],
    "dsa_io_batch_begin": [ctypes.c_uint64],
    "dsa_io_batch_of": [ctypes.c_uint64],
    "dsa_io_batch_end": [ctypes.c_uint32],
    "dsa_io_batch_next": [ctypes.c_uint32],
    "dsa_io_pad": [ctypes.c_uint64],
    "dsa_io_may_make": [ctypes.c_uint64],
    "dsa_io_await_made": [],
    "dsa_io_look_at": [ctypes.c_uint32],
    "dsa_io_looks_at": [],
    "dsa_io_look": [],
    "dsa_io_sample": [ctypes.c_uint64, ctypes.c_uint64],
    "dsa_io_part": [ctypes.c_char_p],
    "dsa_io_took": [ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint32],
}
WITH_VALUE = ("dsa_hook_open", "dsa_hook_request", "dsa_hook_left", "dsa_hook_stopped",
              "dsa_hook_measured", "dsa_hook_observes", "dsa_hook_rank", "dsa_hook_join",
              "dsa_hook_picture",
              "dsa_io_part", "dsa_io_may_make")
# Others of their process go on meanwhile: threads of a worker that hand over its batches.
WAITING = ("dsa_hook_request", "dsa_io_may_make", "dsa_io_await_made", "dsa_io_pad")
RESULTS = {"dsa_hook_over": ctypes.c_char_p, "dsa_io_looks_at": ctypes.c_uint32,
           "dsa_io_look": ctypes.c_void_p}


class Library:
    """Its functions without their prefix. Those that take long let other threads run."""

    def __init__(self):
        quick, slow = ctypes.PyDLL(None), ctypes.CDLL(None)
        for name, arguments in FUNCTIONS.items():
            try:
                function = getattr(slow if name in WAITING else quick, name)
            except AttributeError as error:
                raise ImportError("libdsa-io.so is not in LD_PRELOAD any more, or is of "
                                  "another version") from error
            function.argtypes = arguments
            function.restype = ctypes.c_int if name in WITH_VALUE else RESULTS.get(name)
            setattr(self, name.replace("dsa_hook_", "").replace("dsa_io_", ""), function)
