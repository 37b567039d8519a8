#!/usr/bin/python3
"""Every value is within one level of 255 of what Pillow makes of the same crop.

Speaks TAP. Pictures of many sizes, samplings and kinds are made here, prepared by
tests/tool/prep_dump, and by Pillow as torchvision uses it: exif_transpose, crop,
resize(BILINEAR); for evaluation resize of the short side to 256, crop of the centre.
"""
import os
import subprocess
import sys
import tempfile

try:
    import numpy
    from PIL import Image, ImageOps
except ImportError as missing:
    print("1..0 # SKIP", missing)
    sys.exit()

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.environ.get("BUILD", HERE + "/../build/plain")
SIDE = 224

# Width, height, mode, and what Pillow's encoder takes.
KINDS = [
    (width, height, "RGB", {"quality": quality, "subsampling": sampling})
    for width, height in ((500, 375), (375, 500), (333, 251), (97, 143), (1201, 799))
    for quality, sampling in ((91, 2), (75, 1), (95, 0))
] + [
    (1, 1, "RGB", {}),
    (2, 3, "RGB", {}),
    (17, 400, "RGB", {}),
    (1999, 31, "RGB", {}),
    (2500, 1700, "RGB", {"quality": 80}),
    (223, 225, "RGB", {"progressive": True}),
    (640, 480, "RGB", {"progressive": True, "subsampling": 0}),
    (301, 203, "L", {}),
    (640, 427, "L", {"progressive": True}),
    (256, 199, "CMYK", {}),
    (511, 300, "CMYK", {"quality": 95}),
] + [(320, 241, "RGB", {"orientation": turn}) for turn in range(1, 9)]


def picture(width, height, bands, rng):
    """Shades of several scales, noise, and hard edges."""
    image = numpy.zeros((height, width, bands))
    for scale in (3, 7, 20, 60):
        coarse = rng.uniform(-40, 40, (scale, scale, bands))
        rows = numpy.arange(height) * scale // height
        columns = numpy.arange(width) * scale // width
        image += coarse[rows][:, columns]
    image += 128 + rng.normal(0, 12, image.shape)
    return image.clip(0, 255).astype(numpy.uint8)


def save(path, kind, rng):
    width, height, mode, options = kind
    options = dict(options)
    bands = {"RGB": 3, "L": 1, "CMYK": 4}[mode]
    pixels = picture(width, height, bands, rng)
    image = Image.fromarray(pixels[..., 0] if mode == "L" else pixels, mode)
    if "orientation" in options:
        exif = Image.Exif()
        exif[0x0112] = options.pop("orientation")
        options["exif"] = exif
    image.save(path, "JPEG", **options)


def trained(image, words):
    left, top, width, height, flip = words
    image = image.crop((left, top, left + width, top + height))
    image = image.resize((SIDE, SIDE), Image.BILINEAR)
    return ImageOps.mirror(image) if flip else image


def evaluated(image, _):
    shorter = min(image.size)
    size = [256 * side // shorter for side in image.size]
    left, top = (round((side - SIDE) / 2) for side in size)
    image = image.resize(size, Image.BILINEAR)
    return image.crop((left, top, left + SIDE, top + SIDE))


def difference(path, mode, words, out):
    image = ImageOps.exif_transpose(Image.open(path)).convert("RGB")
    want = numpy.asarray((evaluated if mode == "evaluate" else trained)(image, words))
    got = numpy.fromfile(out, numpy.uint8).reshape(SIDE, SIDE, 3)
    return numpy.abs(got.astype(int) - want).max(), (got != want).mean()


def main():
    rng = numpy.random.default_rng(2021)
    with tempfile.TemporaryDirectory() as scratch:
        tasks = []
        for number, kind in enumerate(KINDS):
            path = f"{scratch}/{number}.jpg"
            save(path, kind, rng)
            for mode, seed in (("train", number), ("train", number + 1000),
                               ("evaluate", 0)):
                tasks.append((mode, seed, f"{scratch}/{len(tasks)}.out", path, kind))
        dump = subprocess.run(
            [BUILD + "/tests/tool/prep_dump"], text=True, stdout=subprocess.PIPE,
            input="".join("%s %d %s %s\n" % task[:4] for task in tasks), check=True)
        lines = dump.stdout.splitlines()
        print(f"1..{len(tasks)}")
        failed = len(lines) != len(tasks)
        for number, (task, line) in enumerate(zip(tasks, lines), 1):
            mode, _, out, path, kind = task
            name = f"{mode} {kind[0]}x{kind[1]} {kind[2]} {kind[3]} {line}"
            if line.startswith("failed"):
                worst, share = 256, 1
            else:
                worst, share = difference(path, mode, list(map(int, line.split())), out)
            good = worst <= 1
            failed |= not good
            print(f"{'' if good else 'not '}ok {number} - {name}:"
                  f" {share:.1%} differ, by {worst} at the most")
    sys.exit(failed)


main()
