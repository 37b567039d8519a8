"""A training by several ranks that knows nothing of dsa: tests/ranks.t runs it.

    ranks_program.py FOLDER [KEY=VALUE...]

Starts its ranks itself, as `starts` says (env, spawn), unless a launcher did. Preparing a sample
sleeps `prep` ms, in the last rank `last` ms; a step takes `takes` batches and sleeps `step` ms.
"""
import glob
import os
import socket
import subprocess
import sys
import time

import torch
import torch.distributed
import torch.multiprocessing
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

BATCH = 4
STEADY = 60  # steps, after which a file tells that it is under way


class Files(torch.utils.data.Dataset):
    def __init__(self, root, prep_s):
        self.files, self.prep_s = sorted(glob.glob(root + "/*")), prep_s

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        with open(self.files[i], "rb", buffering=0) as file:
            size = len(file.read())
        time.sleep(self.prep_s)
        return torch.full((8,), float(i)), size


def train(rank, world, root, options):
    number = lambda key, otherwise: float(options.get(key, otherwise))
    meets = number("meets", 1)
    if meets:
        torch.distributed.init_process_group("gloo", rank=rank, world_size=world)
    files = Files(root, number("last" if rank == world - 1 else "prep", 1) / 1e3)
    loader = DataLoader(files, BATCH, num_workers=int(number("workers", 0)),
                        sampler=DistributedSampler(files, world, rank))
    model = torch.nn.Linear(8, 1)
    if meets:
        model = torch.nn.parallel.DistributedDataParallel(model)
    steps = before = 0
    try:
        for epoch in range(int(number("epochs", 1000))):
            loader.sampler.set_epoch(epoch)
            before = steps
            for batches in zip(*[iter(loader)] * int(number("takes", 1))):
                sum(model(batch[0]).mean() for batch in batches).backward()
                time.sleep(number("step", 20) / 1e3)
                steps += 1
                if steps == STEADY and "steady" in options:
                    with open(options["steady"], "w", encoding="ascii"):
                        pass
    finally:
        print(f"rank {rank} left after {steps} steps, {steps - before} of its last epoch",
              flush=True)


def start(root, options):
    ranks = int(options.get("ranks", 2))
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), OMP_NUM_THREADS="1")
    if options.get("starts") == "spawn":
        torch.multiprocessing.spawn(train, (ranks, root, options), ranks)
        return 0
    started = [subprocess.Popen([sys.executable, *sys.argv], env=dict(
        os.environ, RANK=str(rank), WORLD_SIZE=options.get("world", str(ranks))))
        for rank in range(ranks)]
    return max(one.wait() for one in started)


if __name__ == "__main__":
    torch.set_num_threads(1)
    OPTIONS = dict(word.split("=") for word in sys.argv[2:])
    if "RANK" not in os.environ:
        sys.exit(start(sys.argv[1], OPTIONS))
    train(int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), sys.argv[1], OPTIONS)
