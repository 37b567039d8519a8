#!/usr/bin/python3
"""One loader for several jobs, for real: dsa serve and jobs that look at every byte. Among
them is each thing that the shared loaders before ours got wrong. Speaks TAP. SLEEPS most of
the time. SOAK=1: 200 random schedules instead of 12."""

import array
import json
import mmap
import os
import re
import signal
import socket
import stat
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/lib")
from house import DSA, Scratch, Tap, children, end_all, state, wait_until
from shared_loader import JOB, SharedLoader, finish

SCHEDULES = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                         "bench/share_schedules.py")
MAGIC, HELLO, WELCOME, REFUSED = 0x31617364, 1, 2, 3

tap = Tap()


class Loader(SharedLoader):
    """Of one data set."""

    def __init__(self, scratch, data, *words, wait=True):
        self.data = data
        super().__init__(scratch, [data], *words, wait=wait)

    def job(self, *words, loader="", data=None):
        return super().job(data or self.data, self.scratch.at("table"), *words,
                           loader=loader)

    def there(self):
        return [job for job in self.status()["jobs"] if job["state"] != "left"]

    def wait_for_jobs(self, count):
        return wait_until(lambda: len(self.there()) == count)

    def stop(self):
        self.process.terminate()
        return self.process.wait(60)


def epochs(words):
    found = re.search(r"epochs (\d+)", words)
    return int(found.group(1)) if found else None


def good(job, whole=None):
    status, words = finish(job)
    return status == 0 and (whole is None or epochs(words) == whole), words


def hello(batch, data, version=6):
    uint8 = 2
    body = struct.pack("=8I6f4Id32s4096s64sII16s", version, batch, 0, 1, 1, 32, 0, uint8,
                       0, 0, 0, 1, 1, 1, 1024, 16, 16000, 0, 5, b"image", data.encode(),
                       b"stranger", 0, 0, bytes(16))
    return struct.pack("=IIII", MAGIC, HELLO, len(body), 0) + body


def answer(peer):
    """Type of what the loader says, and its descriptors."""
    try:
        message, ancillary, _, _ = peer.recvmsg(65536, socket.CMSG_SPACE(64))
    except ConnectionResetError:
        return None, [], b""
    fds = array.array("i")
    for level, kind, body in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            fds.frombytes(body[:len(body) - len(body) % fds.itemsize])
    kind = struct.unpack("=IIII", message[:16])[1] if len(message) >= 16 else None
    return kind, list(fds), message[16:]


def descriptors(loader):
    return len(os.listdir("/proc/%d/fd" % loader.process.pid))


def refuses(what, call):
    try:
        call()
    except (OSError, ValueError):
        return True
    print("# allowed:", what)
    return False


def sizes_and_epochs(scratch, data):
    with Loader(scratch, data, "--batch", "32", "--jobs", "3", "--leave") as loader:
        jobs = [loader.job("batch=%d" % batch, "epochs=2", "hold=2")
                for batch in (64, 7, 33)]
        results = [good(job, 2) for job in jobs]
        tap.ok(all(result for result, _ in results),
               "batches of any size get every sample once an epoch, tails too", results)
        tap.ok(loader.process.wait(60) == 0, "with --leave it ends with its jobs",
               loader.words())
        tap.ok("exactly once" in loader.verdict(), "its audit finds the same",
               loader.verdict())
        tap.ok(not os.path.exists(loader.socket), "its socket is gone")


def slow_and_fast(scratch, data):
    with Loader(scratch, data, "--batch", "16", "--window", "6", "--slow", "wait",
                "--jobs", "2", "--leave") as loader:
        slow = loader.job("batch=20", "epochs=1", "rate=600", "hold=2")
        fast = loader.job("batch=16", "epochs=2")
        results = [good(slow, 1), good(fast, 2)]
        tap.ok(all(result for result, _ in results),
               "a slow job never finds another batch's data under a number", results)


def short_epochs(scratch, _):
    data = scratch.images("five", count=5)
    with Loader(scratch, data, "--batch", "64", "--leave") as loader:
        job = subprocess.run([JOB, data, "batch=64", "epochs=9"], text=True,
                             env=dict(scratch.environment, DSA_SHARE=loader.socket),
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             timeout=120, check=False)
        tap.ok(job.returncode == 0 and "batches 9 samples 45" in job.stdout,
               "epochs far shorter than the window are delivered", job.stdout)


