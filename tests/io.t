#!/usr/bin/python3
"""libdsa-io.so in programs that know nothing of it: what it counts is what they read, of
threads, of processes however they came and went, by whatever calls. Speaks TAP.

	tests/io.t		all of it
	tests/io.t spawned	one of the tests below
"""

import ctypes.util
import json
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "lib"))
from house import BUILD, Scratch, Tap, in_memory

PYTHON = "/usr/bin/python3"
LIBRARY = os.path.join(BUILD, "libdsa-io.so")
TOOL = os.path.join(BUILD, "tests/tool")
MAPPED, SOCKET, FORKED, LISTED, CALLS = 1, 2, 4, 8, 16
FILES, SIZE = 40, 30000

# What every program below begins with; its first argument is the folder of the data.
BEGINNING = """
import ctypes, os, sys
library = ctypes.CDLL(None)
begin, end = library.dsa_io_batch_begin, library.dsa_io_batch_end
begin.argtypes, end.argtypes = [ctypes.c_uint64], [ctypes.c_uint32]
def at(name):
    return os.path.join(sys.argv[1], str(name))
def read(name):
    with open(at(name), "rb") as file:
        return len(file.read())
"""


class Program:
    """A page, data, and programs that are run with them."""

    def __init__(self, scratch):
        self.scratch, self.count = scratch, 0
        self.data = scratch.folder("data")
        for i in range(FILES):
            with open(os.path.join(self.data, str(i)), "wb") as file:
                file.write(os.urandom(SIZE))
        self.page = None

    def make(self, **settings):
        self.count += 1
        self.page = self.scratch.at(f"page{self.count}")
        subprocess.run([os.path.join(TOOL, "io_page"), "make", self.page,
                        *(f"{name}={value}" for name, value in settings.items())], check=True)

    def environment(self, preload=LIBRARY, **more):
        return {**self.scratch.environment, "LD_PRELOAD": preload, "DSA_IO": self.page, **more}

    def run(self, *command, user=None, **more):
        return subprocess.run(command, env=self.environment(**more), text=True, check=False,
                              user=user, cwd=self.scratch.path, stdin=subprocess.DEVNULL, timeout=120,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def python(self, text, before=(), **more):
        path = self.scratch.at("program.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(BEGINNING + text)
        return self.run(*before, PYTHON, path, self.data, **more)

    def seen(self):
        shown = subprocess.run([os.path.join(TOOL, "io_page"), "show", self.page], check=True,
                               text=True, stdout=subprocess.PIPE).stdout
        return json.loads(shown)


def check(tap, done, good, name, *details):
    tap.ok(done.returncode == 0 and good, name, done.returncode, done.stdout, done.stderr,
           *details)


def counted(seen, batches, opens, size):
    return (seen["batches"], seen["opens"], seen["bytes"]) == (batches, opens, size) and \
        seen["dropped"] == 0


def threads(tap, program):
    program.make()
    done = program.python("""
import threading
for key in range(2):
    begin(key)
    parts = [range(i, 40, 8) if key == 0 else range(39 - i, -1, -8) for i in range(8)]
    several = [threading.Thread(target=lambda part: [read(i) for i in part], args=(part,))
               for part in parts]
    [thread.start() for thread in several]
    [thread.join() for thread in several]
    end(40)
""")
    seen = program.seen()
    check(tap, done, counted(seen, 2, 2 * FILES, 2 * FILES * SIZE) and seen["samples"] == 80,
          "threads of a batch", seen)
    first, second = seen["made"]
    tap.ok(first["digest"] == second["digest"] and first["io_ns"] > 0 and
           first["flags"] == 0, "their order leaves the digest as it is", seen["made"])


def forked(tap, program):
    program.make()
    done = program.python("""
import signal
def work(i):
    begin(i)
    read(i % 40)
    end(1)
    begin(i)
    read(i % 40)
    if i % 2:
        os.kill(os.getpid(), signal.SIGKILL)
    os._exit(0)
alive = 0
for i in range(500):
    if alive == 64:
        os.wait()
        alive -= 1
    if os.fork() == 0:
        work(i)
    alive += 1
""")
    seen = program.seen()
    check(tap, done, counted(seen, 500, 1000, 1000 * SIZE) and seen["slots"] <= 256,
          "500 processes that are killed or leave lose no byte", seen["bytes"], seen["slots"])


def spawned(tap, program):
    for method in ("spawn", "forkserver"):
        program.make()
        done = program.python(f"""
import multiprocessing
def work(i):
    begin(i)
    read(i)
    end(1)
if __name__ == "__main__":
    for i in range(3):
        process = multiprocessing.get_context("{method}").Process(target=work, args=(i,))
        process.start()
        process.join()
""")
        seen = program.seen()
        check(tap, done, counted(seen, 3, 3, 3 * SIZE) and
              len({batch["pid"] for batch in seen["made"]}) == 3, "workers by " + method, seen)


def opened_before(tap, program):
    program.make(listing=1)
    done = program.python("""
os.chdir(sys.argv[1])
one, two = open("0", "rb"), os.open("1", os.O_RDONLY)
one.read(10)
for key in range(2):
    begin(key)
    one.seek(0)
    one.read()
    for at in (5000, 5100, 20000):
        os.pread(two, 100, at)
    import wave  # code is no data
    end(1)
""")
    seen = program.seen()
    first, second = seen["made"]
    # what Python has buffered already it does not read again
    check(tap, done, second["bytes"] == SIZE + 300 and second["opens"] == 0 and
          first["flags"] == LISTED, "files that were open before", seen)
    ours = [span for span in seen["ranges"] if span[0] == 1]
    tap.ok(sorted(ours) == [[1, program.data + "/0", 0, SIZE],
                            [1, program.data + "/1", 5000, 5200],
                            [1, program.data + "/1", 20000, 20100]],
           "and their ranges, with absolute paths", seen["ranges"])


def flags(tap, program):
    program.make()
    done = program.python("""
import mmap, socket, subprocess
server = socket.create_server(("127.0.0.1", 0))
def plain():
    pair = socket.socketpair()
    pair[0].sendall(b"x")
    pair[1].recv(1)
    ends = os.pipe()
    os.write(ends[1], b"x")
    os.read(ends[0], 1)
def mapped():
    with open(at(0), "rb") as file:
        mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
    with open("/dev/shm/dsa-io-test", "wb+") as file:  # memory that is shared
        os.unlink("/dev/shm/dsa-io-test")
        file.truncate(4096)
        mmap.mmap(file.fileno(), 4096)
def connected():
    client = socket.create_connection(server.getsockname())
    server.accept()[0].sendall(b"x")
    client.recv(1)
def started():
    subprocess.run(["cat", at(1)], stdout=subprocess.DEVNULL)
for act in (plain, mapped, connected, started):
    begin(0)
    act()
    end(1)
""")
    seen = program.seen()
    check(tap, done, [batch["flags"] for batch in seen["made"]] ==
          [0, MAPPED, MAPPED | SOCKET, MAPPED | FORKED]
          and seen["maps"] == 1 and seen["sockets"] == 1,
          "what can't be counted is noticed: mapped files, connections, processes", seen)
    tap.ok(seen["bytes"] == 0 and seen["slots"] == 1,
           "what other programs read is not the batch's", seen)


LIST = """
list_read, list_evict = library.dsa_io_list_read, library.dsa_io_list_evict
list_read.argtypes = [ctypes.c_double, ctypes.c_uint64]
list_evict.argtypes = [ctypes.c_double, ctypes.c_uint64, ctypes.c_void_p]
bytes_of = ctypes.c_uint64()
def evict(share, seed):
    return list_evict(share, seed, ctypes.byref(bytes_of))
def make():
    begin(7)
    for i in range(40):
        read(i)
    end(40)
make()
print(evict(1, 0))
make()
print(list_read(1, 0))
make()
print(evict(.5, 3))
make()
"""


def from_storage(tap, program):
    """A list's files are evicted, read ahead, evicted in part: the kernel's count says so."""
    program.make(listing=1)
    done = program.python(LIST)
    seen = program.seen()
    check(tap, done, done.stdout == "0\n0\n0\n" and
          len({batch["digest"] for batch in seen["made"]}) == 1, "a list is made again", seen)
    if in_memory(program.data):
        tap.skip("from storage, from memory, half", "the data lies in memory")
        return
    _, cold, warm, half = [batch["storage_bytes"] for batch in seen["made"]]
    whole = FILES * -(-SIZE // 4096) * 4096
    tap.ok(cold == whole and warm == 0 and whole / 4 < half < whole * 3 / 4,
           "from storage, from memory, half", cold, warm, half, whole)


def of_another_owner(tap, program):
    """An ordinary user's reads of files that are root's: what came from storage tells, as
    the kernel does not tell him what lies in memory."""
    if os.geteuid() != 0 or not os.access(LIBRARY, os.R_OK) or in_memory(program.data):
        tap.skip("files of another owner", "needs root, and data on storage")
        return
    program.make(listing=1)
    os.chmod(program.page, 0o666)
    os.chmod(program.scratch.path, 0o755)
    done = program.python(LIST + """
resident = ctypes.c_uint64()
print(library.dsa_io_list_resident(ctypes.byref(bytes_of), ctypes.byref(resident)))
""", user=65534)
    seen = program.seen()
    _, cold, warm, half = [batch["storage_bytes"] for batch in seen["made"]]
    check(tap, done, done.stdout == "0\n0\n0\n-1\n" and cold >= FILES * SIZE and warm == 0 and
          0 < half < cold, "files of another owner: storage tells", cold, warm, half)


def copied(tap, program):
    program.make(listing=1)
    done = program.python("""
begin(1)
source, ends = os.open(at(0), os.O_RDONLY), os.pipe()
sink = os.open("copied", os.O_RDWR | os.O_CREAT | os.O_TRUNC)
print(os.sendfile(sink, source, 100, 1000), os.sendfile(sink, source, None, 500),
      os.copy_file_range(source, sink, 300, 5000), os.splice(source, ends[1], 200, 9000),
      os.lseek(source, 0, os.SEEK_CUR))
end(1)
""")
    seen = program.seen()
    check(tap, done, done.stdout == "1000 500 300 200 500\n" and seen["bytes"] == 2000 and
          seen["made"][0]["reads"] == 4 and sorted(seen["ranges"]) ==
          [[1, program.data + "/0", begin, begin + size] for begin, size in
           ((0, 500), (100, 1000), (5000, 300), (9000, 200))],
          "what the kernel copies from a file is read", seen)


def later(tap, program):
    for by in ("aio", "uring"):
        program.make()
        done = program.run(os.path.join(TOOL, "io_reader"), by, program.data + "/0")
        if done.returncode == 77:
            tap.skip("reads by " + by, "the kernel has it not")
            continue
        last = program.seen()["made"][-1]
        check(tap, done, last["flags"] == CALLS and last["bytes"] == 0,
              f"reads by {by} are not counted, but told", last)


def mapped_before(tap, program):
    for touched, expected in (("", [0, 0]), ("held[:50]", [MAPPED, MAPPED])):
        program.make()
        done = program.python(f"""
import mmap
with open(at(0), "rb") as file:
    held = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
if os.fork() == 0:
    for key in range(2):
        begin(key)
        read(1)
        {touched}
        end(1)
    os._exit(0)
os.wait()
""")
        seen = program.seen()
        check(tap, done, [batch["flags"] for batch in seen["made"]] == expected and
              seen["bytes"] == 2 * SIZE,
              f"a file that was mapped before and is {'' if touched else 'not '}read", seen)


def written(tap, program):
    program.make()
    done = program.python("""
open("early", "w").close()
if os.fork() == 0:
    begin(0)
    read(0)
    end(1)
    os._exit(0)
os.wait()
for i in range(2):
    with open("model.pt", "wb") as file:
        file.write(b"x")
print("to a pipe")
import ctypes
libc = ctypes.CDLL(None)
libc.fopen.restype = ctypes.c_void_p
libc.fclose.argtypes = [ctypes.c_void_p]
libc.fclose(libc.fopen(b"log.txt", b"a"))
""")
    seen = program.seen()
    check(tap, done, [os.path.basename(path) for path in seen["written"]] ==
          ["model.pt", "log.txt"], "files that are written once there are batches", seen)


OVERWRITES = """
import ctypes
begin(0)
end(1)
os.chdir(sys.argv[1] + "/../work")
for text in ("new", "newer"):
    with open("model.pt", "w") as file:
        file.write(text)
    with open("tmp", "w") as file:
        file.write(text)
    os.replace("tmp", "best.pt")
with open("link.pt", "w") as file:
    file.write("new")
libc = ctypes.CDLL(None)
libc.fopen.restype, libc.fclose.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
libc.fclose(libc.fopen(b"stream.pt", b"wb"))
try:
    open("safe.pt", "x")
except FileExistsError:
    print("refused")
with open("safe.pt", "a") as file:
    file.write("+")
open("safe.pt", "w").close()  # kept twice: how long it was, and what it held
open("empty.pt", "w").close()
for _ in range(2):
    with open("cut.pt", "r+") as file:
        file.truncate(0)
os.truncate("short.pt", 3)
"""
OLD = ["model.pt", "best.pt", "target.pt", "stream.pt", "safe.pt", "cut.pt", "short.pt"]
CUT = OLD[5:]  # stay what they are, and are always copied


def contents(path):
    with open(path, encoding="ascii") as file:
        return file.read()


def kept_in(folder):
    """What the script would put back: {name: where it lies}."""
    if not folder:
        return {}
    return {os.path.basename(path): kept for kept, path in
            re.findall(r"^kept='(.*)' path='(.*)'; ", contents(folder + "/put-back"), re.M)}


def overwritten(tap, program):
    """What the user had is there after the program wrote over it, and what it wrote is, too."""
    for name, folder in (("moved", program.scratch.folder("kept")),
                         ("copied", program.scratch.folder("/dev/shm", "dsa-io-" +
                          os.path.basename(program.scratch.path))),
                         ("left", "")):
        work = program.scratch.folder("work")
        for old in OLD:
            with open(os.path.join(work, old), "w", encoding="ascii") as file:
                file.write("old " + old)
            os.chmod(os.path.join(work, old), 0o640)
        open(os.path.join(work, "empty.pt"), "w", encoding="ascii").close()
        os.symlink("target.pt", os.path.join(work, "link.pt"))
        program.make(keeping=1, kept=folder)
        inodes = {old: os.stat(os.path.join(work, old)).st_ino for old in OLD}
        done = program.python(OVERWRITES)
        kept, seen = kept_in(folder), program.seen()
        lost = [old for old in OLD if folder and not (
            contents(kept[old]) == "old " + old + ("+" if old == "safe.pt" else "") and
            os.stat(kept[old]).st_mode & 0o777 == 0o640)]
        now = [contents(os.path.join(work, old)) for old in OLD]
        modes = [os.stat(os.path.join(work, old)).st_mode & 0o777 for old in OLD]
        check(tap, done, not lost and done.stdout == "refused\n" and
              now == ["newer", "newer", "new", "", "", "", "old"] and
              os.path.islink(os.path.join(work, "link.pt")) and
              modes[0] == modes[2] == modes[3] == modes[4] == 0o640,
              f"files that are overwritten are {name}", lost, now, modes, seen)
        same = [old for old in kept if os.stat(kept[old]).st_ino == inodes[old]]
        tap.ok(sorted(same) == sorted(set(OLD) - set(CUT) if name == "moved" else []),
               "at no more cost than that", same)
        tap.ok(sorted(kept) == sorted(OLD if folder else []) and seen["lost"] == 0 and
               seen["to_keep"] == len(kept) + bool(folder) and {os.path.basename(path) for path in
                                                 seen["written"]} ==
               {"tmp", "empty.pt", *OLD} - (set() if folder else {"short.pt"}) and
               (not folder or sorted(os.listdir(folder)) == sorted(
                   ["put-back", *map(os.path.basename, kept.values())])),
               "and no other is", kept, seen["written"])
        shutil.rmtree(work)
        if folder:
            shutil.rmtree(folder)


# The user's files are in $0, the lower folder: in a file system of its own, or the upper one's.
ON_OVERLAY = """mount -t tmpfs none top && mkdir top/low top/upper top/work && cp low/* top/low &&
mount -t overlay -o lowerdir="$0",upperdir=top/upper,workdir=top/work none all && cd all &&
mkdir kept && "$@" && unset LD_PRELOAD && sh kept/put-back && cat mode.pt aside.pt && ls kept"""
CHANGES_THERE = """
os.chmod("mode.pt", 0o600)
begin(0)
end(1)
with open("mode.pt", "w") as file:
    file.write("new")
os.rename("aside.pt", "b")
with open("b", "w") as file:
    file.write("new")
os.rename("b", "aside.pt")
"""


def on_overlay(tap, program):
    """Where a file's copy in the upper folder has another time of birth, and may seem another."""
    folder = program.scratch.folder("overlay")
    for name in ("low", "top", "all"):
        os.mkdir(os.path.join(folder, name))
    for name in ("mode.pt", "aside.pt"):
        with open(os.path.join(folder, "low", name), "w", encoding="ascii") as file:
            file.write(f"old {name}\n")
    for low in ("low", "top/low"):
        program.make(keeping=1, kept=os.path.join(folder, "all/kept"))
        done = program.python(CHANGES_THERE, before=(
            "unshare", "-m", "sh", "-c", f"cd {folder} && {ON_OVERLAY}", low))
        if "mount:" in done.stderr or "unshare:" in done.stderr:
            tap.skip("files are kept on an overlay", done.stderr.strip())
            continue
        check(tap, done, done.stdout == "old mode.pt\nold aside.pt\nput-back\n",
              f"files are kept on an overlay of {low}", program.seen())


def streams(tap, program):
    program.make()
    text = program.scratch.at("text")
    with open(text, "w", encoding="ascii") as file:
        file.writelines(f"{'xyz' * (i % 97)} {i}\n" for i in range(1000))
    done = program.run(os.path.join(TOOL, "io_reader"), "streams", text)
    seen = program.seen()
    check(tap, done, seen["made"][1]["bytes"] == int(done.stdout),
          "streams: to the byte what the kernel says", seen["made"])
    program.make()
    done = program.python("""
import numpy
begin(0)
numpy.fromfile(at(0), dtype="u1")
end(1)
""")
    seen = program.seen()  # it looks for the end once more
    check(tap, done, seen["proc_bytes"] == seen["bytes"] >= SIZE, "numpy.fromfile", seen)


def coverage(tap, program):
    program.make()
    done = program.python("""
import time
def kernel():
    fd = os.open("/proc/self/io", os.O_RDONLY)
    text = os.read(fd, 4096)
    os.close(fd)
    return int(text.split()[1]), len(text)
begin(0)
end(1)
before, own = kernel()
since, count = time.monotonic(), 0
while time.monotonic() < since + .25:
    begin(count)
    read(count % 40)
    end(1)
    read(count % 7)
    count += 1
after = kernel()[0]
print(count, after - before - own)
""")
    seen = program.seen()
    count, kernel = map(int, done.stdout.split())
    # dsa's own looks at /proc are some hundred bytes each, ten a second, and some of all
    # mappings
    check(tap, done, seen["bytes"] == count * SIZE and
          2 * seen["bytes"] <= kernel <= 2 * seen["bytes"] + 200000,
          "all that a process reads is seen: the kernel counts the same", kernel, seen)
    tap.ok(seen["seen_bytes"] == seen["proc_bytes"] > 0, "and the page says so", seen)
    program.make()
    done = program.python("""
import subprocess, time
since, child = time.monotonic(), None
while time.monotonic() < since + .3:
    begin(0)
    read(0)
    end(1)
    if child is None and time.monotonic() > since + .1:
        child = subprocess.run(["cat", at(1)], stdout=subprocess.DEVNULL, env={})
""")
    seen = program.seen()
    check(tap, done, seen["seen_bytes"] == seen["proc_bytes"] > 0,
          "what a child read is not its parent's", seen["seen_bytes"], seen["proc_bytes"])


def emulated(tap, program):
    program.make(bandwidth=5e6, latency=0.001, throttled=1, delay=0.004)
    done = program.python("""
import time
pad = library.dsa_io_pad
pad.argtypes = [ctypes.c_uint64]
began = time.monotonic()
for worker in range(2):
    if os.fork() == 0:
        begin(worker)
        for i in range(20):
            read(20 * worker + i)
        pad(time.monotonic_ns())
        end(20)
        os._exit(0)
os.wait()
os.wait()
print(time.monotonic() - began)
""")
    seen = program.seen()
    needs = FILES * SIZE / 5e6
    check(tap, done, seen["throttle_reads"] == FILES and
          seen["throttle_bytes"] == seen["bytes"] == FILES * SIZE and
          abs(seen["throttle_busy_ns"] - needs * 1e9) < FILES and seen["padded"] == 2,
          "the emulated storage has the program's bytes", seen)
    tap.ok(float(done.stdout) >= needs * (1 - 1 / FILES),
           "and all processes together no more than it brings", done.stdout, needs)


def strangers(tap, program):
    program.make()
    done = program.run("sh", "-c", f"cat {program.data}/* | wc -c; ls / >/dev/null")
    seen = program.seen()
    check(tap, done, done.stdout.strip() == str(FILES * SIZE) and seen["slots"] == 0,
          "a process that makes no batch takes no part", seen)
    text = """
begin(0)
read(0)
end(1)
library.dsa_io_page.restype = ctypes.c_void_p
print(library.dsa_io_page(), "page" in open("/proc/self/maps").read())
"""
    done = program.python(text, DSA_IO="")
    check(tap, done, done.stdout == "None False\n" and not program.seen()["batches"],
          "nor does one without DSA_IO")
    done = program.python(text, DSA_IO="/nowhere/page")
    check(tap, done, done.stdout == "None False\n", "nor one whose page is gone")


def beside(tap, program):
    """Others that stand before the C library."""
    work = "begin(0)\n[read(i) for i in range(40)]\nend(40)\n"
    for name in ("jemalloc", "tcmalloc_minimal"):
        library = ctypes.util.find_library(name)
        if library is None:
            tap.skip("with " + name, "it is not installed")
            continue
        for preload in (f"{LIBRARY} {library}", f"{library} {LIBRARY}"):
            program.make()
            done = program.python(work, preload=preload)
            check(tap, done, counted(program.seen(), 1, FILES, FILES * SIZE),
                  "with " + re.sub(r"\S+/", "", preload), program.seen())
    early = os.path.join(TOOL, "io_early.so")
    text = program.scratch.at("lines")
    with open(text, "w", encoding="ascii") as file:
        file.write("one\ntwo\n")
    for preload in (f"{LIBRARY} {early}", f"{early} {LIBRARY}"):
        program.make()
        done = program.python(work, preload=preload, EARLY_READS=text)
        check(tap, done, counted(program.seen(), 1, FILES, FILES * SIZE) and
              done.stderr == "two\n", "with a constructor that reads", program.seen())


TESTS = [threads, forked, spawned, opened_before, flags, from_storage, of_another_owner,
         copied, later, mapped_before, written,
         overwritten, on_overlay, streams, coverage, emulated, strangers, beside]


def main():
    tap = Tap()
    with Scratch() as scratch:
        program = Program(scratch)
        for test in TESTS:
            if len(sys.argv) < 2 or test.__name__ in sys.argv[1:]:
                test(tap, program)
    tap.done()


main()
