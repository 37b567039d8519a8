"""What a program's transforms make of some of its files in evaluation, for dsa to compare with
what libdsa makes of them. Random crops of two generators have nothing in common: in their
place stand torchvision's own ops that evaluate, with the same parameters."""

import itertools
import os
import sys
import time

from dsa_recipe import Reading, ops_of, side_of

MOST_S = .5  # the program ends meanwhile
MOST = 32  # IO_PICTURES


def evaluation_of(op):
    """What stands in its place."""
    name = type(op).__name__
    if name == "RandomHorizontalFlip":
        return []
    if name != "RandomResizedCrop":
        return [op]
    kinds, side = sys.modules[type(op).__module__], side_of(op.size)
    more = {"antialias": op.antialias} if hasattr(op, "antialias") else {}
    shorter = (side * 8 + 6) // 7
    return [kinds.Resize(shorter, interpolation=op.interpolation, **more),
            kinds.CenterCrop(side)]


def indices_in(batches):
    """The first ones, each once."""
    found = {}
    for batch in batches:
        found.update(dict.fromkeys(batch if isinstance(batch, (list, tuple)) else [batch]))
        if len(found) >= MOST:
            break
    return itertools.islice(found, MOST)


def pixels_of(sample, reading):
    """Bytes, whatever numbers they have become."""
    if sample.is_floating_point():
        mean, std = (sample.new_tensor(of).view(3, 1, 1) for of in (reading.mean, reading.std))
        sample = ((sample * std + mean) * 255).round().clamp(0, 255).byte()
    return sample.contiguous()


def send(library, dataset, batches):
    until, reading, ops = time.monotonic() + MOST_S, Reading(), ops_of(dataset.transform)
    reading.read(ops)
    ops = [twin for op in ops for twin in evaluation_of(op)]
    for index in indices_in(batches):
        path = os.path.abspath(os.fsencode(dataset.samples[index][0]))
        sample = dataset.loader(dataset.samples[index][0])
        for op in ops:
            sample = op(sample)
        pixels = pixels_of(sample, reading)
        if tuple(pixels.shape) != (3, reading.size, reading.size) or \
                library.picture(path, reading.size, pixels.data_ptr()) or \
                time.monotonic() > until:
            break


def give(library, dataset, batches):
    try:
        send(library, dataset, batches)
    except Exception:  # of the program's: nothing is compared beyond
        pass
