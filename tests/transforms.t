#!/usr/bin/python3
"""Prep by transform, of PyTorch scripts that nobody changed: parts and files are told by
name, each takes what it took, and the program is left as it was. Speaks TAP.

    tests/transforms.t [NAME...]    some of the tests
    SOAK=1 tests/transforms.t       also what is asserted of seconds: it wants two idle cores
"""
import concurrent.futures
import ctypes
import functools
import json
import os
import struct
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/lib")
from house import BUILD, DSA, HERE, Scratch, Tap

sys.path.insert(0, os.path.join(BUILD, "python"))

PYTHON = "/usr/bin/python3"
PROGRAM = os.path.join(HERE, "lib/transforms_program.py")
SPINS = (1, 2, 4, 8, 16)  # ms
NAMES = [f"Spin#{i + 1}" if i else "Spin" for i in range(len(SPINS))]
OFF = .05  # of what was told, of what was set
COST = .01

SOAK = bool(os.environ.get("SOAK"))
# Beside other tests a core may be taken away, once, between the two clocks of a call: seconds.
TAKEN = 0 if SOAK else .005
tap, wanted = Tap(), sys.argv[1:]


# ---- the hook's part, by itself ----

class Page:
    """Stands for libdsa-io.so."""

    def __init__(self):
        self.names, self.taken, self.samples = [], {}, []
        self.io = ctypes.c_uint64(0)

    def looks_at(self):
        return self.key

    def look(self):
        return ctypes.addressof(self.io)

    def part(self, name):
        self.names.append(name.decode())
        return len(self.names) - 1

    def sample(self, number, ns):
        self.samples.append((number, ns))

    def took(self, took, count, samples):
        for row in took[:count]:
            calls, ns = self.taken.get(self.names[row.part], (0, 0))
            self.taken[self.names[row.part]] = calls + row.calls, ns + row.ns


class Base:
    def __call__(self, thing):
        return thing + [type(self).__name__]


class Crop(Base):
    pass


class Flip(Base):
    def __call__(self, thing):
        return super().__call__(thing)


class Fails(Base):
    def __call__(self, thing):
        raise KeyError("mine")


class Compose:
    def __init__(self, *transforms):
        self.transforms = list(transforms)

    def __call__(self, thing):
        for transform in self.transforms:
            thing = transform(thing)
        return thing


def function(thing):
    return thing + ["function"]


def partial(thing, name):
    return thing + [name]


class Data:
    """Wraps another one, as a Subset does."""

    def __init__(self, dataset=None, transform=None):
        self.dataset, self.transform = dataset, transform

    def __len__(self):
        return 10

    def __getitem__(self, i):
        thing = [] if self.dataset is None else self.dataset[i]
        return thing if self.transform is None else self.transform(thing)

    def method(self, thing):
        return thing + ["method"]


class Fetcher:
    """As torch's."""

    def __init__(self, dataset):
        self.dataset, self.collate_fn = dataset, tuple

    def fetch(self, indices):
        return self.collate_fn([self.dataset[i] for i in indices])


def look_at(dataset, indices, page=None, meter=None):
    """(what came, the page)"""
    from dsa_transforms import Meter, key_of
    page, fetcher = page or Page(), Fetcher(dataset)
    page.key = key_of(dataset)
    meter = meter or Meter(page, page.key)
    meter.batches, came = 1, None
    meter.begin(fetcher)
    try:
        came = fetcher.fetch(indices)
    finally:
        meter.end(len(indices) if came is not None else 0, time.monotonic_ns())
        left = [kind.__name__ for kind in (Base, Crop, Flip, Fails, Compose)
                if "dsa" in kind.__call__.__module__]
        tap.ok(not left and fetcher.collate_fn is tuple and fetcher.dataset is dataset,
               "nothing stays patched", left)
    return came, page


def check_walk(_):
    inner = Data(transform=None)
    inner.transform = inner.method
    crop = Crop()
    recipe = Compose(crop, function, Compose(Flip(), functools.partial(partial, name="p")),
                     Crop(), crop, Base(), list)
    data = Data(inner, recipe)
    before, plain = list(recipe.transforms), Data(inner, recipe)[0]
    came, page = look_at(data, [3, 4])
    calls = {name: taken[0] for name, taken in page.taken.items() if taken[0] > 0}
    tap.ok(came == (plain, plain), "a batch that is looked at is what it was", came, plain)
    tap.ok(calls == {"__getitem__": 2, "collate": 1, "Compose": 2, "Compose#2": 2, "Crop": 4,
                     "Crop#2": 2, "Flip": 2, "Base": 2, "function": 2, "partial": 2, "method": 2, "list": 2},
           "each transform is told by its name, once a call", calls)
    tap.ok(recipe.transforms == before and inner.transform == inner.method,
           "functions stand where they stood", recipe.transforms)
    tap.ok([number for number, _ in page.samples] == [3, 4], "samples by their numbers",
           page.samples)


