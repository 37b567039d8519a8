#!/usr/bin/python3
"""A cache on local disk before a bucket, and before a tree: a second run asks for nothing,
whatever killed the first one; what changed, is torn or can't be kept is read where it comes
from. Speaks TAP. SOAK=1: 100 seeded kills instead of 4."""

import os
import random
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/lib")
from house import BUILD, Scratch, Tap, wait_until
from s3_server import S3Server

KILLS = 100 if os.environ.get("SOAK") else 4
DUMP = os.path.join(BUILD, "tests/tool/batch_dump")
COUNT = 40
LOADER = "prep=raw,size=64,batch=8,epochs={},workers=2,cache_size={},cache_dir={}"

tap = Tap()


class Job:
    """A program that reads a data set through a cache."""

    def __init__(self, scratch, server):
        self.scratch, self.server = scratch, server
        self.cache = scratch.at("disk")
        self.variables = {"AWS_ENDPOINT_URL_S3": server.url, "HOME": scratch.path}

    def start(self, more="", size="100M", epochs=1, dataset="s3://bucket/"):
        return subprocess.Popen(
            [DUMP, dataset, self.scratch.at("table")], text=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={**self.scratch.environment, **self.variables,
                 "DSA_LOADER": LOADER.format(epochs, size, self.cache) + more})

    def run(self, *args, **more):
        """(what came, objects asked for); what was said, where nothing came."""
        before = len(self.gets())
        with self.start(*args, **more) as process:
            out, said = process.communicate()
        if process.returncode != 0:
            return said, len(self.gets()) - before
        with open(self.scratch.at("table"), "rb") as file:
            return (file.read(), out), len(self.gets()) - before

    def gets(self):
        return [row for row in self.server.log() if "list-type" not in row.target]

    def files(self):
        """Of the cache: those of samples."""
        return sorted(os.path.join(folder, name) for folder, _, names in os.walk(self.cache)
                      for name in names if name != "dsa-cache")


