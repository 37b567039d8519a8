"""What a batch takes where it is made: in the loader's workers, or in the program."""

import functools
import itertools
import os
import sys
import threading
import time
import zlib

import dsa_library
from dsa_batches import Endless, Thrown, samples_of
from dsa_library import WATCH
from dsa_transforms import Meter, makes_batches
from dsa_transforms import key_of as data_key

now = time.monotonic_ns


def key_of(index):
    """Equal for equal indices, in every process."""
    if isinstance(index, (list, tuple)):
        if set(map(type, index)) <= {int}:
            return hash(tuple(index)) & 0xffffffffffffffff
    elif type(index) is int:
        return hash((index,)) & 0xffffffffffffffff
    return zlib.crc32(repr(index).encode())


making = threading.local()  # .batch: this thread makes one
begun = None  # key of the data set whose iterator began last; None: none did here
given = None  # of this worker's data set, when it was given that; None: this is no worker


def begins(it, dataset):
    """An iterator, before its workers are forked."""
    global begun
    begun = it._dsa_data_key = data_key(dataset)


def patch_worker(info):
    """The program may change the data set of a worker before that makes its first batch."""
    plain = info.__init__

    @functools.wraps(plain)
    def __init__(self, *args, **kwargs):
        global given
        plain(self, *args, **kwargs)
        try:  # one that was forked may have another by now
            given = begun if begun is not None else data_key(self.dataset)
        except Exception:  # it is made otherwise
            pass

    info.__init__ = __init__


def loader_key(seed, data):
    """Tells the loaders of a program apart by the seed of their workers, and by their data;
    0: it has no seed."""
    return 0 if seed is None else hash((seed, data)) & 0xffffffffffffffff or 1


def key_of_iterator(it):
    return loader_key(getattr(it, "_base_seed", None), it._dsa_data_key)


def worker_info():
    """None: this process is no worker."""
    return getattr(sys.modules.get("torch.utils.data._utils.worker"), "_worker_info", None)


def data_of(fetcher):
    """Key of its data set: in a worker, as that was given it."""
    is_worker = worker_info() is not None and given is not None
    return given if is_worker else data_key(fetcher.dataset)


def loader_of(fetcher):
    """key_of_iterator() where a batch is made: in a worker, or for an iterator that says so."""
    info = worker_info()
    if info is None:
        return getattr(fetcher, "_dsa_key", 0)
    return loader_key(info.seed - info.id, data_of(fetcher))


class Padded:
    """A data set whose samples take --prep-delay at the least."""

    def __init__(self, dataset, pad):
        self.dataset, self.pad = dataset, pad
        self.__getitems__ = self.together if makes_batches(dataset) else None

    def __getitem__(self, index):
        began = now()
        sample = self.dataset[index]
        self.pad(began)
        return sample

    def together(self, indices):
        """Each as if it had taken its part of the time."""
        began = now()
        samples = self.dataset.__getitems__(indices)
        each = (now() - began) // max(1, len(indices))
        for _ in indices:
            self.pad(now() - each)
        return samples

    def __getattr__(self, name):
        return getattr(self.dataset, name)


class PaddedIterator:
    """Of an IterableDataset, whose samples take as long."""

    def __init__(self, samples, pad):
        self.samples, self.pad = samples, pad

    def __iter__(self):
        return self

    def __next__(self):
        began = now()
        sample = next(self.samples)
        self.pad(began)
        return sample


def delay(fetcher, pad):
    """Has its samples take --prep-delay; again, where their iterator began anew."""
    if not hasattr(fetcher, "dataset_iter"):
        if not isinstance(fetcher.dataset, Padded):
            fetcher.dataset = Padded(fetcher.dataset, pad)
    elif not isinstance(fetcher.dataset_iter, PaddedIterator):
        fetcher.dataset_iter = PaddedIterator(fetcher.dataset_iter, pad)


def endless(plain, ready):
    """Where the data of a worker end they begin anew, if the index says so."""
    def fetch(self, index):
        try:
            return plain(self, index)
        except StopIteration:
            if not isinstance(index, Endless):
                raise
        self.dataset_iter, self.ended = iter(self._dsa_data), False
        ready(self)
        return plain(self, index)
    return fetch


def throw(library, fetch, task):
    """Makes the batches of a worker's task, each when its turn has come."""
    number = task.rank
    for index in itertools.cycle(task.batches):
        if not library.may_make(number):
            return
        fetch(index)
        number += task.workers


def patch_fetcher(library, fetcher):
    delayed = "prep_delay=" in os.environ.get("DSA_ASKED", "")

    def ready(self):
        if delayed:
            delay(self, library.pad)

    plain = endless(fetcher.fetch, ready)

    @functools.wraps(plain)
    def fetch(self, index):
        driving = dsa_library.driving
        is_below = driving and driving[0] == WATCH and driving[1] == os.getpid()
        # A loader below the one that is watched, or that a data set has for its samples.
        if is_below or dsa_library.other_rank or getattr(making, "batch", False):
            return plain(self, index)
        samples = 0
        if isinstance(index, Thrown):
            return throw(library, functools.partial(fetch, self), index)
        if not hasattr(self, "_dsa_meter"):
            self._dsa_meter = Meter(library, data_of(self))
            self._dsa_data = self.dataset  # while others stand in its place
            self._dsa_loader = loader_of(self)
        ready(self)
        self._dsa_meter.begin(self)
        library.batch_of(self._dsa_loader)
        library.batch_begin(key_of(index))
        making.batch = True
        try:
            data = plain(self, index)
            samples = samples_of(index, data, getattr(self, "auto_collation", True))
            return data
        finally:
            ended = now()
            making.batch = False
            library.batch_end(samples)
            self._dsa_meter.end(samples, ended)

    fetcher.fetch = fetch
