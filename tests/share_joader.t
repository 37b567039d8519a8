#!/usr/bin/python3
"""Jobs on data sets that overlap: each gets its own, exactly once an epoch, and what they
have in common is read once for all. Speaks TAP. SLEEPS most of the time."""

import json
import os
import re
import signal
import socket
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/lib")
from house import Scratch, Tap, children, end_all, wait_until
from shared_loader import JOB, SharedLoader, finish

COUNT = 1000  # samples of a data set

tap = Tap()


class Data:
    """A data set of hard links to some pictures of a pool, under classes of its own."""

    def __init__(self, scratch, name, pictures, classes):
        self.path = scratch.at(name)
        self.table = scratch.at(name + ".table")
        self.bytes = 0
        for at, picture in enumerate(pictures):
            folder = os.path.join(self.path, "%s%d" % (name, at % classes))
            os.makedirs(folder, exist_ok=True)
            # in another order than that of the pool
            os.link(picture, os.path.join(folder, "%05d.jpg" % (at * 7919 % 65536)))
            self.bytes += os.stat(picture).st_size
        scratch.run(JOB, self.path, "table=" + self.table)


class Loader(SharedLoader):
    """Of several data sets."""

    def __init__(self, scratch, datasets, *words):
        super().__init__(scratch, [data.path for data in datasets], "--mode", "joader",
                         "--cache-policy", "none", "--json", *words)

    def job(self, data, *words, loader=""):
        return super().job(data.path, data.table, *words, loader=loader)

    def had(self, count):
        """So many jobs have had samples."""
        return wait_until(lambda: self.process.poll() is not None or
                          sum(job["samples"] > 0
                              for job in self.status()["jobs"]) >= count)

    def end(self):
        """What it tells at its end, once its jobs have left or it was told to end."""
        out = self.process.communicate(timeout=120)[0]
        return json.loads(out)


def good(job, whole):
    status, words = finish(job)
    found = re.search(r"epochs (\d+)", words)
    return status == 0 and found is not None and int(found.group(1)) == whole, words


def half_in_common(scratch, one, other):
    epochs = 6000 // COUNT  # what is read ahead at the end is little then
    with Loader(scratch, [one, other], "--batch", "16", "--window", "4", "--jobs", "2",
                "--leave") as loader:
        jobs = [loader.job(one, "batch=16", "epochs=%d" % epochs),
                loader.job(other, "batch=24", "epochs=%d" % epochs)]
        results = [good(job, epochs) for job in jobs]
        told = loader.end()
        tap.ok(all(result for result, _ in results),
               "each job gets its own data set once an epoch, under its own numbers and "
               "labels", results, loader.words())
        tap.ok("exactly once in %d epochs of 2 jobs" % (2 * epochs) in loader.verdict(),
               "the audit finds the same", loader.verdict())
        tap.ok(told["datasets"] == [one.path, other.path] and
               told["dataset_samples"] == COUNT * 3 // 2,
               "what both have counts once", told)
        share = told["fetched_bytes"] / epochs / ((one.bytes + other.bytes) / 2)
        print("# read an epoch: %.3f of one data set by bytes, %.3f by samples" %
              (share, told["samples"] / epochs / COUNT))
        tap.ok(1.45 < share <= 1.55,
               "half in common: 1.5 data sets are read an epoch, not 2", share)


def other_sizes(scratch, one, other, few):
    with Loader(scratch, [one, other, few], "--batch", "16", "--window", "9") as loader:
        first = loader.job(one, "batch=64", "epochs=3", "hold=2")
        loader.had(1)
        late = [loader.job(few, "batch=7", "epochs=20"),
                loader.job(other, "batch=33", "epochs=2", "hold=3")]
        results = [good(first, 3), good(late[0], 20), good(late[1], 2)]
        tap.ok(all(result for result, _ in results),
               "jobs of other sizes, that come at other times", results)
        wait_until(lambda: all(job["state"] == "left" for job in loader.status()["jobs"]))
        loader.process.terminate()
        loader.end()
        tap.ok("exactly once in 25 epochs of 3 jobs" in loader.verdict(),
               "the audit finds the same", loader.verdict())


def mostly_broken(scratch):
    """One of five pictures is good: by chance it comes first in one epoch and last in the
    next."""
    pool = scratch.images("fives", count=5, size="6K")
    pictures = sorted(os.path.join(folder, name)
                      for folder, _, names in os.walk(pool) for name in names)
    for picture in pictures[1:]:
        os.truncate(picture, 100)
    data = Data(scratch, "broken", pictures, 1)
    with Loader(scratch, [data], "--batch", "1", "--window", "20") as loader:
        result, words = good(loader.job(data, "batch=8", "epochs=12"), 12)
        tap.ok(result, "one good sample in an epoch is enough", words, loader.words())


