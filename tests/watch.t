#!/usr/bin/python3
"""dsa.watch(): loaders with threads and queues of their own under dsa run, truth by
arithmetic. Speaks TAP. SLEEPS most of the time.

    tests/watch.t [NAME...]     some of the tests
    SOAK=1 tests/watch.t        all of them
"""
import collections
import dataclasses
import os
import sys
import threading
import types
import typing

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, folder) for folder in
                ("lib", "../loader/python", "../profiler/python")]
from house import AWAKE, DSA, Scratch, SideBySide, Tap, middle_stalls, unsure
import dsa
import dsa_batches
import dsa_fetch
import dsa_library
import dsa_watch

PYTHON = "/usr/bin/python3"
PROGRAM = os.path.join(HERE, "lib/watch_program.py")
OFF = .02
BUDGET = "5s"

SOAK = bool(os.environ.get("SOAK"))
# threads, ms of a batch, queue, ms of the step. A virtual machine takes up to .12 ms to copy
# a batch that the program has changed, once it has slept: more than 1 % of 10 ms.
SLOWER = 2 if SOAK else 1
CASES = [(threads, SLOWER * prep, depth, SLOWER * step) for threads, prep, depth, step in
         ((2, 30, 16, 10), (2, 24, 16, 10), (1, 12, 64, 10), (2, 10, 16, 10), (4, 50, 4, 10))]

tap, wanted = Tap(), sys.argv[1:]


# ---- without dsa run ----

class Clock:
    """A loader with a queue, and the time that it takes to be asked."""

    def __init__(self, ready, hand_over, wait):
        self.ready, self.hand_over, self.wait = ready, hand_over, wait
        self.ns, self.thrown = 0, 0

    def __next__(self):
        self.thrown += 1
        self.ns += round(1e6 * (self.hand_over if self.ready > 0 else self.wait))
        self.ready -= 1


def emptied(clock, step=10, again=0):
    """Batches that are thrown away before a window."""
    library = types.SimpleNamespace(left=lambda: False)
    loading = dsa_watch.Loading(library, 0)
    loading.round = 1
    loading.passing = lambda: types.SimpleNamespace(it=clock)
    loading.step_ns = step * 10**6
    plain, dsa_watch.now = dsa_watch.now, lambda: clock.ns
    try:
        for _ in range(again):
            loading.empty()
        clock.thrown = 0
        loading.empty()
    finally:
        dsa_watch.now = plain
    return clock.thrown


def check_emptied():
    cases = [("lie ready at once", Clock(16, .02, 15), 17),
             ("are handed over slowly", Clock(16, 2, 15), 17),
             ("come without a queue", Clock(0, 0, 50), 21),
             ("never make it wait", Clock(10**6, .02, 0), dsa_watch.EMPTY_MOST)]
    for name, clock, most in cases:
        thrown = emptied(clock)
        tap.ok(thrown == most, f"batches that {name}: thrown away until one is waited for",
               thrown)
    tap.ok(emptied(Clock(0, 0, 50), again=5) == 3,
           "of one that has no queue less and less is thrown away")


def check_rounds():
    """Three come together."""
    class Together(Clock):
        def __next__(self):
            self.ns += 30_000_000 if self.thrown % 3 == 0 else 20_000
            self.thrown += 1

    found = []
    library = types.SimpleNamespace(left=lambda: False, round=found.append)
    loading, clock = dsa_watch.Loading(library, 0), Together(0, 0, 0)
    loading.passing = lambda: types.SimpleNamespace(it=clock)
    plain, dsa_watch.now = dsa_watch.now, lambda: clock.ns
    try:
        loading.empty()
        loading.empty()
    finally:
        dsa_watch.now = plain
    tap.ok(found == [3], "batches that come together are of one round, told once", found)


def check_copies_begin_nothing():
    loading = dsa_watch.Loading(None, 0)
    loading.source, loading.began_anew = dsa_watch.POOL, True
    loading.pool.add("batch", 5)
    tap.ok(loading.give() == ("batch", 5) and not loading.began_anew,
           "a pass that began while copies were made is in no step on them")


