#!/usr/bin/python3
"""loader/python/dsa.py: its batches are the library's own memory, hold what a C program
gets, come once per epoch, and are safe to keep. Speaks TAP."""

import ast
import ctypes
import errno
import gc
import operator
import os
import re
import signal
import subprocess
import sys
import threading
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "lib"))
sys.path.insert(0, os.path.join(HERE, "../loader/python"))
from house import BUDGET, BUILD, Scratch, Tap, unsure, wait_until
from interrupted import CLOSED, CUT_SHORT, EXITING, HANDED_OVER, INTERRUPTED
from process import available, no_threads, raised, raised_as, resident, threads

PYTHON = "/usr/bin/python3"
EXAMPLE = os.path.join(HERE, "../examples/train.py")
MODULE = os.path.join(HERE, "../loader/python/dsa.py")

os.environ["DSA_LIBRARY"] = os.path.join(BUILD, "libdsa.so")
for name in ("DSA_LOADER", "DSA_SESSION", "DSA_SHARE"):
    os.environ.pop(name, None)


# ---- what the file says of itself ----


def test_interface(tap, scratch):
    import dsa

    layout = scratch.run(os.path.join(BUILD, "tests/tool/batch_dump")).stdout
    ours = []
    for name, struct in (("config", dsa._Config2), ("batch", dsa._Batch),
                         ("stats", dsa._Stats)):
        for member, _ in struct._fields_:
            field = getattr(struct, member)
            ours.append(f"{name} {member} {field.offset} {field.size}")
        ours.append(f"{name} - 0 {ctypes.sizeof(struct)}")
    tap.ok(ours == layout.splitlines(), "structs lie as in C", layout, ours)

    code = dsa.Loader.__init__.__code__
    names = code.co_varnames[1:code.co_argcount + code.co_kwonlyargcount]
    members = [member for member, _ in dsa._Config2._fields_]
    tap.ok(set(members) == set(names) - {"arrays"},
           "every member of struct dsa_config is an argument, and no other", names)
    for name in names:
        if not re.search(rf"\b{name}\b", dsa.Loader.__doc__):
            tap.ok(False, f"{name} is documented")
    page = os.path.join(HERE, "../man/dsa_python.3")
    with open(page, encoding="utf-8") as file:
        text = file.read()
    told = [name for name in dir(dsa.Loader) if not name.startswith("_")]
    missing = [name for name in [*told, "arrays", *dsa.__all__] if name not in text]
    tap.ok(not missing, "the manual page tells of every public name", missing)
    with open(MODULE, encoding="utf-8") as file:
        tap.ok(raised(SyntaxError, ast.parse, file.read(), feature_version=(3, 9)) is None,
               "Python 3.9 can read it")


def test_names(tap, scratch):
    import dsa

    told = scratch.run(os.path.join(BUILD, "dsa"), "--version").stdout
    tap.ok(told == f"dsa {dsa.__version__}\n", "the version is that of dsa", told)
    with dsa.Loader("synthetic:64", batch=8, size=8) as loader:
        tap.ok(repr(loader) == "<dsa.Loader of 'synthetic:64', batch 8, 8 steps an epoch>",
               "a loader says what it loads", repr(loader))
    tap.ok(repr(loader) == "<dsa.Loader of 'synthetic:64', batch 8, closed>",
           "or that it is closed", repr(loader))


def failed(kind, **arguments):
    """The loader that could not be opened, as a debugger finds it."""
    import dsa

    try:
        dsa.Loader(**arguments)
    except kind as error:
        return error.__traceback__.tb_next.tb_frame.f_locals["self"]
    return None


def test_failed_names(tap):
    import dsa

    told = [repr(failed(kind, dataset="/nowhere", **others))
            for kind, others in ((dsa.Error, {}), (TypeError, {"shuffle": True}))]
    tap.ok(told == 2 * ["<dsa.Loader of '/nowhere', batch 64, closed>"],
           "a loader that could not be opened says what it was to load", told)


def test_library(tap, scratch):
    code = "import dsa; dsa.Loader('synthetic')"
    for library, why in (("/nowhere.so", "no library: /nowhere.so"),
                         ("libc.so.6", "libc.so.6 has no dsa_open of DSA_1")):
        scratch.environment["DSA_LIBRARY"] = library
        told = scratch.run(PYTHON, "-c", code)
        tap.ok(f"dsa.Error: {why}" in told.stderr, f"{library} is refused", told.stderr)
    scratch.environment["DSA_LIBRARY"] = os.environ["DSA_LIBRARY"]


