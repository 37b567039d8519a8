#!/usr/bin/python3
"""Each kind of data that a bucket or a web server may have, a row a kind: shared by jobs,
gated, measured and predicted as folders are, held against the requests that the server
answered and the latency that it has. Speaks TAP. SLEEPS most of the time.

    tests/sources.t [KIND...]     some kinds
    SOAK=1 tests/sources.t        all of them, shares within two points, changes that are tried
"""
import concurrent.futures
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/lib")
from house import DSA, HERE, TRAIN, Scratch, Tap, is_pace, middle_rates, middle_stalls, unsure
from s3_server import S3Server

SOAK = bool(os.environ.get("SOAK"))
JOBS = 4
LATENCY, DEPTH, WANTED = .032, 8, 1000  # a request, requests in flight, samples/s
PICTURES = ["--count", "200", "--size-mean", "6K"]
# What dsa dataset make is told, and the loader, and what the data set is called.
KINDS = {
    "list": (PICTURES, "", "{}/bucket/list.txt"),
    "tar": ([*PICTURES, "--format", "tar"], "", "s3://bucket/"),
    "tfrecord": ([*PICTURES, "--format", "tfrecord"], "", "s3://bucket/"),
    "audio": ([*PICTURES, "--format", "audio"], "prep=audio,seconds=.2,rate=16000",
              "s3://bucket/"),
    "tokens": (["--count", "8", "--size-mean", "8K", "--format", "tokens"],
               "prep=tokens,length=127", "s3://bucket/"),
}
SHORT = "tfrecord", "tokens"
# Prints how many samples there are, and whether each came once an epoch, from a shared loader.
JOB = """
import collections, sys
sys.path.insert(0, sys.argv[1])
import dsa
loader = dsa.Loader(sys.argv[2], batch=9, epochs=int(sys.argv[3]))
seen = collections.Counter(int(i) for batch in loader.batches() for i in batch.samples)
stats = loader.stats
print(stats.dataset_samples, len(seen), set(seen.values()), stats.shared)
"""

tap, wanted = Tap(), sys.argv[1:]


