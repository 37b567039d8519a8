"""Training scripts in PyTorch that know nothing of dsa: tests/hook.t runs them.

    torch_program.py PART FOLDER [KEY=VALUE...]

The accelerator sleeps until its deadline; preparing a sample sleeps `prep` ms after its
file was really read.
"""
import glob
import os
import signal
import sys
import time

import torch


class Files(torch.utils.data.Dataset):
    """A file a sample."""

    def __init__(self, root, prep, kill_at=None):
        self.root, self.prep, self.kill_at = root, prep / 1e3, kill_at
        self.files = sorted(glob.glob(root + "/*"))

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        if self.kill_at is not None and time.monotonic() > self.kill_at and \
                torch.utils.data.get_worker_info().id == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        with open(self.files[i], "rb", buffering=0) as file:
            size = len(file.read())
        if self.prep > 0:
            time.sleep(self.prep)
        return torch.zeros(3, 8, 8), size


class Training:
    """A model of one number, on an accelerator of so many samples a second."""

    def __init__(self, rate):
        self.rate = rate
        self.weight = torch.nn.Parameter(torch.zeros(()))

    def step(self, batch):
        due = time.monotonic() + len(batch[0]) / self.rate
        (self.weight * batch[0].mean()).backward()
        time.sleep(max(0, due - time.monotonic()))


def loader_of(data, **more):
    return torch.utils.data.DataLoader(data, 8, shuffle=True, drop_last=True, **more)


def train(folder, workers=0, prep=0, rate=400, epochs=10**6, kill=None):
    """Until somebody ends it; with `kill` a worker dies after so many seconds."""
    kill_at = None if kill is None else time.monotonic() + kill
    loader = loader_of(Files(folder, prep, kill_at), num_workers=int(workers))
    training = Training(rate)
    for _ in range(int(epochs)):
        for batch in loader:
            training.step(batch)
    print("the end", flush=True)


def evaluates(folder, workers=0, keep=None, inside=None):
    """Validation comes first, and without no_grad; a checkpoint after each epoch, and one
    inside."""
    data = Files(folder, 1)
    train_set, test_set = torch.utils.data.random_split(data, [len(data) - 60, 60])
    loader = loader_of(train_set, num_workers=int(workers))
    test = torch.utils.data.DataLoader(test_set, 5)
    training = Training(400)
    optimizer = torch.optim.SGD([training.weight], .1)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, .1, 40 * len(loader))

    def one_epoch():
        for number, batch in enumerate(loader):
            training.step(batch)
            optimizer.step()
            schedule.step()
            if number == 20:
                torch.save({"weight": training.weight}, inside)
            loss = training.weight.item()
        return loss

    for _ in range(40):
        sum((training.weight * images.mean()).item() for images, _ in test)
        one_epoch()
        torch.save({"weight": training.weight}, keep)
    print("the end", flush=True)


def lacks(folder):
    """An iterator that is not what torch's are."""
    it = iter(loader_of(Files(folder, 0)))
    del it._index_sampler
    training = Training(2000)
    for batch in it:
        training.step(batch)
    print("the end", os.environ.get("LD_PRELOAD"), flush=True)


def hand_over(folder):
    """Seconds from asking for a batch that lies ready until it is there, or is made of
    what takes no time: with 0 workers, and with 2."""
    for workers in (0, 2):
        loader = loader_of(Files(folder, 0), num_workers=workers)
        it, waits = iter(loader), []
        for _ in range(50):
            time.sleep(.02)
            began = time.monotonic()
            next(it)
            waits.append(time.monotonic() - began)
        print(sorted(waits[5:])[len(waits[5:]) // 2])


if __name__ == "__main__":
    torch.set_num_threads(1)
    PARTS = {"train": train, "evaluates": evaluates, "lacks": lacks, "hand_over": hand_over}
    VALUES = dict(word.split("=", 1) for word in sys.argv[3:])
    PARTS[sys.argv[1]](sys.argv[2], **{
        key: value if key in ("keep", "inside") else float(value) for key, value in VALUES.items()})
