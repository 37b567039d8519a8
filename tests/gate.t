#!/usr/bin/python3
"""The gate on real launches: what it finds, what it does not, and every exit status.

Speaks TAP. SLEEPS most of the time. What is timed here is far from any limit;
bench/gate.py knows how near it can be.
"""
import json
import os
import re
import subprocess
import sys
import tarfile
import xml.etree.ElementTree

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "lib"))
from house import BUILD, DSA, TRAIN, Scratch, Tap
from s3_server import S3Server

ODD = os.path.join(BUILD, "tests/tool/odd_reads.so")
EXACT = ("--pairs", "0")
TIMED = ("--pairs", "6", "--repetition", ".2s")
FEW = ("--pairs", "2", "--repetition", ".2s")
GAP = 1024  # bytes, read_gap; what lies between samples whatever the archive

tap = Tap()


class Gate:
    """dsa gate on one data set."""

    def __init__(self, scratch):
        self.scratch = scratch
        self.images = scratch.images(count=1000, size="10K")
        self.baseline = scratch.at("gate.json")

    def train(self, *more, images=None, rate="2000"):
        return [TRAIN, "--dataset", images or self.images, "--emulate-gpu", rate, "--batch",
                "8", "--size", "32", *more]

    def run(self, *words, **environment):
        before = dict(self.scratch.environment)
        self.scratch.environment.update(environment)
        try:
            return self.scratch.run(DSA, "gate", *words, timeout=600)
        finally:
            self.scratch.environment = before

    def judge(self, *words, **environment):
        """Exact counts alone, by a loader with one way to read."""
        return self.run("--baseline", self.baseline, *EXACT, "--fetch", "pread-direct",
                        *words, "--", *self.train(), **environment)


def said(result):
    return (result.returncode, result.stdout, result.stderr)


def baselines(gate):
    result = gate.run("--baseline", gate.baseline, "--update", *FEW, "--fetch",
                      "pread-direct", "--", *gate.train())
    tap.ok(result.returncode == 0 and os.path.exists(gate.baseline),
           "a baseline is made", *said(result))
    with open(gate.baseline, encoding="utf-8") as file:
        text = file.read()
    first = json.loads(text)
    tap.ok(first["schema"] == "dsa.baseline/1" and len(first["sessions"]) == 1 and
           first["counted"]["samples"] == 1000, "with what was counted and timed", text[:500])
    result = gate.run("--baseline", gate.baseline, "--update", *FEW, "--fetch",
                      "pread-direct", "--", *gate.train())
    with open(gate.baseline, encoding="utf-8") as file:
        second = json.load(file)
    tap.ok(result.returncode == 0 and len(second["sessions"]) == 2 and
           second["sessions"][0] == first["sessions"][0], "another session is added",
           *said(result), first["sessions"], second["sessions"])
    exact = [{name: count for name, count in baseline["counted"].items()
              if not name.startswith("program_")} for baseline in (first, second)]
    tap.ok(exact[0] == exact[1], "and the counts are the same", *exact)


def written(gate, name, change):
    """The path of a copy of the baseline after change(copy)."""
    with open(gate.baseline, encoding="utf-8") as file:
        copy = json.load(file)
    change(copy)
    path = gate.scratch.at(name)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(copy, file)
    return path


def session(day, rate):
    return {"when": "2026-01-%02dT12:00:00Z" % day,
            "samples": {"samples_per_s": [rate + i for i in range(8)],
                        "fetch_stall": [.1] * 8, "prep_stall": [.2] * 8}}


