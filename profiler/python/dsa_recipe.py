"""Whether libdsa could prepare what a program's data set does: a folder of JPEGs, through
torchvision's transforms. Nothing is imported, called or changed: the ops are looked at."""

import ctypes
import os
import re

from dsa_library import Recipe

LOOKED_AT = 64  # names of files
DEEP = 8  # data sets inside each other
IMAGENET = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
AS_THEY_ARE = (0, 0, 0), (1, 1, 1)
SAMPLERS = "RandomSampler", "SequentialSampler"
# What libdsa does, as the letters that ops have below: crop and flip of training, or resize
# and crop of evaluation; then numbers. Of torchvision's version 2 bytes come first.
RECIPES = r"((cf|fc)|rz)(b|t|tn|bt|btn)|b((cf|fc)|rz)(|t|tn)"


class Lacks(Exception):
    """What libdsa has not."""


def name_of(op):
    return getattr(op, "__name__", None) or type(op).__name__


def ops_of(transform):
    """Those of a Compose one after another."""
    inner = getattr(transform, "transforms", None)
    if type(transform).__name__ == "Sequential":
        inner = list(transform)
    if type(transform).__name__ not in ("Compose", "Sequential") or inner is None:
        return [transform]
    return [op for one in inner for op in ops_of(one)]


def side_of(size):
    """Of a square; 0: it is none."""
    sides = list(size) if isinstance(size, (list, tuple)) else [size, size]
    same = len(sides) == 2 and sides[0] == sides[1] and isinstance(sides[0], int)
    return sides[0] if same else 0


def near(a, b):
    return all(abs(x - y) < 1e-6 for x, y in zip(a, b))


def is_linear(op):
    how = getattr(op, "interpolation", None)
    return getattr(how, "value", how) in ("bilinear", 2, None)


def shorter_of(size):
    """What the shorter side is resized to; 0: both are given."""
    if isinstance(size, (list, tuple)):
        size = size[0] if len(size) == 1 else 0
    return size


