#!/usr/bin/python3
"""Jobs and gates on a bucket, held against the requests that its server answered: one loader
for several jobs, jobs with loaders of their own, and counts that a change is judged by.
Speaks TAP. SLEEPS most of the time."""

import json
import os
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/lib")
from house import DSA, TRAIN, Scratch, Tap
from s3_server import S3Server
from shared_loader import JOB, SharedLoader, finish

COUNT, JOBS, EPOCHS = 120, 4, 2
tap = Tap()


class Bucket(S3Server):
    """A bucket that every program is told of, and nothing of it is kept from before."""

    def __init__(self, scratch, folder, **settings):
        super().__init__(scratch, folder, **settings)
        scratch.environment.update(AWS_ENDPOINT_URL_S3=self.url, HOME=scratch.path,
                                   XDG_CACHE_HOME=scratch.folder("cache-" + str(self.port)))

    def asked(self):
        """How many GETs were answered well, and the pages of listings that were."""
        rows = [row for row in self.log() if row.fault == "-"]
        pages = sum("max-keys=1000" in row.target for row in rows)
        return sum("list-type" not in row.target for row in rows), pages


def check_shared(scratch, folder):
    table = scratch.at("table")
    scratch.run(JOB, folder, "table=" + table)
    with Bucket(scratch, folder) as server:
        with SharedLoader(scratch, ["s3://bucket"], "--jobs", str(JOBS), "--leave", "--epochs",
                          str(EPOCHS), "--batch", "16") as loader:
            jobs = [loader.job("s3://bucket/", table, f"batch={7 + i}") for i in range(JOBS)]
            ended = [finish(job) for job in jobs]
            loader.process.wait(60)
        tap.ok(all(status == 0 and f"samples {EPOCHS * COUNT} epochs {EPOCHS}" in words
                   for status, words in ended) and "exactly once" in loader.verdict(),
               "each of 4 jobs gets each sample of a bucket once an epoch", *ended,
               loader.words())
        tap.ok(server.asked() == (EPOCHS * COUNT, 1), "by one GET a sample and one listing",
               server.asked())
    for mode in (["--decoded", "--epochs", "1"], ["--mode", "joader"]):
        with Bucket(scratch, folder) as server:
            places = ["s3://bucket/", "s3://bucket/checks"][:1 + (mode[0] == "--mode")]
            with SharedLoader(scratch, places, "--jobs", "2", "--leave", "--batch", "16", "--window",
                              "3", *mode) as loader:
                jobs = [loader.job("s3://bucket", table, f"batch={8 + i}", "epochs=1")
                        for i in range(2)]
                ended = [finish(job) for job in jobs]
                loader.process.wait(60)
            tap.ok(all(status == 0 and f"samples {COUNT} epochs 1" in words
                       for status, words in ended) and "exactly once" in loader.verdict() and
                   COUNT <= server.asked()[0] < 2 * COUNT, f"and so with {mode[0]}", *ended,
                   loader.words(), server.asked())