def kept(gate):
    """Without a launch: what two files say of each other."""
    old = written(gate, "old.json", lambda copy: copy.update(
        sessions=[session(day, 1000 + day) for day in range(1, 7)]))
    new = written(gate, "new.json",
                  lambda copy: copy.update(sessions=[session(9, 900)]))
    words = ("--baseline", old, "--run", new)
    environment = {"DSA_OPT_MAX_REGRESSION": "20%"}
    result = gate.run(*words, **environment)
    tap.ok(result.returncode == 0, "10 % slower is within a limit of 20 %", *said(result))
    result = gate.run(*words, "--max-regression=5%", **environment)
    tap.ok(result.returncode == 1, "not within 5 %, and what is typed overrides the environment",
           *said(result))
    result = gate.run(*words, "--max-regression=5%", "--metric=samples_per_s=15%")
    tap.ok(result.returncode == 0, "a limit of its own goes before that of all",
           *said(result))
    hour = written(gate, "hour.json", lambda copy: copy.update(
        sessions=[session(1, 1000 + i) for i in range(6)]))
    result = gate.run("--baseline", hour, "--run", new, "--max-regression=5%")
    tap.ok(result.returncode == 0 and "info only" in result.stdout,
           "sessions of one hour don't know how a machine drifts", *said(result))
    less = written(gate, "less.json", lambda copy: copy["counted"].pop("opens"))
    result = gate.run("--baseline", less, "--run", new, *EXACT, "--inconclusive=pass")
    tap.ok(result.returncode == 4 and "not compared: opens_per_sample" in result.stdout,
           "what is missing never passes, --inconclusive=pass or not", *said(result))
    off = ["--metric=%s=off" % name for name in (
        "opens_per_sample", "reads_per_sample", "read_bytes_per_sample", "mean_read_bytes",
        "hits_per_sample", "decoded_pixels_per_sample", "skipped_samples", "data_stall")]
    result = gate.run("--baseline", hour, "--run", new, *off, "--inconclusive=pass")
    tap.ok(result.returncode == 4, "nor does what decides nothing", *said(result))
    few = written(gate, "few.json", lambda copy: copy.update(sessions=[
        {"when": "2026-01-01T12:00:00Z", "samples": {"fetch_stall": [.1], "prep_stall": [.3]}}]))
    result = gate.run("--baseline", few, "--alpha=.01", "--", "false")
    tap.ok(result.returncode == 2 and "--update the baseline" in result.stderr,
           "a baseline that can reach no level is told before a launch", *said(result))


def misused(gate):
    """What would switch the gate off, print nothing or hide a verdict."""
    for words, says in ((("--metric", "data_stall=5"), "=0.05"),
                        (("--max-regression", "10"), "5%"), (("--update", "--json"), "--update"),
                        (("--self-test", "--github"), "give none")):
        result = gate.run("--baseline", gate.baseline, *words, "--", "true")
        tap.ok(result.returncode == 2 and says in result.stderr, f"{' '.join(words)} is refused",
               *said(result))
    result = gate.run("--baseline", gate.baseline, "--run", gate.scratch.at("new.json"),
                      "--metric=data_stall=150%", "--junit", "/dev/full", "--markdown", gate.scratch.at("beside.md"))
    tap.ok(result.returncode == 3 and "/dev/full" in result.stderr and "data_stall" in result.stdout
           and os.path.getsize(gate.scratch.at("beside.md")) > 0,
           "a report that can't be written leaves the others, and the verdict", *said(result))
    result = gate.run("--baseline", gate.baseline, "--junit", gate.scratch.folder("it"), "--",
                      "true")
    tap.ok(result.returncode == 3 and "Is a directory" in result.stderr,
           "one that is a folder is told before", *said(result))


def impossible(gate):
    """A busy machine has moved time from one kind of window to another."""
    shares = {"fetch_stall": [-.406 + .02 * i for i in range(8)],
              "prep_stall": [1.34 - .02 * i for i in range(8)]}
    busy = written(gate, "busy.json", lambda copy: copy.update(
        sessions=[{"when": "2026-01-01T12:00:00Z", "samples": shares}]))
    for words in (("--run", gate.baseline), ("--update", *FEW, "--", *gate.train())):
        result = gate.run("--baseline", busy, *words)
        tap.ok(result.returncode == 3 and len(result.stderr.splitlines()) == 1 and
               "busy.json" in result.stderr and "2026-01-01T12:00:00Z" in result.stderr and
               "prep_stall is 127%" in result.stderr,
               "a baseline with impossible shares is refused", *said(result))
    noisy = written(gate, "noisy.json", lambda copy: copy.update(sessions=[
        {"when": "2026-01-01T12:00:00Z",
         "samples": {"fetch_stall": [-.6, .5, -.7, .4, -.5, .2, -.3, .1],
                     "prep_stall": [.3] * 8}}]))
    result = gate.run("--baseline", noisy, "--run", noisy)
    tap.ok(result.returncode in (0, 4), "unless noise alone explains them", *said(result))


