"""Brings torch's DataLoader into the windows that dsa asks for, in a program that nobody
changed.

    program          for batch in loader:            its own iterator, its own loader
      patched        _BaseDataLoaderIter.__next__    tells the driver, gives its batch
                     ... __init__, _reset            put a Stream around the sampler, tell
                                                     what an epoch's start costs
                     fetchers' fetch                 in the workers: what a batch took
                     DataLoader.__iter__             ends loops, or goes on where it was
                     torch.autograd.backward         which loader is trained from
                     queue.Queue.get                 how long training waits for another
                                                     thread that reads ahead of it
                     OneCycleLR.get_lr               goes on beyond its last step

The driver of the windows is in libdsa-io.so (profiler/hook/hook.h), which is preloaded; here
is how torch's loader comes to rest, is given a list of batches, and begins anew. One
loader drives, and those that give a batch in each of its steps follow (dsa_beside.py); every
other one is left as it is. If anything is missing the program runs on as without dsa, and
dsa is told why.
"""

import contextlib
import functools
import os
import signal
import sys
import threading
import time
import weakref

import dsa_library
import dsa_pictures
import dsa_recipe
from dsa_batches import Stream, count, stream_of
from dsa_beside import MIXED, Mixed, Together
from dsa_driver import (ONLY_WATCHES, OWN_EPOCHS, Driver, Unmeasured, copied, device,
                        free_signal, guarded, is_own, leaves_rank, refusal)
from dsa_fetch import begins, key_of_iterator, patch_fetcher, patch_worker
from dsa_loading import (LOADED, MAP, POOLED, STREAM, Helped, Loading, length_of,
                         with_workers)
from dsa_training import Training, gets_of, patch_backward, patch_queue, waited_ns
from dsa_transforms import attributes, is_like

TORCH = 1  # enum trace_loader_kind
GIVEN, SKIPPED, ENDLESS = 1, 2, 3  # enum trace_beyond
SURELY = 2  # epochs that a sampler goes on for: it does not end
SOON_NS = 10**9
PATIENCE_S = 20  # without a backward the loader with most steps is taken then
PASSES = 8  # backward passes, after which training is known to wait for no queue
SINGLES = 16  # iterators of a loader in a row that gave a batch each
# Settings of dsa that act here or in the preload.
SETTINGS = ("storage_bandwidth", "storage_latency", "prep_delay", "workers")
NEEDED = ("_sampler_iter", "_index_sampler", "_num_workers", "_dataset_kind")
NEEDED_OF_WORKERS = "_task_info", "_try_put_index", "_prefetch_factor"

now = time.monotonic_ns


def name_of_data(dataset):
    """Its folder, or the name of its class. fastai gives torch what stands for its own loader."""
    outer = attributes(attributes(dataset).get("d"))
    if outer.get("fake_l") is dataset and outer.get("dataset") is not None:
        dataset = outer["dataset"]
    root = getattr(dataset, "root", None)
    if not isinstance(root, (str, os.PathLike)):
        return type(getattr(dataset, "_datapipe", dataset)).__name__  # torch wraps a DataPipe
    return root if os.fsdecode(root).strip("./") else os.path.abspath(root)


# ---- the driver ----