def check_fails(_):
    data = Data(transform=Compose(function, Fails()))
    try:
        look_at(data, [1])
        tap.ok(False, "an error reaches the program")
    except KeyError as error:
        tap.ok(error.args == ("mine",), "an error reaches the program")


class Own:
    """A transform whose __call__ is none of an instance."""

    @staticmethod
    def __call__(thing):
        return thing + ["Own"]


class Changes(Data):
    """Has other transforms by each sample."""

    def __getitem__(self, i):
        sample = super().__getitem__(i)
        self.transform.transforms.pop(0)
        self.target_transform = len
        return sample


class Several:
    """As a tensor of indices."""

    def __index__(self):
        raise TypeError("only integer tensors of a single element")


def check_changes(_):
    """What the program changes in the meantime stays changed, and nothing of dsa's in it."""
    recipe, other = Compose(function, Own(), list, Crop(), function), Compose(function)
    data = Changes(Data(transform=other), recipe)
    data.target_transform = function
    came, page = look_at(data, [Several(), 4])
    tap.ok(came == (["function", "function", "Own", "Crop", "function"],
                    ["function", "Own", "Crop", "function"]), "a static __call__", came)
    tap.ok(recipe.transforms[0] is list and recipe.transforms[2] is function and
           len(recipe.transforms) == 3 and data.target_transform is len and
           other.transforms == [function], "what the program changed stays", recipe.transforms)
    tap.ok([number for number, _ in page.samples] == [4], "an index that is no number",
           page.samples)


def check_clock(_):
    """I/O is no prep, nor is what another thread does; times are of one part each."""
    page, own = Page(), []

    class Reads(Base):
        def __call__(self, thing):
            began = time.monotonic_ns()
            time.sleep(.05)
            page.io.value += time.monotonic_ns() - began
            began = time.monotonic_ns()
            time.sleep(.02)
            other = threading.Thread(target=function_of_other, args=(thing,))
            other.start()
            other.join()
            own.append(time.monotonic_ns() - began)
            return thing

    inside = Crop()

    def function_of_other(thing):
        inside(thing)

    began = time.monotonic_ns()
    look_at(Data(transform=Compose(Reads(), inside)), [1], page)
    whole = time.monotonic_ns() - began - page.io.value
    ns = [taken[1] for taken in page.taken.values()]
    tap.ok(page.taken["Crop"][0] == 1, "another thread's calls are not counted", page.taken)
    tap.ok(all(each >= 0 for each in ns) and sum(ns) <= whole and
           own[0] <= page.taken["Reads"][1], "I/O is in no part, and all else in one", ns,
           own, whole)


def check_memory(scratch):
    """What is free is so in all groups; caches count as free."""
    from dsa_batches import memory_free

    def put(path, text):
        os.makedirs(os.path.dirname(scratch.at(path)), exist_ok=True)
        with open(scratch.at(path), "w", encoding="ascii") as file:
            file.write(text)

    told = [memory_free(scratch.at("none"))]
    put("root/proc/meminfo", "MemTotal: 9 kB\nMemAvailable: 8 kB\n")
    put("root/proc/self/cgroup", "4:cpu,memory:/far/off\n0::/pod/app\n")
    told.append(memory_free(scratch.at("root")))
    for at, limit in (("/pod/app", "max\n"), ("/pod", "6000\n")):
        put(f"root/sys/fs/cgroup{at}/memory.max", limit)
        put(f"root/sys/fs/cgroup{at}/memory.current", "5000\n")
        put(f"root/sys/fs/cgroup{at}/memory.stat", "anon 1\ninactive_file 2000\n")
    told.append(memory_free(scratch.at("root")))
    put("root/sys/fs/cgroup/memory/memory.limit_in_bytes", "6000\n")
    put("root/sys/fs/cgroup/memory/memory.usage_in_bytes", "5000\n")
    told.append(memory_free(scratch.at("root")))
    tap.ok(told == [float("inf"), 8192, 3000, 1000], "memory that is free", told)