def begins_anew(gate):
    """A program that reads otherwise is another one to a clock, too."""
    path = written(gate, "anew.json", lambda copy: None)
    result = gate.run("--baseline", path, "--update", *FEW, "--fetch", "pread-direct", "--",
                      *gate.train(), LD_PRELOAD=ODD, READ_MOST="4096")
    with open(path, encoding="utf-8") as file:
        tap.ok(result.returncode == 0 and "begins anew" in result.stderr and
               len(json.load(file)["sessions"]) == 1,
               "sessions of a program that read otherwise are not kept", *said(result))
    path = written(gate, "other.json", lambda copy: copy["settings"].update(workers=7))
    result = gate.run("--baseline", path, "--update", *FEW, "--fetch", "pread-direct", "--",
                      *gate.train())
    with open(path, encoding="utf-8") as file:
        tap.ok(result.returncode == 0 and "begins anew: workers fell from 7" in result.stderr and
               len(json.load(file)["sessions"]) == 1,
               "nor are those of other settings", *said(result))


def unconfirmed(gate):
    """The second measurement fails: the first one is told."""
    junit, once = gate.scratch.at("unconfirmed.xml"), gate.scratch.at("once")
    before = written(gate, "before.json", lambda copy: copy["counted"].update(opens=500))
    words = ("--baseline", before, *EXACT, "--fetch", "pread-direct", "--confirm",
             "--junit", junit, "--")
    result = gate.run(*words, *gate.train())
    tap.ok(result.returncode == 1, "what is a regression twice is one", *said(result))
    os.remove(junit)
    script = "[ ! -e %s ] || exit 7; touch %s; exec %s" % (
        once, once, " ".join(gate.train()))
    result = gate.run(*words, "sh", "-c", script)
    tap.ok(result.returncode == 5 and "opens_per_sample" in result.stdout and
           os.path.exists(junit), "what could not be confirmed is told all the same",
           *said(result))


def exact(gate):
    result = gate.judge()
    tap.ok(result.returncode == 0, "the same program passes", *said(result))
    for _ in range(3):
        result = gate.judge(LD_PRELOAD=ODD, OPEN_AGAIN_EVERY="1000")
        if not tap.ok(result.returncode == 1 and "opens_per_sample" in result.stdout and
                      "open" in result.stdout.splitlines()[0] + result.stdout.splitlines()[1],
                      "one more open in 1,000 samples is found", *said(result)):
            break
    result = gate.judge(LD_PRELOAD=ODD, READ_MOST="4096")
    head = " ".join(result.stdout.splitlines()[:4])
    tap.ok(result.returncode == 1 and "mean read fell" in head and "4" in head,
           "reads of 4 KiB are found, and named first", *said(result))
    limits = ["--metric=%s=1%%" % name for name in
              ("opens_per_sample", "reads_per_sample", "mean_read_bytes")]
    result = gate.judge(*limits, LD_PRELOAD=ODD, OPEN_AGAIN_EVERY="1000")
    tap.ok(result.returncode == 0, "unless the limit allows it", *said(result))


