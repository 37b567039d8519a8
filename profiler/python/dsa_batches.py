"""What the hook gives a program in place of its loader's next batches: the stream of
indices that the loader takes, and copies of batches that it made before."""

import collections.abc
import copy
import dataclasses
import itertools
import multiprocessing.reduction
import multiprocessing.resource_sharer
import os
import pickle
import time

POOL_LEAST, POOL_MOST = 8, 64  # batches
POOL_SHARE, POOL_LIMIT = 1 / 8, 1 / 2  # of the memory that is free; for the least, too
ARRAY_WHOLE, ARRAY_PARTS = 1 << 16, 1024  # bytes that are compared; elements of longer ones
PASSED_MOST, PASSED_TIMES = 4 << 20, 5  # bytes that are passed to find out; how often
PLAIN = (str, bytes, int, float, complex, bool, type(None))
GROUPS = (  # of version 2 and 1: controller, folder, limit, usage, caches
    ("", "sys/fs/cgroup", "memory.max", "memory.current",
     ("inactive_file", "active_file")),
    ("memory", "sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
     ("total_inactive_file", "total_active_file")))

now = time.monotonic_ns


class Endless(list):
    """The index of a batch of an IterableDataset: whoever makes it begins its data anew
    where they end."""


class Thrown:
    """The index of a worker's task in a loaded window: its batches are made, over and over,
    as far as the trainer's steps allow, and thrown away."""

    def __init__(self, batches, rank, workers):
        self.batches, self.rank, self.workers = batches, rank, workers


class Repeated:
    """Batches, again and again, as a sampler."""

    def __init__(self, batches):
        self.batches = batches

    def __iter__(self):
        return itertools.cycle(self.batches)


def fields_of(one):
    """Of a dataclass, as far as they are set."""
    for field in dataclasses.fields(one):
        yield getattr(one, field.name, None)


def first_length(data):
    """Of the first array in it; 0: there is none."""
    shape = getattr(data, "shape", None)
    if shape is not None:
        return int(shape[0] or 0) if len(shape) > 0 else 0
    if isinstance(data, collections.abc.Mapping):
        data = data.values()
    elif hasattr(type(data), "__dataclass_fields__"):
        data = fields_of(data)
    elif not isinstance(data, (list, tuple)):
        return 0
    return next(filter(None, map(first_length, itertools.islice(data, 4))), 0)


def samples_in(batch):
    """Of a batch without an array: the length of its first list, or its own. At least 1, also
    of one whose shape is none: a method, or it raises."""
    try:
        length = first_length(batch)
        if length == 0 and isinstance(batch, (list, tuple)) and batch:
            length = len(batch[0]) if isinstance(batch[0], (list, tuple)) else len(batch)
        return length or 1
    except Exception:
        return 1


def samples_of(index, batch, collates):
    """Of a batch: those of its index, which may be an array, or, where the data set made it whole
    or nobody saw the index, its own."""
    if collates and index is not None:
        return count(index) or samples_in(batch)
    if isinstance(index, (list, tuple)) and not isinstance(index, Endless):
        return len(index)
    return samples_in(batch)


class Stream:
    """Stands for an iterator's sampler. Gives what a window forces, else the sampler's own,
    of which `endless` says whether another epoch follows. `renews`: its index does not say
    which samples come, and the data end elsewhere. `collates`: samples are put together to
    batches."""

    counting = True

    def __init__(self, sampler, own, renews=False, collates=True):
        self.sampler, self.own = sampler, own
        self.renews, self.collates = renews, collates
        self.forced, self.shut = None, False
        self.endless = None
        self.given = collections.deque()  # indices whose batches did not come back
        self.drawn = 0  # of the sampler since it began
        self.most = 1  # samples of a batch
        self.whole = False  # the data set makes batches

    def __iter__(self):
        return self

    def __next__(self):
        if self.shut:
            raise StopIteration
        index = next(self.forced) if self.forced is not None else self.next_own()
        if self.counting:
            self.given.append(index)
        if self.renews and self.forced is None and self.endless is not None and \
                self.endless():
            return Endless(index if isinstance(index, list) else [index])
        return index

    def next_own(self):
        try:
            index = next(self.own)
        except StopIteration:
            if self.endless is None or not self.endless():
                raise
            self.own, self.drawn = iter(self.sampler), 0
            index = next(self.own)
        self.drawn += 1  # not where one that ended is asked again, as torch does
        return index

    def returned(self, batch):
        """A batch came; its samples."""
        if not self.given:
            return 1
        index = self.given.popleft()
        samples = samples_of(index, batch, self.collates)
        self.most = max(self.most, samples)
        self.whole = not (self.collates or isinstance(index, (list, tuple))) and samples > 1
        return samples