class Hook:
    """Of one process."""

    def __init__(self, module, library, plain):
        self.module, self.library, self.plain = module, library, plain
        self.driver = Driver(library)
        self.torch = None  # when it is imported
        self.loader = None  # that drives: a weak reference, one for each loader
        self.loads = None  # its data set and batch
        self.by_backward = False  # it was found, and not by patience
        self.early = True  # one may be observed before that
        self.driven = 0  # its steps
        self.over = False  # its last epoch, to which the next one is to come,
        self.other = False  # and is of another data set
        self.loading = None
        self.off = False
        self.turn = threading.Lock()
        self.inside = False  # of the driver's own request
        self.backwards = 0
        self.trained_ns = 0  # the last one began then
        self.trains_in = None  # the thread of the last one
        self.training_now = False  # one is under way
        self.gets = {}  # how often threads had waited for a queue before their first one
        self.asked_ns = None  # a batch, before there is a driver,
        self.waited_ns = 0  # and for a backward so far
        self.observes = None  # what dsa wants, once that was looked at
        self.alike = False  # libdsa has its recipe
        self.most = 0  # steps of one loader, before there is a driver
        self.together = None  # it, and loaders beside it
        self.mixed = Mixed()
        self.training = None
        self.is_apart = False  # another thread than the main one asks, and no signal ends that
        self.interrupted = False  # by the user
        self.since = self.since_driven = 0  # batches of others, after so many of its own
        self.length = 0  # batches of its epoch, as the program has it,
        self.endless = False  # where its sampler ends
        self.paused = False  # that is over, and the window goes on with the next one,
        self.starts = 0  # of which so many steps do not count,
        self.resumed = None  # nor any before more backwards than these; None: all others do

    # -- which loader --

    def next(self, it):
        if self.inside:  # of a loader below this one, or of another thread
            batch = self.plain(it)
            returned(it, batch)
            return batch
        if (self.is_provisional() or self.is_left_for(it)) and \
                self.is_trained(it) and self.is_to_drive(it):
            self.drop()
        if not self.drives(it):
            return self.next_of_other(it)
        return self.asked_for(it, self.step)

    def asked_for(self, it, give):
        self.inside = True
        try:
            return give(it)
        except Exception as error:
            if not is_own(error):
                raise
            return self.go_on(it, error)
        finally:
            self.inside = False

    def drives(self, it):
        """True of the iterator that is followed, and of one that is to be from now on: from its
        second batch. Where backward() told the loader, each iterator waits for its own: it may
        be there to evaluate on the same data."""
        if self.loading is None:
            return False
        if self.loading.asked == (it, getattr(it, "_sampler_iter", None)):
            return True
        resumes = self.paused and it._dsa_loader is self.loader
        if not resumes and (it._dsa_steps == 0 or self.by_backward and not self.is_trained(it)):
            return False
        return it._dsa_loader is self.loader or self.succeeds(it)

    def is_trained(self, it):
        """True once backward() followed a batch of it, with none that drives in between."""
        return (it._dsa_steps > 0 and self.backwards > it._dsa_backwards and
                self.driven == it._dsa_driven)

    def succeeds(self, it):
        """True where the program made its loader anew, as some do for each epoch, and once one
        is over its data set, too; or trains from one of another data set of its kind."""
        if self.loader() is not None:
            return False
        mine, its = self.loads, it._dsa_loads
        if mine[1:] != its[1:] or not (mine[0] is its[0] or
                                       self.over and is_like(mine[0], its[0]) or
                                       self.is_trained(it) and type(mine[0]) is type(its[0])):
            return False
        self.other = mine[0] is not its[0]
        self.loader, self.loads, self.over = it._dsa_loader, its, False
        self.paused = False
        return True

    def is_read_in_turn(self, it):
        """Of an iterator that may begin the next epoch, by its second batch alone."""
        return (it._dsa_loader is not self.loader and self.loader() is not None or
                self.is_read_again(it))

    def is_read_again(self, it):
        """From its second batch on, with a step of the one that drives in between."""
        return it._dsa_steps > 0 and it._dsa_driven != self.driven

    def next_of_other(self, it):
        if self.loading is not None:
            beside = self.together.of(it)
            if beside is not None and (beside.has(it) or self.is_read_again(it)):
                it._dsa_driven = self.driven
                return self.asked_for(it, beside.give)
            self.loading.open(it)
            self.library.outside()  # a step with this in it is none of the loop
            if beside is None and self.is_read_in_turn(it):
                self.mixed.gave(it._dsa_loader)
        elif self.is_to_drive(it) and self.takes(it):
            return self.next(it)
        else:
            guarded(self, self.count_single, it)
        began, it._dsa_backwards = now(), self.backwards  # a thread may ask meanwhile
        it._dsa_driven = self.driven
        batch = self.plain(it)
        returned(it, batch)
        if it._dsa_steps == 0:
            it._dsa_given_ns = now()
            it._dsa_start_ns += it._dsa_given_ns - began
        it._dsa_steps += 1
        self.most = max(self.most, it._dsa_steps)
        return batch

    def count_single(self, it):
        """No iterator drives before its second batch: of a loader that is begun anew for each
        none ever does."""
        loader = it._dsa_loader()
        if loader is None or self.off or dsa_library.watching is not None:
            return
        held = vars(loader)  # it may be none that can be a key
        count = held["_dsa_singles"] = held.get("_dsa_singles", 0) + 1 if it._dsa_steps == 0 else 0
        if count > SINGLES and self.backwards >= SINGLES:
            raise Unmeasured("each iterator gives one batch, as in next(iter(loader)), and none "
                             "loops: keep one, or give dsa.watch() what yields batches")

    def leave_rank(self):
        if not self.off and self.loading is None and leaves_rank(self.library):
            self.turn_off()

    def turn_off(self):
        self.off = True
        Stream.counting = False

    def give_up(self, error):
        """The program runs on as without dsa, which is told."""
        self.turn_off()
        why = str(error) if isinstance(error, Unmeasured) else repr(error)
        version = getattr(self.torch, "__version__", "")
        self.library.refuse(f"torch {version}: {why}".encode())

    def go_on(self, it, error):
        """Without dsa, from where windows have left the loader."""
        self.give_up(error)
        self.library.cut(0)
        try:
            self.loading.let_go(it if it._dsa_loader is self.loader else
                                self.loading.asked[0])
            self.together.let_go()
        except Exception as another:  # the program's is raised again when it asks
            if not is_own(another):
                raise
        return self.plain(it)

    def is_to_drive(self, it):
        if self.observes is None:
            self.observes = self.library.observes()
        if it._dsa_steps == 0:
            return False
        if self.is_trained(it):
            # Another thread that does waits for a queue before its next step, or for none.
            return (self.trains_in == threading.get_ident() or self.awaits_queue() or
                    self.backwards > PASSES)
        if self.observes == ONLY_WATCHES and "dsa" not in sys.modules:  # whose loader may come
            return self.early
        return not dsa_library.joined and self.has_waited(it)  # ranks at the same batch

    def is_provisional(self):
        """What is only observed is so from the first batches on, until it is seen to train."""
        return (self.loading is not None and not self.by_backward and
                self.observes == ONLY_WATCHES)

    def is_left_for(self, it):
        """The loader that drives is gone, before anything was measured of it, as one that only
        tried a size of batches: others were asked for many batches since."""
        if (self.loading is None or self.observes or self.loader() is not None or
                self.drives(it)):
            return False
        self.since = self.since + 1 if self.since_driven == self.driven else 0
        self.since_driven = self.driven
        return self.since >= MIXED and not self.library.measured()

    def drop(self):
        """What it was observed to do so far was to evaluate, or nothing of it was measured:
        libdsa forgets that."""
        if not self.observes:
            self.library.cut(0)
            with contextlib.suppress(Exception):  # its workers may be gone
                self.loading.let_go(self.loading.asked[0])
                self.together.let_go()
        self.library.beyond(0)
        self.library.close()
        self.loading = self.loader = self.resumed = None
        self.over = self.other = self.paused = self.endless = False
        self.starts = 0
        self.mixed = Mixed()

    def has_waited(self, it):
        """True of the loader with most steps, when no backward() will come."""
        asked = now()
        if self.asked_ns is not None and not self.is_validation():
            self.waited_ns += asked - self.asked_ns
        self.asked_ns = asked
        return it._dsa_steps >= self.most and self.waited_ns > PATIENCE_S * 10**9

    def is_validation(self):
        """True where the program asks for no gradients now, but is to train."""
        return not self.torch.is_grad_enabled() and has_optimizer(self.torch.optim.Optimizer)

    # -- opening --

    def takes(self, it):
        """True: this loader drives from now on. Threads may ask for batches of one each."""
        if not self.turn.acquire(False):
            return False
        try:
            return self.loading is None and not self.off and self.takes_alone(it)
        finally:
            self.turn.release()

    def takes_alone(self, it):
        if dsa_library.watching is not None:
            self.turn_off()
            return False
        try:
            why = self.refusal(it)
            if why is None:
                return self.take(it)
            self.turn_off()
            self.library.refuse(why.encode())
        except Exception as error:
            self.give_up(error)
        return False

    def take(self, it):
        if OWN_EPOCHS and self.observes != ONLY_WATCHES and length_of(it) == 0:
            raise Unmeasured("--epochs=own needs a loader that has a length")
        serves, self.by_backward = self.served(it), self.is_trained(it)
        self.training = Training(self.backwards, self.by_backward, self.trained_ns,
                                 self.reads_ahead(), self.awaits_queue())
        loading = Loading(self.module, self.plain, self.library,
                          self.observes == ONLY_WATCHES)
        together = Together(loading)
        if not self.driver.open(self.about(serves), together):
            if self.by_backward or not self.early:
                self.turn_off()
            self.early = False
            return False
        self.loading, self.together = loading, together
        self.loader, self.loads = it._dsa_loader, it._dsa_loads
        self.library.look_at(it._dsa_data_key)
        self.library.loader(key_of_iterator(it))
        # Windows see no other begin of workers that persist.
        if self.observes == ONLY_WATCHES or not getattr(it, "_persistent_workers", False):
            self.library.epoch(it._dsa_start_ns, 0)
        self.alike = dsa_recipe.tell(self.library, it)
        if not self.observes:
            self.note_interrupts()
            self.is_apart = threading.current_thread() is not threading.main_thread()
        self.follow(it, serves)
        return True

    def reads_ahead(self):
        """Another thread trains than this one, which takes the batches."""
        return self.by_backward and self.trains_in != threading.get_ident()

    def awaits_queue(self):
        """The thread that trains has waited for one since its first step."""
        thread = self.trains_in
        return thread in self.gets and gets_of(thread) > self.gets[thread]

    def note_interrupts(self):
        """A program that the user interrupts did not run out of steps."""
        def interrupted(number, frame):
            self.interrupted = True
            self.library.beyond(ENDLESS if self.endless else 0)
            signal.default_int_handler(number, frame)

        if signal.getsignal(signal.SIGINT) is signal.default_int_handler and \
                threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, interrupted)

    def note_apart(self):
        """The main thread, which trains from what another asks for, may wait for that when it is
        to end."""
        if threading.current_thread() is threading.main_thread():
            self.is_apart = False
            self.driver.signal = free_signal()

    def refusal(self, it):
        """Why this can't be measured; None: it can."""
        needed = NEEDED + (NEEDED_OF_WORKERS if getattr(it, "_num_workers", 0) else ())
        missing = [name for name in needed if not hasattr(it, name)]
        if missing:
            return f"torch {self.torch.__version__}: its iterator has no {missing[0]}"
        if self.observes == ONLY_WATCHES:
            return None
        if dsa_library.joined and self.reads_ahead():
            return "of several ranks none is measured whose batches another thread reads ahead"
        return refusal(SETTINGS, "acts on libdsa's loader alone, and this is torch's")

    def about(self, it):
        dataset, batch, in_order = it._dsa_loads
        workers, stream = it._num_workers, it._sampler_iter
        no_list = None if it._dataset_kind == MAP else b"an IterableDataset"
        return dsa_library.About(
            TORCH, os.fsencode(name_of_data(dataset)),
            f"torch {self.torch.__version__}".encode(),
            count(dataset) * (stream.most if stream.whole else 1), count(it._index_sampler),
            batch or stream.most, workers, it._prefetch_factor if workers else 0, not in_order,
            no_list, not self.by_backward,
            apart=self.reads_ahead() and 1 + self.training.is_awaited)

    # -- its steps --

    def served(self, it):
        """The iterator that its batches come from: its own or, where dsa was asked for so
        many workers, another."""
        return it if self.observes == ONLY_WATCHES else with_workers(self.module, it)

    def follow(self, it, serves):
        self.loading.take_over(it, serves)
        self.length = length_of(it)
        self.prolong(serves)

    def prolong(self, it):
        """Its data ends when dsa is gone: windows take more of it than they give."""
        if not self.observes:
            it._sampler_iter.endless = lambda: not self.library.left()

    def step(self, it):
        entered = now()
        self.driven += 1
        it._dsa_backwards, it._dsa_driven = self.backwards, self.driven
        loading, library = self.loading, self.library
        self.check_mixed()
        if loading.asked != (it, it._sampler_iter):
            self.begin_epoch(it, entered)
        self.check_endless()
        if not self.observes:
            self.check_end(it, entered)
        if self.starts > 0 or self.backwards == self.resumed:
            # The step in which training goes on began before that.
            self.starts = 1 if self.backwards == self.resumed else self.starts - 1
            self.training.taken = 0
            library.outside()
        if loading.source in POOLED and copied(loading.pool.prepare):
            library.renewed(now() - entered)
        if self.training.reads_ahead:
            library.trained(*self.training.passes(self.backwards, self.trained_ns))
        if not self.takes_more(entered) and not library.request(entered):
            self.leave()
        began, trainer = now(), self.trains_in
        waited = waited_ns(trainer)
        if loading.source in POOLED:
            if loading.source == LOADED and device() is None:
                library.await_made()
            batch, count = copied(loading.pool.give)
        else:
            try:
                batch, count = loading.next()
            except BaseException as error:
                library.outside()
                self.over = isinstance(error, StopIteration)
                if self.over and self.ends_workers(it):
                    self.library.epoch_end(now() - began)
                raise
        library.delivered(count, self.training.blocked(trainer, began, waited))
        it._dsa_steps += 1
        return batch

    def takes_more(self, entered):
        """The batch that is asked for is of the step that is under way."""
        return self.training.takes_more(
            self.backwards, entered, self.reads_ahead(),
            self.by_backward and not self.library.stopped())

    def check_end(self, it, entered):
        """Whether it is beyond the end of its own epoch: that ends there, or goes on as long as
        the program trains."""
        beyond = 0 < self.length <= it._dsa_steps
        if OWN_EPOCHS and beyond:
            self.pause()
            raise StopIteration
        if self.training.skips(self.backwards, beyond):
            self.library.beyond(SKIPPED)
            self.turn_off()
            raise self.driver.end()
        if beyond and not self.interrupted and not self.endless:
            self.library.beyond(GIVEN)

    def check_endless(self):
        """Whether its sampler goes on beyond the length that it says, by itself."""
        stream = self.loading.stream
        if not (self.endless or OWN_EPOCHS or stream.renews) and \
                0 < SURELY * self.length < stream.drawn:
            self.endless = True
            self.library.beyond(ENDLESS)

    def pause(self):
        """Until the program begins its next epoch."""
        self.library.outside()
        self.over = True
        self.paused = not self.library.left()

    def resume(self, it):
        """Goes on with what the loader did: a new iterator's own workers have no work."""
        self.loading.asked = it, it._sampler_iter
        self.paused = False
        self.length = length_of(it)
        self.loading.empty()
        self.starts = 2  # what came before, and the wait for the first batch
        self.resumed = self.backwards if self.by_backward else None  # it may evaluate

    def persists(self, loader):
        """The iterator that the loader would begin anew, with workers that persist, where it is
        to go on; else None."""
        it = getattr(loader, "_iterator", None)
        if self.off or it is None or self.loading is None or it is not self.loading.it:
            return None
        if not self.paused and (self.observes or self.loading.stream.renews or
                                self.library.left()):
            return None
        self.library.outside()
        self.resume(it)
        it._dsa_steps = 0
        return it

    def check_mixed(self):
        """Loaders that are read in turn have their steps together."""
        often = self.mixed.step(self.loader)
        if often is None or self.is_provisional():
            return
        if not often:
            raise Unmeasured("another iterator of its loader, another loader each time or one in "
                             "another thread gives a batch in each step: dsa.watch() measures "
                             "what yields both")
        self.mixed = Mixed()
        self.join(often)

    def join(self, loaders):
        """Those give a batch in each step."""
        if not self.observes:
            self.library.cut(0)
            if self.loading.source != STREAM:
                self.loading.drain()
                self.loading.start(STREAM)
        self.library.beside(self.together.join(loaders))

    def begin_epoch(self, it, entered):
        """The program began another one, and has its first batch: what that cost is no step."""
        self.library.outside()
        self.training.taken = 0
        # Workers had no time for it, or it began none.
        timed = self.loading.source != LOADED and not self.paused
        if not (self.observes or self.library.left()) and self.loading.goes_on_for(it):
            self.loading.rest(it)
            self.resume(it)
        else:
            self.cut(it)
        if timed:
            self.library.epoch(it._dsa_start_ns, entered - it._dsa_given_ns)

    def cut(self, it):
        """What the loader did ends: it was made anew, or its workers began with others."""
        self.paused = False
        self.library.loader(key_of_iterator(it))
        self.library.cut(self.other)
        self.other = False
        self.follow(it, self.served(it))
        if not self.observes:  # the sampler may have ended, and goes on now
            self.loading.prime()

    def leave(self):
        """dsa has seen enough, or a call failed."""
        self.library.look_at(0)
        error, over = self.driver.error, self.library.over()
        if error is None and over is not None:
            raise Unmeasured(over.decode(errors="replace"))
        if error is not None:  # the program sees it, and may go on
            if isinstance(error, Exception):
                self.give_up(error if is_own(error) else
                             Unmeasured("loading failed: " + last_line(error)))
            else:  # the user interrupts it
                self.turn_off()
            self.loading.leave(self.loading.asked[0])
            self.together.let_go()
        else:
            self.end_epoch()
            if self.alike and not self.observes:
                dsa_pictures.give(self.library, self.loads[0], self.loading.batches)
        raise self.driver.end()

    def ends_workers(self, it):
        """With an epoch: those that do not persist, before StopIteration comes."""
        return it._num_workers and not getattr(it, "_persistent_workers", True)

    def end_epoch(self):
        """As it would have ended, once no worker has work, if that is soon: what that takes
        is told."""
        it, stream, began = self.loading.it, self.loading.stream, now()
        try:
            self.together.let_end()
            if it._dataset_kind != MAP or not self.ends_workers(it):
                return
            stream.shut = True
            while it._task_info and now() - began < SOON_NS:
                self.loading.next()
            began = now()
            if not it._task_info:
                self.plain(it)
        except StopIteration:
            self.library.epoch_end(now() - began)
        except Exception:  # of the program's: it leaves all the same
            pass

    def began(self):
        """A loader began: a step in which it did is none of the loop."""
        if self.loading is not None and not self.inside and not self.off:
            self.library.outside()

    def forked(self):
        if self.loading is not None:
            self.turn_off()


