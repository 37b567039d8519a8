#!/usr/bin/python3
"""Data sets in tar and TFRecord shards: written by Python, they give the same
batches as the folders they were made from, by every engine, from a bucket and a web server,
too, and are measured as these are. Speaks TAP."""

import ctypes
import gzip
import hashlib
import io
import json
import lzma
import os
import shutil
import struct
import subprocess
import sys
import tarfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "lib"))
sys.path.insert(0, os.path.join(HERE, "../loader/python"))
from house import BUILD, DSA, TRAIN, Scratch, Tap, wait_until
from s3_server import S3Server
from tfrecord import example, record

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


def write_records(scratch):
    """The same in TFRecord files, whose labels are numbers."""
    folder = scratch.folder("records")
    found = list(pictures(scratch.at("images")))
    classes = sorted({label for label, _, _ in found})
    for shard in range(SHARDS):
        path = os.path.join(folder, f"train-{shard:05}-of-{SHARDS:05}")
        with open(path, "wb") as file:
            for label, _, data in found[shard * len(found) // SHARDS:
                                        (shard + 1) * len(found) // SHARDS]:
                file.write(record(example({"image/height": 1, "image_raw": data, "mean": .5,
                                           "label": classes.index(label)})))
    return folder


def epoch(dataset, **more):
    """Every number of every batch of two epochs."""
    import dsa

    seen = hashlib.sha256()
    how = {"size": 32, "type": "uint8", "in_order": "shuffle" not in more, **more}
    how = {name: value for name, value in how.items() if value is not None}
    with dsa.Loader(dataset, batch=16, seed=7, epochs=2, workers=2, arrays="numpy",
                    **how) as loader:
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
    records = write_records(scratch)
    for fetch in ("pread-direct", "uring"):
        tap.ok(epoch(records, fetch=fetch) == tree, f"so do records, read by {fetch}")
    whole = scratch.at("whole.tar")
    with tarfile.open(whole, "w") as archive:
        archive.add(scratch.at("images"), "some/where")
    tap.ok(epoch(whole) == tree,
           "so does an archive of the folder itself, whose folders are the classes")


def test_inspect(tap, scratch):
    told = [json.loads(scratch.run(DSA, "dataset", "inspect", "--full", "--json", name).stdout)
            for name in ("images", "ustar-cls", "records")]
    for one in told:
        one.pop("path")
    tap.ok(told[2].pop("features") == "image_raw, label", "and which features records have")
    named, numbered, _ = (one.pop("classes") for one in told)
    tap.ok(told[0] == told[1] == told[2] and told[0]["images"] == PICTURES,
           "inspect says of shards what it says of the folder", *told)
    tap.ok(len(named) == len(numbered), "with as many classes", named, numbered)


def test_measured(tap, scratch):
    words = (DSA, "run", "--label-feature", "label", "--steps", 40, "--observe", "-o",
             "records-out", "--", TRAIN, "--dataset", "records", "--batch", 8, "--size", 32)
    done = scratch.run(*words)
    told = scratch.result("records-out")["configuration"].get("features")
    tap.ok(done.returncode == 0 and told == "image_raw, label" and told in done.stdout,
           "a feature can be named, and is told", done.stdout, done.stderr, told)
    done = scratch.run(*words[:3], "mean", *words[4:])
    tap.ok(done.returncode == 3 and "'mean' is no label" in done.stderr, "or refused", done.stderr)
    done = scratch.run(DSA, "run", "--budget", "2s", "-o", "out", "--", TRAIN, "--dataset",
                       "ustar-cls", "--batch", 8, "--size", 32)
    result = scratch.result()
    tap.ok(done.returncode == 0 and '"tar"' in json.dumps(result),
           "shards are measured as folders are", done.stderr)


def test_shared(tap, scratch):
    """A job that goes on alone reads the feature that its shared loader read as label."""
    import dsa
    folder = scratch.folder("numbers")
    with open(os.path.join(folder, "a.tfrecord"), "wb") as file:
        for at in range(400):
            file.write(record(example({"image": struct.pack("<II", at, 0), "label": 0,
                                       "fine": at % 10})))
    socket, how = scratch.at("loader"), {"prep": "raw", "size": 2, "batch": 4, "epochs": 1}
    server = subprocess.Popen([DSA, "serve", folder, "--socket", socket, "--window", "3",
                               "--batch", "4"], stderr=subprocess.DEVNULL,
                              env=dict(scratch.environment, DSA_LOADER="prep=raw,label_feature=fine"))
    wait_until(lambda: os.path.exists(socket))
    labels = []
    os.environ["DSA_LOADER"] = "alone=load"
    try:
        with dsa.Loader(folder, share=socket, **how) as loader:
            for batch in loader.batches():
                labels += zip(map(int, batch.samples), map(int, batch.labels))
                batch.release()
                server.kill()
            alone = loader.stats.shared
    finally:
        del os.environ["DSA_LOADER"]
        server.kill()
        server.wait()
    tap.ok(alone == 2 and len(labels) == 400 and all(at % 10 == label for at, label in labels),
           "labels stay the same where a job goes on alone", alone, labels[:5], labels[-5:])


def test_audio(tap, scratch):
    """Recordings in shards, as folders have them; their bytes come from anywhere."""
    scratch.run(DSA, "dataset", "make", "--format", "audio", "--count", 24, "--size-mean", "8K",
                "--classes", 3, "speech")
    for form in ("tar", "tfrecord"):
        scratch.run(DSA, "dataset", "convert", "--format", form, "--shard-size", "60K", "speech",
                    f"speech-{form}")
    how = {"prep": "audio", "seconds": .1, "rate": 8000, "size": None, "type": None}
    folder = epoch(scratch.at("speech"), **how)
    for form, fetch in (("tar", "pread"), ("tar", "uring-direct"), ("tfrecord", "uring")):
        tap.ok(epoch(scratch.at(f"speech-{form}"), fetch=fetch, **how) == folder,
               f"recordings in {form}, read by {fetch}, give the batches of the folder")
    with S3Server(scratch, scratch.at("speech-tar")) as server:
        os.environ["AWS_ENDPOINT_URL_S3"] = server.url
        tap.ok(epoch("s3://bucket/", **how) == folder, "so do those in a bucket")
    for name in os.listdir(scratch.at("speech-tar")):
        with open(scratch.at("speech-tar", name), "rb") as file:
            packed = gzip.compress(file.read())
        with open(os.path.join(scratch.folder("speech-gz"), f"{name}.gz"), "wb") as file:
            file.write(packed)
    done = scratch.run(DSA, "dataset", "convert", "--format", "tar", "speech-gz", "speech-again")
    tap.ok(done.returncode == 0 and epoch(scratch.at("speech-again"), **how) == folder,
           "and those that were unpacked", done.stderr)


def test_tokens(tap, scratch):
    """Ranges of objects are windows, as those of files are."""
    scratch.run(DSA, "dataset", "make", "--format", "tokens", "--count", 6, "--size-mean", "8K",
                "--classes", 2, "text")
    text = scratch.at("text")
    how = {"prep": "tokens", "length": 63, "size": None, "type": "int32"}
    windows = sum((os.path.getsize(os.path.join(folder, name)) // 2 - 1) // 63
                  for folder, _, names in os.walk(text) for name in names)
    os.link(os.path.join(text, "topic-00/000000.u16"), os.path.join(text, "one.u16"))
    one = epoch(os.path.join(text, "one.u16"), **how)
    os.unlink(os.path.join(text, "one.u16"))
    folder = epoch(text, **how)
    with S3Server(scratch, text) as server:
        os.environ["AWS_ENDPOINT_URL_S3"] = server.url
        tap.ok(epoch("s3://bucket/", **how) == folder,
               "windows of objects in a bucket are those of the folder")
        objects = sum(name.endswith(".u16") for _, _, names in os.walk(text) for name in names)
        tap.ok(len(server.log()) == 1 + 2 * objects,
               "in order neighbours, which have a token in common, are one request",
               len(server.log()), objects)
        for shuffle, most in (("blocks", 2 * objects), ("global", 2 * windows)):
            before = len(server.log())
            got = epoch("s3://bucket/", shuffle=shuffle, **how)
            asked = len(server.log()) - before - 1
            tap.ok(got == epoch(text, shuffle=shuffle, **how) != folder and
                   (asked == most if shuffle == "global" else asked <= most),
                   f"shuffled by {shuffle}: the windows of the folder", asked, most)
        how["cache_dir"], how["cache_size"] = scratch.at("token-cache"), "50M"
        first = epoch("s3://bucket/", **how)
        before = len(server.log())
        again = epoch("s3://bucket/", **how)
        more = [row.target for row in server.log()[before:]]
        tap.ok(first == folder == again and len(more) == 1, "a cache on disk has them then",
               first == folder, again == folder, *more)
        del how["cache_dir"], how["cache_size"]
        os.rename(os.path.join(text, "topic-00/000000.u16"), os.path.join(text, "one.u16"))
        tap.ok(epoch("s3://bucket/one.u16", **how) == one, "so are those of one object")
        with open(os.path.join(text, "list.txt"), "w", encoding="ascii") as file:
            file.write("topic-01/000001.u16 b\ntopic-00/000002.u16 a\n")
        tap.ok(epoch(os.path.join(text, "list.txt"), **how) ==
               epoch(server.url + "/bucket/list.txt", **how), "and of a list on a web server")


def members_of(server):
    """Ranges of requests that were for samples, or for the index."""
    return [row for row in server.log() if row.method == "GET" and row.range != "-"]


def examined(scratch, dataset):
    """What dsa doctor finds of the requests for samples."""
    done = scratch.run(DSA, "doctor", "--json", dataset,
                       variables={"AWS_ENDPOINT_URL_S3": os.environ["AWS_ENDPOINT_URL_S3"]})
    return {one["check"]: one for one in json.loads(done.stdout)["checks"]}["requests"]


def test_bucket(tap, scratch, tree):
    folder = scratch.folder("bucket")
    for name in os.listdir(scratch.at("ustar-cls")):
        os.link(scratch.at("ustar-cls", name), os.path.join(folder, name))
    with S3Server(scratch, folder) as server:
        os.environ["AWS_ENDPOINT_URL_S3"] = server.url
        tap.ok(epoch("s3://bucket/") == tree, "shards in a bucket give the batches of the folder")
        listings = [row for row in server.log() if "list-type" in row.target]
        index = len(members_of(server)) - 2 * SHARDS
        tap.ok(len(listings) == 1 and SHARDS <= index <= 4 * SHARDS and
               len(server.log()) == 1 + index + 2 * SHARDS,
               "by one listing, a few reads a shard to index it, and one an epoch", index)
        before = len(server.log())
        tap.ok(epoch("s3://bucket/") == tree and
               len(server.log()) == before + 1 + 2 * SHARDS, "an index that was kept reads none")
        before, found = len(server.log()), examined(scratch, "s3://bucket/")
        ranges = [row.range for row in server.log()[before:] if row.range != "-"]
        tap.ok(found["status"] == "ok" and len(set(ranges)) == len(ranges) == PICTURES,
               "dsa doctor asks for samples, not for shards", found, ranges)
        with open(os.path.join(folder, "0.txt"), "w", encoding="ascii") as file:
            file.writelines(["# shards\n", *(f"train-{i:03}.tar\n" for i in range(SHARDS))])
        for name in ("other.jpg", "train-100.tar"):
            os.link(os.path.join(folder, "train-001.tar"), os.path.join(folder, name))
        tap.ok(epoch(f"s3://bucket/train-{{000..{SHARDS - 1:03}}}.tar") == tree, "so does a pattern")
        tap.ok(epoch(server.url + "/bucket/0.txt") == tree, "so does a list on a web server")
        before = len(server.log())
        tap.ok(epoch(server.url + "/bucket/0.txt") == tree and
               len(server.log()) == before + 1 + 2 * SHARDS, "which is kept, too")
        tap.ok(epoch("s3://bucket/train-002.tar") == epoch(os.path.join(folder, "train-002.tar")),
               "so does one shard")
        os.unlink(os.path.join(folder, "train-001.tar"))
        with open(os.path.join(folder, "a.tar.gz"), "wb") as file:
            file.write(b"\x1f\x8b")
        for name, says in (("a.tar.gz", "is compressed"), ("train-{000..003}.tar",
                                                           "no shard 'train-001.tar'"),
                           ("other.tar", "no shard")):
            done = scratch.run(DSA, "dataset", "inspect", "s3://bucket/" + name,
                               variables={"XDG_CACHE_HOME": scratch.folder("no-cache"),
                                          "AWS_ENDPOINT_URL_S3": server.url})
            tap.ok(done.returncode == 3 and says in done.stderr and done.stderr.count("\n") == 1,
                   f"s3://bucket/{name} is refused in one line", done.stderr)


def counted(server, **more):
    """What batches hold, and the requests for samples."""
    before = len(members_of(server))
    return epoch("s3://bucket/", **more), len(members_of(server)) - before


def test_order(tap, scratch):
    """Neighbours that are wanted soon after each other are one request, and the same batches."""
    tree = scratch.at("images")
    with S3Server(scratch, scratch.at("ustar-cls")) as server:
        os.environ["AWS_ENDPOINT_URL_S3"] = server.url
        epoch("s3://bucket/")
        blocks, few = counted(server, shuffle="blocks")
        tap.ok(blocks == epoch(tree, shuffle="blocks") and few == 2 * SHARDS,
               "runs of neighbours are one request in each shard", few)
        shuffled, many = counted(server, shuffle="global")
        tap.ok(shuffled == epoch(tree, shuffle="global") != blocks and many == 2 * PICTURES,
               "a global shuffle asks for each sample", many)
        apart, many = counted(server, shuffle="blocks", read_gap=1)
        tap.ok(apart == blocks and many == 2 * PICTURES,
               "as does one in blocks where more lies between them than read_gap", many)
        kept = {"shuffle": "blocks", "cache_dir": scratch.at("kept"), "cache_size": "1G"}
        cached, few = counted(server, **kept)
        again, more = counted(server, **kept)
        tap.ok(cached == blocks == again and few <= 2 * SHARDS and more == 0,
               "a cache on disk has the samples of such a request", few, more, cached == blocks,
               again == blocks)
        ranks = sum(counted(server, shuffle="blocks", rank=rank, world=3)[1]
                    for rank in range(3))
        tap.ok(2 * SHARDS <= ranks < PICTURES, "ranks have some of the requests each", ranks)
    for fetch in ("pread-direct", "uring", "uring-direct"):
        tap.ok(epoch(scratch.at("ustar-cls"), shuffle="blocks", fetch=fetch) == blocks,
               f"{fetch} reads them so, too")
    tap.ok(epoch(scratch.at("records"), shuffle="blocks") == blocks, "and records")


def test_bound(tap, scratch):
    """Of requests for neighbours, of which a cache on disk has some."""
    with S3Server(scratch, scratch.at("ustar-cls")) as server:
        os.environ["AWS_ENDPOINT_URL_S3"] = server.url
        epoch("s3://bucket/", cache="minio", cache_dir=scratch.at("half"), cache_size="50%",
              shuffle="global")
        before, most = len(members_of(server)), 7
        done = scratch.run(DSA, "run", "-q", "-o", "bound", "--budget", "2s", "--max-requests", most,
                           "--shuffle", "blocks", "--cache-dir", "half", "--cache", "100%",
                           "--cache-policy", "minio", "--", TRAIN, "--dataset", "s3://bucket/",
                           "--batch", 4, "--size", 32, "--emulate-gpu", 400,
                           variables={"AWS_ENDPOINT_URL_S3": server.url})
        asked = len(members_of(server)) - before
        tap.ok(0 < asked <= most, "a request for each of them is within --max-requests", asked,
               done.stderr)


def test_records(tap, scratch, tree):
    """TFRecord files as shards.t has tar archives: in a bucket and on a web server."""
    folder = scratch.folder("bucket-records")
    names = [f"train-{i:05}-of-{SHARDS:05}" for i in range(SHARDS)]
    for name in names:
        os.link(scratch.at("records", name), os.path.join(folder, name))
    with S3Server(scratch, folder) as server:
        os.environ["AWS_ENDPOINT_URL_S3"] = server.url
        tap.ok(epoch("s3://bucket/") == tree, "records in a bucket give the batches of the folder")
        index = len(members_of(server)) - 2 * SHARDS
        tap.ok(SHARDS < index <= 4 * SHARDS + 1 and len(server.log()) == 1 + index + 2 * SHARDS,
               "by one listing, a few reads a shard to index it, and one an epoch", index)
        before = len(server.log())
        tap.ok(epoch("s3://bucket/") == tree and
               len(server.log()) == before + 1 + 2 * SHARDS, "an index that was kept reads none")
        found = examined(scratch, "s3://bucket/")
        tap.ok(found["status"] == "ok", "dsa doctor asks for records, too", found)
        with open(os.path.join(folder, "list"), "w", encoding="ascii") as file:
            file.writelines(name + "\n" for name in names)
        pattern = f"s3://bucket/train-{{00000..{SHARDS - 1:05}}}-of-{SHARDS:05}"
        tap.ok(epoch(pattern) == tree == epoch(server.url + "/bucket/list"),
               "so do a pattern and a list on a web server")
        tap.ok(epoch("s3://bucket/" + names[1]) == epoch(os.path.join(folder, names[1])),
               "so does one file")
        with open(os.path.join(folder, "a.tfrecord"), "wb"):
            pass
        done = scratch.run(DSA, "dataset", "inspect", "--json", "--relist", "s3://bucket/",
                           variables={"AWS_ENDPOINT_URL_S3": server.url})
        tap.ok(json.loads(done.stdout or "{}").get("images") == PICTURES,
               "a first shard without records is passed over", done.stdout, done.stderr)
        broken = bytearray(open(os.path.join(folder, names[2]), "rb").read())
        for at, name, says in ((3000, "data-0.tfrecord", "does not match its checksum"),
                               (4, "length-0.tfrecord", "the checksum of its length is wrong")):
            changed = bytearray(broken)
            changed[at] ^= 1
            with open(os.path.join(folder, name), "wb") as file:
                file.write(changed)
            done = scratch.run(DSA, "dataset", "inspect", "s3://bucket/" + name,
                               variables={"AWS_ENDPOINT_URL_S3": server.url})
            tap.ok(says in done.stdout + done.stderr, f"{name}: {says}", done.stdout, done.stderr)
        done = scratch.run(DSA, "dataset", "inspect", "--label-feature", "mean", pattern,
                           variables={"AWS_ENDPOINT_URL_S3": server.url})
        tap.ok(done.returncode == 3 and "'mean' is no label" in done.stderr and
               done.stderr.count("\n") == 1, "a feature that is none is refused in one line",
               done.stderr)


def kept(file, size):
    """Whether the kernel keeps all pages of a file."""
    libc = ctypes.CDLL(None)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + 3 * [ctypes.c_int] + [ctypes.c_long]
    pages = (ctypes.c_ubyte * (size // 4096))()
    start = ctypes.c_void_p(libc.mmap(None, size, 1, 1, file.fileno(), 0))
    libc.mincore(start, ctypes.c_size_t(size), pages)
    libc.munmap(start, ctypes.c_size_t(size))
    return all(page & 1 for page in pages)


def test_ahead(tap, scratch):
    """One batch of a large shard is asked for."""
    import dsa

    size = 64 << 20
    with open(scratch.at("large.u16"), "wb") as file:
        os.truncate(file.fileno(), size)
        for settings in "", "storage_latency=1us", "cache=none":
            os.environ["DSA_LOADER"], whole = settings, settings == ""
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            with open(file.name, "rb") as again, \
                    dsa.Loader(file.name, prep="tokens", batch=1) as loader:
                next(iter(loader))
                until = time.monotonic() + (20 if whole else .2)
                while not kept(again, size) and time.monotonic() < until:
                    time.sleep(.01)
                tap.ok(kept(again, size) == whole,
                       f"a shard is {'' if whole else 'not '}read ahead: {settings}")
        del os.environ["DSA_LOADER"]
    os.unlink(scratch.at("large.u16"))


def test_large(tap, scratch):
    """Members that are passed over, and a shard that another takes the place of."""
    big = os.urandom(2 << 20)
    folder = scratch.folder("large")
    write(os.path.join(folder, "x.tar"), "ustar",
          [(f"{i}.{kind}", big if kind == "jpg" else b"1") for i in range(4)
           for kind in ("jpg", "cls")])
    with S3Server(scratch, folder) as server:
        variables = {"AWS_ENDPOINT_URL_S3": server.url}
        done = scratch.run(DSA, "dataset", "inspect", "--json", "s3://bucket/", variables=variables)
        read = members_of(server)
        tap.ok(json.loads(done.stdout or "{}").get("images") == 4 and
               len([row for row in read if row.bytes < 1 << 20]) <= 6 and len(read) <= 10,
               "large members are not read to index them", done.stderr, *read)


def test_broken(tap, scratch):
    """A byte of a picture that has changed is a sample that can't be read."""
    path = scratch.at("records", f"train-00001-of-{SHARDS:05}")
    with open(path, "r+b") as file:
        file.seek(3000)
        byte = file.read(1)[0]
        file.seek(3000)
        file.write(bytes([byte ^ 1]))
    import dsa

    with dsa.Loader(scratch.at("records"), batch=8, size=32, epochs=1) as loader:
        count = sum(len(labels) for _, labels in loader)
        tap.ok((count, loader.stats.skipped) == (PICTURES - 1, 1), "a broken record is skipped",
               count, loader.stats)
    done = scratch.run(DSA, "dataset", "inspect", "records")
    tap.ok("train-00001-of-00004/0: the record does not match its checksum" in done.stdout,
           "and named by inspect", done.stdout)


def test_refused(tap, scratch):
    with open(scratch.at("ustar-cls", "train-001.tar"), "rb") as file:
        whole = file.read()
    with open(scratch.at("cut.tar"), "wb") as file:
        file.write(whole[:len(whole) // 2])
    with open(scratch.at("a.tar.gz"), "wb") as file:
        file.write(b"\x1f\x8b")
    with open(scratch.at("later.tfrecord"), "wb") as file:
        file.write(record(example({"image": b"x"})) + record(example({"image": b"y", "label": 1})))
    for name, says in (("cut.tar", "cut short"), ("a.tar.gz", "dsa dataset convert --format tar"),
                       ("later.tfrecord", "at byte 34 has a label, 'label', and the first")):
        done = scratch.run(DSA, "dataset", "inspect", name)
        tap.ok(done.returncode == 3 and says in done.stderr and done.stderr.count("\n") == 1,
               f"{name} is refused in one line", done.stderr)


def test_labels(tap, scratch):
    """Names of classes that are no words, or stand for no sample, keep their labels in shards."""
    picture = next(pictures(scratch.at("images")))[2]
    for name, classes in (("numbers", range(1, 13)), ("mixed", ("2020", "cats")),
                          ("blanks", ("a", "a ")), ("zeros", ("01", "1")), ("empty", "abc")):
        for at, label in enumerate(map(str, classes)):
            for copy in range(at % 2 + (name != "empty")):
                with open(os.path.join(scratch.folder(f"{name}/{label}"), f"{at}-{copy}.jpg"),
                          "wb") as file:
                    file.write(picture)
        scratch.folder(f"{name}/{label}")
        if name == "empty":
            scratch.folder("empty/a")
        for form in ("tar", "tfrecord"):
            done = scratch.run(DSA, "dataset", "convert", "--format", form, name, f"{name}-{form}")
            tap.ok(done.returncode == 0 and
                   epoch(scratch.at(f"{name}-{form}")) ==
                   epoch(scratch.at(name)),
                   f"{form}: labels of classes such as '{label}'", done.stderr)


def test_unpacked(tap, scratch, tree):
    """Compressed archives, which dsa dataset convert unpacks."""
    folder, words = scratch.folder("packed"), (DSA, "dataset", "convert", "--format")
    for at, pack in enumerate((gzip.compress, lzma.compress, gzip.compress, lzma.compress)):
        with open(scratch.at("ustar-cls", f"train-{at:03}.tar"), "rb") as file:
            packed = pack(file.read())
        with open(os.path.join(folder, f"train-{at:03}.tar.{('gz', 'xz')[at % 2]}"), "wb") as file:
            file.write(packed if at < SHARDS - 1 else packed[:-40])
    done = scratch.run(*words, "tar", folder, "unpacked")
    tap.ok(done.returncode == 3 and "train-003.tar.xz: xz could not" in done.stderr and
           done.stderr.count("\n") == 1 and len(os.listdir(scratch.at("unpacked"))) == SHARDS - 1,
           "one that is damaged ends it, and what was made stays", done.stderr)
    with open(os.path.join(folder, "train-003.tar.xz"), "wb") as file:
        file.write(packed)
    done = scratch.run(*words, "tar", folder, "unpacked")
    tap.ok(done.returncode == 0 and "3 of them there already" in done.stdout and
           epoch(scratch.at("unpacked")) == tree, "the next call gives the batches of the folder",
           done.stdout, done.stderr)
    os.utime(os.path.join(folder, "train-001.tar.xz"))
    done = scratch.run(*words, "tar", folder, "unpacked")
    tap.ok(done.returncode == 3 and "train-001.tar is there, and not made of it" in done.stderr,
           "an archive that has changed is not taken for what it was", done.stdout, done.stderr)
    os.rename(scratch.at("unpacked/train-001.tar"), scratch.at("unpacked/other.tar"))
    done = scratch.run(*words, "tar", folder, "unpacked")
    tap.ok(done.returncode == 3 and "other.tar, which is none of these" in done.stderr,
           "nor is what is made mixed with other files", done.stdout, done.stderr)
    shutil.copytree(scratch.at("images"), scratch.at("downloaded"))
    shutil.copy(os.path.join(folder, "train-000.tar.gz"), scratch.at("downloaded"))
    for form in ("tar", "tfrecord"):
        done = scratch.run(*words, form, "downloaded", f"downloaded-{form}")
        tap.ok(done.returncode == 0 and epoch(scratch.at(f"downloaded-{form}")) == tree,
               f"{form}: a folder of classes is one with an archive beside these, too",
               done.stdout, done.stderr)
        tap.ok("1 compressed archive in 'downloaded' is no part of the copy" in done.stderr,
               f"{form}: which is told to be left out", done.stderr)
    shutil.copytree(folder, scratch.at("with-list"))
    with open(os.path.join(scratch.folder("with-list", "meta"), "labels.txt"), "w",
              encoding="ascii") as file:
        file.write("cat\n")
    done = scratch.run(*words, "tar", "with-list", "listed")
    tap.ok(done.returncode == 0 and epoch(scratch.at("listed")) == tree,
           "archives are unpacked where a folder without samples lies beside them, too",
           done.stdout, done.stderr)
    shutil.copytree(folder, scratch.at("both"))
    shutil.copy(scratch.at("ustar-cls/train-003.tar"), scratch.at("both"))
    os.link(os.path.join(folder, "train-001.tar.xz"), os.path.join(folder, "train-000.tgz"))
    for command, says in (((*words, "tree", folder, "no"), "--format tar"),
                          ((*words, "tar", folder, "no"), "would be the same archive"),
                          ((*words, "tar", "both", "no"), "and train-003.tar is not"),
                          ((*words, "tar", "a.tar.gz", "no"), "gzip could not unpack it")):
        done = scratch.run(*command)
        tap.ok(done.returncode == 3 and says in done.stderr and done.stderr.count("\n") == 1,
               f"refused: {says}", done.stderr)


def main():
    tap = Tap()
    with Scratch() as scratch:
        scratch.images(count=PICTURES, size="6K")
        os.environ["XDG_CACHE_HOME"] = scratch.environment["XDG_CACHE_HOME"]
        test_batches(tap, scratch)
        test_inspect(tap, scratch)
        test_measured(tap, scratch)
        test_bucket(tap, scratch, epoch(scratch.at("images")))
        test_order(tap, scratch)
        test_bound(tap, scratch)
        test_records(tap, scratch, epoch(scratch.at("images")))
        test_shared(tap, scratch)
        test_audio(tap, scratch)
        test_tokens(tap, scratch)
        test_ahead(tap, scratch)
        test_large(tap, scratch)
        test_broken(tap, scratch)
        test_refused(tap, scratch)
        test_unpacked(tap, scratch, epoch(scratch.at("images")))
        test_labels(tap, scratch)
    tap.done()


main()
