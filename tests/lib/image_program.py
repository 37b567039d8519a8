"""A training script in PyTorch that knows nothing of dsa: ImageFolder and a small network
on the CPU. tests/bench/hooks.py runs it, and has it measure itself.

    image_program.py FOLDER WORKERS             trains until somebody ends it
    image_program.py FOLDER WORKERS epochs N    ... N epochs; the share of its time that it
                                                waits, without each epoch's first batch
    image_program.py FOLDER WORKERS looks N     under dsa run --observe: the CPU time of steps
                                                while transforms are looked at, of that while
                                                they are not, in turn, N of each; on a line
                                                its logarithms, and how long a step takes
    image_program.py FOLDER WORKERS hand N [LIMIT [HIT]]
                  a step's time in its three states, N rounds of them in turn: batches that
                  are there, files in memory, files evicted but for that share of them.
                  LIMIT: the file of a control group that limits what the device reads,
                  which is lifted in between
"""
import itertools
import json
import math
import os
import random
import re
import sys
import time

import torch
import torchvision

BATCH, SIZE = 32, 96
SETTLE, STEPS = 8, 24  # of each measurement by hand
STORED = 16  # batches


def evict(path):
    file = os.open(path, os.O_RDONLY)
    os.fdatasync(file)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(file)


def read(path):
    with open(path, "rb") as file:
        file.read()


def from_storage():
    """Bytes that this process has read, but for those that were in memory."""
    with open("/proc/self/io", encoding="ascii") as file:
        return int(re.search(r"\nread_bytes: (\d+)", file.read())[1])


def bring(paths):
    """Into memory; again while some came from storage, as memory may be short."""
    for _ in range(8):
        before = from_storage()
        for path in paths:
            read(path)
        if from_storage() == before:
            break


class Training:
    def __init__(self):
        self.net = torch.nn.Sequential(
            torch.nn.Conv2d(3, 8, 5, 4), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(4),
            torch.nn.Flatten(), torch.nn.Linear(128, 10))
        self.optimizer = torch.optim.SGD(self.net.parameters(), .05)

    def step(self, images, labels):
        loss = torch.nn.functional.cross_entropy(self.net(images), labels)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


def dataset_of(folder):
    to = torchvision.transforms
    return torchvision.datasets.ImageFolder(folder, to.Compose(
        [to.RandomResizedCrop(SIZE), to.RandomHorizontalFlip(), to.ToTensor()]))


def loader_of(data, workers, shuffle=True):
    return torch.utils.data.DataLoader(data, BATCH, shuffle=shuffle, num_workers=workers,
                                       drop_last=True)


def train(training, loader):
    while True:
        for batch in loader:
            training.step(*batch)


def train_epochs(training, loader, epochs):
    waited, worked = 0., 0.
    for _ in range(epochs):
        last = None
        for batch in loader:
            given = time.monotonic()
            training.step(*batch)
            done = time.monotonic()
            if last is not None:
                waited += given - last
                worked += done - given
            last = done
    return waited / (waited + worked)


def compare_looks(training, loader, turns):
    """What a look costs is earned back in both turns: those with looks have up to twice as many
    as they would have alone."""
    turn = 8
    batches = itertools.chain.from_iterable(itertools.repeat(loader))
    ratios, plain = [], 0.
    for batch in itertools.islice(batches, 2 * turn):
        training.step(*batch)
    meter = sys.modules["dsa_transforms"].Meter  # there is one by now
    for number in range(turns):
        took = {}
        for meter.busy in (False, True) if number % 2 else (True, False):
            began = time.process_time()
            for batch in itertools.islice(batches, turn):
                training.step(*batch)
            took[meter.busy] = time.process_time() - began
            meter.busy = False
        ratios.append(math.log(took[False] / took[True]))
        plain += took[True]
    return *ratios, plain / turns / turn


def limit(path, lifted):
    """What the group was allowed to read, or all of it."""
    if path is None:
        return
    if not hasattr(limit, "words"):
        with open(path, encoding="ascii") as file:
            limit.words = file.read()
    with open(path, "w", encoding="ascii") as file:
        file.write(limit.words.split()[0] + " 0\n" if lifted else limit.words)


def measured(training, batches):
    """Seconds a step takes."""
    it = iter(batches)
    for batch in itertools.islice(it, SETTLE):
        training.step(*batch)
    began = time.monotonic()
    for batch in itertools.islice(it, STEPS):
        training.step(*batch)
    return (time.monotonic() - began) / STEPS


def by_hand(training, data, workers, rounds, group, hit):
    batches = SETTLE + STEPS + 2 * workers
    stored = [[tensor.clone() for tensor in batch]
              for batch in itertools.islice(loader_of(data, workers), STORED)]
    times = {"synthetic": [], "cached": [], "real": []}
    for number in range(rounds):
        some = torch.randperm(len(data))[:batches * BATCH].tolist()
        paths = [data.samples[i][0] for i in some]
        for state in sorted(times, reverse=bool(number % 2)):
            limit(group, True)
            gone = {path for path in paths if state == "real" and random.random() >= hit}
            for path in gone:
                evict(path)
            bring([path for path in paths if path not in gone])
            limit(group, False)
            times[state].append(measured(
                training, itertools.cycle(stored) if state == "synthetic" else
                loader_of(torch.utils.data.Subset(data, some), workers, False)))
    return times


def main(folder, workers, mode=None, count=0, group=None, hit=0):
    torch.manual_seed(1)
    torch.set_num_threads(1)
    training, data = Training(), dataset_of(folder)
    if mode == "hand":
        print(json.dumps(by_hand(training, data, int(workers), int(count), group,
                                 float(hit))))
    elif mode == "epochs":
        print(train_epochs(training, loader_of(data, int(workers)), int(count)))
    elif mode == "looks":
        print(*compare_looks(training, loader_of(data, int(workers)), int(count)))
    else:
        train(training, loader_of(data, int(workers)))


if __name__ == "__main__":
    main(*sys.argv[1:])