def has_optimizer(kind):
    """True if the program made one: torch marks its class then."""
    return any(getattr(getattr(one, "step", None), "hooked", False) or has_optimizer(one)
               for one in kind.__subclasses__())


def last_line(error):
    """Of what a worker raised the rest is its stack."""
    lines = str(error).strip().splitlines()
    return lines[-1] if len(lines) > 1 else repr(error)


def tell_fetcher(it):
    """Whose batches it makes, if it does that in this process."""
    fetcher = getattr(it, "_dataset_fetcher", None)
    try:
        if fetcher is not None:
            fetcher._dsa_key = key_of_iterator(it)
    except AttributeError:  # one of the program's that takes none
        pass


def returned(it, batch):
    """It gave a batch."""
    stream = getattr(it, "_sampler_iter", None)
    if isinstance(stream, Stream):
        stream.returned(batch)


# ---- patches ----

NOBODY = weakref.ref(set())  # the loader of an iterator that was not made as torch's are


def wrap(hook, it):
    """A Stream around the sampler, which torch makes anew for each epoch. True: it was none."""
    if hook.off or isinstance(it._sampler_iter, Stream):
        return False
    it._sampler_iter = stream_of(it._index_sampler, it._sampler_iter, it._dataset_kind != MAP,
                                 getattr(it, "_auto_collation", True))
    # One of the program's has to be followed first; what dsa makes itself is at once, and so
    # is the next epoch's where each ends by its length.
    if it._dsa_loader is hook.loader and (hook.inside or hook.paused or not hook.by_backward):
        hook.prolong(it)
        it._sampler_iter.shut = hook.paused and it is not hook.loading.it
    return True