class StatefulStream(Stream):
    """Of a sampler whose iterator has a state, which programs save and restore: they ask the
    class whether it has these."""

    def state_dict(self):
        return self.own.state_dict()

    def load_state_dict(self, state):
        self.own.load_state_dict(state)


def stream_of(sampler, own, renews, collates):
    is_stateful = hasattr(own, "state_dict") and hasattr(own, "load_state_dict")
    return (StatefulStream if is_stateful else Stream)(sampler, own, renews, collates)


def count(thing):
    """Its length; 0: it has none."""
    try:
        return len(thing)
    except Exception:  # or only a program knows why
        return 0


def same_indices(sampler, most):
    """What a sampler draws in an epoch, in ascending order; of one that makes batches what
    it makes them of, so that nothing is left over. None: not all of them are numbers."""
    found = set()
    for drawn in itertools.islice(getattr(sampler, "sampler", sampler), most):
        drawn = drawn if isinstance(drawn, (list, tuple)) else [drawn]
        if not all(type(index) is int for index in drawn):
            return None
        found.update(drawn)
    return sorted(found) or None


def rebuild(data, leaf):
    """The same containers, new, around what `leaf` makes of each thing in them."""
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(rebuild(value, leaf) for value in data))
    if isinstance(data, (list, tuple)) and type(data).__init__ in (list.__init__,
                                                                   object.__init__):
        return type(data)(rebuild(value, leaf) for value in data)
    if isinstance(data, collections.abc.Mapping):
        made = {key: rebuild(value, leaf) for key, value in data.items()}
        try:
            return made if type(data) is dict else type(data)(made)
        except Exception:
            return leaf(data)
    return leaf(data)


def kernel_text(folder, name):
    """A file of the kernel's; empty: there is none."""
    try:
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            return file.read()
    except (OSError, ValueError):
        return ""


def group_free(group, limit, usage, caches):
    """Bytes that a control group may take more. The kernel drops caches first."""
    limit, usage = kernel_text(group, limit).strip(), kernel_text(group, usage).strip()
    if not limit.isdigit() or not usage.isdigit():  # "max": none
        return float("inf")
    found = dict(line.split() for line in kernel_text(group, "memory.stat").splitlines())
    return int(limit) - int(usage) + sum(int(found.get(name, 0)) for name in caches)


def memory_free(root="/"):
    """Bytes, of the machine and the process's control groups; infinite: unknown."""
    free = [float("inf")]
    for line in kernel_text(root, "proc/meminfo").splitlines():
        if line.startswith("MemAvailable:"):
            free.append(int(line.split()[1]) * 1024)
    for line in kernel_text(root, "proc/self/cgroup").splitlines():
        controllers, path = line.split(":", 2)[1:]
        for wanted, folder, *files in GROUPS:
            if wanted not in controllers.split(","):
                continue
            top = os.path.join(root, folder)  # of which a container sees a part
            parts = [part for part in path.split("/") if part]
            free += [group_free(os.path.join(top, *parts[:i]), *files)
                     for i in range(len(parts) + 1)]
    return min(free)


