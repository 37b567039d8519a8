"""What making a sample takes, part by part: each transform that a data set applies, decoding
where PIL does it, the collate function, and the rest.

    fetch                     some batches are looked at: as many as cost LIMIT of the time
      dataset[i]              __getitem__: what is in no other part
        PIL.ImageFile         decode
        Compose
          RandomApply         a transform inside another counts for itself
            ColorJitter
      collate_fn              collate

The clock is the wall's, less the time that the process spends in I/O. Classes of transforms
have another __call__ while a batch is looked at, functions another one in their place, and
all is as it was when the batch is made: nothing else of the program is touched.
"""

import ctypes
import functools
import inspect
import operator
import sys
import threading
import time
import zlib

LIMIT = .001  # of the time that batches take; several times that with what it can't count
DEEP, MANY = 8, 48  # data sets and transforms inside each other; transforms
TRANSFORMS = ("transform", "transforms", "target_transform")
REST, DECODE, COLLATE = "__getitem__", "decode", "collate"
ABSENT = object()
HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: attributes of such a class can be set
CALLS = 50  # by which the cost of one is measured

now = time.monotonic_ns
thread = threading.get_ident


class Took(ctypes.Structure):
    """struct io_took"""
    _fields_ = [("part", ctypes.c_int32), ("calls", ctypes.c_uint32), ("ns", ctypes.c_int64)]


# ---- which transforms there are ----

def attributes(thing):
    held = getattr(thing, "__dict__", None)
    return held if isinstance(held, dict) else {}


def has_class(thing):
    """True where its class can be given another __call__; a function's can't."""
    kind = type(thing)
    return kind is not functools.partial and kind.__flags__ & HEAP_TYPE and \
        callable(thing) and not isinstance(thing, type)


class Walk:
    """Finds the transforms of a data set and of those that it wraps."""

    def __init__(self, dataset):
        self.names = {}  # id of a transform -> its name
        self.classes = []
        self.places = []  # functions: (dict or list, key, name)
        self.seen, self.numbers = set(), {}
        data = sys.modules.get("torch.utils.data")
        self.dataset = getattr(data, "Dataset", ())
        self.look_into(dataset, DEEP)

    def look_into(self, dataset, deep):
        """A data set."""
        if deep == 0 or id(dataset) in self.seen:
            return
        self.seen.add(id(dataset))
        for name, value in list(attributes(dataset).items()):
            if name == "datasets" and isinstance(value, (list, tuple)):
                for each in value[:MANY]:
                    self.look_into(each, deep - 1)
            elif name == "dataset" or isinstance(value, self.dataset):
                self.look_into(value, deep - 1)
            elif name in TRANSFORMS or "transforms" in attributes(value):
                self.look_at(attributes(dataset), name, value, deep - 1)

    def look_at(self, holder, key, thing, deep):
        """A transform, several of them, or none."""
        if deep == 0 or thing is None or len(self.names) >= MANY:
            return
        if isinstance(thing, (list, tuple)):
            for i, each in enumerate(thing):
                self.look_at(thing, i, each, deep - 1)
        elif has_class(thing):
            self.add(thing, deep)
        elif callable(thing) and isinstance(holder, (list, dict)):
            called = getattr(thing, "func", thing)
            name = getattr(called, "__name__", type(called).__name__).strip("<>")
            self.places.append((holder, key, self.name(thing, name)))

    def name(self, thing, name):
        if id(thing) not in self.names:
            number = self.numbers[name] = self.numbers.get(name, 0) + 1
            self.names[id(thing)] = name if number == 1 else f"{name}#{number}"
        return self.names[id(thing)]

    def add(self, thing, deep):
        if id(thing) in self.names:
            return
        modules = attributes(thing).get("_modules") or {}
        if type(thing).__name__ not in ("ModuleList", "Sequential"):
            self.name(thing, type(thing).__name__)
            if type(thing) not in self.classes:
                self.classes.append(type(thing))
            modules = {name: modules[name] for name in TRANSFORMS if name in modules}
        for holder in (attributes(thing), modules):
            for name in TRANSFORMS if holder is not modules else list(modules):
                if name in holder:
                    self.look_at(holder, name, holder[name], deep - 1)