def test_without(tap, scratch):
    """Without NumPy, torch or both."""
    code = "import sys, warnings\nwarnings.simplefilter('error')\n" \
           "for name in {missing}: sys.modules[name] = None\n" \
           "import dsa\n" \
           "with dsa.Loader('synthetic:8', batch=8, size=8, arrays={arrays!r}) as loader:\n" \
           "    print(type(loader.next().images))"
    for missing, arrays, want in (
            (["torch"], "auto", "<class 'numpy.ndarray'>"),
            (["torch"], "torch", "ImportError: arrays='torch' needs torch"),
            (["numpy"], "auto", "ImportError: dsa needs NumPy (python3-numpy)"),
            (["numpy", "torch"], "auto", "ImportError: dsa needs NumPy (python3-numpy)")):
        told = scratch.run(PYTHON, "-c", code.format(missing=missing, arrays=arrays))
        tap.ok(want in told.stdout + told.stderr,
               f"without {' and '.join(missing)}, arrays={arrays}", told.stdout,
               told.stderr)


# ---- batches ----


def c_batches(scratch, dataset, settings):
    """What C gets: the samples' bytes; (epoch, step, labels, samples) of each batch."""
    scratch.environment["DSA_LOADER"] = settings
    told = scratch.run(os.path.join(BUILD, "tests/tool/batch_dump"), dataset,
                       scratch.at("samples"))
    del scratch.environment["DSA_LOADER"]
    with open(scratch.at("samples"), "rb") as file:
        data = file.read()
    rows = []
    for line in told.stdout.splitlines():
        epoch, step, *numbers = map(int, line.split())
        half = len(numbers) // 2
        rows.append((epoch, step, numbers[:half], numbers[half:]))
    return data, rows


def test_contents(tap, scratch, dataset, arrays):
    import dsa

    def content(images):
        return (images if arrays == "numpy" else images.numpy()).tobytes()

    side = 20
    for settings, shape, kind in (
            ({}, (3, side, side), "float32"),
            ({"type": "float16", "layout": "nhwc"}, (side, side, 3), "float16"),
            ({"type": "uint8", "seed": 7}, (3, side, side), "uint8"),
            ({"prep": "raw"}, (3 * 4 * side * side,), "uint8")):
        settings = dict({"size": side, "batch": 7, "epochs": 1}, **settings)
        text = ",".join(f"{key}={value}" for key, value in settings.items())
        data, rows = c_batches(scratch, dataset, text)
        with dsa.Loader(dataset, arrays=arrays, **settings) as loader:
            got, seen, good = b"", [], True
            for batch in loader.batches():
                got += content(batch.images)
                seen.append((batch.epoch, batch.step, batch.labels.tolist(),
                             batch.samples.tolist()))
                good = good and tuple(batch.images.shape) == (batch.count, *shape) and \
                    str(batch.images.dtype).endswith(kind) and \
                    str(batch.labels.dtype).endswith("int64")
        tap.ok(good and got == data and seen == rows and len(rows) > 1,
               f"{arrays}: {text} is what C gets", shape, len(got), len(data),
               seen[:1], rows[:1])

        os.environ["DSA_LOADER"] = text
        with dsa.Loader(dataset, arrays=arrays) as loader:
            first = loader.next()
            tap.ok(tuple(first.images.shape) == (first.count, *shape) and
                   content(first.images) == data[:len(content(first.images))],
                   f"{arrays}: and so it is when DSA_LOADER says it", first.images.shape)
        del os.environ["DSA_LOADER"], first, batch


def test_no_copy(tap, arrays):
    import dsa

    def address(images):
        return images.ctypes.data if arrays == "numpy" else images.data_ptr()

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loader = dsa.Loader("synthetic:64", batch=32, size=256, prefetch=4, arrays=arrays)
        batch = loader.next()
        tap.ok(address(batch.images) == batch._raw.data,
               f"{arrays}: the array lies where the library put it")
        tap.ok(address(batch.images[3]) == batch._raw.data + 3 * batch._raw.sample_bytes,
               f"{arrays}: and a part of it too")
        # Every slot is written, and a sanitizer has its own notes of every place.
        sum(1 for _ in zip(range(12), loader.forever()))
        before = resident()
        kept = [images for _, (images, _) in zip(range(4), loader.forever())]
        grown = resident() - before
        size = 32 * batch._raw.sample_bytes
        tap.ok(grown < size, f"{arrays}: four batches that are held take no memory",
               grown, size)
        tap.ok(len({address(images) for images in kept}) == 4 and
               len({float(images.sum()) for images in kept}) == 4,
               f"{arrays}: and each is another one")
        if arrays == "numpy":
            def unlock():
                kept[0].flags.writeable = True
            tap.ok(not kept[0].flags.writeable and raised(ValueError, unlock) is not None,
                   "numpy: nobody can write to it")
        loader.close()


