#!/usr/bin/python3
"""Hits of the kernel's page cache under a memory limit are what the model predicts.

Speaks TAP. Runs ALONE, for other programs' pauses make the kernel balance its lists
later. The files are no pictures: the loader reads them and leaves them as they are.
SOAK=1: more of them, and a narrower margin.
"""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from house import HERE, Scratch, Tap, in_memory

SOAK = bool(os.environ.get("SOAK"))
COUNT, SIZE = 2000 if SOAK else 600, 110000


def main():
    tap = Tap()
    data = os.urandom(SIZE)
    with Scratch() as scratch:
        if in_memory(scratch.path):
            tap.skip("hits under a memory limit", "the files would lie in memory")
            tap.done()
        for number in range(COUNT):
            folder = scratch.folder("files", f"class{number % 10}")
            with open(os.path.join(folder, f"{number}.jpg"), "wb") as file:
                file.write(data)
        told = scratch.run(os.path.join(HERE, "bench/page_cache.py"), "--shares", ".5",
                           "--epochs", "4", "-o", scratch.at("page.json"),
                           scratch.at("files"), timeout=900)
        with open(scratch.at("page.json"), encoding="utf-8") as file:
            result = json.load(file)
    if "why" in result:
        tap.skip("hits under a memory limit", result["why"])
        tap.done()
    for row in result["rows"]:
        tap.ok(0.4 < row["share"] < 0.6, "the limit leaves half of the data", told.stdout)
        tap.ok(abs(row["error_points"]) < (5 if SOAK else 8), "hits are as predicted", told.stdout,
               told.stderr)
        tap.ok(row["share_as_hits_error_points"] > 15, "and not the share that is cached",
               told.stdout)
    tap.ok(len(result["rows"]) == 1, "there is one measurement", told.stderr)
    tap.done()


main()