# ---- while a batch is looked at ----

def attribute_back(owner, name, value, had):
    if vars(owner).get(name) is not value:
        return
    if had is ABSENT:
        delattr(owner, name)
    else:
        setattr(owner, name, had)


def item_back(holder, key, value, had):
    """In a list wherever it is by now."""
    for at in range(len(holder)) if isinstance(holder, list) else [key]:
        if holder[at] is value:
            holder[at] = had


class Patches:
    """What stands in the place of something for a while. What the program puts there in
    that time stays."""

    def __init__(self):
        self.undo = []

    def attribute(self, owner, name, value):
        had = vars(owner).get(name, ABSENT)
        setattr(owner, name, value)
        self.undo.append((attribute_back, owner, name, value, had))

    def item(self, holder, key, value):
        self.undo.append((item_back, holder, key, value, holder[key]))
        holder[key] = value

    def take_back(self):
        while self.undo:
            call, *arguments = self.undo.pop()
            try:
                call(*arguments)
            except Exception:  # it is not there any more
                pass


def makes_batches(dataset, deep=DEEP):
    """True where it makes the samples of a batch together. torch's Subset and StackDataset
    always have the method, and hand it on to those data sets in them that have it."""
    data = sys.modules.get("torch.utils.data")
    if deep > 0 and type(dataset) is getattr(data, "Subset", None):
        return makes_batches(dataset.dataset, deep - 1)
    if deep > 0 and type(dataset) is getattr(data, "StackDataset", None):
        parts = dataset.datasets
        return any(makes_batches(part, deep - 1)
                   for part in (parts.values() if isinstance(parts, dict) else parts))
    try:
        return callable(getattr(dataset, "__getitems__", None))
    except Exception:  # of the data set's own
        return False


class Watched:
    """The data set of a batch that is looked at: tells what each sample took."""

    def __init__(self, dataset, meter):
        self.dataset, self.meter = dataset, meter
        if not makes_batches(dataset):
            self.__getitems__ = None

    def __getitem__(self, index):
        meter = self.meter
        began = meter.time()
        sample = self.dataset[index]
        took = meter.time() - began
        try:
            meter.library.sample(operator.index(index), max(0, took))
        except Exception:  # no number, or several as in a tensor
            pass
        return sample

    def __getattr__(self, name):
        return getattr(self.dataset, name)


def key_of(dataset):
    """Tells the data sets of a program apart, alike in every process: by class, length and
    transforms; never 0."""
    try:
        length = len(dataset)
    except Exception:  # it has none, or only a program knows why
        length = 0
    names = sorted(map(str, Walk(dataset).names.values()))
    return zlib.crc32(f"{type(dataset).__qualname__} {length} {names}".encode()) or 1


def is_like(one, other):
    """True of a data set, and of one that the program made anew: torch's own classes, which
    have others in them, may have anything."""
    return (type(one) is type(other) and
            type(one).__module__.partition(".")[0] != "torch" and key_of(one) == key_of(other))