class Pool:
    """Copies in private memory: of the workers' shared memory and descriptors nothing is
    kept. Masters are never given; what the program changed is copied from its master again:
    a tensor if its version, place or need of a gradient tells so, an array of NumPy if its elements do, of which of long
    ones some are looked at; anything else each time. Either module may be None."""

    def __init__(self, torch, numpy=None):
        self.torch = torch
        self.tensor = torch.Tensor if torch is not None else ()
        self.array = numpy.ndarray if numpy is not None else None
        self.clear()

    def clear(self):
        self.masters, self.lent, self.counts = [], [], []
        self.ready, self.at, self.bytes, self.has_cuda = None, 0, 0, False
        self.free = memory_free()

    def add(self, batch, count):
        """Keeps a copy, if there is room."""
        had = len(self.masters)
        share = POOL_SHARE if had >= POOL_LEAST else POOL_LIMIT
        if had >= POOL_MOST or (had > 0 and 2 * self.bytes > share * self.free):
            return
        self.masters.append(rebuild(batch, self.keep))
        self.lent.append(())
        self.counts.append(count)
        self.lend(had)

    def passing_ns(self):
        """What a batch takes to get from a worker to the training process: (pickling, which
        writes tensors into new pages of memory that processes share, and unpickling it), both in
        this process; (0, 0): unknown."""
        size = self.bytes // max(1, len(self.masters))
        part = min(1, PASSED_MOST / max(1, size))
        if size == 0 or not self.passes_files():
            return 0, 0
        sharer, took = multiprocessing.resource_sharer, []
        had = sharer._resource_sharer._listener is not None
        try:
            for _ in range(PASSED_TIMES):
                batch = rebuild(self.masters[0], lambda leaf: self.part_of(leaf, part))
                began = now()
                pickled = multiprocessing.reduction.ForkingPickler.dumps(batch)
                wrote = now()
                batch = None  # what is in this process already would not be mapped anew
                dropped = now()
                pickle.loads(pickled)
                took.append((wrote - began, now() - dropped))
        except Exception:  # of another kind than those that go to other processes
            return 0, 0
        finally:
            if not had:
                sharer.stop(timeout=1)
        pickled_ns, unpickled_ns = map(min, zip(*took))
        return int(pickled_ns / part), unpickled_ns

    def passes_files(self):
        """Whether its tensors go from process to process as open files, as is usual."""
        return self.torch is not None and not self.has_cuda and (
            self.torch.multiprocessing.get_sharing_strategy() == "file_descriptor")

    def part_of(self, leaf, part):
        """A copy of its first elements."""
        if part == 1 or not (isinstance(leaf, self.tensor) or self.is_array(leaf)):
            return self.copy(leaf)
        flat = leaf.reshape(-1)
        return self.copy(flat[:max(1, int(len(flat) * part))])

    def is_array(self, leaf):
        return type(leaf) is self.array and not leaf.dtype.hasobject

    def keep(self, leaf):
        if isinstance(leaf, self.tensor):
            self.bytes += leaf.numel() * leaf.element_size()
            if leaf.is_cuda:
                self.has_cuda = True
                self.free = min(self.free, self.torch.cuda.mem_get_info(leaf.device)[0])
        elif self.is_array(leaf):
            self.bytes += leaf.nbytes
        return self.copy(leaf)

    def copy(self, leaf):
        if isinstance(leaf, self.tensor):
            twin = leaf.detach().clone()
            return twin.pin_memory() if leaf.is_pinned() else twin
        if self.is_array(leaf):
            return leaf.copy(order="K")
        return leaf if isinstance(leaf, PLAIN) else copy.deepcopy(leaf)

    def mark(self, leaf):
        """Another one once it is changed; None: who knows?"""
        if isinstance(leaf, self.tensor):
            try:
                return (leaf._version, leaf.data_ptr(), leaf.shape, leaf.requires_grad,
                        leaf.is_leaf and leaf.grad is None)
            except RuntimeError:  # of inference mode; without a place of its own
                return None
        if not self.is_array(leaf):
            return None
        elements = leaf.ravel(order="K")
        # An odd step comes by every column of the usual widths.
        step = 1 if leaf.nbytes <= ARRAY_WHOLE else elements.size // ARRAY_PARTS | 1
        return leaf.shape, elements[::step].tobytes()

    def lend(self, at):
        """(a batch, whether anything of it had to be copied)"""
        lent, given, copied = iter(self.lent[at]), [], []

        def leaf(master):
            if isinstance(master, PLAIN):
                return master
            thing, mark = next(lent, (None, None))
            if mark is None or self.mark(thing) != mark:
                thing = self.copy(master)
                mark = self.mark(thing)
                copied.append(True)
            given.append((thing if mark is not None else None, mark))
            return thing

        batch = rebuild(self.masters[at], leaf)
        self.lent[at] = given
        return batch, bool(copied)

    def prepare(self):
        """Has the next batch whole. True if anything had to be copied."""
        if self.ready is not None:
            return False
        batch, copied = self.lend(self.at)
        self.ready = batch, self.counts[self.at]
        self.at = (self.at + 1) % len(self.masters)
        return copied

    def give(self):
        """(batch, its samples)"""
        self.prepare()
        ready, self.ready = self.ready, None
        return ready
