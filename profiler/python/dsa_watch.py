"""Brings whatever a program iterates over into the windows that dsa asks for: what
dsa.watch() gives under `dsa run`.

    loader's threads -> its queue -> Passing.__next__ -> the program's step
                                     or a copy of a batch that came before

Nobody knows how deep the queue is, and a full one hides that the loader is slow: before a
window of what it really gives, batches are thrown away until one had to be waited for. One
loader drives, the first that is asked for a second batch; every other one is left as it is.
Where one pass ends another begins while windows are asked for, if there is another.

Files that are read meanwhile count, in whatever thread, while the loader is to give batches;
of a batch itself, those of the thread that asks for it (profiler/io_page.h).
"""

import os
import sys
import threading
import time
import weakref

import dsa_library
from dsa_batches import POOL_LEAST, POOL_MOST, Pool, count, samples_in
from dsa_driver import ONLY_WATCHES, Driver, Unmeasured, copied, leaves_rank, refusal
from dsa_library import WATCH

STREAM, LIST, POOL = range(3)  # enum hook_source
FILL_NS = 100_000_000  # on copies, when there are enough to go on
WAITED_NS = 1_000_000  # for a batch, at the least: else it lay ready
WAITED_STEP = .1  # of the program's step
EMPTY_NS, EMPTY_MOST = 10**9, 256  # without a batch that had to be waited for
ROUND_MOST = 64  # batches that threads have ready together
REST_NS, REST_LOOK_S, REST_SHARE = 10**9, .02, .1  # of a CPU
# Settings of dsa that act here, in the preload.
SETTINGS = ("storage_bandwidth", "storage_latency")

now = time.monotonic_ns


# ---- what it passes over ----

def name_of(iterable):
    kind = type(iterable).__qualname__
    return f"{iterable.__name__}()" if kind == "generator" else kind


def kind_of(iterable):
    """Equal for what a program makes anew for each pass."""
    kind = type(iterable)
    return iterable.gi_code if hasattr(kind, "gi_code") else kind


def reference(passing):
    """A call that gives what it passes over; None when that is gone or, where that cannot be
    told, the pass."""
    try:
        return weakref.ref(passing.iterable)
    except TypeError:
        passing = weakref.ref(passing)
        return lambda: getattr(passing(), "iterable", None)


# ---- what the loader is brought to do ----