def test_holding(tap):
    import dsa

    loader = dsa.Loader("synthetic:640", batch=16, size=16, prefetch=3, arrays="numpy")
    count = sum(1 for _ in zip(range(60), loader.forever()))
    tap.ok(count == 60, "a loop gives its batches back")
    loader.next()
    loader._core.settled()
    tap.ok(loader._core.held == 0, "what nobody refers to goes back at once")
    kept = []

    def keep():
        for _, (images, _) in zip(range(50), loader.forever()):
            kept.append(images[2:4].reshape(-1)[5:])

    told = raised(dsa.Error, keep)
    tap.ok(told is not None and f"{len(kept)} batches are held" in told and
           "prefetch" in told and len(kept) >= 3,
           "who keeps more than may be held is told", told, len(kept))
    tap.ok(raised(dsa.Error, keep) is not None, "again and again")
    sums = [float(images.sum()) for images in kept]
    position = loader.stats.epoch, loader.stats.step
    del kept[0]
    batch = loader.next()
    tap.ok((batch.epoch, batch.step) == position, "and goes on when a view of one is gone",
           batch, position)
    with batch:
        kept.append(batch.images)
    tap.ok(batch.images is None and kept[-1].shape == (16, 3, 16, 16),
           "a batch lets go of its arrays, who has them still has them")

    cycle = [kept.pop()]
    cycle.append(cycle)
    gc.disable()
    del cycle
    tap.ok(loader.next() is not None, "arrays in a cycle nobody can reach are no arrays")
    gc.enable()

    before = threads()
    loader.close()
    loader.close()
    tap.ok(threads() >= before > 0, "what is held keeps the loader", before, threads())
    tap.ok(raised(ValueError, loader.next) == "the loader is closed" and
           raised(ValueError, lambda: loader.stats) == "the loader is closed",
           "a closed loader says so")
    del loader
    tap.ok([float(images.sum()) for images in kept] == sums[1:],
           "arrays outlive their loader, and keep what is in them")
    kept.clear()
    tap.ok(before > 0 and no_threads(), "and then its threads are gone", before,
           threads())

    loader = dsa.Loader("synthetic:64", batch=8, size=8)
    wait_until(lambda: threads() > 0)  # a worker names itself
    seen = loader._core.look(lambda _: (loader.close(), threads())[1])
    tap.ok(seen > 0 and no_threads(), "one who looks at counters keeps it meanwhile",
           seen)


