#!/usr/bin/python3
"""A bucket: what is left of the waiting, and how fast objects come beside `curl --parallel`.

usage: bucket.py [--small]

The server is the one of tests/tool, pinned to the last core, on 127.0.0.1; its share of that
core is told. Waiting: 55 ms a GET, 100 kB objects, a program that computes 13 ms a sample, as
DELI's does; one blocking GET after the other against libdsa, which finds by itself how many
requests to have in flight. Rates: curl and libdsa in turn, each with as many requests at once;
the listing is kept before them. Of libdsa the second epoch of a loader counts, as all that
follow it: in the first one its memory is new, which curl needs none of.
--small: a twentieth of the objects, to see that it works."""

import http.client
import os
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../lib"))
sys.path.insert(0, os.path.join(HERE, "../../loader/python"))
from house import BUILD, Scratch
from s3_server import S3Server

os.environ["DSA_LIBRARY"] = os.path.join(BUILD, "libdsa.so")
LATENCY, COMPUTE, BATCH, AT_ONCE = .055, .013, 32, 64
SMALL = "--small" in sys.argv[1:]
PAIRS = 2 if SMALL else 7


def objects(scratch, name, count, size):
    """A class of `count` objects, none of which compresses."""
    folder = scratch.folder(name, "a")
    block = os.urandom(size + count)
    for i in range(count):
        with open(os.path.join(folder, f"{i:06}.jpg"), "wb") as file:
            file.write(block[i:i + size])
    return scratch.at(name)


class Pinned(S3Server):
    """A server on one core, and how busy it was."""

    def __init__(self, *arguments, **settings):
        super().__init__(*arguments, **settings)
        self.core = max(os.sched_getaffinity(0))
        os.sched_setaffinity(self.process.pid, {self.core})
        os.environ["AWS_ENDPOINT_URL_S3"] = self.url

    def cpu_s(self):
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as file:
            words = file.read().rpartition(")")[2].split()
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def loader(size, epochs, **more):
    import dsa

    return dsa.Loader("s3://bucket/", prep="raw", type="uint8",
                      size=max(1, int((size / 3) ** .5)), batch=BATCH,
                      epochs=epochs, arrays="numpy", **more)


def epoch(size, compute_s=0., **more):
    """Seconds waited for batches, and all seconds, of one epoch."""
    waited = 0.
    with loader(size, 1, **more) as batches:
        began = last = time.monotonic()
        for _, labels in batches:
            now = time.monotonic()
            waited += now - last
            time.sleep(compute_s * len(labels))
            last = time.monotonic()
        return waited, time.monotonic() - began


def two_epochs(size):
    """Seconds of each of two epochs of one loader; a third one keeps it as busy."""
    seconds = []
    with loader(size, 3, fetch_depth=AT_ONCE) as batches:
        for _ in range(2):
            began = time.monotonic()
            for _ in batches:
                pass
            seconds.append(time.monotonic() - began)
    return seconds