class Reading:
    """The ops so far, a letter each, and what they say."""

    def __init__(self):
        self.letters, self.size, self.resize, self.resizes = "", 0, 0, None
        self.mean, self.std = AS_THEY_ARE

    def linear(self, op):
        self.need(is_linear(op), op, "interpolation")
        if "b" in self.letters:  # a picture is always resized by areas, a tensor if asked
            self.need(getattr(op, "antialias", None) is True, op, "antialias")

    def crop(self, op):
        self.linear(op)
        self.need(near(op.scale, (.08, 1)), op, "scale")
        self.need(near(op.ratio, (3 / 4, 4 / 3)), op, "ratio")
        self.size = self.square(op)
        return "c"

    def flip(self, op):
        self.need(op.p == .5, op, "p")
        return "f"

    def resized(self, op):
        self.linear(op)
        self.need(getattr(op, "max_size", None) is None, op, "max_size")
        self.resize, self.resizes = shorter_of(op.size), op
        self.need(self.resize, op, "size")
        return "r"

    def centre(self, op):
        self.size = self.square(op)
        if self.resize:
            self.need(self.resize == (self.size * 8 + 6) // 7, self.resizes, "size")
        return "z"

    def floats(self, op):
        self.need("float32" in str(getattr(op, "dtype", "float32")), op, "dtype")
        self.need(getattr(op, "scale", True), op, "scale")
        return "t"

    def normalised(self, op):
        self.mean, self.std = list(map(float, op.mean)), list(map(float, op.std))
        self.need(len(self.mean) == len(self.std) == 3, op, "mean")
        return "n"

    READ = {"RandomResizedCrop": crop, "RandomHorizontalFlip": flip, "Resize": resized,
            "CenterCrop": centre, "ToTensor": floats, "ConvertImageDtype": floats,
            "ToDtype": floats, "Normalize": normalised, "PILToTensor": lambda *_: "b",
            "ToImage": lambda *_: "b", "ToPureTensor": lambda *_: ""}

    def square(self, op):
        self.need(side_of(op.size), op, "size")
        return side_of(op.size)

    @staticmethod
    def need(good, op, what):
        if not good:
            raise Lacks(f"{name_of(op)}({what}={getattr(op, what)})")

    def read(self, ops):
        for op in ops:
            if type(op).__name__ not in self.READ:
                raise Lacks(name_of(op))
            self.letters += self.READ[type(op).__name__](self, op)
        names = ", ".join(map(name_of, ops)) or "no transform"
        if not re.search("[cz]", self.letters):
            raise Lacks(f"{names} without RandomResizedCrop or CenterCrop")
        if not re.fullmatch(RECIPES, self.letters):
            raise Lacks("the order " + names)


def check_data(it, dataset, around):
    """Beside its transforms."""
    if around:
        raise Lacks(around)
    own = type(dataset).__getitem__
    if own.__module__ != "torchvision.datasets.folder":
        raise Lacks(f"{type(dataset).__name__}.__getitem__")
    if name_of(dataset.loader) != "default_loader":
        raise Lacks(f"loader={name_of(dataset.loader)}")
    if dataset.target_transform is not None:
        raise Lacks("target_transform")
    for path, _ in dataset.samples[::max(1, len(dataset.samples) // LOOKED_AT)]:
        if not path.lower().endswith((".jpg", ".jpeg")):
            raise Lacks(os.path.splitext(path)[1] + " files")
    if name_of(it._collate_fn) != "default_collate":
        raise Lacks(f"collate_fn={name_of(it._collate_fn)}")
    sampler = type(getattr(it._index_sampler, "sampler", it._index_sampler)).__name__
    if sampler not in SAMPLERS:
        raise Lacks(sampler)


def code_of(it, dataset, reading):
    """What to write in place of the DataLoader."""
    words = [ascii(os.fspath(dataset.root)), f"batch={it._dsa_loads[1]}", f"size={reading.size}"]
    if "r" in reading.letters:
        words.append("evaluate=True")
    if type(it._index_sampler.sampler).__name__ == "SequentialSampler":
        words.append("in_order=True")
    if getattr(it, "_drop_last", False):
        words.append("drop_last=True")
    if "t" not in reading.letters:
        words.append('type="uint8"')
    elif not near(reading.mean + reading.std, sum(IMAGENET, ())):
        words.append(f"mean={tuple(reading.mean)}, std={tuple(reading.std)}")
    return f"dsa.Loader({', '.join(words)})"


def innermost(dataset):
    """What a Subset and the like are of, and the name of the first of these."""
    around = ""
    for _ in range(DEEP):
        if hasattr(dataset, "transform") or not hasattr(dataset, "dataset"):
            break
        around = around or type(dataset).__name__
        dataset = dataset.dataset
    return dataset, around


def what_lacks(check, *arguments):
    """What a check finds; None: nothing."""
    try:
        check(*arguments)
    except Lacks as lacks:
        return str(lacks)
    return None


def is_of_torchvision(thing):
    return type(thing).__module__.partition(".")[0] == "torchvision"


def recipe_of(it):
    """A struct hook_recipe; None: no transforms of pictures are known."""
    dataset, around = innermost(it._dsa_loads[0])
    ops = ops_of(getattr(dataset, "transform", None))
    if not any(map(is_of_torchvision, [dataset, *ops])) or ops == [None]:
        return None
    reading, recipe = Reading(), Recipe()
    lacks = what_lacks(check_data, it, dataset, around)
    ops_lack = what_lacks(reading.read, ops)
    if lacks or ops_lack:
        recipe.lacks = (lacks or ops_lack).encode("ascii", "backslashreplace")
    else:
        recipe.code = code_of(it, dataset, reading).encode("ascii", "backslashreplace")
        recipe.folder = os.path.abspath(os.fsencode(dataset.root))
    recipe.size, recipe.evaluate = reading.size, "r" in reading.letters
    recipe.bytes = "t" not in reading.letters
    return recipe


def tell(library, it):
    """True: libdsa has all of it."""
    try:
        recipe = recipe_of(it)
        if recipe is not None:
            library.recipe(ctypes.byref(recipe))
        return recipe is not None and not recipe.lacks
    except Exception:  # an op that is not what its name says: nothing is known of it
        return False