def test_epochs(tap, scratch, dataset, count):
    import dsa

    # Labels cannot tell samples apart, but pixels can.
    with dsa.Loader(dataset, batch=7, prep="raw", size=64, seed=3,
                    arrays="numpy") as loader:
        steps, all_seen = len(loader), []
        for _ in range(3):
            seen = [bytes(image) for images, _ in loader for image in images]
            all_seen.append(seen)
        tap.ok(steps == -(-count // 7), "len() is the number of steps", steps)
        tap.ok(all(len(seen) == len(set(seen)) == count for seen in all_seen) and
               set(all_seen[0]) == set(all_seen[2]) and all_seen[0] != all_seen[2],
               "each loop is an epoch, every sample once", list(map(len, all_seen)))
        for early, (images, _) in enumerate(loader):
            begun = (images.sum(), early)
            if early == 2:
                break
        rest = sum(len(labels) for _, labels in loader)
        tap.ok(rest == count - 3 * 7, "an epoch that was left goes on in the next loop",
               rest, begun)
        tap.ok(not loader.ended, "the data goes on")

    broken = scratch.at("broken.txt")
    with open(broken, "w", encoding="utf-8") as file:
        for folder, _, files in sorted(os.walk(dataset)):
            file.writelines(f"{folder}/{name} {os.path.basename(folder)}\n"
                            for name in sorted(files))
        file.writelines(f"/nowhere/{number} none\n" for number in range(9))
    with dsa.Loader(broken, batch=2, size=8, epochs=2, in_order=True,
                    prefetch=1) as loader:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            epochs, stats = zip(*(([len(labels) for _, labels in loader], loader.stats)
                                  for _ in range(3)))
        tap.ok([sum(epoch) for epoch in epochs] == [count, count, 0] and
               stats[0][:2] == (count, len(epochs[0])) and stats[0][8:10] == (1, 0) and
               loader.stats.skipped >= 9 and len(loader) > len(epochs[0]),
               "an epoch that skipped samples takes nothing from the next", epochs, *stats)
        tap.ok(loader.ended, "and then the data ends")
        tap.ok(len(told) == 1 and told[0].category is RuntimeWarning and
               told[0].filename == __file__ and
               f"9 of {count + 9} samples" in str(told[0].message),
               "what was skipped is told once, of the loop", told)
    none = scratch.folder("none")
    for number in range(9):
        os.mknod(os.path.join(none, f"{number}.jpg"))
    for epochs in 1, None:
        with dsa.Loader(none, batch=2, size=8, epochs=epochs) as loader:
            why = raised_as(lambda error: (error.errno, str(error)), dsa.Error, list, loader)
        tap.ok(why is not None and why[0] == errno.EBADMSG and "no sample" in why[1],
               f"no good sample in {epochs or 'all'} epochs: an Error", why)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with dsa.Loader(none, batch=2, size=8, epochs=1, start_step=3) as loader:
            left = list(loader)
    tap.ok(not left and "3 of 9 samples" in str(told[0].message),
           "none in what a resumed program had left: a warning", left, told)

    with dsa.Loader(dataset, batch=4, size=8, epochs=2) as loader:
        seen = [number for batch in loader.batches() for number in batch.samples]
        tap.ok(sorted(seen) == sorted(2 * list(range(count))),
               "batches() goes on through all epochs", len(seen))
        tap.ok(len(loader.classes) == loader.stats.classes and
               loader.classes == tuple(sorted(os.listdir(dataset))),
               "classes have names", loader.classes)


def test_arguments(tap, scratch):
    import dsa

    for kind, arguments, why in (
            (TypeError, {"batch": "64"}, "batch is a whole number, not '64'"),
            (TypeError, {"batch": 1.5}, "batch is a whole number, not 1.5"),
            (TypeError, {"batch": True}, "batch is a whole number, not True"),
            (TypeError, {"dataset": 5}, "dataset is a string, not 5"),
            (TypeError, {"bach": 5}, "unexpected keyword argument 'bach'"),
            (TypeError, {"batch_size": 5}, "'batch_size'; here it is batch"),
            (TypeError, {"num_workers": 2}, "'num_workers'; here it is workers"),
            (TypeError, {"shuffle": True}, "'shuffle'; here it is in_order"),
            (ValueError, {"batch": 0}, "batch is at least 1, not 0"),
            (ValueError, {"seed": -1}, "seed is at least 0, not -1"),
            (ValueError, {"epochs": 1 << 32}, "epochs is too large: 4294967296"),
            (ValueError, {"dataset": "a\0b"}, "dataset has a NUL in it"),
            (ValueError, {"layout": "chwn"}, "layout is 'nchw' or 'nhwc', not 'chwn'"),
            (ValueError, {"type": "float64"}, "type is 'float32' or 'float16' or 'uint8'"),
            (ValueError, {"mean": (1, 2)}, "mean is three numbers, not (1, 2)"),
            (ValueError, {"std": (1, 0, 1)}, "std divides"),
            (ValueError, {"arrays": "list"}, "arrays is 'auto', 'numpy', 'torch'"),
            (dsa.Error, {"batch": 65537}, "batch is at most 65536"),
            (dsa.Error, {"fetch": "mmap"}, "no fetch engine is called 'mmap'"),
            (dsa.Error, {"cache_size": "much"}, "cache_size is a size such as 2G"),
            (dsa.Error, {"rank": 2, "world": 2}, "rank 2 of world 2"),
            (dsa.Error, {"dataset": "/nowhere"}, "/nowhere")):
        told = raised(kind, dsa.Loader, **dict({"dataset": "synthetic:8"}, **arguments))
        tap.ok(told is not None and why in told, f"{arguments} is refused", told)
    with dsa.Loader("synthetic:64", batch=8, size=8, cache="minio", cache_size=1 << 20,
                    mean=(0, 0, 0), std=[1, 1, 1], evaluate=True, drop_last=True,
                    world=2, rank=1, arrays="numpy") as loader:
        images, _ = next(iter(loader))
        tap.ok(len(loader) == 4 and images.min() >= 0 and images.max() <= 1,
               "arguments arrive", len(loader), images.min(), images.max())
    path = scratch.at("bad.txt")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{path} a\n/nowhere/1.jpg a\n")
    with dsa.Loader(path, on_error="fail", size=8, rank=1, world=2) as loader:
        told = raised(dsa.Error, loader.next)
        tap.ok(told is not None and "/nowhere/1.jpg" in told,
               "a sample that fails is named", told)


def test_share_argument(tap):
    import dsa

    nowhere = "/nowhere/dsa.sock"
    told = raised(dsa.Error, dsa.Loader, "synthetic:8", share=nowhere)
    tap.ok(told is not None and nowhere in told, "share names a shared loader", told)
    os.environ["DSA_SHARE"] = nowhere
    told = raised(dsa.Error, dsa.Loader, "synthetic:8")
    tap.ok(told is not None and nowhere in told, "and so does DSA_SHARE", told)
    with dsa.Loader("synthetic:8", batch=8, size=8, share="") as loader:
        tap.ok(loader.next().count == 8 and loader.stats.shared == 0,
               "which share='' overrides")
    del os.environ["DSA_SHARE"]


def test_compute(tap):
    import time

    import dsa

    with dsa.Loader("synthetic:40", batch=32, size=8, epochs=1) as loader:
        tap.ok(raised(ValueError, loader.compute, 100) == "there is no batch yet",
               "no step before a batch")
        begun = time.monotonic()
        first, second = loader.next(), loader.next()
        for rate in (0, -1, float("nan")):
            tap.ok("rate is a positive number" in
                   (raised(ValueError, loader.compute, rate) or ""), f"no rate of {rate}")
        loader.compute(80)
        tap.ok(time.monotonic() - begun >= 0.1, "an accelerator takes its time")
        loader.compute(80, first)
        tap.ok(time.monotonic() - begun >= 0.4, "for another batch, that batch's")
        tap.ok(loader.next() is None and loader.ended and second.count == 8,
               "the data has ended")


# ---- processes, threads, signals ----


def test_fork(tap):
    import dsa

    with dsa.Loader("synthetic:64", batch=8, size=8) as loader:
        first = loader.next()
        pid = os.fork()
        if pid == 0:
            told = raised(dsa.Error, loader.next)
            held = raised(dsa.Error, lambda: loader.stats)
            first.release()
            loader.close()
            good = told is not None and "before fork()" in told and held is not None
            os._exit(7 if good else 1)
        _, status = os.waitpid(pid, 0)
        tap.ok(os.waitstatus_to_exitcode(status) == 7, "a forked child is told",
               status)
        tap.ok(loader.next().number == 1, "and its parent goes on")


def test_threads(tap):
    import dsa

    with dsa.Loader("synthetic:400", batch=4, size=8, epochs=5, prefetch=8) as loader:
        seen, failed = [], []

        def consume():
            try:
                for batch in loader.batches():
                    seen.extend(batch.samples.tolist())
            except BaseException as error:
                failed.append(error)

        crew = [threading.Thread(target=consume) for _ in range(4)]
        for thread in crew:
            thread.start()
        for thread in crew:
            thread.join()
        tap.ok(not failed and sorted(seen) == sorted(5 * list(range(400))),
               "threads may share a loader", failed, len(seen))


def test_close_meanwhile(tap):
    """By another thread, just before a call is put behind the worker's end."""
    import dsa

    for name in ("next", "_core.settled"):
        loader = dsa.Loader("synthetic:64", batch=8, size=8)
        call, worker = operator.attrgetter(name)(loader), loader._core.worker

        def late(task):
            del worker.put
            closer = threading.Thread(target=loader.close)
            closer.start()
            closer.join()
            worker.put(task)

        worker.put = late
        told = raised(ValueError, call)
        tap.ok(told == ("the loader is closed" if name == "next" else None) and
               no_threads(), f"{name} returns where another thread closes", told)


def test_interrupt(tap, scratch):
    scratch.environment["DSA_LOADER"] = "prep_delay=1000s"
    told = scratch.run(PYTHON, "-c", INTERRUPTED)
    tap.ok((told.returncode, told.stdout, told.stderr) == (0, "interrupted 0\n", ""),
           "Ctrl-C ends the wait for a batch that does not come, and the program ends",
           told)
    # 400 ms a batch: where the interrupt comes after it, the program prints "no" and fails.
    scratch.environment["DSA_LOADER"] = "prep_delay=50ms"
    told = scratch.run(PYTHON, "-c", INTERRUPTED, "go on")
    tap.ok(told.stdout.startswith("interrupted 0\n[0, 1, 2, 3, 4, 5, 6, 7]"),
           "and a program that goes on has lost no batch", told)
    for when in ("before", "after"):
        told = scratch.run(PYTHON, "-c", CUT_SHORT, when,
                           variables={"DSA_LOADER": "prep_delay=10ms"})
        tap.ok(told.stdout == "[0, 1, 2, 3, 4, 5, 6, 7]\n",
               "nor one that is interrupted just %s it asks" % when, told)
    told = scratch.run(PYTHON, "-c", HANDED_OVER)
    tap.ok(told.stdout == "[0, 1, 2, 3, 4]\n{'dsa'}\n",
           "nor one before it has its batch; batches go back where no Ctrl-C comes", told)
    told = scratch.run(PYTHON, "-c", CLOSED)
    tap.ok(told.stdout == "<dsa.Batch of 8, epoch 0, step 0> "
           "<dsa.Loader of 'synthetic:64', batch 8, closed>\n",
           "one whose handler closes the loader gets what it waited for", told)
    del scratch.environment["DSA_LOADER"]


def test_exit(tap, scratch, arrays):
    told = [scratch.run(PYTHON, "-c", EXITING, arrays) for _ in range(3)]
    tap.ok(all((one.returncode, one.stdout, one.stderr) == (0, "done\n", "")
               for one in told), f"{arrays}: a program may end with batches held", *told)


# ---- shared ----

CONSUMER = """
import sys, zlib
import dsa
kind, batch = sys.argv[2], int(sys.argv[3])
with dsa.Loader(sys.argv[1], batch=batch, size=16, epochs=2, arrays=kind) as loader:
    print(loader.stats.shared, len(loader))
    for epoch in range(2):
        seen = set()
        for images, labels in loader:
            images = images if kind == "numpy" else images.numpy()
            seen.update((zlib.crc32(image), label)
                        for image, label in zip(images, labels.tolist()))
        print(epoch, sorted(seen))
    print("copied", loader.stats.copied_bytes)
"""


def serve(scratch, dataset, *options):
    """A shared loader, and what its jobs find it by."""
    socket = scratch.at("dsa.sock")
    server = subprocess.Popen(
        [os.path.join(BUILD, "dsa"), "serve", dataset, "--socket", socket, "--batch",
         "10", *options], env=dict(scratch.environment, DSA_LOADER="size=16"), text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    for line in server.stdout:
        if "DSA_SHARE=" in line:
            break
    # What it says from here on is read by nobody, and must not fill the pipe.
    threading.Thread(target=server.stdout.read, daemon=True).start()
    return server, socket


def test_shared(tap, scratch, dataset, count, kinds):
    server, socket = serve(scratch, dataset, "--jobs", "2", "--leave")
    scratch.environment["DSA_SHARE"] = socket
    jobs = [subprocess.Popen([PYTHON, "-c", CONSUMER, dataset, kind, str(batch)],
                             env=scratch.environment, text=True, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE)
            for kind, batch in ((kinds[0], 7), (kinds[-1], 16))]
    told = [job.communicate(timeout=120) for job in jobs]
    del scratch.environment["DSA_SHARE"]
    lines = [out.splitlines() for out, _ in told]
    tap.ok(all(len(line) == 4 and line[3] == "copied 0" for line in lines) and
           [line[0] for line in lines] == [f"1 {-(-count // 7)}", f"1 {-(-count // 16)}"],
           "two programs take their batches from one loader, without a copy", *told)
    tap.ok(lines[0][1:3] == lines[1][1:3] and
           len(ast.literal_eval(lines[0][1][2:])) == count,
           "the same samples in each epoch, every one of them", *told)
    tap.ok(server.wait(timeout=60) == 0, "the loader ends when they left")


def lies_in(address):
    """Permissions of the mapping that an address lies in."""
    with open("/proc/self/maps", encoding="ascii") as file:
        for line in file:
            begin, end = (int(number, 16) for number in line.split()[0].split("-"))
            if begin <= address < end:
                return line.split()[1]
    return None


WRITER = """
import sys
import dsa
loader = dsa.Loader(sys.argv[1], batch=4, size=16, share=sys.argv[2], arrays="torch")
images, labels = next(iter(loader))
images.clone()[0] = 1
print("copied", flush=True)
images[0] = 1
"""


def test_shared_memory(tap, scratch, dataset, kinds):
    import dsa

    server, socket = serve(scratch, dataset)
    try:
        loader = dsa.Loader(dataset, batch=4, size=16, epochs=1000, share=socket,
                            arrays="numpy")
        kept = [images for _, (images, _) in zip(range(3), loader.forever())]
        tap.ok([lies_in(images.ctypes.data) for images in kept] == 3 * ["r--s"],
               "arrays lie in the memory that is shared, and read-only")
        told = raised(dsa.Error, dsa.Loader, dataset, batch=4, size=20, share=socket)
        tap.ok(told is not None, "a loader that prepares something else refuses", told)
        if "torch" in kinds:
            told = scratch.run(PYTHON, "-c", WRITER, dataset, socket)
            tap.ok(told.stdout == "copied\n" and told.returncode == -11,
                   "writing to a tensor ends a program, to its copy does not", told)
        else:
            tap.skip("writing to a tensor ends a program", "python3-torch is not installed")
        # A window of 80 samples; one that the first of them are held of ends there.
        told = raised(dsa.Error, lambda: sum(1 for _ in loader.forever()))
        tap.ok(told is not None and "--window" in told,
               "who holds the shared loader up is told", told)
        kept.clear()

        def go_on():
            for images, _ in loader.forever():
                kept[:] = images, float(images.sum())

        kept[:] = loader.next().images, None
        kept[1] = float(kept[0].sum())
        server.kill()
        server.wait()
        told = raised(dsa.Error, go_on)
        tap.ok(told is not None and "epoch" in told, "its death is told", told)
        loader.close()
        del loader
        tap.ok(float(kept[0].sum()) == kept[1], "and what is held outlives it")
    finally:
        server.kill()
        server.wait()


WAITING = """
import os, signal, sys, threading, time
import dsa
def interrupt():
    while not any(core.lock.locked() for core in list(dsa._open_cores)):
        time.sleep(.001)
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=interrupt).start()
try:
    dsa.Loader(sys.argv[1], batch=4, size=16, share=sys.argv[2])
except KeyboardInterrupt:
    print("interrupted")
"""


def test_turn(tap, scratch, dataset):
    """A job that comes late to a round waits for the next, inside of Loader()."""
    import dsa

    server, socket = serve(scratch, dataset, "--mode", "lockstep")
    try:
        with dsa.Loader(dataset, batch=4, size=16, share=socket) as first:
            batch = first.next()
            told = scratch.run(PYTHON, "-c", WAITING, dataset, socket)
            tap.ok((told.returncode, told.stdout, told.stderr) == (0, "interrupted\n", ""),
                   "Ctrl-C ends the wait for one's turn", told)
            tap.ok(sum(len(labels) for _, labels in first) + batch.count >= 60,
                   "and the others go on")
    finally:
        server.kill()
        server.wait()


# ---- torch ----


def test_dataset(tap):
    import pickle

    import torch.utils.data

    import dsa

    with dsa.Loader("synthetic:30", batch=4, size=8) as loader:
        dataset = dsa.torch_dataset(loader)
        data = torch.utils.data.DataLoader(dataset, batch_size=None)
        sizes = [[len(labels) for _, labels in data] for _ in range(2)]
        tap.ok(sizes == 2 * [7 * [4] + [2]] and len(data) == 8,
               "DataLoader takes its epochs from a loader", sizes)
        tap.ok(isinstance(dataset, torch.utils.data.IterableDataset) and
               isinstance(next(iter(data))[0], torch.Tensor), "as tensors")
        told = raised(dsa.Error, pickle.dumps, dataset)
        tap.ok(told is not None and "num_workers=0" in told, "it cannot be pickled", told)
        many = torch.utils.data.DataLoader(dataset, batch_size=None, num_workers=1)
        told = raised(dsa.Error, lambda: next(iter(many)))
        tap.ok(told is not None and "num_workers=0" in told,
               "workers of DataLoader are refused", told)
        for what, more in ((dataset, {}), (dataset, {"batch_size": 32}), (loader, {}),
                           (loader, {"batch_size": None})):
            data = torch.utils.data.DataLoader(what, **more)
            told = raised((dsa.Error, TypeError), lambda: next(iter(data)))
            tap.ok(told is not None and "batch_size=None" in told,
                   f"DataLoader({type(what).__name__}, {more}) is told what to pass", told)


# ---- the example ----


# train.py as its argument says, where torch can't be imported.
WITHOUT_TORCH = "import sys, runpy\n" \
                "sys.modules['torch'] = None\n" \
                "sys.argv = sys.argv[1:]\n" \
                "runpy.run_path(sys.argv[0], run_name='__main__')"


def losses(text):
    return [float(loss) for loss in re.findall(r"loss ([0-9.]+)", text)]


def test_example(tap, scratch, dataset, with_torch):
    hide = [] if with_torch else ["-c", WITHOUT_TORCH]
    told = scratch.run(PYTHON, *hide, EXAMPLE, "--dataset", dataset, "--batch", 20,
                       "--epochs", 120, "--size", 32, "--test", dataset)
    loss = losses(told.stdout)
    name = "with torch" if with_torch else "by NumPy alone"
    tap.ok(told.returncode == 0 and loss[-1] < loss[0] - 0.1,
           f"{name} the example's loss falls", told.stdout, told.stderr)
    tap.ok("held-out accuracy" in told.stdout, f"{name} it is tested", told.stdout)


def test_example_options(tap, scratch):
    example = [PYTHON, "-c", WITHOUT_TORCH, EXAMPLE]
    told = scratch.run(*example, "--dataset", "synthetic:100", "--emulate-gpu", "1e5",
                       "--steps", 3, "--size", 8)
    tap.ok(re.fullmatch(r"step 3  \d+ samples/s\n", told.stdout) and
           told.returncode == 0, "the example emulates an accelerator", told)
    told = scratch.run(*example, "--dataset", "/nowhere")
    tap.ok(told.returncode == 1 and re.fullmatch(r"train.py: .*/nowhere.*\n", told.stderr),
           "its failures are one line", told)
    told = scratch.run(*example, "--dataset", "synthetic", "--batch", 0)
    tap.ok(told.returncode == 2, "and its options are looked at", told)


def test_run(tap, scratch, dataset):
    told = scratch.run(os.path.join(BUILD, "dsa"), "run", "--budget", BUDGET, "-o", "out",
                       "--prep-delay", "2ms", "--workers", 1, "--", PYTHON, EXAMPLE,
                       "--dataset", dataset, "--size", 16, "--batch", 8, "--emulate-gpu",
                       1000)
    result = scratch.result()
    stalls, off = result["stalls"], unsure(result, "compute")
    shares = [stalls[name]["share"] for name in ("compute", "prep", "fetch")]
    tap.ok(told.returncode == 0 and abs(sum(shares) - 1) < 1e-6,
           "dsa run measures a program in Python", told.stdout, told.stderr)
    # 2 ms of prep for each ms of compute, one beside the other; on a busy machine fetch
    # takes its share of it.
    tap.ok(0.2 - off < shares[1] + shares[2] < 0.8 + off, "and finds how long it waits", shares,
           told.stdout)


def main():
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # it may be ignored where this runs
    tap = Tap()
    kinds = [name for name in ("numpy", "torch") if available(name)]
    if "numpy" not in kinds:
        print("1..0 # SKIP python3-numpy is not installed")
        return
    with Scratch() as scratch:
        scratch.environment["PYTHONPATH"] = os.path.dirname(MODULE)
        os.environ["XDG_CACHE_HOME"] = scratch.environment["XDG_CACHE_HOME"]
        dataset = scratch.images(count=60, size="6K")
        test_interface(tap, scratch)
        test_names(tap, scratch)
        test_failed_names(tap)
        test_library(tap, scratch)
        test_without(tap, scratch)
        for arrays in kinds:
            test_contents(tap, scratch, dataset, arrays)
            test_no_copy(tap, arrays)
            test_exit(tap, scratch, arrays)
        test_holding(tap)
        test_epochs(tap, scratch, dataset, 60)
        test_arguments(tap, scratch)
        test_share_argument(tap)
        test_compute(tap)
        test_fork(tap)
        test_threads(tap)
        test_close_meanwhile(tap)
        test_interrupt(tap, scratch)
        test_shared(tap, scratch, dataset, 60, kinds)
        test_shared_memory(tap, scratch, dataset, kinds)
        test_turn(tap, scratch, dataset)
        test_example(tap, scratch, dataset, False)
        test_example_options(tap, scratch)
        if "torch" in kinds:
            test_dataset(tap)
            test_example(tap, scratch, dataset, True)
        else:
            tap.skip("torch", "python3-torch is not installed")
        test_run(tap, scratch, dataset)
    tap.done()


main()