def check_seldom(_):
    """What looking costs is paid by batches that are made without."""
    from dsa_transforms import LIMIT, Meter, key_of
    page, data = Page(), Data(transform=Crop())
    page.key = key_of(data)
    meter, looked, spent = Meter(page, page.key), [], []
    for _ in range(200):
        fetcher = Fetcher(data)
        meter.begin(fetcher)
        looked.append(meter.looks)
        meter.end(1, meter.since + 10**6)  # a batch takes 1 ms
        if looked[-1]:
            spent.append(LIMIT * 10**6 - meter.credit)
    tap.ok(not looked[0] and looked[1] and sum(spent[:-1]) <= LIMIT * 200 * 10**6,
           "batches are looked at so seldom that it costs little", spent)
    page.key += 1
    meter.credit = 0
    meter.begin(fetcher)
    tap.ok(not meter.looks, "those of another data set are not")


# ---- programs ----

def measure(scratch, out, options, *words):
    done = scratch.run(DSA, "run", "-q", "-o", out, *options.split(), "--", PYTHON, PROGRAM,
                       *words)
    result = scratch.result(out)
    parts = {part["name"]: part for part in result["prep_by_transform"]}
    if not tap.ok(parts, f"{out}: there are parts", done.returncode, done.stderr):
        return None, None
    total = sum(part["share"] for part in parts.values())
    tap.ok(abs(total - 1) < 1e-6, f"{out}: they are all of prep", total)
    return result, parts


def told(path):
    """[(calls, mean seconds)] of each spin, over all processes."""
    sums = [[0, 0] for _ in SPINS]
    with open(path, "rb") as file:
        for at, (calls, seconds) in enumerate(struct.iter_unpack("dd", file.read())):
            sums[at % len(SPINS)][0] += calls
            sums[at % len(SPINS)][1] += seconds
    return [(calls, seconds / max(1, calls)) for calls, seconds in sums]


def check_spins(scratch, workers, options):
    out, path = f"spins-{workers}", f"told-{workers}"
    result, parts = measure(scratch, out, options, "spins", "data", str(workers), path)
    if parts is None:
        return None, None
    for name, (calls, mean_s) in zip(NAMES, told(scratch.at(path))):
        part = parts.get(name, {"calls": 0, "mean_s": 0})
        tap.ok(abs(part["calls"] - calls) <= 4 * workers,  # batches that were cut off
               f"{out}: {name} was called as often as it tells", part, calls)
        off = OFF * mean_s + TAKEN / max(1, part["calls"])
        tap.ok(abs(part["mean_s"] - mean_s) < off, f"{out}: {name} took what it tells", part,
               mean_s)
    tap.ok(("hand-over" in parts) <= (workers > 0), f"{out}: only workers hand over", parts)
    return result, parts


def check_two(scratch):
    check_spins(scratch, 2, "--budget 3s")


def check_none(scratch):
    check_spins(scratch, 0, "--budget 3s")


def check_late(scratch):
    """Workers of a data set that a worker_init_fn changes."""
    _, parts = measure(scratch, "late", "--budget 2s", "late", "data", "2")
    tap.ok(parts and parts.get("Halve", {}).get("calls", 0) > 0,
           "a transform that a worker_init_fn sets has a part", parts)


def check_pictures(scratch):
    scratch.images("pictures", 60, "30K")
    result, parts = measure(scratch, "seen", "--budget 4s", "pictures", "pictures", "2")
    if parts is None:
        return
    names = {"decode", "collate", "__getitem__", "Compose", "RandomResizedCrop",
             "RandomHorizontalFlip", "RandomApply", "Grayscale", "ToTensor", "Lambda",
             "lambda", "Normalize"}
    tap.ok(names <= set(parts) <= names | {"hand-over"},
           "torchvision: decoding, each transform and collate have parts", parts)
    each = {name: parts[name]["calls"] / result["prep_sampled"] for name in names}
    tap.ok(all(each[name] == 1 for name in names - {"decode", "collate"}) and
           each["decode"] >= 1 and each["collate"] == 1 / 8,
           "each is called once a sample", each)
    slowest = result["prep_slowest"]
    tap.ok(0 < len(slowest) <= 8 and all(os.path.exists(scratch.at(slow["file"]))
                                         for slow in slowest),
           "the slowest samples by file", slowest)
    tap.ok(slowest == sorted(slowest, key=lambda slow: -slow["prep_s"]),
           "the slowest first", slowest)
    check_reports(scratch, [part["name"] for part in result["prep_by_transform"]])


