"""Training scripts in PyTorch that know nothing of dsa: tests/hook.t runs them.

    torch_program.py PART FOLDER [KEY=VALUE...]

The accelerator sleeps until its deadline; preparing a sample sleeps `prep` ms after its
file was really read.
"""
import atexit
import glob
import itertools
import json
import multiprocessing
import os
import queue
import random
import signal
import sys
import threading
import time
import types

import torch_early  # first
import torch

from punctual import go_first


class Files(torch.utils.data.Dataset):
    """A file a sample. The worker that makes the first batch dies once `steps` is `kill`."""

    def __init__(self, root, prep, kill=None):
        self.root, self.prep, self.kill = root, prep / 1e3, kill
        self.steps = torch.zeros(()).share_memory_() if kill else None
        self.files = sorted(glob.glob(root + "/*"))

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        if self.kill and torch.utils.data.get_worker_info().id == 0 and self.steps >= self.kill:
            time.sleep(.5)  # what it made before has been taken: that needs it alive
            os.kill(os.getpid(), signal.SIGKILL)
        with open(self.files[i], "rb", buffering=0) as file:
            size = len(file.read())
        if self.prep > 0:
            time.sleep(self.prep)
        return torch.zeros(3, 8, 8), size


class Twice(Files):
    """Opens each file once more than it has to."""

    def __getitem__(self, i):
        super().__getitem__(i)
        return super().__getitem__(i)


class Caches(Files):
    """Reads a file once."""

    had = {}

    def __getitem__(self, i):
        if i not in self.had:
            self.had[i] = super().__getitem__(i)
        return self.had[i]


class Partners(Files):
    """Reads another file with each, as mosaics and mixups do."""

    def __getitem__(self, i):
        super().__getitem__(random.randrange(len(self.files)))
        return super().__getitem__(i)


class Noisy(Files):
    """Noise of the worker's own."""

    def __getitem__(self, i):
        image, size = super().__getitem__(i)
        return image + torch.rand(image.shape) + random.random(), size


class Memory(Files):
    """Reads none."""

    def __getitem__(self, i):
        time.sleep(self.prep)
        return torch.zeros(3, 8, 8), i


class Whole(Files):
    """Batches of 8, which nobody has to put together."""

    def __len__(self):
        return len(self.files) // 8

    def __getitem__(self, i):
        made = [super(Whole, self).__getitem__(8 * i + k) for k in range(8)]
        return torch.stack([image for image, _ in made]), [size for _, size in made]


class WholeStream(torch.utils.data.IterableDataset):
    """The same, as they come."""

    def __init__(self, root, prep):
        self.batches = Whole(root, prep)

    def __iter__(self):
        info = torch.utils.data.get_worker_info()
        return map(self.batches.__getitem__, range(info.id, len(self.batches), info.num_workers))


class Meeting(torch.utils.data.IterableDataset):
    """Its workers wait for one another before each pass; one has fewer files."""

    def __init__(self, root, prep):
        self.files, self.barrier = Files(root, prep), multiprocessing.Barrier(2)

    def __iter__(self):
        worker = torch.utils.data.get_worker_info().id
        self.barrier.wait()
        return map(self.files.__getitem__, range(8 * (20 + 4 * worker)))


class Training:
    """A model of one number, on an accelerator of so many samples a second."""

    def __init__(self, rate):
        self.rate = rate
        self.weight = torch.nn.Parameter(torch.zeros(()))

    def step(self, batch):
        due = time.monotonic() + len(batch[0]) / self.rate
        (self.weight * batch[0].mean()).backward()
        time.sleep(max(0, due - time.monotonic()))


class Device(Training):
    """Takes steps at once and computes them later, as a GPU does; the loss is looked at
    every now and then."""

    def __init__(self, rate):
        super().__init__(rate)
        self.free, self.steps = 0, 0
        torch.cuda.is_initialized = lambda: True
        torch.cuda.is_current_stream_capturing = lambda: False
        torch.cuda.synchronize = self.synchronize

    def synchronize(self):
        time.sleep(max(0, self.free - time.monotonic()))

    def step(self, batch):
        self.free = max(self.free, time.monotonic()) + len(batch[0]) / self.rate
        (self.weight * batch[0].mean()).backward()
        self.steps += 1
        if self.steps % 10 == 0:
            self.synchronize()


def loader_of(data, batch=8, **more):
    return torch.utils.data.DataLoader(data, int(batch), shuffle=True, drop_last=True, **more)