def killed_and_dropped(scratch, one, other, few):
    with Loader(scratch, [one, other, few], "--batch", "16", "--window", "5", "--slow", "0.3s",
                "--jobs", "3", "--leave") as loader:
        killed = loader.job(few, "batch=16", "epochs=10000")
        stopped = loader.job(one, "batch=16", "epochs=3", "rate=%d" % COUNT)
        stays = loader.job(other, "batch=16", "epochs=5", "rate=%d" % COUNT)
        loader.had(3)
        killed.kill()
        stopped.send_signal(signal.SIGSTOP)
        result, words = good(stays, 5)
        tap.ok(result, "beside a job that is killed and one that is stopped, others go on",
               words, loader.words())
        tap.ok(loader.words().count("goes on alone") == 1, "the stopped one is dropped",
               loader.words())
        stopped.send_signal(signal.SIGCONT)
        result, words = good(stopped, 3)
        tap.ok(result, "and goes on alone, where it was, with its own numbers", words,
               loader.words())
        loader.end()
        tap.ok("exactly once" in loader.verdict(), "the audit finds nothing else",
               loader.verdict())


def refusals(scratch, one, other, few):
    with Loader(scratch, [one, other], "--batch", "16") as loader:
        status, words = finish(loader.job(few, "batch=16"))
        tap.ok(status == 3 and few.path in words and one.path in words and
               other.path in words and len(words.splitlines()) == 1,
               "a job on another data set is refused, and told which there are", words)
    with Loader(scratch, [one], "--batch", "16", "--jobs", "9") as loader:
        tap.ok(loader.process.wait(60) == 3 and "at most 8" in loader.words(),
               "no more than 8 jobs", loader.words())


def killed_loader(scratch, one, other):
    for settings in ("", "takeover=1s"):
        with Loader(scratch, [one], "--batch", "16") as loader:
            job = loader.job(one, "batch=16", "epochs=100", "rate=4000", loader=settings)
            loader.had(1)
            loader.process.kill()
            status, words = finish(job)
            tap.ok(status == 3 and re.search(r"epoch \d+.*step \d+", words) and
                   "wrong 0 twice 0" in words,
                   "a job of a killed loader ends with an error that says where (%s)" %
                   (settings or "no settings"), status, words)
    with Loader(scratch, [one], "--batch", "16") as loader:
        job = loader.job(one, "batch=16", "epochs=3", "rate=400", loader="alone=load")
        loader.had(1)
        loader.process.kill()
        result, words = good(job, 3)
        tap.ok(result, "or loads by itself what it has not had", words)
    with Loader(scratch, [one, other], "--batch", "16", "--jobs", "2") as loader:
        jobs = [loader.job(data, "batch=16", "epochs=3", "rate=400",
                           loader="takeover=60s") for data in (one, other)]
        loader.had(2)
        loader.process.kill()
        loader.process.wait()
        with Loader(scratch, [other, one], "--batch", "16", "--takeover") as after:
            results = [good(job, 3) for job in jobs]
            tap.ok(all(result for result, _ in results),
                   "or takes that from the next loader", results, after.words())


def main():
    with Scratch() as scratch:
        pool = scratch.images("pool", count=COUNT * 3 // 2, size="6K")
        pictures = sorted(os.path.join(folder, name)
                          for folder, _, names in os.walk(pool) for name in names)
        one = Data(scratch, "one", pictures[:COUNT], 10)
        other = Data(scratch, "other", pictures[COUNT // 2:], 3)
        half_in_common(scratch, one, other)
        few = Data(scratch, "few", pictures[COUNT // 2:COUNT // 2 + 50], 1)
        for at in (COUNT // 2 + 7, 11):  # in all, and in one
            os.truncate(pictures[at], 100)
        for data in (one, other, few):
            os.unlink(data.table)
            scratch.run(JOB, data.path, "table=" + data.table)
        other_sizes(scratch, one, other, few)
        mostly_broken(scratch)
        killed_and_dropped(scratch, one, other, few)
        refusals(scratch, one, other, few)
        killed_loader(scratch, one, other)
        tap.ok(not children(), "nothing is left")
        end_all(children())
    tap.done()


if __name__ == "__main__":
    main()
