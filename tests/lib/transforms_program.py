"""A training script with transforms that take known times: tests/transforms.t runs it.

    transforms_program.py spins FOLDER WORKERS TOLD     tells what they took in TOLD
    transforms_program.py pictures FOLDER WORKERS
"""
import glob
import mmap
import struct
import sys
import time

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
    """Calls and seconds of each spin, by each worker, in a file."""

    def __init__(self, path):
        with open(path, "wb+") as file:
            file.truncate(ROOM * len(SPINS) * 16)
            self.map = mmap.mmap(file.fileno(), 0)

    def add(self, spin, seconds):
        worker = torch.utils.data.get_worker_info()
        at = ((0 if worker is None else worker.id + 1) * len(SPINS) + spin) * 16
        calls, sum_s = struct.unpack_from("dd", self.map, at)
        struct.pack_into("dd", self.map, at, calls + 1, sum_s + seconds)


class Spin:
    """Keeps its core busy until its thread has had so much of it."""

    def __init__(self, number, told):
        self.number, self.told = number, told

    def __call__(self, thing):
        began, end = time.monotonic(), time.thread_time() + SPINS[self.number] / 1e3
        while time.thread_time() < end:
            pass
        self.told.add(self.number, time.monotonic() - began)
        return thing


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


def train(data, workers, batch=4):
    weight = torch.nn.Parameter(torch.zeros(()))
    loader = torch.utils.data.DataLoader(data, batch, shuffle=True, drop_last=True,
                                         num_workers=int(workers))
    while True:
        for images in loader:
            images = images[0] if isinstance(images, list) else images
            (weight * images.mean()).backward()
            time.sleep(.001)


def spins(folder, workers, path):
    told = Told(path)
    inner = Compose([Spin(i, told) for i in (1, 2)])
    train(Files(folder, Compose([Spin(0, told), inner] + [Spin(i, told) for i in (3, 4)])),
          workers)


def pictures(folder, workers):
    from torchvision import datasets, transforms
    recipe = transforms.Compose([
        transforms.RandomResizedCrop(96), transforms.RandomHorizontalFlip(),
        transforms.ToTensor(), transforms.Lambda(lambda image: image.clone()),
        transforms.Normalize([.5] * 3, [.2] * 3), (lambda image: image)])
    train(datasets.ImageFolder(folder, recipe), workers, 8)


if __name__ == "__main__":
    torch.set_num_threads(1)
    {"spins": spins, "pictures": pictures}[sys.argv[1]](*sys.argv[2:])
