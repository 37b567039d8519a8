#!/usr/bin/python3
"""Data sets in tar shards: written by Python's tarfile in each format, they give the same
batches as the folders they were made from, by every engine, and are measured as these are.
Speaks TAP."""

import hashlib
import io
import json
import os
import sys
import tarfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "lib"))
sys.path.insert(0, os.path.join(HERE, "../loader/python"))
from house import BUILD, DSA, TRAIN, Scratch, Tap

os.environ["DSA_LIBRARY"] = os.path.join(BUILD, "libdsa.so")
for name in ("DSA_LOADER", "DSA_SESSION", "DSA_SHARE"):
    os.environ.pop(name, None)

PICTURES, SHARDS = 60, 4
FORMATS = {"ustar": tarfile.USTAR_FORMAT, "gnu": tarfile.GNU_FORMAT, "pax": tarfile.PAX_FORMAT}


def pictures(tree):
    """(class, name, bytes) in the order of paths."""
    for label in sorted(os.listdir(tree)):
        for name in sorted(os.listdir(os.path.join(tree, label))):
            with open(os.path.join(tree, label, name), "rb") as file:
                yield label, name, file.read()


def labelled(kind, label, number):
    return {"cls": f"{number}\n", "txt": label,
            "json": json.dumps({"caption": "é", "label": number})}[kind].encode()


def write(path, form, members):
    with tarfile.open(path, "w", format=FORMATS[form]) as archive:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))


def write_shards(scratch, form, kind, long_name=""):
    """A folder of shards, an equal part of the tree in each."""
    folder = scratch.folder(f"{form}-{kind}")
    found = list(pictures(scratch.at("images")))
    classes = sorted({label for label, _, _ in found})
    for shard in range(SHARDS):
        part = found[shard * len(found) // SHARDS:(shard + 1) * len(found) // SHARDS]
        members = []
        for label, name, data in part:
            key = f"{long_name}{label}/{name[:-4]}"
            members += [(key + ".jpg", data),
                        (f"{key}.{kind}", labelled(kind, label, classes.index(label)))]
        write(os.path.join(folder, f"train-{shard:03}.tar"), form, members)
    return folder


def epoch(dataset, **more):
    """Every number of every batch of two epochs."""
    import dsa

    seen = hashlib.sha256()
    with dsa.Loader(dataset, batch=16, size=32, seed=7, epochs=2, workers=2, in_order=True,
                    type="uint8", arrays="numpy", **more) as loader:
        for _ in range(2):
            for data, labels in loader:
                seen.update(data.tobytes() + labels.tobytes())
    return seen.hexdigest()


def test_batches(tap, scratch):
    tree = epoch(scratch.at("images"))
    tap.ok(tree != epoch(scratch.at("images"), evaluate=True), "batches differ when they should")
    for form, kind, long_name in (("ustar", "cls", ""), ("gnu", "txt", "long/" * 40),
                                  ("pax", "json", "ü" * 150)):
        folder = write_shards(scratch, form, kind, long_name)
        tap.ok(epoch(folder) == tree, f"{form} with .{kind} gives the batches of the folder")
    pattern = scratch.at("ustar-cls", f"train-{{000..{SHARDS - 1:03}}}.tar")
    for fetch in ("pread", "pread-direct", "uring", "uring-direct"):
        tap.ok(epoch(pattern, fetch=fetch) == tree, f"so does a pattern, read by {fetch}")
    whole = scratch.at("whole.tar")
    with tarfile.open(whole, "w") as archive:
        archive.add(scratch.at("images"), "some/where")
    tap.ok(epoch(whole) == tree,
           "so does an archive of the folder itself, whose folders are the classes")


def test_inspect(tap, scratch):
    told = [json.loads(scratch.run(DSA, "dataset", "inspect", "--full", "--json", name).stdout)
            for name in ("images", "ustar-cls")]
    for one in told:
        one.pop("path")
    named, numbered = (one.pop("classes") for one in told)
    tap.ok(told[0] == told[1] and told[0]["images"] == PICTURES,
           "inspect says of shards what it says of the folder", *told)
    tap.ok(len(named) == len(numbered), "with as many classes", named, numbered)


def test_measured(tap, scratch):
    done = scratch.run(DSA, "run", "--budget", "2s", "-o", "out", "--", TRAIN, "--dataset",
                       "ustar-cls", "--batch", 8, "--size", 32)
    with open(scratch.at("out", "run.json"), encoding="utf-8") as file:
        result = json.load(file)
    tap.ok(done.returncode == 0 and '"tar"' in json.dumps(result),
           "shards are measured as folders are", done.stderr)


def test_refused(tap, scratch):
    with open(scratch.at("ustar-cls", "train-001.tar"), "rb") as file:
        whole = file.read()
    with open(scratch.at("cut.tar"), "wb") as file:
        file.write(whole[:len(whole) // 2])
    with open(scratch.at("a.tar.gz"), "wb") as file:
        file.write(b"\x1f\x8b")
    for name, says in (("cut.tar", "cut short"), ("a.tar.gz", "is compressed")):
        done = scratch.run(DSA, "dataset", "inspect", name)
        tap.ok(done.returncode == 3 and says in done.stderr and done.stderr.count("\n") == 1,
               f"{name} is refused in one line", done.stderr)


def main():
    tap = Tap()
    with Scratch() as scratch:
        scratch.images(count=PICTURES, size="6K")
        os.environ["XDG_CACHE_HOME"] = scratch.environment["XDG_CACHE_HOME"]
        test_batches(tap, scratch)
        test_inspect(tap, scratch)
        test_measured(tap, scratch)
        test_refused(tap, scratch)
    tap.done()


main()