def train(folder, workers=0, prep=0, rate=400, epochs=10**6, kill=None, device=0, batch=8,
          twice=0):
    """Until somebody ends it; with `kill` a worker dies after so many steps."""
    data = (Twice if twice else Files)(folder, prep, kill)
    loader = loader_of(data, batch, num_workers=int(workers))
    training = (Device if device else Training)(rate)
    for _ in range(int(epochs)):
        for batch in loader:
            training.step(batch)
            if kill:
                data.steps += 1
    print("the end", flush=True)


def evaluates(folder, workers=0, keep=None, early=None, inside=None, pictures=0, old=None,
              log=os.devnull):
    """Validation comes first, and without no_grad; a checkpoint after each epoch, one in the
    first step, and one inside, after so many pictures, in place of an old one; and a log."""
    rows = open(log, "a", buffering=1, encoding="ascii")
    data = Files(folder, 1)
    train_set, test_set = torch.utils.data.random_split(data, [len(data) - 60, 60])
    loader = loader_of(train_set, num_workers=int(workers))
    test = torch.utils.data.DataLoader(test_set, 5)
    training = Training(400)
    optimizer = torch.optim.SGD([training.weight], .1)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, .1, 45)  # windows take more

    def one_epoch():
        for number, batch in enumerate(loader):
            training.step(batch)
            optimizer.step()
            schedule.step()
            print("step", number, file=rows)
            if number == 0 and early:
                torch.save({"weight": training.weight}, early)
            if number == 20:
                for picture in range(int(pictures)):
                    with open(f"{inside}.{picture}", "wb") as file:
                        file.write(b"P6")
                if old and os.path.exists(old):
                    os.remove(old)
                torch.save({"weight": training.weight}, inside)
            loss = training.weight.item()
        return loss

    for _ in range(40):
        sum((training.weight * images.mean()).item() for images, _ in test)
        one_epoch()
        torch.save({"weight": training.weight}, keep)
    print("the end", flush=True)