def check_reports(scratch, names):
    text = scratch.run(DSA, "report", "seen").stdout
    line = " ".join(text.split("\n  prep  ")[-1].split()).split(" ms a sample")[0]
    tap.ok([line.find(name) >= 0 for name in names[:4]] == [True] * 3 + [False] or
           names[3] in "".join(names[:3]), "the terminal names the three costliest", text)
    page = scratch.run(DSA, "report", "--format=html", "seen").stdout
    tap.ok(all(f"<td>{name}</td>" in page for name in names) and "took longest" in page,
           "the page has all of them")
    done = scratch.run(DSA, "whatif", "seen", "--without", "ToTensro")
    tap.ok(done.returncode == 2 and "did you mean ToTensor" in done.stderr,
           "what-if: a name that there is not is refused", done.returncode, done.stderr)


# ---- seconds ----

def check_truth(scratch):
    """Each spin takes what it was set to; all of it is prep; less of it is predicted."""
    for workers in (0, 2):
        result, parts = check_spins(scratch, workers, "--budget 20s")
        spun = told(scratch.at(f"told-{workers}"))
        for name, spin, (_, wall_s) in zip(NAMES, SPINS, spun):
            title = f"truth: {name} takes {spin} ms with {workers} workers"
            if wall_s > (1 + OFF / 2) * spin / 1e3:
                tap.skip(title, f"on this busy machine it took {1e3 * wall_s:.2f} ms")
            else:
                tap.ok(abs(parts[name]["mean_s"] / (spin / 1e3) - 1) < OFF, title,
                       parts[name])
        windows = [w for w in result["windows"] if w.get("prepared") and w["used"]]
        prep = (sum(w["prep_busy_s"] for w in windows) /
                sum(w["prepared"] for w in windows))
        parts.pop("hand-over", None)
        total = sum(part["mean_s"] for part in parts.values())
        print(f"# {workers} workers: parts {1e3 * total:.3f} ms, prep {1e3 * prep:.3f} ms")
        tap.ok(abs(total / prep - 1) < OFF, "truth: the parts add up to prep", total, prep)
        check_without(scratch, workers)


def check_without(scratch, workers):
    """16 ms of 31 left out: predicted, and measured."""
    out = f"spins-{workers}"
    done = scratch.run(DSA, "whatif", out, "--without", NAMES[4], "--json")
    if "may have been busy" in done.stderr:
        tap.skip("without", "no predictions of a busy machine")
        return
    if not tap.ok(done.returncode == 0, "without: predicted", done.stderr):
        return
    rate = json.loads(done.stdout)["predictions"][0]["rate_per_s"]
    result, _ = measure(scratch, f"less-{workers}", "--budget 12s", "spins", "data",
                        str(workers), "told", "4")
    real = result["rates"]["real_per_s"]["value"]
    print(f"# {workers} workers, without {NAMES[4]}: {rate} predicted, {real} measured")
    tap.ok(rate["low"] <= real <= rate["high"], "without: as measured", rate, real)


def check_cost(scratch):
    """Of a process that makes batches, with a page and without dsa."""
    scratch.images("cost", 60, "30K")
    tool = os.path.join(BUILD, "tests/tool/io_page")
    scratch.run(tool, "make", "page")
    done = scratch.run(PYTHON, PROGRAM, "cost", "cost", "40", variables={
        "DSA_IO": scratch.at("page"), "LD_PRELOAD": os.path.join(BUILD, "libdsa-io.so"),
        "PYTHONPATH": os.path.join(BUILD, "python")})
    print("# cost, share of batches that are looked at:", done.stdout.strip(), done.stderr)
    cost = float(done.stdout.split()[0]) - 1
    tap.ok(cost <= COST, "looking costs 1 % at most", cost)


def make_files(scratch):
    scratch.folder("data")
    for i in range(80):
        with open(scratch.at("data", f"{i:04}"), "wb") as file:
            file.write(os.urandom(4096))


def programs():
    """Beside each other: what they tell is of the same calls, whoever else is busy."""
    tests = {}
    if os.path.exists("/usr/lib/python3/dist-packages/torch"):
        tests.update(two=check_two, none=check_none, late=check_late)
    else:
        tap.skip("programs", "no python3-torch")
    if os.path.exists("/usr/lib/python3/dist-packages/torchvision"):
        tests["pictures"] = check_pictures
    else:
        tap.skip("pictures", "no python3-torchvision")
    return tests


def run(scratch, tests, at_once):
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        futures = [pool.submit(test, scratch) for name, test in tests.items()
                   if not wanted or name in wanted]
    for future in futures:
        future.result()


def main():
    with Scratch() as scratch:
        make_files(scratch)
        run(scratch, {"walk": check_walk, "fails": check_fails, "clock": check_clock,
                      "seldom": check_seldom, "changes": check_changes,
                      "memory": check_memory}, 1)
        run(scratch, programs(), 3)
        if SOAK:
            run(scratch, {"truth": check_truth, "cost": check_cost}, 1)
    tap.done()


main()