def size_of(paths):
    return sum(-(-os.path.getsize(path) // 4096) * 4096 for path in paths)


def check_runs(job):
    """Returns what a run without a cache gives."""
    plain, _ = job.run(more=",cache=none")
    got, gets = job.run()
    tap.ok(got == plain and gets == COUNT and len(job.files()) == COUNT,
           "a first run asks for each sample once, and keeps it", got, gets, len(job.files()))
    got, gets = job.run()
    tap.ok(got == plain and gets == 0, "a second run asks for none", gets)
    return plain


def check_spoilt(job, plain):
    files = job.files()
    with open(files[0], "r+b") as file:
        file.truncate(100)
    with open(files[1], "r+b") as file:
        file.seek(1000)
        file.write(b"???")
    shutil.copyfile(files[2], files[3])
    os.unlink(files[4])
    os.symlink("/etc/passwd", files[4])
    got, gets = job.run()
    tap.ok(got == plain and gets == 4 and job.files() == files,
           "four that are torn or foreign are asked for again", gets)


def check_changed(job, folder, plain):
    name = os.path.join(folder, sorted(os.listdir(folder))[0])
    name = os.path.join(name, sorted(os.listdir(name))[0])
    with open(name, "r+b") as file:
        file.write(b"\xff\xd8\xff\xe1")
        file.seek(3000)
        file.write(b"other bytes")
    got, gets = job.run(more=",relist=1")
    tap.ok(gets == 1 and got not in (plain,) and isinstance(got, tuple),
           "an object with another ETag is asked for, and no other", gets, got)
    again, gets = job.run(more=",relist=1")
    tap.ok(again == got and gets == 0, "and kept then", gets)
    return got


def check_kills(job, plain):
    """Killed at any moment, it leaves nothing that is wrong."""
    wrong = []
    for seed in range(KILLS):
        rng = random.Random(seed)
        if seed % 4 == 0:
            shutil.rmtree(job.cache)
        policy = rng.choice(["minio", "lru", "fifo"])
        process = job.start(f",cache={policy}", epochs=50, size="60%")
        wanted = len(job.gets()) + rng.randrange(1, COUNT)
        wait_until(lambda p=process, n=wanted: len(job.gets()) >= n or
                   p.poll() is not None or len(job.files()) >= COUNT // 2)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        got, _ = job.run(f",cache={policy}", size="60%")
        if got != plain:
            wrong.append(seed)
        if os.listdir(os.path.join(job.cache, "new")):
            wrong.append(f"{seed}: begun files are left")
    tap.ok(not wrong, f"{KILLS} runs that are killed leave a sound cache", wrong)


def check_bound(job, plain):
    """Two at once, by different policies."""
    shutil.rmtree(job.cache)
    bound = size_of([os.path.join(folder, name) for folder, _, names in
                     os.walk(job.scratch.at("data")) for name in names]) // 2
    both = [job.start(f",cache={policy}", size=str(bound), epochs=4)
            for policy in ("lru", "fifo")]
    said = [process.communicate()[1] for process in both]
    tap.ok(all(process.returncode == 0 for process in both) and
           0 < size_of(job.files()) <= bound, "two programs at once keep the bound", said,
           size_of(job.files()), bound)
    got, gets = job.run(size=str(bound), more=",cache=lru")
    tap.ok(got == plain and 0 < gets <= COUNT, "and the next has the rest from the bucket", gets)


def check_full(job, plain):
    """On a file system of its own, which has room for some."""
    shutil.rmtree(job.cache)
    os.mkdir(job.cache, 0o700)
    inside = 'mount -t tmpfs -o size=1200k,mode=700 none "$0" && "$@" && du -sk "$0"'
    before = len(job.gets())
    done = job.scratch.run(
        "unshare", "-rm", "sh", "-c", inside, job.cache, DUMP, "s3://bucket/",
        job.scratch.at("table"), variables={
            **job.variables, "DSA_LOADER": LOADER.format(2, "100M", job.cache)})
    if "mount:" in done.stderr or "unshare:" in done.stderr:
        tap.skip("a disk that is full ends caching, not training", done.stderr.strip())
        return
    with open(job.scratch.at("table"), "rb") as file:
        got = file.read()
    kept = int(done.stdout.splitlines()[-1].split()[0])
    tap.ok(done.returncode == 0 and got.startswith(plain[0]) and
           len(job.gets()) - before > COUNT and kept > 900,
           "a disk that is full ends caching, not training", done.stderr, kept)


def check_full_evicts(job, plain):
    """The same by lru, which goes on within what the disk has room for."""
    inside = 'mount -t tmpfs -o size=1200k,mode=700 none "$0" && "$@" && '         'od -An -tu8 -j32 -N8 "$0/dsa-cache"'  # evicted
    before = len(job.gets())
    done = job.scratch.run(
        "unshare", "-rm", "sh", "-c", inside, job.cache, DUMP, "s3://bucket/",
        job.scratch.at("table"), variables={
            **job.variables, "DSA_LOADER": LOADER.format(3, "100M", job.cache) + ",cache=lru"})
    if "mount:" in done.stderr or "unshare:" in done.stderr:
        tap.skip("a disk that is full makes lru evict", done.stderr.strip())
        return
    with open(job.scratch.at("table"), "rb") as file:
        got = file.read()
    tap.ok(done.returncode == 0 and got.startswith(plain[0]) and
           len(job.gets()) - before > COUNT and int(done.stdout.split()[-1]) > 0,
           "a disk that is full makes lru evict", done.stderr, done.stdout[-80:])


def check_refused(job):
    os.makedirs(job.scratch.at("mine", "ab"))
    with open(job.scratch.at("mine", "ab", "x"), "w", encoding="ascii") as file:
        file.write("x")
    for more, words in ((f",cache_dir={job.scratch.at('mine')}", "name an empty folder"),
                        (",cache=page", "minio, lru or fifo"),
                        (",cache_size=0", "Set cache_size")):
        got, _ = job.run(more=more)
        tap.ok(isinstance(got, str) and words in got and got.count("\n") == 1,
               f"refused: {words}", got)


def check_tree(job, folder):
    """A tree is kept, too, until its files change."""
    shutil.rmtree(job.cache)
    plain, _ = job.run(dataset=folder, more=",cache=none")
    first, _ = job.run(dataset=folder)
    kept = len(job.files())
    again, _ = job.run(dataset=folder)
    tap.ok(plain == first == again and kept == COUNT, "a tree is kept, too", kept)


def main():
    with Scratch() as scratch:
        folder = scratch.images("data", count=COUNT, size="30K")
        with S3Server(scratch, folder) as server:
            job = Job(scratch, server)
            plain = check_runs(job)
            check_spoilt(job, plain)
            plain = check_changed(job, folder, plain)
            check_kills(job, plain)
            check_bound(job, plain)
            check_refused(job)
            check_full(job, plain)
            check_full_evicts(job, plain)
            check_tree(job, folder)
    tap.done()


main()