def late_and_early(scratch, data):
    with Loader(scratch, data, "--batch", "16", "--window", "5") as loader:
        first = loader.job("batch=16", "epochs=4", "rate=800")
        wait_until(lambda: any(job["samples"] > 40 for job in loader.there()))
        late = [loader.job("batch=%d" % batch, "epochs=2", "rate=3000")
                for batch in (16, 5)]
        early = loader.job("batch=16", "leave=3")
        results = [good(first, 4), good(late[0], 2), good(late[1], 2), good(early)]
        tap.ok(all(result for result, _ in results),
               "who joins in the middle of an epoch has whole epochs, and so have the "
               "others", results)
        tap.ok(loader.stop() == 0 and "exactly once" in loader.verdict(),
               "an interrupted loader ends well", loader.words())


def killed_job(scratch, data):
    with Loader(scratch, data, "--batch", "16", "--window", "5", "--slow", "wait",
                "--jobs", "2") as loader:
        victim = loader.job("batch=16", "epochs=50", "rate=2000")
        other = loader.job("batch=16", "epochs=3", "rate=400")
        wait_until(lambda: sum(job["samples"] > 0 for job in loader.there()) == 2)
        victim.kill()
        result, words = good(other, 3)
        tap.ok(result, "a killed job stops nobody", words)
        tap.ok(loader.wait_for_jobs(0), "and is forgotten", loader.status())
        fewest = [descriptors(loader)]  # status() asks by a connection

        def settled():
            fewest.append(descriptors(loader))
            time.sleep(.05)
            return len(set(fewest[-5:])) == 1 and len(fewest) > 5
        wait_until(settled)
        before = fewest[-1]
        for _ in range(10):
            good(loader.job("batch=16", "leave=2"))
        tap.ok(wait_until(lambda: descriptors(loader) == before),
               "jobs that come and go leave no descriptor behind", before,
               descriptors(loader))


def stopped_job(scratch, data):
    with Loader(scratch, data, "--batch", "16", "--window", "5", "--slow", "0.3s",
                "--jobs", "2") as loader:
        victim = loader.job("batch=16", "epochs=4", "rate=400", "hold=2")
        other = loader.job("batch=16", "epochs=6", "rate=800")
        wait_until(lambda: sum(job["samples"] > 0 for job in loader.there()) == 2)
        victim.send_signal(signal.SIGSTOP)
        result, words = good(other, 6)
        tap.ok(result, "a stopped job is dropped, and the others go on", words)
        tap.ok("goes on alone" in loader.words(), "the loader says so", loader.words())
        victim.send_signal(signal.SIGCONT)
        result, words = good(victim, 4)
        tap.ok(result, "it goes on alone, where it was, with what it held unchanged", words)
    with Loader(scratch, data, "--batch", "16", "--window", "5", "--slow", "wait",
                "--jobs", "2") as loader:
        victim = loader.job("batch=16", "epochs=2")
        other = loader.job("batch=16", "epochs=2", "rate=200")
        wait_until(lambda: len(loader.there()) == 2)
        victim.send_signal(signal.SIGSTOP)
        seen = [None]

        def stands():
            last, seen[0] = seen[0], [job["samples"] for job in loader.there()]
            time.sleep(.2)
            return last == seen[0]
        tap.ok(wait_until(stands) and other.poll() is None,
               "with --slow wait the others wait for it")
        victim.send_signal(signal.SIGCONT)
        results = [good(victim, 2), good(other, 2)]
        tap.ok(all(result for result, _ in results), "and go on when it does", results)


def killed_loader(scratch, data):
    for name, loader_words, want in (("fail", "", 3), ("load", "alone=load", 0)):
        with Loader(scratch, data, "--batch", "16", "--window", "5", "--jobs",
                    "2") as loader:
            jobs = [loader.job("batch=%d" % batch, "epochs=3", "rate=400",
                               loader=loader_words) for batch in (16, 9)]
            wait_until(lambda: sum(job["samples"] > 0
                                   for job in loader.there()) == 2)
            loader.process.kill()
            results = [finish(job) for job in jobs]
            tap.ok(all(status == want for status, _ in results),
                   "jobs of a killed loader " + ("end with an error" if want else
                                                 "go on alone if they are told to"),
                   results)
            if want:
                tap.ok(all(re.search(r"epoch \d+.*step \d+", words)
                           for _, words in results), "which says where", results)
    with Loader(scratch, data, "--batch", "16", "--window", "5", "--jobs", "2") as loader:
        jobs = [loader.job("batch=%d" % batch, "epochs=4", "rate=400",
                           loader="takeover=60s") for batch in (16, 9)]
        wait_until(lambda: sum(job["samples"] > 0 for job in loader.there()) == 2)
        loader.process.kill()
        loader.process.wait()
        with Loader(scratch, data, "--batch", "16", "--window", "5", "--takeover") as heir:
            results = [good(job, 4) for job in jobs]
            tap.ok(all(result for result, _ in results),
                   "a loader that takes over delivers nothing twice and loses nothing",
                   results, heir.words())
            tap.ok(heir.stop() == 0 and "exactly once" in heir.verdict(),
                   "its audit agrees", heir.verdict())


