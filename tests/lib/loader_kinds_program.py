"""Training scripts in PyTorch whose loaders differ, and that know nothing of dsa:
tests/loader_kinds.t runs them.

    loader_kinds_program.py KIND FOLDER [KEY=VALUE...]
"""
import glob
import itertools
import mmap
import os
import socket
import subprocess
import sys
import time

import torch_early  # first
import torch

from punctual import go_first
from torch_program import Files, Training


class Iterated(torch.utils.data.IterableDataset):
    """Some files: an epoch is shorter than a window."""

    def __init__(self, root, prep):
        self.files = Files(root, prep)
        del self.files.files[40:]

    def __len__(self):
        return len(self.files)

    def __iter__(self):
        for i in range(len(self.files)):
            yield self.files[i]


def take_part(worker):
    """Each worker has its own files, by changing the data set, as torch's manual does."""
    info = torch.utils.data.get_worker_info()
    info.dataset.files.files = info.dataset.files.files[worker::info.num_workers]


class Mapped(Files):
    """Pages of one file."""

    def __getitem__(self, i):
        if not hasattr(self, "map"):
            with open(self.root + "/../mapped", "rb") as file:
                self.map = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        byte = self.map[i * 4096]
        time.sleep(self.prep)
        return torch.zeros(3, 8, 8), byte


class Connected(Files):
    """From somebody who answers late."""

    def __init__(self, *words):
        super().__init__(*words)
        self.server = socket.create_server(("127.0.0.1", 0))

    def __getitem__(self, i):
        with socket.create_connection(self.server.getsockname()) as mine, \
                self.server.accept()[0] as other:
            time.sleep(self.prep)
            other.send(b"x" * 100)
            return torch.zeros(3, 8, 8), len(mine.recv(100))


class Decoded(Files):
    """By another program."""

    def __getitem__(self, i):
        with open(self.files[i], "rb") as file:
            size = len(subprocess.run(["cat"], stdin=file, capture_output=True).stdout)
        return torch.zeros(3, 8, 8), size


class Forever(torch.utils.data.DataLoader):
    """Has one iterator, which never ends, as Ultralytics' has."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        object.__setattr__(self, "batch_sampler", Repeated(self.batch_sampler))
        self.iterator = super().__iter__()

    def __iter__(self):
        for _ in range(len(self.batch_sampler.sampler)):
            yield next(self.iterator)


class Repeated:
    def __init__(self, sampler):
        self.sampler = sampler

    def __iter__(self):
        while True:
            yield from iter(self.sampler)


class Ahead(torch.utils.data.DataLoader):
    """A generator that is one batch ahead, as Accelerate's are."""

    def __iter__(self):
        batches = super().__iter__()
        ready = next(batches)
        for batch in batches:
            yield ready
            ready = batch
        yield ready


def loader_of(kind, data, workers, batch):
    """What is given to the loader beside its data."""
    make, more = torch.utils.data.DataLoader, {"num_workers": workers, "batch_size": batch}
    if isinstance(data, torch.utils.data.IterableDataset):
        return make(data, drop_last=True, worker_init_fn=take_part, **more)
    more.update(shuffle=True, drop_last=True)
    if kind in ("fork", "spawn", "forkserver"):
        more["multiprocessing_context"] = kind
    elif kind == "persistent":
        more["persistent_workers"] = True
    elif kind == "prefetch":
        more["prefetch_factor"] = 8
    elif kind == "timeout":
        more["timeout"] = 30
    elif kind == "any_order":
        more["in_order"] = False
    elif kind == "batch_sampler":
        sampler = torch.utils.data.BatchSampler(torch.utils.data.RandomSampler(data), batch,
                                                True)
        more = {"num_workers": workers, "batch_sampler": sampler}
    elif kind == "forever":
        make = Forever
    elif kind == "ahead":
        make = Ahead
    elif kind == "no_batch":
        more = {"num_workers": workers, "batch_size": None,
                "sampler": torch.utils.data.BatchSampler(
                    torch.utils.data.RandomSampler(data), batch, True)}
    return make(data, **more)


class Several(Files):
    """A batch at a time."""

    def __getitem__(self, index):
        if isinstance(index, int):
            return super().__getitem__(index)
        made = [super(Several, self).__getitem__(i) for i in index]
        return torch.stack([image for image, _ in made]), torch.tensor([n for _, n in made])


def together(loader, count):
    """Takes so many before the first is trained from, as programs that add up gradients do."""
    batches = iter(loader)
    while True:
        taken = list(itertools.islice(batches, count))
        if not taken:
            return
        yield from taken


DATA = {"iterable": Iterated, "iterable_alone": Iterated, "mapped": Mapped,
        "connected": Connected, "decoded": Decoded, "no_batch": Several}


def main(kind, folder, workers=2, prep=8, rate=300, epochs=10**6, batch=8):
    data = DATA.get(kind, Files)(folder, prep)
    loader = loader_of(kind, data, int(workers), int(batch))
    training = Training(rate)
    for _ in range(int(epochs)):
        for batch in together(loader, 4) if kind == "together" else loader:
            training.step(batch)
    print("the end", flush=True)


if __name__ == "__main__":
    torch.set_num_threads(1)
    go_first()
    main(*sys.argv[1:3], **{key: float(value) for key, value in
                            (word.split("=", 1) for word in sys.argv[3:])})
