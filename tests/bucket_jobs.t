#!/usr/bin/python3
"""Jobs and gates on a bucket, held against the requests that its server answered: one loader
for several jobs, jobs with loaders of their own, and counts that a change is judged by.
Speaks TAP. SLEEPS most of the time."""

import json
import os
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


def main():
    with Scratch() as scratch:
        folder = scratch.images(count=COUNT)
        check_shared(scratch, folder)
    tap.done()


main()