class Row:
    """A kind of data at a server, and programs that are told of both."""

    def __init__(self, scratch, kind):
        make, loader, place = KINDS[kind]
        self.scratch, self.kind = scratch, kind
        self.folder = scratch.at(kind)
        subprocess.run([DSA, "dataset", "make", "--seed", "1", *make, self.folder], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if kind == "list":
            with open(os.path.join(self.folder, "list.txt"), "w", encoding="ascii") as file:
                file.writelines(f"{name}/{picture} {name}\n"
                                for name in sorted(os.listdir(self.folder)) if "." not in name
                                for picture in os.listdir(os.path.join(self.folder, name)))
        self.server = S3Server(scratch, self.folder, latency=f"{1e3 * LATENCY:g}ms")
        self.place = place.format(self.server.url)
        self.variables = {"AWS_ENDPOINT_URL_S3": self.server.url, "DSA_LOADER": loader,
                          "XDG_CACHE_HOME": scratch.folder("cache-" + kind)}

    def run(self, *command, variables=()):
        return self.scratch.run(*command, variables={**self.variables, **dict(variables)})

    def train(self, *words):
        return [TRAIN, "--dataset", self.place, "--batch", "8", "--size", "32", *words]

    def gets(self):
        """Requests for samples, or for what is in a shard."""
        return sum("list-type" not in row.target and not row.target.endswith("list.txt")
                   for row in self.server.log())

    def result(self):
        return self.scratch.result(self.kind + "-out")

    def ok(self, good, name, *details):
        return tap.ok(good, f"{self.kind}: {name}", *details)


def job(row, epochs, variables):
    """It waits for the shared loader to begin."""
    loader = ",".join(filter(None, (row.variables["DSA_LOADER"], "takeover=10s")))
    return row.run(sys.executable, "-c", JOB, os.path.join(HERE, "../loader/python"), row.place,
                   epochs, variables={**variables, "DSA_LOADER": loader})


def check_shared(row, epochs=1, words=()):
    """Returns how many samples there are."""
    row.run(DSA, "dataset", "inspect", row.place)  # which makes the index
    socket, before = row.scratch.at(row.kind + "-socket"), row.gets()
    with subprocess.Popen([DSA, "serve", row.place, "--socket", socket, "--jobs", str(JOBS), "-q",
                           "--leave", "--epochs", str(epochs), *words], cwd=row.scratch.path,
                          env={**row.scratch.environment, **row.variables}) as server, \
            concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        try:
            told = [one.result() for one in
                    [pool.submit(job, row, epochs, {"DSA_SHARE": socket}) for _ in range(JOBS)]]
            server.wait(60)
        finally:
            server.kill()
    samples = int((told[0].stdout.split() or [0])[0])
    row.ok(samples > 100 and
           all(one.stdout == f"{samples} {samples} {{{epochs}}} 1\n" for one in told),
           f"{JOBS} jobs of one loader each get all of it", *told)
    if epochs == 1:  # what is not on disk yet as an epoch ends is asked for again
        asked = row.gets() - before
        row.ok(asked == samples, "by one GET a sample", asked, samples)
    return samples


def gate(row, samples, cache, *words):
    return row.run(DSA, "gate", "--baseline", row.kind + ".json", *words, "--pairs", "0",
                   "--samples", 2 * samples, "--cache", cache, "--",
                   *row.train("--emulate-gpu", "100000"))


def check_gate(row, samples):
    """Two epochs, the second from memory."""
    done = gate(row, samples, "100%", "--update")
    if not row.ok(done.returncode == 0, "a baseline is made", done.stderr):
        return
    with open(row.scratch.at(row.kind + ".json"), encoding="utf-8") as file:
        counted = json.load(file)["counted"]
    row.ok(counted["opens"] + counted["hits"] == 2 * samples and
           samples <= counted["opens"] < 1.05 * samples, "which counts GETs", counted)
    done = gate(row, samples, "100%")
    row.ok(done.returncode == 0, "which are the same again", done.stdout, done.stderr)
    done = gate(row, samples, "98%")
    row.ok(done.returncode == 1 and "opens_per_sample" in done.stdout, "more GETs are found",
           done.stdout, done.stderr)


def check_truth(row):
    """So many requests in flight bring no more than a quarter of what is wanted."""
    done = row.run(DSA, "run", "-q", "-o", row.kind + "-out", "--budget", "60s" if SOAK else "4s",
                   "--max-requests", "1000000", "--fetch-depth", str(DEPTH), "--",
                   *row.train("--emulate-gpu", str(WANTED)))
    if not row.ok(done.returncode == 0, "measured", done.stderr):
        return
    result, most = row.result(), DEPTH / LATENCY
    shares, rates, true = middle_stalls(result), middle_rates(result), 1 - most / WANTED
    print(f"# {row.kind}: fetch {100 * shares['fetch']:.2f}, truth {100 * true:.2f}")
    row.ok(abs(shares["fetch"] - true) <= .02 if SOAK else
           is_pace(rates["real"], most) and is_pace(rates["cached"], WANTED),
           "what the latency lets is measured", shares, rates)
    asked = result["requests"]
    row.ok(asked["gets"] > 0 and asked["retries"] == 0, "and requests are counted", asked)


def check_whatif(row):
    """Twice the requests in flight: predicted, and then really run."""
    done = row.run(DSA, "whatif", row.kind + "-out", "--fetch-depth", str(2 * DEPTH), "--verify",
                   "--budget", "30s", "--max-requests", "1000000", "--json")
    tried = (json.loads(done.stdout or "{}").get("verifications") or [{}])[-1]
    if not row.ok(done.returncode == 0 and "predicted_per_s" in tried,
                  "more requests in flight are predicted and tried", tried, done.stderr):
        return
    true = 2 * DEPTH / LATENCY
    predicted, measured = (tried[key]["value"] for key in ("predicted_per_s", "measured_per_s"))
    print(f"# {row.kind}: predicted {predicted:.0f}/s, measured {measured:.0f}, truth {true:.0f}")
    row.ok(abs(predicted / measured - 1) <= .05 and abs(measured / true - 1) <= .08,
           "and come to what was predicted", tried, done.stderr)


def check_kept(row, samples):
    """A cache on disk, which a shared loader fills and a run finds."""
    kept = ["--cache-dir", row.scratch.at(row.kind + "-kept"), "--cache", "100%"]
    check_shared(row, 2, kept)
    before = row.gets()
    done = row.run(DSA, "run", "-q", "-o", row.kind + "-out", "--budget", "4s", *kept,
                   "--shuffle", "blocks", "--", *row.train("--emulate-gpu", str(WANTED)))
    result = row.result()
    real = [w for w in result["windows"] if w["kind"] == "real" and w.get("hits")]
    row.ok(done.returncode == 0 and real and sum(w["misses"] for w in real) == 0 and
           row.gets() - before <= samples and
           abs(middle_stalls(result)["fetch"]) <= (.05 if SOAK else .2) + unsure(result, "fetch"),
           "a run on it waits for nothing, and asks within its bound", row.gets() - before,
           result.get("stalls"), done.stderr)


def check(scratch, kind):
    row = Row(scratch, kind)
    with row.server:
        samples = check_shared(row)
        check_gate(row, samples)
        check_truth(row)
        if SOAK:
            check_whatif(row)
        if kind == "tfrecord":
            check_kept(row, samples)


def main():
    kinds = [kind for kind in KINDS if kind in wanted or not wanted and (SOAK or kind in SHORT)]
    with Scratch() as scratch:
        if SOAK:
            for kind in kinds:
                check(scratch, kind)
        else:
            with concurrent.futures.ThreadPoolExecutor(len(kinds)) as pool:
                for one in [pool.submit(check, scratch, kind) for kind in kinds]:
                    one.result()
    tap.done()


main()