def check_ends(scratch, folder):
    """A shared loader of a server that wants signatures, and of one that refuses or dies."""
    keys = {"key": "AKIAIOSFODNN7EXAMPLE", "secret": "hidden"}
    table = scratch.at("table")
    scratch.environment["AWS_ACCESS_KEY_ID"] = keys["key"]
    for secret, settings, status, said in (
            ("hidden", {}, 0, ""),
            ("wrong", {}, 3, "SignatureDoesNotMatch"),
            ("hidden", {"die_after": COUNT // 2}, 3, "gave no answer for 0.4 s (deadline)")):
        begins = secret != "wrong"
        scratch.environment["AWS_SECRET_ACCESS_KEY"] = secret
        with Bucket(scratch, folder, **keys, **settings):
            with SharedLoader(scratch, ["s3://bucket"], "--jobs", "1", "--leave", "--epochs", "1",
                              "--deadline", "400ms", "--batch", "16") as loader:
                ended = finish(loader.job("s3://bucket/", table, "batch=8")) if begins else None
                loader.process.wait(60)
            tap.ok(loader.process.returncode == status and said in loader.words() and
                   (not begins or (ended[0] == 0) == (status == 0)) and
                   "hidden" not in loader.words(),
                   f"a shared loader of a server that {said or 'wants signatures'}", ended,
                   loader.process.returncode, loader.words())
    del scratch.environment["AWS_ACCESS_KEY_ID"], scratch.environment["AWS_SECRET_ACCESS_KEY"]


def check_run(scratch, folder):
    """Four jobs, each with a loader of its own, then all with one."""
    for more in (["--observe", "--steps", "20"], ["--share", "--max-requests", 100000]):
        with Bucket(scratch, folder, latency="60ms") as server:
            done = scratch.run(DSA, "run", "-q", "-o", "out", "--jobs", JOBS, "--budget", "4s",
                               "--workers", 1, *more, "--", TRAIN, "--dataset", "s3://bucket",
                               "--size", "32", "--batch", "8", "--emulate-gpu", "400", "--seed",
                               "{job}")
            server.stop()
            gets, pages = server.asked()
            result = scratch.result()
            asked = result["requests"]
            tap.ok(done.returncode == 0 and gets <= asked["gets"] <= gets + 64 * JOBS and
                   asked["listing"] == sum("list-type" in row.target for row in server.log()) >=
                   pages,
                   f"dsa run {more[0]} tells of all requests of 4 jobs", asked, gets, pages,
                   done.stderr)
            tap.ok(pages == 1, "which list it once, though they begin together", pages)
            if more == ["--share"]:
                tap.ok(asked["listing_age_s"] > 0 and
                       "to see whether the listing made" in scratch.run(DSA, "report", "out").stdout,
                       "the listing was kept, and its age is told", asked)


def check_sums(scratch, folder):
    """Of several launches, and of jobs that may not ask for what they wish."""
    for words in (["--protocol", "separate", "--budget", "4s", "--max-requests", "20000"],
                  ["--jobs", "2", "--budget", "20s", "--max-requests", "80"]):
        with Bucket(scratch, folder) as server:
            done = scratch.run(DSA, "run", "-o", "out", *words, "--", TRAIN, "--dataset",
                               "s3://bucket", "--size", "32", "--batch", "8", "--emulate-gpu",
                               "400")
            server.stop()
            asked = scratch.result()["requests"]
            tap.ok(asked["gets"] == server.asked()[0] > 0 and asked["most"] == int(words[-1]),
                   f"dsa run {words[0]}: requests are of all of them", asked, server.asked(),
                   done.stderr)


def gate(scratch, cache, *words):
    return scratch.run(DSA, "gate", "--baseline", "gate.json", *words, "--pairs", "0", "--samples",
                       "1000", "--cache", cache, "--", TRAIN, "--dataset", "s3://bucket/",
                       "--batch", "8", "--size", "32")


def check_gate(scratch):
    """Two epochs of 500 samples, the second from memory."""
    folder = scratch.images("gated", count=500, size="4K")
    whole = sum(os.path.getsize(os.path.join(top, name)) for top, _, files in os.walk(folder)
                for name in files)
    with Bucket(scratch, folder):
        done = gate(scratch, whole, "--update")
        with open(scratch.at("gate.json"), encoding="utf-8") as file:
            counted = json.load(file)["counted"]
        tap.ok(done.returncode == 0 and counted["opens"] + counted["hits"] == 1000 and
               500 <= counted["opens"] < 510,
               "a baseline of a bucket counts GETs that were wanted", counted, done.stderr)
        done = gate(scratch, whole)
        tap.ok(done.returncode == 0, "which are the same again", done.stdout, done.stderr)
        done = gate(scratch, whole - 1)
        tap.ok(done.returncode == 1 and "opens_per_sample" in done.stdout,
               "one GET more in 1,000 samples is found", done.stdout, done.stderr)
    with Bucket(scratch, folder, faults="slowdown:1%", seed=1) as server:
        done = gate(scratch, whole)
        faults = sum(row.fault != "-" for row in server.log() if "list-type" not in row.target)
        tap.ok(done.returncode == 0 and faults > 0, "requests that are sent again fail nothing",
               faults, done.stdout, done.stderr)


def check_convert(scratch, folder):
    """A token that expires in the middle ends dsa dataset convert, which goes on later."""
    keys = {"key": "AKIAIOSFODNN7EXAMPLE", "secret": "secret"}
    scratch.environment.update(AWS_ACCESS_KEY_ID=keys["key"], AWS_SECRET_ACCESS_KEY="secret")
    words = (DSA, "dataset", "convert", "--format=tree", "--threads=1", "s3://bucket", "copy")
    os.makedirs(scratch.at("copy"))
    with open(scratch.at("copy/.dsa-convert.part"), "w", encoding="ascii") as file:
        file.write("dsa data")  # it was killed while it began
    with Bucket(scratch, folder, expire_after=COUNT // 2, **keys):
        done = scratch.run(*words)
        made = [name for _, _, files in os.walk(scratch.at("copy")) for name in files
                if name.endswith(".jpg")]
        tap.ok(done.returncode == 3 and "ExpiredToken" in done.stderr and
               "the same command goes on" in done.stderr and done.stderr.count("\n") == 1 and
               0 < len(made) < COUNT and os.path.exists(scratch.at("copy/.dsa-convert")),
               "credentials that expire end a copy", done.stdout, done.stderr, len(made))
        done = scratch.run(DSA, "dataset", "inspect", "s3://bucket")
        tap.ok(done.returncode == 3 and "ExpiredToken" in done.stderr and
               done.stderr.count("\n") == 1, "and an inspection", done.stdout, done.stderr)
    with Bucket(scratch, folder, **keys) as server:
        done = scratch.run(*words)
        tap.ok(done.returncode == 0 and f"{COUNT} of {COUNT} pictures" in done.stdout and
               server.asked() == (COUNT - len(made), 1) and
               not os.path.exists(scratch.at("copy/.dsa-convert")),
               "the next call reads what is left", done.stdout, done.stderr, server.asked())
    later = shutil.copytree(folder, scratch.at("later"))
    os.link(os.path.join(later, "bricks", sorted(os.listdir(later + "/bricks"))[0]),
            os.path.join(later, "bricks", "new.jpg"))
    with Bucket(scratch, later, faults="forbidden:100%", only="checks", **keys):
        done = scratch.run(*words[:-1], "again")
        tap.ok(done.returncode == 3 and "may not be read" in done.stderr and
               "the same command goes on" in done.stderr and done.stderr.count("\n") == 1,
               "so does who may not read some of it", done.stdout, done.stderr)
    with Bucket(scratch, later, **keys):
        done = scratch.run(*words[:-1], "again")
        tap.ok(done.returncode == 0 and f"{COUNT + 1} of {COUNT + 1} pictures" in done.stdout,
               "a copy is of what the bucket has now, whatever was listed before", done.stdout,
               done.stderr)


def main():
    with Scratch() as scratch:
        folder = scratch.images(count=COUNT)
        check_shared(scratch, folder)
        check_ends(scratch, folder)
        check_run(scratch, folder)
        check_sums(scratch, folder)
        check_gate(scratch)
        check_convert(scratch, folder)
    tap.done()


main()
