"""A loader that is driven through the windows of dsa by libdsa-io.so, whatever loader it
is."""

import atexit
import ctypes
import os
import sys

import dsa_library
from dsa_library import Calls

END_DATA = os.environ.get("DSA_END") == "data"
ONLY_WATCHES = 1  # HOOK_WATCH of enum hook_wish


class Unmeasured(Exception):
    """Why the program runs on as without dsa."""


def copied(call, *arguments):
    """What a call for copies of batches gives: the program does not see that it fails."""
    try:
        return call(*arguments)
    except Exception as error:
        raise Unmeasured(f"a batch cannot be copied: {error!r}") from None


def device():
    """torch.cuda where the program computes later than it says; else None."""
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    return cuda if cuda is not None and cuda.is_initialized() else None


def still():
    """Waits until devices have done what they were given: enum trace_devices."""
    cuda = device()
    if cuda is None:
        return 0
    if cuda.is_current_stream_capturing():
        return 2
    cuda.synchronize()
    return 1


def refusal(settings, other):
    """Why this can't be measured, by what dsa was asked for in DSA_ASKED (what the user's own
    DSA_LOADER has is for libdsa): `settings` act, of any other its option and `other` are
    said. None: it can."""
    ranks = os.environ.get("WORLD_SIZE", "1")
    if ranks.isdigit() and int(ranks) > 1:
        return (f"WORLD_SIZE is {ranks}: the ranks of one job are not measured yet; "
                "--observe watches one of them")
    for setting in filter(None, os.environ.get("DSA_ASKED", "").split(",")):
        name = setting.partition("=")[0]
        if name not in settings:
            option = name.replace("_size", "").replace("_", "-")
            return f"--{option} {other}"
    return None


class Driver:
    """Of one process. `loading` of open() has drain(), list(), start(), count() and
    make(), as struct hook_calls says."""

    def __init__(self, library):
        self.library = library
        self.error = None  # that the program is to see
        self.ended = False  # its loops end at once

    def open(self, about, loading):
        """True: it drives from its next batch on."""
        self.calls = Calls(Calls.DRAIN(self.guarded(loading.drain)),
                           Calls.LIST(self.guarded(loading.list)),
                           Calls.START(self.guarded(loading.start)),
                           Calls.STILL(self.guarded(still)),
                           Calls.COUNT(self.guarded(loading.count)),
                           Calls.MAKE(self.guarded(loading.make)))
        if self.library.open(ctypes.byref(about), ctypes.byref(self.calls)) != 0:
            return False  # libdsa drives, or another process, or dsa is gone
        dsa_library.driving = about.kind, os.getpid()
        atexit.register(self.library.close)
        return True

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
        return StopIteration() if END_DATA else SystemExit(0)