def wrap_again(hook, it):
    """Some begin another sampler since, as where they go on from a state that was saved: of what
    they asked their workers for nobody saw the index."""
    if hasattr(it, "_sampler_iter") and wrap(hook, it):
        it._sampler_iter.given.extend([None] * len(getattr(it, "_task_info", ())))


def know(it, loader):
    """Whose iterator it is: of a DataLoader, or of what a program gives it in the place of one,
    which has what an iterator reads alone."""
    it._dsa_loader = weakref.ref(loader)
    sampler = getattr(loader, "batch_sampler", None)
    batch = getattr(loader, "batch_size", None) or getattr(sampler, "batch_size", None)
    it._dsa_loads = loader.dataset, batch, getattr(loader, "in_order", True)
    begins(it, loader.dataset)


def begin(hook, it):
    """An iterator begins an epoch; one with workers is reset once they are started, too."""
    if wrap(hook, it):
        it._dsa_steps = it._dsa_backwards = it._dsa_driven = 0
    it._dsa_start_ns = now() - it._dsa_began_ns
    hook.began()


def patch_iterator(hook, module):
    base, loader = module._BaseDataLoaderIter, module.DataLoader
    plain_init, plain_reset, plain_iter = base.__init__, base._reset, loader.__iter__

    base._dsa_loader, base._dsa_loads = NOBODY, (None, None, True)
    base._dsa_steps = base._dsa_start_ns = base._dsa_backwards = base._dsa_driven = 0
    base._dsa_given_ns = base._dsa_began_ns = 0
    base._dsa_data_key = 0

    @functools.wraps(plain_init)
    def __init__(self, loader, *args, **kwargs):
        guarded(hook, patch_backward, hook)
        guarded(hook, hook.leave_rank)
        guarded(hook, know, self, loader)
        self._dsa_began_ns = now()
        plain_init(self, loader, *args, **kwargs)
        guarded(hook, begin, hook, self)

    @functools.wraps(plain_reset)
    def _reset(self, *args, **kwargs):
        guarded(hook, Helped.end, self)  # torch has none at work then
        if not kwargs.get("first_iter", args[1:] and args[1]):
            self._dsa_began_ns = now()
        plain_reset(self, *args, **kwargs)
        guarded(hook, begin, hook, self)

    @functools.wraps(hook.plain)
    def __next__(self):
        tell_fetcher(self)  # another process may be the one that is measured
        if hook.driver.ended:
            raise StopIteration
        guarded(hook, wrap_again, hook, self)
        return hook.plain(self) if hook.off else hook.next(self)

    @functools.wraps(plain_iter)
    def __iter__(self):
        if hook.driver.ended:
            return iter(())
        it = hook.persists(self)
        if it is not None:
            return it
        began = now()
        it = plain_iter(self)
        if isinstance(it, base):  # or a loader of the program's kind gives what it likes
            it._dsa_start_ns = now() - began  # with what torch does once it is reset
        return it

    base.__init__, base._reset, base.__next__ = __init__, _reset, __next__
    loader.__iter__ = __iter__


def install(module):
    """torch.utils.data.dataloader was imported. Patches all of it, or nothing."""
    library = dsa_library.Library()  # fails where the preload is not there
    try:
        plain = module._BaseDataLoaderIter.__next__
        fetchers = [module._utils.fetch._MapDatasetFetcher,
                    module._utils.fetch._IterableDatasetFetcher]
        for owner, name in ((module._BaseDataLoaderIter, "_reset"),
                            (module.DataLoader, "__iter__"), (fetchers[0], "fetch"),
                            (fetchers[1], "fetch"),
                            (module._utils.worker.WorkerInfo, "__init__")):
            getattr(owner, name)
    except AttributeError as error:
        library.refuse(f"this torch cannot be hooked: {error}".encode())
        return
    hook = Hook(module, library, plain)
    for fetcher in fetchers:
        patch_fetcher(library, fetcher)
    patch_iterator(hook, module)
    patch_queue()
    patch_worker(module._utils.worker.WorkerInfo)
    os.register_at_fork(after_in_child=hook.forked)
