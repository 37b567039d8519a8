"""A training script in PyTorch that knows nothing of dsa: tests/gpu/run measures it.

    torch_step.py FOLDER [device=cuda] [workers=4] [prep=MS] [compute=MS] [told=FILE]

A sample is a file, which is really read, and `prep` ms of sleep. A step is products of
matrices that take the device about `compute` ms, forward and backward; the loss is looked at
every tenth time, so that the host runs ahead of the device. FILE gets, as JSON, what a step
takes whose batch is there: a mean over steps before training.
"""
import json
import os
import sys
import time

import torch

SIDE = {"cuda": 2048, "cpu": 192}
STEPS = 30  # that are timed


class Files(torch.utils.data.Dataset):
    def __init__(self, folder, prep):
        self.files = sorted(entry.path for entry in os.scandir(folder))
        self.prep = prep

    def __len__(self):
        return len(self.files)

    def __getitem__(self, number):
        with open(self.files[number], "rb", buffering=0) as file:
            size = len(file.read())
        time.sleep(self.prep)
        return torch.ones(3, 64, 64), size


class Training:
    def __init__(self, device, seconds):
        self.device, self.steps, self.layers = device, 0, 2
        side = SIDE[device]
        self.weight = torch.nn.Parameter(torch.eye(side, device=device))
        self.layers = max(1, round(self.layers * seconds / self.time()))

    def wait(self):
        if self.device == "cuda":
            torch.cuda.synchronize()

    def step(self, images):
        at = self.weight * images.to(self.device, non_blocking=True).mean()
        for _ in range(self.layers):
            at = at @ self.weight
        loss = at.sum()
        loss.backward()
        self.weight.grad = None
        self.steps += 1
        if self.steps % 10 == 0:
            loss.item()

    def time(self):
        """Seconds of a step whose batch is there."""
        images = torch.ones(8, 3, 64, 64)
        for count in (STEPS, STEPS):
            self.wait()
            began = time.monotonic()
            for _ in range(count):
                self.step(images)
            self.wait()
        return (time.monotonic() - began) / count


def main(folder, device="cuda", workers=4, prep=0, compute=20, told=None):
    training = Training(device, float(compute) / 1e3)
    if told is not None:
        with open(told, "w", encoding="ascii") as file:
            json.dump({"step_s": training.time()}, file)
    loader = torch.utils.data.DataLoader(
        Files(folder, float(prep) / 1e3), 8, shuffle=True, drop_last=True,
        num_workers=int(workers), pin_memory=device == "cuda")
    while True:
        for images, _ in loader:
            training.step(images)


if __name__ == "__main__":
    torch.set_num_threads(1)
    main(sys.argv[1], **dict(word.split("=", 1) for word in sys.argv[2:]))