class Meter:
    """Looks at batches of one fetcher, whose data set has that key. The clock runs for one part
    at a time."""

    busy = False  # another one of this process looks at a batch

    def __init__(self, library, key):
        self.library, self.key = library, key
        self.patches = Patches()
        self.places, self.rows = {}, []  # name -> number of a part -> its place in the page
        self.calls, self.ns = [], []
        self.looks = self.off = False
        self.batches = self.credit = self.cost = self.call_ns = 0  # ns
        self.part = self.at = self.thread = self.since = 0
        self.io = None

    # -- the clock --

    def time(self):
        return now() - self.io.value

    def switch(self, part):
        """The time from here on is that part's. Returns whose it was."""
        at, was = now() - self.io.value, self.part
        self.ns[was] += at - self.at
        self.at, self.part = at, part
        return was

    def timed(self, plain, part, parts=None):
        """`parts` by the id of what is called; another thread is none of this."""
        def call(*args, **kwargs):
            mine = part if parts is None else parts.get(id(args[0]), part)
            if thread() != self.thread or mine == self.part:
                return plain(*args, **kwargs)
            was = self.switch(mine)
            self.calls[mine] += 1
            try:
                return plain(*args, **kwargs)
            finally:
                self.switch(was)
        return call

    def number(self, name):
        if name not in self.places:
            self.places[name] = len(self.rows)
            self.rows.append(self.library.part(name.encode()))
            self.calls.append(0)
            self.ns.append(0)
        return self.places[name]

    def measure_call(self):
        """What it takes to time one."""
        plain = len
        timed = self.timed(plain, self.number(COLLATE))
        times = []
        for call in (plain, timed):
            began = now()
            for _ in range(CALLS):
                call(())
            times.append(now() - began)
        self.call_ns = max(0, times[1] - times[0]) / CALLS
        self.calls, self.ns = [0] * len(self.calls), [0] * len(self.ns)

    # -- a batch --

    def begin(self, fetcher):
        self.batches += 1
        began = now()
        if self.batches > 1 and self.credit >= 0 and not self.off and not Meter.busy and \
                self.library.looks_at() == self.key:
            try:
                self.patch(fetcher)
            except Exception:  # the batch is made all the same
                self.off = True
                self.stop()
        self.since = began
        if self.looks:
            self.since = now()
            self.cost = self.since - began
            self.at = self.since - self.io.value

    def patch(self, fetcher):
        place = self.library.look()
        if not place:
            self.off = True
            return
        Meter.busy = self.looks = True
        self.io = ctypes.c_uint64.from_address(place)
        self.thread = thread()
        self.part = self.number(REST)
        if self.call_ns == 0:
            self.measure_call()
        self.patch_transforms(Walk(fetcher.dataset))
        image = getattr(sys.modules.get("PIL.ImageFile"), "ImageFile", None)
        if image is not None:
            self.patches.attribute(image, "load",
                                   self.timed(image.load, self.number(DECODE)))
        held = vars(fetcher)
        self.patches.item(held, "collate_fn",
                          self.timed(held["collate_fn"], self.number(COLLATE)))
        self.patches.item(held, "dataset", Watched(held["dataset"], self))

    def patch_transforms(self, walk):
        parts = {at: self.number(name) for at, name in walk.names.items()}
        plain = [(kind, kind.__call__) for kind in walk.classes
                 if inspect.getattr_static(kind, "__call__") is kind.__call__]  # not static
        for kind, call in plain:
            call = self.timed(call, self.number(kind.__name__), parts)
            try:
                self.patches.attribute(kind, "__call__", call)
            except (AttributeError, TypeError):  # a class that can't be changed
                pass
        for holder, key, name in walk.places:
            self.patches.item(holder, key, self.timed(holder[key], self.number(name)))

    def stop(self):
        self.patches.take_back()
        self.looks = Meter.busy = False

    def end(self, samples, ended):
        """It was made, at `ended`."""
        earned = LIMIT * (ended - self.since)
        if not self.looks:
            self.credit += earned
            return
        began = now()
        self.ns[self.part] += ended - self.io.value - self.at
        self.stop()
        self.calls[self.number(REST)] = samples
        called = sum(self.calls)
        took = (Took * len(self.rows))(*zip(self.rows, self.calls, self.ns))
        self.library.took(took, len(took) if samples else 0, samples)
        self.calls, self.ns = [0] * len(took), [0] * len(took)
        self.credit = earned - self.cost - called * self.call_ns - (now() - began)
