"""What torch's iterator is brought to do: to rest, to give a list of batches or copies of
them, to make some that nobody gets, and to begin anew."""

import contextlib
import itertools
import os
import time
import weakref

from dsa_batches import POOL_LEAST, POOL_MOST, Pool, Repeated, Thrown, count, same_indices
from dsa_driver import Unmeasured, copied
from dsa_fetch import key_of_iterator

STREAM, LIST, POOL, LOADED = range(4)  # enum hook_source
POOLED = (POOL, LOADED)
MAP = 0  # _DatasetKind.Map
NOT_MADE = 1  # of make(): the window goes without
ROUNDS = 2  # thrown away before batches are counted
SILENCE_NS, HELPED_NS = 10**9, 20 * 10**9  # of workers that may wait for one another
MET_NS = 2 * 10**8  # between batches of two that met
CHECK_S, LOOK_S = 5, .05  # between torch's looks at its workers; at what helped ones make

now = time.monotonic_ns


# ---- settings ----

def workers_asked():
    """Of dsa; None: none."""
    for setting in os.environ.get("DSA_ASKED", "").split(","):
        name, _, value = setting.partition("=")
        if name == "workers":
            return int(value)
    return None


def length_of(it):
    """Batches of an epoch, as the loader's own length has it; 0: nobody says."""
    if it._dataset_kind == MAP:
        return count(it._index_sampler)
    samples, batch = count(it._dsa_loads[0]), it._dsa_loads[1] or 1
    return samples // batch if it._drop_last else -(-samples // batch)


def iterator_of(module, loader):
    """A new one."""
    kind = "_MultiProcessing" if loader.num_workers > 0 else "_SingleProcess"
    return getattr(module, kind + "DataLoaderIter")(loader)


def with_workers(module, it):
    """What loads in place of the program's iterator, where dsa was asked for so many
    workers. The program's next ones have them by themselves."""
    loader, asked = it._dsa_loader(), workers_asked()
    if asked is None or asked == it._num_workers:
        return it
    if loader is None:
        raise Unmeasured("--workers needs a DataLoader that the program keeps in a variable")
    loader.num_workers = asked
    if asked > 0:
        loader.prefetch_factor = loader.prefetch_factor or 2
    else:
        loader.timeout = 0
    loader._iterator = None  # that persistent workers would go on with
    made = iterator_of(module, loader)
    had, stream = it._sampler_iter, made._sampler_iter
    stream.most, stream.whole = had.most, had.whole
    return made


def copy_of(module, loader, batches, workers):
    """An iterator over the batches, again and again, by workers of its own."""
    indices = Repeated(batches)
    what = {"batch_sampler": indices}
    if loader.batch_sampler is None:
        what = {"batch_size": None, "sampler": indices}
    return iterator_of(module, module.DataLoader(
        loader.dataset, num_workers=workers, collate_fn=loader.collate_fn,
        worker_init_fn=loader.worker_init_fn, timeout=loader.timeout,
        prefetch_factor=loader.prefetch_factor or 2,
        multiprocessing_context=loader.multiprocessing_context,
        generator=module.torch.Generator(), **what))


class Helped:
    """An iterator whose workers may wait for one another, as at a barrier where their data begin
    anew: while nothing comes those without work get some, so that all of them come there. Stands
    in its methods' place."""

    METHODS = "_try_get_data", "_try_put_index"

    def __init__(self, it, stream, library):
        self.it, self.kind, self.stream = weakref.ref(it), type(it), stream
        self.library = library
        self.more = 0  # tasks beyond those that are under way else
        self.patience = SILENCE_NS
        self.quiet = None  # since then nothing came; None: it was not asked
        self.helped = None  # since then they got more than they would have; None: they did not
        self.came = None  # since then something of another worker did
        self.has_helped = False

    def begin(self):
        for name in self.METHODS:
            setattr(self.it(), name, getattr(self, name))

    @classmethod
    def end(cls, it):
        for name in cls.METHODS:
            vars(it).pop(name, None)

    def _try_put_index(self):
        if self.more == 0:
            self.kind._try_put_index(self.it())
        else:
            self.more -= 1

    def _try_get_data(self, timeout=CHECK_S):
        self.quiet = self.quiet or now()
        end = now() + timeout * 1e9
        while True:
            wait = LOOK_S if self.helped else self.patience / 1e9
            found = self.kind._try_get_data(self.it(), min(wait, timeout))
            if found[0]:
                self.note(found[1][0])
            if found[0] or now() >= end:
                return found
            if self.helped or now() - self.quiet >= self.patience:
                self.help()

    def note(self, index):
        """A batch came. Those that met come together, and where epochs end none waits like
        this; what was waited for while another worker went on was only slow."""
        if index != self.it()._rcvd_idx:
            self.came = self.came or now()
        elif self.helped and (self.came is None or now() - self.came < MET_NS):
            self.library.outside()
        elif self.helped:
            self.patience = max(self.patience, 2 * (now() - self.helped))
        self.quiet = None
        if index == self.it()._rcvd_idx:
            self.helped = self.came = None

    def help(self):
        """Not so that what lies ready takes more than twice the memory. Where the loader is to
        rest, nobody gets it."""
        it, rests = self.it(), self.stream.shut
        busy = {task[0] for task in it._task_info.values() if len(task) == 1}
        idle = [works and rank not in busy for rank, works in enumerate(it._workers_status)]
        most = it._num_workers * it._prefetch_factor
        if not any(idle):
            return
        if self.helped is None:
            self.helped, self.came = now(), None
        self.has_helped = True
        if rests and now() - self.helped > HELPED_NS:
            raise Unmeasured("its workers wait for one another: one of them gave nothing, "
                             f"whatever the others made in {HELPED_NS // 10**9} s")
        if rests:
            it._task_info.update({index: (task[0], None)
                                  for index, task in it._task_info.items() if len(task) == 2})
        self.put(idle, min(sum(idle), most - it._tasks_outstanding,
                           most if rests else most - self.more))

    def put(self, idle, count):
        """So many tasks of the stream for these workers alone."""
        it, stream = self.it(), self.stream
        status, shut, forced = it._workers_status, stream.shut, stream.forced
        it._workers_status, stream.shut, stream.forced = idle, False, None
        try:
            for _ in range(count):
                self.kind._try_put_index(it)
                self.more += 1
        finally:
            it._workers_status, stream.shut, stream.forced = status, shut, forced


