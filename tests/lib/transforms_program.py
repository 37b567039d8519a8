"""A training script with transforms that take known times: tests/transforms.t runs it.

    transforms_program.py spins FOLDER WORKERS TOLD [WITHOUT]
    transforms_program.py late FOLDER WORKERS
    transforms_program.py pictures FOLDER WORKERS
    transforms_program.py cost FOLDER SECONDS           as a process that is measured

What the spins took is told in the file TOLD, of calls that dsa looks at: it gives their class
another __call__ then.
"""
import glob
import mmap
import struct
import sys
import time

import torch_early  # first
import torch

SPINS = (1, 2, 4, 8, 16)  # ms
ROOM = 16  # processes


class Compose:
    """As torchvision's."""

    def __init__(self, transforms):
        self.transforms = transforms

    def __call__(self, thing):
        for transform in self.transforms:
            thing = transform(thing)
        return thing


class Told:
    """Calls and seconds of each spin, by each process, in a file: of whole batches."""

    def __init__(self, path):
        with open(path, "wb+") as file:
            file.truncate(ROOM * len(SPINS) * 16)
            self.map = mmap.mmap(file.fileno(), 0)
        self.calls = []

    def collate(self, samples):
        worker = torch.utils.data.get_worker_info()
        process = 0 if worker is None else worker.id + 1
        for spin, seconds in self.calls:
            at = (process * len(SPINS) + spin) * 16
            calls, sum_s = struct.unpack_from("dd", self.map, at)
            struct.pack_into("dd", self.map, at, calls + 1, sum_s + seconds)
        self.calls = []
        return torch.stack(samples)


class Spin:
    """Keeps its core busy until its thread has had so much of it."""

    def __init__(self, number, told):
        self.number, self.told = number, told

    def __call__(self, thing):
        began, end = time.monotonic(), time.thread_time() + SPINS[self.number] / 1e3
        while time.thread_time() < end:
            pass
        if Spin.__call__ is not PLAIN:
            self.told.calls.append((self.number, time.monotonic() - began))
        return thing


PLAIN = Spin.__call__


class Files(torch.utils.data.Dataset):
    def __init__(self, folder, transform):
        self.files = sorted(glob.glob(folder + "/*"))
        self.transform = transform

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        with open(self.files[i], "rb", buffering=0) as file:
            file.read()
        return self.transform(torch.zeros(3, 8, 8))


def train(data, workers, batch=4, collate=None, begin=None):
    """What it is given can't be pickled, which Python's default way needs from 3.14 on."""
    weight = torch.nn.Parameter(torch.zeros(()))
    loader = torch.utils.data.DataLoader(data, batch, shuffle=True, drop_last=True,
                                         num_workers=int(workers), collate_fn=collate,
                                         worker_init_fn=begin,
                                         multiprocessing_context="fork" if int(workers) else None)
    while True:
        for images in loader:
            images = images[0] if isinstance(images, list) else images
            (weight * images.mean()).backward()
            time.sleep(.001)


def spins(folder, workers, path, without=None):
    told = Told(path)
    spin = [Spin(i, told) for i in range(len(SPINS))]
    inner = Compose(spin[1:3])
    recipe = [spin[0], inner] + spin[3:]
    if without is not None:
        recipe.remove(spin[int(without)])
    train(Files(folder, Compose(recipe)), workers, collate=told.collate)


class Halve:
    def __call__(self, thing):
        return thing / 2


def late(folder, workers):
    """Its workers alone know the transform."""
    def begin(_):
        torch.utils.data.get_worker_info().dataset.transform = Halve()

    train(Files(folder, None), workers, begin=begin)


def folder_of(folder):
    from torchvision import datasets, transforms
    recipe = transforms.Compose([
        transforms.RandomResizedCrop(96), transforms.RandomHorizontalFlip(),
        transforms.RandomApply(torch.nn.ModuleList([transforms.Grayscale(3)]), 1),
        transforms.ToTensor(), transforms.Lambda(lambda image: image.clone()),
        transforms.Normalize([.5] * 3, [.2] * 3), (lambda image: image)])
    return datasets.ImageFolder(folder, recipe)


def pictures(folder, workers):
    train(folder_of(folder), workers, 8)


def cost(folder, seconds):
    """The same batches by two fetchers in turn, of which one looks at some: CPU time of its
    batches over that of the other's, and which share it looked at."""
    import dsa_fetch
    from dsa_library import Library
    from dsa_transforms import key_of
    from torch.utils.data._utils.fetch import _MapDatasetFetcher
    data, library = folder_of(folder), Library()
    dsa_fetch.patch_fetcher(library, _MapDatasetFetcher)
    fetchers = [_MapDatasetFetcher(data, True, torch.utils.data.default_collate, False)
                for _ in range(2)]
    took, costs, batch, end = [0, 0], set(), 0, time.monotonic() + float(seconds)
    while time.monotonic() < end:
        batch += 1
        for which in (batch % 2, 1 - batch % 2):
            torch.manual_seed(batch)
            library.look_at(which * key_of(data))
            began = time.thread_time_ns()
            fetchers[which].fetch([(8 * batch + i) % len(data) for i in range(8)])
            took[which] += time.thread_time_ns() - began
        costs.add(fetchers[1]._dsa_meter.cost)  # another one each time that it looks
    print(took[1] / took[0], len(costs) / batch, sum(costs) / len(costs) / 1e3)


if __name__ == "__main__":
    torch.set_num_threads(1)
    {"spins": spins, "late": late, "pictures": pictures, "cost": cost}[sys.argv[1]](*sys.argv[2:])