class Loading:
    """The loader that drives, and copies of its batches."""

    def __init__(self, library, observes):
        self.library, self.observes = library, observes
        self.pool = Pool(sys.modules.get("torch"), sys.modules.get("numpy"))
        self.passing = None  # a weak reference: the program may leave it
        self.source = STREAM
        self.over = False  # it has no batch more
        self.patience = EMPTY_NS
        self.round = 0  # of batches; 0: not known
        self.step_ns = 0  # of the program, on average of late
        self.began_anew = False
        self.began_ns = None  # what beginning anew took, until that is told

    def take_over(self, passing):
        """The program began a pass: the loader gives what it was asked for."""
        self.passing, self.over = weakref.ref(passing), False
        self.turn_to(STREAM)

    def turn_to(self, source):
        """Files that are read from now on count, or don't."""
        self.source = source
        self.library.batch_end(0)
        if source == STREAM:
            self.library.batch_begin(0)

    def next(self):
        """The next batch, of another pass where one ends. StopIteration: there is none."""
        passing = self.passing()
        try:
            return next(passing.it)
        except StopIteration:
            if self.observes == ONLY_WATCHES or self.library.left():
                raise
        began = now()
        passing.it = iter(passing.iterable)
        batch = next(passing.it)
        self.began_ns, self.began_anew = now() - began, True
        return batch

    def next_of_none(self):
        """The same for a batch that is no step's."""
        batch = self.next()
        self.tell_start(0)
        return batch

    def tell_start(self, step_ns):
        """Of an epoch, and of the step with its first batch."""
        if self.began_ns is not None:
            self.library.epoch(self.began_ns, step_ns)
        self.began_ns = None

    def give(self):
        """(batch, its samples)"""
        self.began_anew = False
        if self.source == POOL:
            return copied(self.pool.give)
        self.library.batch_next(0)
        try:
            batch = self.next()
        except StopIteration:
            self.over = True
            raise
        samples = samples_in(batch)
        self.library.batch_next(samples)
        return batch, samples

    # -- as struct hook_calls says --

    def drain(self):
        """Nothing stops its threads, but that their queue is full."""
        self.turn_to(POOL)

    def list(self, _):
        """Its batches do not come again."""

    def start(self, source):
        self.turn_to(source)
        try:
            if source == POOL:
                self.fill()
                self.rest()
            elif not self.library.left():
                self.empty()
        except StopIteration:
            self.over = True

    def count(self, samples):
        try:
            while samples > 0:
                made = samples_in(self.next_of_none())
                self.library.counted(made)
                samples -= made
        except StopIteration:
            self.over = True

    def make(self, *_):
        return 1  # it has what it has

    def fill(self):
        """Copies what comes next: others for each window, so that they are like all."""
        self.pool.clear()
        end = now() + FILL_NS
        for had in range(POOL_MOST):
            if had >= POOL_LEAST and now() > end:
                return
            batch = self.next_of_none()
            copied(self.pool.add, batch, samples_in(batch))
            if len(self.pool.masters) == had:
                return  # no memory for more

    def rest(self):
        """Until its threads in this process hardly compute: its queue is full again."""
        end = now() + REST_NS
        while now() < end:
            began, cpu = now(), time.process_time_ns()
            time.sleep(REST_LOOK_S)
            if time.process_time_ns() - cpu < REST_SHARE * (now() - began):
                return

    def empty(self):
        """Throws away what lies ready: a batch takes more than twice as long as the fastest
        then, or another pass begins. Without any such the loader never makes one wait; or it
        has no queue, and is asked less long the next time."""
        began, fastest = now(), None
        for _ in range(EMPTY_MOST * self.patience // EMPTY_NS):
            took = self.timed()
            if self.began_anew or (fastest is not None and self.waited(took, fastest)):
                self.patience = EMPTY_NS
                return self.find_round(fastest)
            fastest = min(took, fastest or took)
            if now() - began > self.patience:
                break
        self.patience = max(self.patience // 2, EMPTY_NS // 10)

    def timed(self):
        """How long the next batch, thrown away, was waited for."""
        self.began_anew = False
        asked = now()
        self.next_of_none()
        return now() - asked

    def waited(self, took, fastest):
        return took > max(WAITED_NS, WAITED_STEP * self.step_ns, 2 * fastest)

    def find_round(self, fastest):
        """Once: of how many threads batches come together, since all began when the queue had
        room again. From one that was waited for to the next it is as many twice."""
        if self.round > 0 or fastest is None:
            return
        found = [self.until_waited(fastest) for _ in range(2)]
        self.round = found[0] if found[0] == found[1] else 1
        self.library.round(self.round)

    def until_waited(self, fastest):
        for count in range(1, ROUND_MOST + 1):
            if self.waited(self.timed(), fastest):
                return count
        return 1


# ---- the driver ----

class Watch:
    """Of one process."""

    def __init__(self, library):
        self.library, self.driver = library, Driver(library)
        self.loading = None  # of the loader that drives,
        self.loads = None  # a reference to it,
        self.kind = None  # and its kind
        self.batch = 0  # samples of the last one, before there is a driver
        self.off = False
        self.inside = set()  # threads that ask for a batch
        self.turn = threading.Lock()  # of the one that drives
        self.thread = None  # its loop is in
        self.given_ns = 0
        os.register_at_fork(after_in_child=self.forked)

    def next(self, passing):
        thread = threading.get_ident()
        if thread in self.inside:  # of a loader below the one that it asks
            return next(passing.it)
        self.inside.add(thread)
        try:
            if (self.drives(passing) or self.takes(passing)) and self.turn.acquire(False):
                try:
                    self.thread = thread
                    return self.step(passing)
                except Unmeasured as error:
                    return self.go_on(passing, error)
                finally:
                    self.turn.release()
            return self.next_of_other(passing)
        finally:
            self.inside.discard(thread)

    def drives(self, passing):
        """True also of a pass that the program began anew, over the same or the like."""
        if self.loading is None:
            return False
        if passing is self.loading.passing():
            return True
        loads = self.loads()
        if loads is not passing.iterable and (
                kind_of(passing.iterable) is not self.kind or
                (loads is not None and not self.loading.over)):
            return False
        self.loads = reference(passing)
        return True

    def next_of_other(self, passing):
        if self.thread == threading.get_ident():  # a step with this in it is none of the loop
            self.library.outside()
        began = now()
        batch = next(passing.it)
        if not passing.begun:
            passing.start_ns += now() - began
            passing.begun = True
        self.batch = samples_in(batch)
        return batch

    # -- opening --

    def takes(self, passing):
        """True: this loader drives from now on."""
        if self.loading is not None or self.batch == 0 or self.off or \
                not self.turn.acquire(False):
            return False
        try:
            if self.loading is None:
                self.off = not self.take(passing)
                return not self.off
        except Exception as error:
            self.off = True
            self.library.refuse(f"dsa.watch(): {error!r}".encode())
        finally:
            self.turn.release()
        return False

    def take(self, passing):
        if dsa_library.driving is not None or leaves_rank(self.library):
            return False  # torch's loader drives, or another rank
        loading = Loading(self.library, self.library.observes())
        why = None
        if loading.observes != ONLY_WATCHES and dsa_library.joined:
            why = "dsa.watch() is measured in one rank alone; --observe watches one of several"
        elif loading.observes != ONLY_WATCHES:
            why = refusal(SETTINGS, "does not act on a loader that dsa.watch() was given")
        if why is not None:
            self.library.refuse(why.encode())
            return False
        if not self.driver.open(self.about(passing), loading):
            return False
        self.kind, self.loads = kind_of(passing.iterable), reference(passing)
        loading.take_over(passing)
        self.loading = loading
        self.library.epoch(passing.start_ns, 0)
        self.given_ns = now()
        return True

    def about(self, passing):
        steps = count(passing.iterable)
        return dsa_library.About(
            kind=WATCH, dataset=name_of(passing.iterable).encode(), source=b"watch",
            samples=steps * self.batch, steps_per_epoch=steps, batch=self.batch,
            no_list=b"dsa.watch()")

    # -- its steps --

    def step(self, passing):
        entered = now()
        loading, library = self.loading, self.library
        if passing is not loading.passing():
            return self.first_step(passing, entered)
        loading.tell_start(entered - self.given_ns)
        loading.step_ns += (entered - self.given_ns - loading.step_ns) // 8
        if loading.source == POOL and not loading.over and copied(loading.pool.prepare):
            library.renewed(now() - entered)
        if not loading.over and not library.request(entered):
            self.leave()
        if loading.over:
            library.outside()
            raise StopIteration
        return self.deliver()

    def deliver(self):
        loading, library, began = self.loading, self.library, now()
        try:
            batch, samples = loading.give()
        except BaseException:
            library.outside()
            raise
        library.delivered(samples, now() - began)
        if loading.began_anew:
            library.outside()
        self.given_ns = now()
        return batch

    def first_step(self, passing, entered):
        """The program began another pass: what that costs is no step."""
        self.library.outside()
        self.library.cut(0)
        self.loading.take_over(passing)
        began = now()
        batch, _ = self.loading.give()
        self.given_ns = now()
        self.loading.began_ns = passing.start_ns + self.given_ns - began
        return batch

    def leave(self):
        """dsa has seen enough, or something failed."""
        self.off = self.driver.error is not None
        raise self.driver.end()

    def go_on(self, passing, error):
        """Without dsa, which is told."""
        self.off = True
        self.library.cut(0)
        self.library.refuse(str(error).encode())
        return next(passing.it)

    def forked(self):
        """A child takes no part in what its parent drives; where that drives nothing yet, it
        may be the one that trains."""
        self.off = self.off or self.loading is not None


# ---- what the program iterates over ----

class Passing:
    """One pass over it."""

    def __init__(self, watch, iterable, it, start_ns):
        self.watch, self.iterable, self.it, self.start_ns = watch, iterable, it, start_ns
        self.begun = False

    def __iter__(self):
        return self

    def __next__(self):
        return next(self.it) if self.watch.off else self.watch.next(self)

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.it, name)


class Watched:
    """Stands for the iterable: its length and attributes are those of it, but for names that
    begin with an underscore."""

    def __init__(self, watch, iterable):
        self.__dict__.update(_watch=watch, _iterable=iterable)

    def __iter__(self):
        if self._watch.driver.ended:
            return iter(())
        began = now()
        it = iter(self._iterable)
        return Passing(self._watch, self._iterable, it, now() - began)

    def __reduce__(self):
        return watched, (self._iterable,)  # as another process watches it

    def __len__(self):
        return len(self._iterable)

    def __bool__(self):
        return bool(self._iterable)

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._iterable, name)

    def __setattr__(self, name, value):
        setattr(self._iterable, name, value)


class WatchedIterator(Watched):
    """Of one that is asked by itself, too."""

    def __next__(self):
        if "_passing" not in self.__dict__:
            self.__dict__["_passing"] = Passing(self._watch, self._iterable,
                                                self._iterable, 0)
        return next(self._passing)


the_watch = None


def watched(iterable):
    """What stands for it; itself where nothing can be measured."""
    global the_watch
    if the_watch is None:
        try:
            the_watch = Watch(dsa_library.Library())
        except AttributeError:
            return iterable  # the preload is not there
        dsa_library.watching = os.getpid()
    kind = WatchedIterator if hasattr(type(iterable), "__next__") else Watched
    return kind(the_watch, iterable)