def shard(gate, name, apart):
    """A bucket with the pictures in one archive. More than read_gap lies between each two,
    but for the first two where they are not apart."""
    names = sorted(os.path.relpath(os.path.join(top, name), gate.images)
                   for top, _, files in os.walk(gate.images) for name in files)
    with tarfile.open(os.path.join(gate.scratch.folder(name), "all.tar"), "w",
                      format=tarfile.USTAR_FORMAT) as archive:
        for number, picture in enumerate(names):
            if number > 1 or apart:
                for i in range(GAP // tarfile.BLOCKSIZE):
                    archive.addfile(tarfile.TarInfo(f"{picture}.{i}"))
            archive.add(os.path.join(gate.images, picture), picture)
    return gate.scratch.at(name)


def requests(gate):
    """GETs that were wanted are counted exactly, whatever the server made of them."""
    near, apart = (shard(gate, name, name == "apart") for name in ("near", "apart"))
    baseline = gate.scratch.at("gets.json")
    bad = {"faults": "slowdown:1%,truncate:1%,late:1%", "late": "300ms", "seed": 1}
    for folder, status, gets, faults, name in (
            (near, 0, 999, {}, "a baseline of a bucket"),
            (near, 0, 999, bad, "requests made again, and hedged, are not found"),
            (apart, 1, 1000, {}, "one more GET in 1,000 is found")):
        kept = gate.scratch.at("gets-kept")
        more = ["-o", kept] if os.path.exists(baseline) else ["--update"]
        with S3Server(gate.scratch, folder, **faults) as server:
            result = gate.run("--baseline", baseline, *EXACT, "--hedge", "--shuffle", "blocks",
                              "--read-gap", GAP, *more, "--",
                              *gate.train(images="s3://bucket/", rate="100000"),
                              AWS_ENDPOINT_URL_S3=server.url)
            server.stop()
            met = {row.fault for row in server.log()}
        with open(os.path.join(kept, "measured.json") if os.path.exists(kept) else baseline,
                  encoding="utf-8") as file:
            counted = json.load(file)["counted"]
        tap.ok(result.returncode == status and
               (counted["samples"], counted["opens"]) == (1000, gets) and
               ("GETs per sample grew from 0.999 to 1\n" in result.stdout) == (status == 1) and
               met >= {"-", *re.findall("[a-z]+", faults.get("faults", ""))},
               name, *said(result), counted, met)


def forms(gate):
    junit, markdown = gate.scratch.at("junit.xml"), gate.scratch.at("gate.md")
    summary, folder = gate.scratch.at("summary.md"), gate.scratch.at("kept")
    result = gate.judge("--junit", junit, "--markdown", markdown, "--github", "-o", folder,
                        LD_PRELOAD=ODD, READ_MOST="4096", GITHUB_STEP_SUMMARY=summary)
    tap.ok(result.returncode == 1 and "::error" in result.stdout,
           "annotations for GitHub", *said(result))
    lines = result.stdout.splitlines()
    token = lines[0].removeprefix("::stop-commands::")
    stop = lines.index("::%s::" % token) if len(token) == 32 else -1
    tap.ok(stop > 0 and any("regression" in line for line in lines[:stop]) and
           all(line.startswith("::error") for line in lines[stop + 1:]),
           "and nothing else is taken for a command", *said(result))
    schema = subprocess.run(["xmllint", "--noout", "--schema",
                             os.path.join(HERE, "data/junit.xsd"), junit],
                            stderr=subprocess.PIPE, text=True, check=False)
    tap.ok(schema.returncode == 0, "the JUnit report fits its schema", schema.stderr)
    cases = xml.etree.ElementTree.parse(junit).getroot().iter("testcase")
    tap.ok(any(case.find("failure") is not None for case in cases), "and fails")
    with open(markdown, encoding="utf-8") as file:
        comment = file.read()
    with open(summary, encoding="utf-8") as file:
        tap.ok("mean_read_bytes" in comment and "mean_read_bytes" in file.read(),
               "a comment and a step summary", comment[:300])
    result = gate.run("--baseline", gate.baseline, "--run",
                      os.path.join(folder, "measured.json"), *EXACT, "--json")
    verdict = json.loads(result.stdout) if result.stdout else {}
    tap.ok(result.returncode == 1 and verdict.get("outcome") == "regression",
           "what was kept is judged again, without a launch", *said(result))


def timed(gate):
    off = ["--metric=%s=off" % name for name in ("data_stall", "samples_per_s")]
    result = gate.run("--baseline", gate.baseline, *off, "--fetch", "pread-direct", "--",
                      *gate.train())
    tap.ok(result.returncode == 0 and "exact counts alone" in result.stdout,
           "where nothing timed is compared nothing is timed", *said(result))
    result = gate.run("--against", " ".join(gate.train()), *TIMED, "--", *gate.train())
    tap.ok(result.returncode in (0, 4), "against itself nothing is found", *said(result))
    tap.ok("can see" in result.stdout, "and it says what it could have seen", *said(result))
    folder = gate.scratch.at("looked")
    result = gate.run("--against", " ".join(gate.train()), "--repetition", ".2s", "-o", folder,
                      "--", *gate.train(rate="500"))
    tap.ok(result.returncode == 1 and "samples_per_s" in result.stdout and
           "decided after 7 of at most 32 pairs" in result.stdout,
           "a step that takes four times as long is a regression at the first look",
           *said(result))
    with open(os.path.join(folder, "measured.json"), encoding="utf-8") as file:
        kept = json.load(file)["sessions"][-1]
    tap.ok(kept["most_repetitions"] == 32 and len(kept["samples"]["samples_per_s"]) == 7,
           "what is kept tells how many there might have been", kept)
    result = gate.run("--baseline", gate.baseline, *TIMED, "--fetch", "pread-direct",
                      "--metric", "data_stall=off", "--",
                      *gate.train(rate="500"))
    tap.ok(result.returncode == 0 and "info only" in result.stdout,
           "a rate only informs against a baseline of 2 sessions", *said(result))
    result = gate.run("--baseline", gate.baseline, "--self-test=300%", *TIMED, "--fetch",
                      "pread-direct")
    tap.ok(result.returncode == 0 and "finds it" in result.stdout,
           "the self-test finds what it slowed down", *said(result))


def not_the_same(gate):
    others = gate.scratch.images("others", count=400, size="10K")
    result = gate.run("--baseline", gate.baseline, *EXACT, "--",
                      *gate.train(images=others))
    tap.ok(result.returncode == 6 and len(result.stdout) > 0, "another data set is 6",
           *said(result))
    with open(gate.baseline, encoding="utf-8") as file:
        moved = json.load(file)
    moved["environment"]["cpu"] = "a faster one"
    path = gate.scratch.at("moved.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(moved, file)
    words = ["--baseline", path, *TIMED, "--metric", "samples_per_s=off", "--metric",
             "fetch_stall=off", "--fetch", "pread-direct"]
    result = gate.run(*words, "--", *gate.train())
    tap.ok(result.returncode == 6 and "a faster one" in result.stdout,
           "another machine is 6, and says what differs", *said(result))
    result = gate.run(*words, "--allow-env-change", "--", *gate.train())
    tap.ok(result.returncode == 0, "unless it is allowed: then counts decide",
           *said(result))


def targets(gate):
    words = ("--baseline", gate.baseline, *EXACT, "--timeout", "2s", "--")
    for what, command in (("fails", ["false"]), ("asks for no batch", ["true"]),
                          ("hangs", ["sleep", "600"]),
                          ("is not there", [gate.scratch.at("nothing")])):
        result = gate.run(*words, *command)
        wanted = 3 if what == "is not there" else 5
        tap.ok(result.returncode == wanted and len(result.stderr.splitlines()) == 1,
               "a program that %s ends with %d, in one line" % (what, wanted),
               *said(result))
    result = gate.run("--baseline", gate.baseline, *EXACT, "--fetch", "pread-direct", "--",
                      "sh", "-c", "exec " + " ".join(gate.train()))
    tap.ok(result.returncode == 0, "a script is a program too", *said(result))


def main():
    with Scratch() as scratch:
        gate = Gate(scratch)
        for case in (baselines, kept, misused, impossible, begins_anew, unconfirmed, exact,
                     requests, forms, timed, not_the_same, targets):
            case(gate)
        tap.ok(os.listdir(scratch.at("tmp")) == [], "nothing is left behind",
               os.listdir(scratch.at("tmp")))
    tap.done()


if __name__ == "__main__":
    main()