class Odd:
    """A batch whose shape raises."""
    shape = property(lambda _: 1 // 0)


@dataclasses.dataclass
class Fields:
    name: str
    unset: object = dataclasses.field(init=False)
    image: object
    kept: typing.ClassVar = [None] * 4


def check_samples():
    numpy = sys.modules["numpy"]
    Pair = collections.namedtuple("Pair", "x y")
    cases = [(numpy.zeros((5, 2)), 5), ((numpy.zeros((6, 2)), numpy.zeros(6)), 6),
             ({"a": "x", "b": [numpy.zeros(7)]}, 7), (Pair(numpy.zeros(8), 1), 8),
             ((["a", "b", "c"], [0, 1, 2]), 3), (["a", "b"], 2), ("text", 1), (None, 1),
             (numpy.float32(1), 1), ([], 1), (Odd(), 1), (Fields("a", numpy.zeros(9)), 9),
             (Fields, 1),
             (types.SimpleNamespace(shape=list), 1)]
    found = [dsa_batches.samples_in(batch) for batch, _ in cases]
    tap.ok(found == [samples for _, samples in cases], "samples of a batch", found)


def check_copies():
    numpy = sys.modules["numpy"]
    pool = dsa_batches.Pool(None, numpy)
    batch = {"long": numpy.zeros((300, 1000)), "short": numpy.zeros(3), "text": "a"}
    pool.add(batch, 300)
    pool.prepare()
    (given, _), copied = pool.give(), pool.prepare()
    tap.ok(not copied and given["long"] is not batch["long"], "an array is copied once")
    for name, change in (("long", lambda a: a.__iadd__(1)), ("short", lambda a: a.put(1, 5)),
                         ("long", lambda a: a[:, :500].fill(3))):
        change(pool.give()[0][name])
        copied = pool.prepare()
        tap.ok(copied and not pool.ready[0][name].any(), f"a changed {name} one is given whole")
    turned = numpy.zeros((40, 30, 20)).transpose(2, 0, 1)
    pool.clear()
    pool.add(turned, 1)
    tap.ok(pool.give()[0].strides == turned.strides, "its layout is kept")


def check_plain():
    loader = [1, 2]
    tap.ok(dsa.watch(loader) is loader, "without dsa run it is the iterable itself")
    watch = types.SimpleNamespace(off=True, driver=types.SimpleNamespace(ended=False))
    stands = dsa_watch.Watched(watch, loader)
    tap.ok(list(stands) == loader and len(stands) == 2 and stands.count(1) == 1,
           "under it it has its length and attributes")
    stands = dsa_watch.Watched(watch, types.SimpleNamespace(epoch=0))
    stands.epoch = 3
    tap.ok(stands._iterable.epoch == 3 and bool(stands), "and sets them")
    iterator = dsa_watch.WatchedIterator(watch, iter(loader))
    tap.ok(next(iterator) == 1 and list(iterator) == [2], "an iterator is one")


class Grants:
    """The library, which grants each request."""

    def __init__(self, opened=0):
        self.open, self.request, self.why = lambda *_: opened, lambda _: 1, None

    def refuse(self, why):
        self.why = why

    def __getattr__(self, _):
        return lambda *_: 0


def watch_of(library):
    dsa_library.driving = None
    return dsa_watch.Watch(library)


def check_followed():
    """Loaders made anew after a `break`, with a weak reference and without."""
    for name, make in (("a loader", lambda: collections.UserList(range(9))),
                       ("one without weak references", lambda: map(int, range(9)))):
        watch = watch_of(Grants())
        followed = []
        for _ in range(3):
            passing = iter(dsa_watch.Watched(watch, make()))
            for _ in zip(range(3), passing):
                pass
            followed.append(watch.loading.passing() is passing)
            del passing
        tap.ok(all(followed), f"{name} that is made anew after a break is followed", followed)
    watch, like = watch_of(Grants()), [collections.UserList(range(9)) for _ in range(2)]
    for loader in like:
        for _ in zip(range(3), dsa_watch.Watched(watch, loader)):
            pass
    tap.ok(watch.loads() is like[0], "another one like it is not, while it is there")


def check_over():
    watch = watch_of(Grants())
    passing = iter(dsa_watch.Watched(watch, [1, 2, 3]))
    next(passing), next(passing)
    watch.loading.over, watch.loading.source = True, dsa_watch.POOL
    tap.ok([*passing] == [], "where the data ended before a copy was made it ends, too")


def check_recopied():
    """A batch that can be copied no more when the program is to have it again."""
    watch = watch_of(Grants())
    passing = iter(dsa_watch.Watched(watch, [1, 2, 3]))
    next(passing), next(passing)
    watch.loading.source = dsa_watch.POOL  # without a copy
    tap.ok([*passing] == [3] and watch.off and b"cannot be copied" in watch.library.why,
           "without a copy the program has the loader's own batch", watch.library.why)


def check_takes():
    watch = watch_of(Grants())
    dsa_library.driving = 1, os.getpid()
    tap.ok([*dsa_watch.Watched(watch, [1, 2, 3])] == [1, 2, 3] and watch.off and
           watch.library.why is None, "where torch's loader drives all is left as it is")
    watch = watch_of(Grants())
    watch.about = lambda _: 1 // 0
    tap.ok([*dsa_watch.Watched(watch, [1, 2, 3])] == [1, 2, 3] and watch.off and
           b"ZeroDivision" in watch.library.why, "what fails at first is told, not raised")


def check_fetch():
    """Of a DataLoader, where dsa.watch() came late."""
    class Fetcher:
        dataset = None

        def fetch(self, index):
            return index

    begun = []
    library = Grants()
    library.batch_begin = begun.append
    dsa_fetch.patch_fetcher(library, Fetcher)
    for kind in (1, dsa_library.WATCH):
        dsa_library.driving = kind, os.getpid()
        Fetcher().fetch([1, 2])
    tap.ok(len(begun) == 1, "its batches are measured, but where the watched loader drives")


def check_threads():
    watch, asked, done = watch_of(Grants()), threading.Event(), threading.Event()

    def slow():
        asked.set()
        done.wait()
        yield 1

    driving = iter(dsa_watch.Watched(watch, iter(range(9))))
    next(driving), next(driving)
    watch.step = lambda passing: "stepped"
    other = threading.Thread(target=list, args=[dsa_watch.Watched(watch, slow())])
    other.start()
    asked.wait()
    found = next(driving)
    done.set()
    other.join()
    tap.ok(found == "stepped", "another thread that waits for its loader changes nothing",
           found)


# ---- with it ----

def dsa_run(scratch, out, options, *command, ahead=()):
    path = os.path.join(HERE, "../loader/python")
    return scratch.run(DSA, "run", "-o", out, *options.split(), "--", *ahead, PYTHON, PROGRAM,
                       *command, variables={"PYTHONPATH": path})


def check_truth(scratch, number, budget):
    threads, prep, depth, step = CASES[number]
    name = f"{threads} threads, {prep} ms a batch, queue of {depth}"
    done = dsa_run(scratch, f"truth-{number}", f"-q --budget {budget}", "queues",
                   f"threads={threads}", f"prep={prep}", f"depth={depth}", f"step={step}",
                   ahead=[AWAKE])
    if not tap.ok(done.returncode == 0 and done.stdout == "", f"{name}: measured",
                  done.returncode, done.stderr, done.stdout):
        return
    result = scratch.result(f"truth-{number}")
    compute, true = middle_stalls(result)["compute"], step / max(step, prep / threads)
    print(f"#   compute {100 * compute:6.2f}   truth {100 * true:6.2f}")
    tap.ok(abs(compute - true) <= OFF + unsure(result, "compute"),
           f"{name}: the data stall is the true one", compute, true,
           *(f'{w["kind"]} {w.get("rate_per_s")}/s: {w["why"]}' for w in result["windows"]))
    tap.ok(result["loader"]["kind"] == "watch" and "prep" not in result["stalls"] and
           "fetch" not in result["stalls"],
           f"{name}: what of it is fetch is not told", result["loader"], result["stalls"])


def check_files(scratch, threads):
    """--storage-latency acts on what is read; only what the asking thread reads is told."""
    done = dsa_run(scratch, f"files-{threads}", f"-q --budget {BUDGET} --storage-latency 5ms",
                   "files", "folder=" + scratch.at("data"), f"threads={threads}", "prep=4",
                   "step=4", ahead=[AWAKE])
    if not tap.ok(done.returncode == 0, "files: measured", done.stderr):
        return
    result = scratch.result(f"files-{threads}")
    shares = middle_stalls(result)
    true = {"compute": 4 / 13, "fetch": 5 / 13} if threads == 0 else {"compute": 4 / 9}
    if threads == 0 and "fetch" not in shares and not SOAK:  # others held windows up
        tap.ok("replay" in result["split"]["why"], "why fetch is not told", result["split"])
        del true["fetch"]
    for stage, share in true.items():
        tap.ok(stage in shares and
               abs(shares[stage] - share) <= 2 * OFF + unsure(result, stage),
               f"files read by {'another' if threads else 'the asking'} thread: {stage}",
               shares, share)
    tap.ok(threads == 0 or "fetch" not in shares, "fetch is not told where it can't be", shares)


def check_passes(scratch):
    done = dsa_run(scratch, "passes", f"-q --budget {BUDGET}", "passes", ahead=[AWAKE])
    result = scratch.result("passes")
    starts = result["epoch_starts"]
    tap.ok(done.returncode == 0 and result["stalls"]["compute"]["share"] > .9,
           "passes: what it takes to begin one is no stall", done.stderr, result["stalls"])
    tap.ok(starts["count"] > 1 and .05 < starts["mean_s"] < .2, "and is told", starts)


def check_ends(scratch):
    done = dsa_run(scratch, "ends", "-q", "ends", "count=1000")
    result = scratch.result("ends")
    tap.ok(done.stdout == "the end\n" and result["run"]["target_status"] == 0 and
           any(w["used"] for w in result["windows"]),
           "an iterator that ends: so does the program, and what was measured stays",
           done.returncode, done.stderr, result["run"])


def check_anew(scratch):
    done = dsa_run(scratch, "anew", f"-q --budget {BUDGET}", "anew", ahead=[AWAKE])
    result = scratch.result("anew")
    compute = result["stalls"]["compute"]["share"]
    tap.ok(done.returncode == 0 and
           abs(compute - 5 / 8) < 2 * OFF + unsure(result, "compute"),
           "a generator for each pass is followed into the next", done.stderr, compute)


def check_end_of_data(scratch):
    done = dsa_run(scratch, "end", "-q --budget 2s --end=data", "queues")
    tap.ok(done.returncode == 0 and done.stdout == "the end\n",
           "--end=data ends the loop, and what follows runs", done.stdout, done.stderr)


def check_uncopied(scratch):
    done = dsa_run(scratch, "uncopied", "--budget 2s", "uncopied")
    tap.ok("the end\n" in done.stdout and "cannot be copied" in done.stderr,
           "what cannot be copied is left alone", done.returncode, done.stderr)


def check_torch(scratch):
    done = dsa_run(scratch, "torch", f"-q --budget {BUDGET}", "torch")
    result = scratch.result("torch")
    tap.ok(done.returncode == 0 and result["loader"]["kind"] == "watch",
           "a DataLoader below is left alone", done.stderr, result["loader"])


def check_alone(scratch):
    """In a program that imports nothing else."""
    done = scratch.run(PYTHON, "-c", "import dsa_watch, dsa_batches\n"
                       "print(dsa_batches.first_length({}), dsa_batches.collections.abc.Mapping)",
                       variables={"PYTHONPATH": os.path.join(HERE, "../profiler/python")})
    tap.ok(done.returncode == 0, "batches without NumPy can be looked at", done.stderr)


def make_files(scratch):
    scratch.folder("data")
    for i in range(50):
        with open(scratch.at("data", f"{i:04}"), "wb") as file:
            file.write(os.urandom(4096))


def run_all(scratch, pool):
    tests = {"truth": lambda: check_truth(scratch, 0, BUDGET),
             "files": lambda: check_files(scratch, 0),
             "ends": lambda: check_ends(scratch), "alone": lambda: check_alone(scratch)}
    if SOAK or wanted:
        tests.update({"threads": lambda: check_files(scratch, 1),
                      "anew": lambda: check_anew(scratch),
                      "passes": lambda: check_passes(scratch),
                      "end_of_data": lambda: check_end_of_data(scratch),
                      "uncopied": lambda: check_uncopied(scratch),
                      "torch": lambda: check_torch(scratch)})
    futures = [pool.submit(test) for name, test in tests.items()
               if not wanted or name in wanted]
    for future in futures:
        future.result()
    for i in range(1, len(CASES) if SOAK or "truths" in wanted else 0):
        check_truth(scratch, i, "10s")  # one after another: real-time priority is for one


def main():
    import numpy  # as the programs do

    if not wanted:
        for check in (check_emptied, check_rounds, check_copies_begin_nothing,
                      check_samples, check_copies, check_plain, check_followed, check_over,
                      check_recopied, check_takes, check_fetch, check_threads):
            check()
    with Scratch() as scratch:
        make_files(scratch)
        with SideBySide(4) as pool:
            run_all(scratch, pool)
    tap.done()


main()
