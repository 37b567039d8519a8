"""Programs that load with threads and a queue of their own, which dsa.watch() is given:
tests/watch.t runs them.

    watch_program.py PART [KEY=VALUE...]

Preparing a batch sleeps, and so does the step. Batches are NumPy arrays, each full of its
label.
"""
import itertools
import os
import queue
import sys
import threading
import time

import numpy

import dsa
from punctual import go_first

HERE = os.path.dirname(os.path.abspath(__file__))
BATCH = 16


def batch(label):
    return {"images": numpy.full((BATCH, 8, 64), label, dtype=numpy.float32),
            "labels": numpy.full(BATCH, label)}


def whole(batch):
    label = batch["labels"][0]
    return (batch["labels"] == label).all() and (batch["images"] == label).all()


class Threads:
    """So many, each taking `prep` ms for a batch, and a queue; `length` batches a pass."""

    def __init__(self, threads, prep, depth, length=None):
        self.threads, self.prep, self.depth, self.length = threads, prep / 1e3, depth, length

    def __len__(self):
        if self.length is None:
            raise TypeError("it has no length")
        return self.length

    def work(self, ready, numbers):
        for number in numbers:
            time.sleep(self.prep)
            ready.put(batch(number))

    def __iter__(self):
        ready, numbers = queue.Queue(self.depth), itertools.count()
        for _ in range(self.threads):
            threading.Thread(target=self.work, args=(ready, numbers), daemon=True).start()
        return (ready.get() for _ in range(self.length or sys.maxsize))


def train(loader, step, scribbles=False):
    for batch in loader:
        due = time.monotonic() + step / 1e3
        if not whole(batch):
            sys.exit("a batch is not whole")
        if scribbles:  # as a program does that normalises in place
            batch["images"] += 1
            batch["labels"][3] = -1
            batch["new"] = None
        time.sleep(max(0, due - time.monotonic()))


def queues(threads=1, prep=1, depth=1, step=10):
    train(dsa.watch(Threads(threads, prep, depth)), step, scribbles=True)
    print("the end", flush=True)


def reads(files, threads, prep):
    """Reads a file for each batch: in the thread that asks, or in another."""
    def made():
        for number in itertools.count():
            with open(files[number % len(files)], "rb", buffering=0) as file:
                file.read()
            time.sleep(prep / 1e3)
            yield batch(number)

    if threads == 0:
        return made()
    ready = queue.Queue(2)
    threading.Thread(target=lambda: [ready.put(one) for one in made()], daemon=True).start()
    return iter(ready.get, None)


def files(folder=".", threads=0, prep=2, step=5):
    names = [os.path.join(folder, name) for name in sorted(os.listdir(folder))]
    train(dsa.watch(reads(names, threads, prep)), step)


def passes(length=40, step=5):
    """A new pass takes long to begin."""
    class Slow(Threads):
        def __iter__(self):
            time.sleep(.05)
            return super().__iter__()

    loader = Slow(1, 2, 4, length)
    for _ in range(10**6):
        train(dsa.watch(loader), step)


def ends(count=100, step=5):
    """An iterator that has no second pass."""
    train(dsa.watch(batch(number) for number in range(count)), step)
    print("the end", flush=True)


def anew(length=100, step=5):
    """A generator for each pass."""
    def one_pass():
        yield from Threads(1, 8, 4, length)

    for _ in range(10**6):
        train(dsa.watch(one_pass()), step)


def torch(step=5):
    """A DataLoader below."""
    from torch.utils.data import DataLoader, Dataset
    import torch as module

    class Zeros(Dataset):
        def __len__(self):
            return 10**6

        def __getitem__(self, i):
            time.sleep(.001)
            return module.zeros(8)

    weight = module.nn.Parameter(module.zeros(()))
    for batch in dsa.watch(DataLoader(Zeros(), 8)):
        (weight * batch.mean()).backward()
        time.sleep(step / 1e3)


def uncopied(step=5):
    """What cannot be copied."""
    for _ in dsa.watch(threading.Lock() for _ in range(300)):
        time.sleep(step / 1e3)
    print("the end", flush=True)


if __name__ == "__main__":
    go_first()
    words = dict(word.split("=") for word in sys.argv[2:])
    globals()[sys.argv[1]](**{name: float(value) if "." in value and value[0].isdigit()
                              else int(value) if value.isdigit() else value
                              for name, value in words.items()})