class Eights:
    """A sampler of batches that does not say how large they are."""

    def __init__(self, count):
        self.count = count

    def __iter__(self):
        return iter(torch.randperm(self.count)[:self.count // 8 * 8].view(-1, 8).tolist())

    def __len__(self):
        return self.count // 8


def validates(folder, workers=0, leaves=10**6, every=10**6):
    """Three epochs, which it leaves after so many steps, with a validation after each, and a
    short one after every so many steps."""
    data, training = Files(folder, 5), Training(800)
    loader = torch.utils.data.DataLoader(data, batch_sampler=Eights(len(data)),
                                         num_workers=int(workers))
    others = torch.utils.data.DataLoader(Files(folder, 1), 16, num_workers=2)
    for _ in range(3):
        for step, batch in enumerate(loader):
            training.step(batch)
            if step % int(every) == int(every) - 1:
                list(itertools.islice(others, 5))
            if step == int(leaves):
                break
        with torch.no_grad():
            for step, _ in enumerate(others):
                time.sleep(.005)
    print("the end", flush=True)


def reuses(folder, workers=2, leaves=10**6, epochs=3, first=0):
    """Evaluates with the loader that it trains with, after each epoch, which it leaves after so
    many steps, and if `first` before them; gradients are off in the step alone. Tells the
    batches of each evaluation."""
    training = Training(800)
    loader = loader_of(Files(folder, 1), num_workers=int(workers))
    for epoch in range(-int(first), int(epochs)):
        for step, batch in enumerate(loader if epoch >= 0 else ()):
            training.step(batch)
            if step == int(leaves):
                break
        seen = 0
        for images, _ in loader:
            with torch.no_grad():
                (training.weight * images.mean()).item()
            seen += 1
        print(seen, flush=True)


def two(folder, seconds=0, same=0, prep=0, kept=0, alone=0):
    """Loaders that are read in turn, which the program keeps or not, or iterators of the same
    one, for so long or two epochs; and after so many steps of the first one alone, 60 of both,
    and an epoch of the second one alone."""
    training, data, more = Training(10**5), Files(folder, prep), Files(folder, prep)
    loader, epochs, end = loader_of(data), 0, time.monotonic() + seconds
    other = loader if same else loader_of(more)
    while epochs < 2 or time.monotonic() < end:
        epochs += 1
        turns = zip(loader, other) if same or kept else zip(loader_of(data), loader_of(more))
        for step, one in enumerate(loader if alone and epochs == 1 else turns):
            training.step(one if torch.is_tensor(one[0]) else one[0])
            if alone and step == 60 and epochs > 1:
                if sum(1 for _ in zip(other, range(len(other) + 1))) > len(other):
                    print("too long", flush=True)
            if alone and step > int(alone) and epochs == 1:
                break
    print("the end", flush=True)


def infers(folder):
    """Trains nothing."""
    for _ in loader_of(Files(folder, 0)):
        pass
    print("the end", flush=True)


def breaks(folder, workers=2, anew=0, persistent=0):
    """Counts its steps itself: an epoch has fewer than there are batches; or is one of a subset,
    and of a loader, made anew, which tries some sizes of batches before."""
    data, training = Files(folder, 1), Training(800)
    for size in (1, 2, 4) if int(anew) else ():
        for batch in itertools.islice(loader_of(data, size), 5):
            training.step(batch)
    loader = loader_of(data, num_workers=int(workers), persistent_workers=bool(persistent))
    for _ in range(10**6):
        if int(anew):
            drawn = torch.randperm(len(data)).tolist()
            loader = loader_of(torch.utils.data.Subset(data, drawn), num_workers=int(workers))
        for number, batch in enumerate(loader):
            training.step(batch)
            if number == 39:
                break


def counts(folder, workers=2, skips=0, persistent=0):
    """Has plans for the batches of its epochs: beyond them it dies, or skips."""
    loader = loader_of(Files(folder, 1), num_workers=int(workers),
                       persistent_workers=bool(persistent))
    training = Training(1600)
    for _ in range(10**6):
        plan = list(range(len(loader)))
        for number, batch in enumerate(loader):
            if skips and number >= len(plan):
                continue
            training.step(batch)
            plan[number] = None
        print(plan.count(None), flush=True)


def as_it_is(batch):
    return batch


class Bare(types.SimpleNamespace):
    """What an iterator reads of its loader, which a loader of a program's own has alone."""

    def __init__(self, dataset, workers):
        super().__init__(
            dataset=dataset, num_workers=workers, _dataset_kind=1, _auto_collation=False,
            _IterableDataset_len_called=None, _index_sampler=itertools.count(), generator=None,
            drop_last=False, collate_fn=as_it_is, prefetch_factor=2, timeout=0,
            pin_memory=False, pin_memory_device="", persistent_workers=False,
            worker_init_fn=None, multiprocessing_context=None, in_order=True)


def wholes(folder, stream=0, bare=0):
    """A loader that puts nothing together."""
    data = (WholeStream if stream else Whole)(folder, 1)
    training = Training(800)
    for _ in range(3):
        batches = torch.utils.data.dataloader._MultiProcessingDataLoaderIter(Bare(data, 2)) \
            if bare else torch.utils.data.DataLoader(data, batch_size=None, num_workers=2)
        for batch in batches:
            training.step(batch)


def meets(folder):
    """Until somebody ends it."""
    training = Training(1600)
    for _ in range(10**6):
        for batch in torch.utils.data.DataLoader(Meeting(folder, .5), 8, num_workers=2):
            training.step(batch)


def losses(folder):
    """Three epochs of random numbers here and in workers, to the last bit."""
    torch.manual_seed(5)
    loader = loader_of(Noisy(folder, 0), num_workers=2)
    weight = torch.nn.Parameter(torch.zeros(()))
    optimizer, total = torch.optim.SGD([weight], .1), []
    for _ in range(3):
        for images, _ in loader:
            loss = ((weight - torch.rand(())) * images).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total.append(loss.item())
    print(" ".join(value.hex() for value in total))


def without_backward(folder):
    """Two loaders in turn, and none is trained from: the one with most steps is measured."""
    many = loader_of(Files(folder, 1), 4)
    few = loader_of(Files(folder, 1), 8)
    while True:
        for batch in many:
            time.sleep(.005)
        for number, batch in enumerate(few):
            time.sleep(.005)
            if number == 20:
                break


def ahead(folder, rate=400):
    """A thread asks for batches, and the loop takes them from a queue; in its next epoch, too."""
    loader, training = loader_of(Files(folder, 1)), Training(rate)
    for _ in range(10**6):
        taken = queue.Queue(16)

        def fill(taken=taken):
            for batch in loader:
                taken.put(batch)
        thread = threading.Thread(target=fill, daemon=True)
        thread.start()
        while thread.is_alive() or not taken.empty():
            try:
                training.step(taken.get(timeout=.01))
            except queue.Empty:
                pass
        print("an epoch's end", flush=True)


def odd(folder, kind=None):
    """Data sets that do not read the same files for the same batch; what is in memory is made
    anew for each epoch."""
    kind = {"caches": Caches, "partners": Partners, "memory": Memory}[kind]
    data, training = kind(folder, 2), Training(800)
    while True:
        if kind is Memory:
            data = kind(folder, 2)
        for batch in loader_of(data):
            training.step(batch)


def libdsa(folder, first=0):
    """libdsa gives what it is trained with, torch's loader what comes between; or `first`, with
    a step."""
    import dsa
    training = Training(2000)
    other = loader_of(Memory(folder, 0))
    if first:
        for batch in other:
            training.step(batch)
    for images, _ in dsa.Loader(folder, batch=8, size=32, arrays="torch").forever():
        training.step([images])
        if other is not None:
            sum(images.mean() for images, _ in other).item()
            other = None


def lacks(folder):
    """An iterator that is not what torch's are."""
    it = iter(loader_of(Files(folder, 0)))
    del it._index_sampler
    training = Training(2000)
    for batch in it:
        training.step(batch)
    print("the end", os.environ.get("LD_PRELOAD"), flush=True)


def with_lock(samples):
    return torch.stack([image for image, _ in samples]), threading.Lock()


def uncopied(folder, seconds=0):
    """Batches that can't be copied, of loaders that nobody keeps."""
    data, training, steps = Files(folder, 0), Training(4000), 0
    end = time.monotonic() + seconds
    while steps < 100 or time.monotonic() < end:
        for batch in loader_of(data, collate_fn=with_lock):
            training.step(batch)
            steps += 1
    print("the end", steps, flush=True)


class Things(Files):
    """Of each kind that a batch may hold."""

    def __getitem__(self, i):
        return {"image": torch.ones(8192), "name": str(i), "sizes": [i, torch.ones(2)]}


class Boxes:
    """Neither a tensor nor a container."""

    def __init__(self, images):
        self.images = images


def together(samples):
    return {"image": torch.stack([s["image"] for s in samples]),
            "sizes": [s["sizes"] for s in samples], "pair": (1, None),
            "boxes": Boxes(torch.ones(3)), "names": [s["name"] for s in samples]}


def batches(folder):
    """The hook's copies of batches, by themselves, in 64 descriptors: 16 MB of them."""
    import resource

    from dsa_batches import Pool
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    pool = Pool(torch)
    loader = loader_of(Things(folder, 0), num_workers=1, collate_fn=together)
    while len(pool.masters) < 64:
        for batch in loader:
            pool.add(batch, 8)
    assert len(pool.masters) == 64
    for turn in range(3 * 64):
        batch, count = pool.give()
        assert count == 8 and batch["image"].eq(1).all() and len(batch) == 5, batch
        assert batch["boxes"].images.eq(1).all() and len(batch["sizes"]) == 8
        assert batch["pair"] == (1, None) and batch["sizes"][0][1].eq(1).all()
        if turn % 3 == 0:
            batch.pop("names").clear()
            batch["sizes"][0][1].zero_()
            batch["sizes"].pop()
            batch["image"].mul_(2)
            batch["boxes"].images.zero_()


def median(times):
    return sorted(times)[len(times) // 2]


def own_times(folder, batch=8, workers=2, prep=1, rate=400):
    """Seconds that nobody asked for: to be given a batch that lies ready, after steps as long as
    workers need to have one ready, and to make one beyond its sleeps."""
    step = batch * max(1 / rate, 1.5e-3 * prep / max(1, workers))
    it = iter(loader_of(Files(folder, prep), batch, num_workers=max(1, int(workers))))
    overs, makes = [], []
    for _ in range(50):
        time.sleep(step)
        began = time.monotonic()
        next(it)
        overs.append(time.monotonic() - began)
    it = iter(loader_of(Files(folder, 1), batch))
    for _ in range(50):
        began = time.monotonic()
        next(it)
        makes.append(time.monotonic() - began - batch * 1e-3)
    print(json.dumps({"over": median(overs[5:]), "batch": median(makes)}))


class Nothing(torch.utils.data.Dataset):
    def __len__(self):
        return 10**7

    def __getitem__(self, i):
        return i


def steps(_, most=60000):
    """Seconds that a step of an empty loader takes."""
    weight, times = torch.nn.Parameter(torch.zeros(())), []
    atexit.register(lambda: print(median(times)))
    it = iter(torch.utils.data.DataLoader(Nothing(), 1))
    for number in range(int(most)):
        began = time.monotonic()
        next(it)
        times.append(time.monotonic() - began)
        if number < 2:
            (weight * 1).backward()


def epochs(folder, persistent=0):
    """Seconds that an epoch of 18 steps takes with two workers."""
    data = torch.utils.data.Subset(Files(folder, 0), range(18 * 8))
    loader = loader_of(data, num_workers=2, persistent_workers=bool(persistent))
    training, times = Training(400), []
    for _ in range(12):
        began = time.monotonic()
        for batch in loader:
            training.step(batch)
        times.append(time.monotonic() - began)
    print(sum(times[1:]) / len(times[1:]))


if __name__ == "__main__":
    torch.set_num_threads(1)
    go_first()
    VALUES = [word.split("=", 1) for word in sys.argv[3:]]
    globals()[sys.argv[1]](sys.argv[2], **{
        key: value if key in ("keep", "early", "inside", "old", "log", "kind") else float(value)
        for key, value in VALUES})
