"""What a program does with its batches, as its backward passes tell."""

import functools
import queue
import threading
import time

from dsa_driver import guarded

IDLE = 8  # batches in a row without a backward, beyond the end of an epoch
TOGETHER = 64  # batches of one step, before a backward; or of a thread's queue: TRACE_TOGETHER
FILLS_NS = 10**9  # in which another thread than trains takes them

now = time.monotonic_ns

waits = {}  # of threads in queue.Queue.get(): ns so far, since when one does, and how often


def waited_ns(thread):
    """So far."""
    spent, since, _ = waits.get(thread, (0, None, 0))
    return spent + (0 if since is None else now() - since)


def gets_of(thread):
    """How often it began to wait."""
    return waits.get(thread, (0, None, 0))[2]


class Training:
    """Of the loader that drives."""

    def __init__(self, backwards, trained, last_ns=0, reads_ahead=False, awaited=False):
        self.backwards = self.told = backwards  # so far, and when libdsa-io was told last
        self.last_ns = last_ns  # of the last one then
        self.reads_ahead = reads_ahead  # another thread than trains takes the batches
        self.is_awaited = reads_ahead and awaited  # from a queue
        self.idle = 0 if trained else None  # batches since the last one; None: none came
        self.usual = 0  # the most of them within an epoch
        self.taken = 0  # batches of the step under way,
        self.before = backwards  # which began after so many backwards
        self.took_ns = 0  # and then

    def skips(self, backwards, beyond):
        """It asks for the next batch, which lies `beyond` the end: some programs count them, and
        skip those beyond the end of their epoch."""
        if self.idle is not None:
            self.idle += 1
        if backwards > self.backwards:
            self.usual = max(self.usual, self.idle or 0)
            self.backwards, self.idle = backwards, 0
        if not beyond:
            self.usual = max(self.usual, self.idle or 0)
        most = self.usual + (TOGETHER if self.reads_ahead else IDLE)
        return beyond and self.idle is not None and self.idle >= most

    def passes(self, backwards, last_ns):
        """Since it was asked last; and from the last one then to the last one now, which was at
        `last_ns`."""
        since, self.told = backwards - self.told, backwards
        took_ns, self.last_ns = last_ns - self.last_ns, last_ns
        return since, took_ns

    def blocked(self, trainer, began, waited):
        """How long training waited since it `began`, until when it had waited so long."""
        if not self.is_awaited:
            return now() - began
        return max(0, waited_ns(trainer) - waited)

    def takes_more(self, backwards, entered, ahead, may):
        """Of a program that takes several batches before it trains from them, or a thread of
        which does, `ahead` of it, they are of one step: no window begins or ends between
        them."""
        more = (may and 0 < self.taken < TOGETHER and backwards == self.before and
                (not ahead or entered - self.took_ns < FILLS_NS))
        if not more:
            self.taken, self.took_ns = 0, entered
        self.taken += 1
        self.before = backwards
        return more


# ---- patches ----

def patch_backward(hook):
    """Once, when torch is there as a whole."""
    if hook.torch is not None:
        return
    import torch
    hook.torch, plain = torch, torch.autograd.backward

    @functools.wraps(plain)
    def backward(*args, **kwargs):
        thread, inside = threading.get_ident(), hook.training_now
        try:
            hook.training_now = True  # one may be inside another, in a thread of torch's
            if not inside:
                hook.trains_in = thread
                hook.gets.setdefault(thread, gets_of(thread))
            hook.trained_ns = now()
            hook.backwards += 1
            if hook.is_apart:
                guarded(hook, hook.note_apart)
            return plain(*args, **kwargs)
        finally:
            if not inside:
                hook.training_now = False

    torch.autograd.backward = backward
    patch_schedule(hook, torch.optim.lr_scheduler.OneCycleLR)


def patch_queue():
    """What another thread reads ahead, the one that trains waits for there."""
    plain = queue.Queue.get

    @functools.wraps(plain)
    def get(self, block=True, timeout=None):
        if not block:
            return plain(self, block, timeout)
        thread, began = threading.get_ident(), now()
        spent, _, count = waits.get(thread, (0, None, 0))
        try:
            waits[thread] = spent, began, count + 1
            return plain(self, block, timeout)
        finally:
            waits[thread] = spent + now() - began, None, count + 1

    queue.Queue.get = get


def patch_schedule(hook, schedule):
    """It refuses to go on when the program has taken the steps that it was told of; while
    data is repeated it stays where it is."""
    plain = schedule.get_lr

    @functools.wraps(plain)
    def get_lr(self):
        try:
            return plain(self)
        except ValueError:
            if hook.loading is None or hook.observes or hook.off:
                raise
            return [group["lr"] for group in self.optimizer.param_groups]

    schedule.get_lr = get_lr