class Loading:
    """One iterator of the loader that drives, and the list and pool of its windows."""

    def __init__(self, module, next_of, library, observes):
        self.module, self.next_of, self.library = module, next_of, library
        self.observes = observes  # the hook says whose batches are its then
        self.pool = Pool(module.torch)
        self.asked = self.it = self.stream = self.copy = None
        self.source, self.batches = STREAM, []
        self.stale = False  # its workers have indices that let their data end
        self.helped = None
        self.has_passed = False

    def take_over(self, asked, it):
        """The program began an epoch, and asks one iterator: this one loads as it was asked
        to."""
        self.asked = asked, asked._sampler_iter
        self.it, self.stream = it, it._sampler_iter
        self.source = STREAM
        self.count_those_of(it)
        self.stale = self.stream.renews and self.stream.endless is None
        if self.stream.renews:
            it._IterableDataset_len_called = None  # or torch warns of each batch beyond
            if it._num_workers > 1 and not self.observes:
                self.helped = Helped(it, self.stream, self.library)
                self.helped.begin()

    def count_those_of(self, it):
        """From now on, and those of no other."""
        if not self.observes:
            self.library.loader(key_of_iterator(it))

    def ahead(self):
        workers = self.it._num_workers
        return workers * self.it._prefetch_factor if workers else 0

    def prime(self):
        under_way = max(len(getattr(self.it, "_task_info", ())),
                        # with what torch asked a worker for whose data has ended since
                        getattr(self.it, "_tasks_outstanding", 0))
        for _ in range(self.ahead() - under_way):
            self.it._try_put_index()

    def next(self):
        """(batch, its samples) as the iterator gives it."""
        batch = self.next_of(self.it)
        return batch, self.stream.returned(batch)

    def let_end(self):
        """Workers that wait for one another: else torch waits for each of them as the program
        ends."""
        if self.helped is not None and self.helped.has_helped:
            self.drain()

    def drain(self):
        self.stream.shut = True
        self.drop_copy()
        with contextlib.suppress(StopIteration):  # what is left may only tell data's end
            while getattr(self.it, "_task_info", None):
                batch = self.next()
                if self.stream.renews and self.source == STREAM and batch[0] is not None:
                    copied(self.pool.add, *batch)
        self.stream.given.clear()
        self.stream.shut = False
        self.stream.forced = self.source = None
        if self.stale and not all(getattr(self.it, "_workers_status", ())):
            self.begin_anew()

    def begin_anew(self):
        """With other workers: torch uses none again whose data ended."""
        loader = self.it._dsa_loader()
        if loader is not None:
            self.take_over(self.asked[0], iterator_of(self.module, loader))
            self.stale = False
            self.drain()

    def goes_on_for(self, it):
        """True where another iterator of the same loader may be given what this one's workers
        make: they have the data set as it was when they were started. Not where data end by
        themselves, in workers that may wait for each other."""
        return (it is not self.it and it._dsa_loader is self.it._dsa_loader and
                it._dsa_data_key == self.it._dsa_data_key and not self.stream.renews)

    def rest(self, it):
        """One in whose place another gives batches: what it began on its own is thrown away."""
        it._sampler_iter.shut = True
        with contextlib.suppress(StopIteration):
            while getattr(it, "_task_info", None):
                it._sampler_iter.returned(self.next_of(it))

    def empty(self):
        """As an epoch begins: what was made while nobody asked is thrown away."""
        source, forced = self.source, self.stream.forced
        if source in (STREAM, LIST) and self.ahead():
            self.drain()
            self.source, self.stream.forced = source, forced
            self.prime()

    def list(self, batches):
        if self.stream.renews:
            return self.fill(batches)
        workers = max(1, self.it._num_workers)
        batches = -(-batches // workers) * workers
        wanted, epoch = batches + self.ahead(), count(self.it._index_sampler)
        taken = min(wanted, epoch or wanted)
        self.batches = list(itertools.islice(self.stream, taken))
        self.stream.given.clear()
        self.stream.forced = iter(self.batches)
        self.pool.clear()
        self.prime()
        for _ in range(taken):
            copied(self.pool.add, *self.next())
        self.stream.forced = None
        self.pass_one()
        return batches if taken == wanted else 0

    def count(self, samples):
        """Makes so many, the same ones in every run if that can be."""
        batch, batches = self.it._dsa_loads[1] or self.stream.most, None
        indices = same_indices(self.it._index_sampler, count(self.it._dsa_loads[0]))
        if indices is None:
            batches = list(itertools.islice(self.stream, -(-samples // batch)))
        elif getattr(self.it, "_auto_collation", True):
            batches = [indices[i:min(i + batch, samples)]
                       for i in range(0, min(samples, len(indices)), batch)]
        else:
            batches = indices[:-(-samples // (batch if self.stream.whole else 1))]
        self.stream.given.clear()
        self.stream.forced = iter(batches)
        self.prime()
        try:
            for _ in batches:
                self.library.counted(self.next()[1])
        except StopIteration:  # an IterableDataset had no more
            pass

    def fill(self, batches):
        """Copies of batches that do not come again."""
        self.prime()
        for _ in range(min(max(batches, POOL_LEAST), POOL_MOST)):
            copied(self.pool.add, *self.next())
        self.pass_one()
        self.drain()
        return 0

    def pass_one(self):
        """Of a loader without workers: what a batch of one would take on its way, once."""
        if self.it._num_workers == 0 and not self.has_passed:
            self.has_passed = True
            self.library.passing(*self.pool.passing_ns())

    def start(self, source):
        self.source = source
        self.stream.forced = None
        if source == LIST:
            self.stream.forced = itertools.cycle(self.batches)
        elif source == LOADED:
            self.stream.forced = iter(self.thrown())
        if source != POOL:
            self.prime()

    def thrown(self):
        """A task for each worker that lasts as long as the window."""
        workers, batches = self.it._num_workers, self.batches
        if self.stream.renews:
            batches = [next(self.stream) for _ in range(workers)]
            self.stream.given.clear()
        return [Thrown(batches[rank % len(batches)::workers], rank, workers)
                for rank in range(workers)]

    # -- batches that nobody gets --

    def make(self, workers, ns):
        """Has so many workers (0: its own) make batches of the list, whole rounds, for so
        long and ROUNDS at the least."""
        own = workers in (0, self.it._num_workers)
        try:
            if not own and self.copy is None:
                self.copy = copy_of(self.module, self.it._dsa_loader(), self.batches, workers)
                self.count_those_of(self.copy)
        except Exception:  # a loader that is made otherwise
            return NOT_MADE
        if own and self.source != LIST:
            self.start(LIST)
        it, until, rounds = self.it if own else self.copy, now() + ns, 0
        while rounds < ROUNDS or now() < until:
            for _ in range(max(1, it._num_workers)):
                it._sampler_iter.returned(self.next_of(it))
            rounds += 1
        return 0

    def drop_copy(self):
        """Ends its workers."""
        if self.copy is not None:
            self.copy._shutdown_workers()
            self.count_those_of(self.it)
        self.copy = None

    def open(self, it):
        """One that had no work, as another was to go on, gives its own batches after all."""
        stream = getattr(it, "_sampler_iter", None)
        if it is not self.it and getattr(stream, "shut", False):
            stream.shut = False
            for _ in range(it._num_workers * (getattr(it, "_prefetch_factor", 0) or 0)):
                it._try_put_index()

    def let_go(self, asked):
        """The program goes on with it as without dsa, from where windows have left it."""
        if self.source == LOADED:  # its workers make what nobody gets
            self.drain()
        self.leave(asked)
        self.prime()

    def leave(self, asked):
        """For good: the sampler has its own end again, of an iterator that had no work, too."""
        if asked is not self.it and asked._sampler_iter.shut:
            self.take_over(asked, asked)
        self.stream.shut, self.stream.forced, self.stream.endless = False, None, None
        Helped.end(self.it)