def strangers(scratch, data):
    with Loader(scratch, data, "--batch", "16", "--window", "5", "--slow", "0.3s") as loader:
        mode = os.stat(loader.socket).st_mode
        tap.ok(stat.S_ISSOCK(mode) and mode & 0o777 == 0o600, "the socket is 0600",
               oct(mode))
        job = loader.job("batch=16", "epochs=6", "rate=1000")
        peers = [loader.connect() for _ in range(3)]
        peers[0].send(hello(16, data)[:300])  # and no more
        peers[1].send(os.urandom(4096))
        peers[2].send(hello(16, data, version=99))
        tap.ok(answer(peers[2])[0] == REFUSED, "another version is refused")
        refused = answer(peers[1])[0]
        tap.ok(refused in (REFUSED, None), "garbage is shown the door", refused)
        for _ in range(10000):
            loader.connect().close()
        welcome = []

        def welcomed():  # as soon as those who left are forgotten
            try:
                taker = loader.connect()
                taker.send(hello(16, data))
                welcome[:] = [taker, *answer(taker)[:2]]
            except (BrokenPipeError, ConnectionResetError):
                return False
            return welcome[1] is not None
        wait_until(welcomed)
        kind, fds = welcome[1:] if welcome else (None, [])
        tap.ok(kind == WELCOME and len(fds) >= 3, "a peer that speaks well is welcome",
               kind, fds)
        if fds:
            size = os.fstat(fds[0]).st_size
            again = "/proc/self/fd/%d" % fds[0]

            def write_again():
                fd = os.open(again, os.O_RDWR)
                mmap.mmap(fd, 4096, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
            tap.ok(refuses("mmap", lambda: mmap.mmap(
                fds[0], 4096, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)) and
                   refuses("mmap of a new descriptor", write_again) and
                   refuses("pwrite", lambda: os.pwrite(fds[0], b"x", size - 1)) and
                   refuses("ftruncate", lambda: os.ftruncate(fds[0], 4096)),
                   "it can neither write nor cut the batches")
            os.pwrite(fds[1], b"\xff" * 4096, 0)  # nonsense in its own slot
        result, words = good(job, 6)
        tap.ok(result and loader.process.poll() is None,
               "a job goes on beside all of them, and beside one that never gives back",
               words, loader.words())
        if os.getuid() == 0:
            os.chmod(loader.socket, 0o666)
            code = ("import os, socket, sys; os.setgid(65534); os.setuid(65534);"
                    "s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]);"
                    "s.recv(65536)")
            scratch.run("/usr/bin/python3", "-c", code, loader.socket)
            tap.ok(wait_until(lambda: "of another user" in loader.words()),
                   "another user is refused", loader.words())
        else:
            tap.skip("another user is refused", "needs root")
        status = scratch.run(DSA, "serve", "--status", "--socket", loader.socket)
        tap.ok(status.returncode == 0, "a peer that counts nonsense spoils no figures",
               status.stdout, status.stderr, loader.status())
        tap.ok(loader.stop() == 0, "and the loader ends well", loader.words())


def looks(scratch, data):
    with Loader(scratch, data, "--batch", "16") as loader:
        job = loader.job("batch=16", "epochs=100", "rate=500")
        loader.wait_for_jobs(1)
        table = scratch.run(DSA, "serve", "--status", "--socket", loader.socket)
        tap.ok(table.returncode == 0 and "batch" in table.stdout, "--status shows a table",
               table.stdout, table.stderr)
        peer = loader.connect()
        peer.send(b"GET /metrics HTTP/1.0\r\n\r\n")
        text = b""
        while True:
            part = peer.recv(65536)
            if not part:
                break
            text += part
        tap.ok(text.startswith(b"HTTP/1.0 200") and text.rstrip().endswith(b"# EOF"),
               "its socket answers with OpenMetrics", text[:300])
        second = Loader(scratch, data, wait=False)
        second.process.wait(60)
        tap.ok(second.process.returncode == 3 and job.poll() is None,
               "a second loader is refused the same socket", second.words())
    with Loader(scratch, data, "--batch", "16") as loader:
        tap.ok(good(loader.job("batch=16", "epochs=1"), 1)[0],
               "the socket of a killed loader is replaced", loader.words())
        wrong = loader.job("batch=16", data=scratch.images("others", count=9))
        status, words = finish(wrong)
        tap.ok(status == 3 and "others" in words, "a job with another data set is refused",
               words)
        status, words = finish(loader.job("batch=16", "size=64"))
        tap.ok(status == 3 and len(words.splitlines()) == 1,
               "and one that wants other numbers", words)


def ignored_signal(scratch, data):
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # what nohup does
    with Loader(scratch, data, "--batch", "16") as loader:
        signal.signal(signal.SIGHUP, before)
        loader.process.send_signal(signal.SIGHUP)
        for _ in range(3):  # the signal comes first
            loader.status()
        tap.ok(good(loader.job("batch=16", "epochs=1"), 1)[0] and loader.stop() == 0,
               "a signal that was ignored when it began does not end it", loader.words())


def together(scratch, data):
    with Loader(scratch, data, "--batch", "16", wait=False) as loader:
        result, words = good(loader.job("batch=16", "epochs=1"), 1)
        tap.ok(result, "a job that is started with its loader waits until that listens",
               words, loader.words())


def stopped(scratch, data):
    with Loader(scratch, data, "--batch", "16") as loader:
        job = loader.job("batch=16", "rate=500")
        wait_until(lambda: any(job["samples"] > 40 for job in loader.there()))
        loader.stop()
        status, words = finish(job)
        tap.ok(status == 3 and "was stopped before epoch" in words,
               "a job without a number of epochs fails where its loader is stopped", words)


def unread_words(scratch, data):
    said = scratch.at("said")
    if os.path.exists(said):
        os.unlink(said)
    os.mkfifo(said)
    reader = os.open(said, os.O_RDONLY | os.O_NONBLOCK)
    with Loader(scratch, data, "--batch", "16", "--json") as loader:
        writer = os.open(said, os.O_WRONLY | os.O_NONBLOCK)
        try:
            while True:
                os.write(writer, b"\n")
        except BlockingIOError:
            os.close(writer)
        tap.ok(all([good(loader.job("batch=16", "epochs=1"), 1)[0] for _ in range(2)]),
               "jobs are served though nobody reads what the loader says")
        os.close(reader)
        tap.ok(good(loader.job("batch=16", "epochs=1"), 1)[0] and loader.stop() == 0,
               "and when whoever did is gone")
    os.unlink(said)


def nobody(scratch, data):
    result = scratch.run("env", "DSA_SHARE=" + scratch.at("none"), JOB, data)
    tap.ok(result.returncode == 3 and "dsa serve" in result.stderr,
           "no loader: an error that says what to start", result.stderr)
    result = scratch.run("env", "DSA_SHARE=" + scratch.at("none"),
                         "DSA_LOADER=alone=load", JOB, data,
                         "table=" + scratch.at("table"), "epochs=1")
    tap.ok(result.returncode == 0, "or its own loader, if it is told so", result.stdout,
           result.stderr)


def schedules(scratch, _):
    count = os.environ.get("SCHEDULES", "200" if os.environ.get("SOAK") else "12")
    result = scratch.run("/usr/bin/python3", SCHEDULES, "--count", count, timeout=1200)
    tap.ok(result.returncode == 0, count + " random schedules", result.stdout,
           result.stderr)


def main():
    with Scratch() as scratch:
        data = scratch.images("pictures", count=300, size="12K")
        pictures = sorted(os.path.join(folder, name)
                          for folder, _, names in os.walk(data) for name in names)
        os.truncate(pictures[7], 100)
        scratch.run(JOB, data, "table=" + scratch.at("table"))
        for group in (sizes_and_epochs, slow_and_fast, short_epochs, late_and_early,
                      killed_job, stopped_job, killed_loader, together, stopped,
                      strangers, looks, ignored_signal, unread_words, nobody, schedules):
            if len(sys.argv) < 2 or group.__name__ in sys.argv[1:]:
                group(scratch, data)
        tap.ok(not children(), "nothing is left", [state(pid) for pid in children()])
        end_all(children())
    tap.done()


if __name__ == "__main__":
    main()