def blocking(server, count):
    """Seconds of GETs one after the other, on one connection."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    began = time.monotonic()
    for i in range(count):
        connection.request("GET", f"/bucket/a/{i:06}.jpg")
        connection.getresponse().read()
    return time.monotonic() - began


def waiting(scratch):
    count = 64 if SMALL else 2048
    folder = objects(scratch, "waiting", count, 100000)
    with Pinned(scratch, folder, latency=f"{LATENCY * 1000:g}ms") as server:
        alone = blocking(server, min(count, 200)) / min(count, 200) * count
        waited, whole = epoch(100000, COMPUTE)
        gets = sum("list-type" not in row.target for row in server.log())
    print(f"55 ms a GET, {count} objects of 100 kB, {COMPUTE * 1000:g} ms of computing a sample\n"
          f"  one blocking GET after the other  {alone:8.2f} s of waiting\n"
          f"  libdsa, as deep as it finds good  {waited:8.2f} s of waiting in {whole:.2f} s\n"
          f"  the waiting falls by {100 * (1 - waited / alone):.1f} % (DELI: 93.5 %; wanted: 95 %)"
          f"; {gets - min(count, 200)} GETs for {count} samples")


def curl(scratch, server, count):
    """Seconds of curl for all of them."""
    path = scratch.at("curl.txt")
    with open(path, "w", encoding="ascii") as file:
        file.writelines(f'url = "{server.url}/bucket/a/{i:06}.jpg"\noutput = "/dev/null"\n'
                        for i in range(count))
    began = time.monotonic()
    subprocess.run(["curl", "-sS", "--parallel", "--parallel-max", str(AT_ONCE), "-K", path],
                   stderr=subprocess.DEVNULL, check=True)  # in parallel it shows its progress
    return time.monotonic() - began


def rates(scratch, count, size):
    folder = objects(scratch, f"rates-{size}", count, size)
    ratios, first, ours, theirs = [], [], [], []
    with Pinned(scratch, folder) as server:
        epoch(size, fetch_depth=AT_ONCE)  # the listing is kept from here on
        busy, began = server.cpu_s(), time.monotonic()
        for _ in range(PAIRS):
            theirs.append(count / curl(scratch, server, count))
            for kept, seconds in zip((first, ours), two_epochs(size)):
                kept.append(count / seconds)
            ratios.append(ours[-1] / theirs[-1])
        share = (server.cpu_s() - busy) / (time.monotonic() - began)
    print(f"{count} objects of {size // 1000} kB, {AT_ONCE} at once, {PAIRS} times\n"
          f"  curl --parallel {statistics.median(theirs):8.0f} objects/s\n"
          f"  libdsa          {statistics.median(ours):8.0f} objects/s; in its first epoch "
          f"{statistics.median(first):.0f}\n"
          f"  of curl's rate  {100 * statistics.median(ratios):8.0f} % "
          f"({100 * min(ratios):.0f} .. {100 * max(ratios):.0f}; wanted: 90 %); the server had "
          f"core {server.core} for {100 * share:.0f} % of the time")


def requests(scratch):
    """How often anything was asked for, as the server has it."""
    count = 300 if SMALL else 2500
    folder = objects(scratch, "requests", count, 1000)
    with Pinned(scratch, folder) as server:
        epoch(1000)
        rows = server.log()
    listings = sum("list-type" in row.target for row in rows)
    gets = [row.target for row in rows if row.method == "GET" and "list-type" not in row.target]
    print(f"{count} objects of 1 kB, one epoch, counted at the server\n"
          f"  listings {listings:8} (wanted: {-(-count // 1000)})\n"
          f"  GETs     {len(gets):8} (wanted: {count}), {len(gets) - len(set(gets))} twice "
          f"(wanted: 0)")


def limited(scratch):
    """The server's rate limits: of each second that takes, a share is waited for."""
    count, size, rate = 200 if SMALL else 1000, 100000, 4e6
    folder = objects(scratch, "limited", count, size)
    share = 1 - COMPUTE * rate / size
    with Pinned(scratch, folder, bandwidth=f"{rate / 1e6:g}M"):
        waited, whole = epoch(size, COMPUTE)
    print(f"{count} objects of 100 kB from {rate / 1e6:g} MB/s, {COMPUTE * 1000:g} ms of "
          f"computing a sample\n"
          f"  waiting, of the time {100 * waited / whole:6.1f} %; by arithmetic "
          f"{100 * share:.1f} % (wanted: within 2 points)")


def main():
    with Scratch() as scratch:
        os.environ["XDG_CACHE_HOME"] = scratch.environment["XDG_CACHE_HOME"]
        waiting(scratch)
        limited(scratch)
        requests(scratch)
        for count, size in ((20000, 10000), (2000, 1000000)):
            rates(scratch, count // 20 if SMALL else count, size)


main()
