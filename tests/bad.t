#!/usr/bin/python3
"""Bad input: one clear line, and the exit status of the manual. Speaks TAP. SLEEPS most
of the time.

	tests/bad.t		all of it
	tests/bad.t names	one of the tests below
"""

import os
import re
import resource
import shutil
import struct
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/lib")
from house import (BUDGET, DSA, HERE, TRAIN, Scratch, Tap, adopt_orphans, children,
                   wait_until)

RESULT = os.path.join(HERE, "data/run.json")
DONE, USAGE, COULD_NOT = 0, 2, 3
NASTY = ["line\nbreak.jpg", "quo'te\"s.jpg", "<script>alert(1)<script>.jpg",
         "set output `touch x`; $(touch x) @x {x} ^_&~ %s.jpg", "\x1b[31mred.jpg"]

tap = Tap()


def lines_of(result):
    """What dsa itself said on standard error, the target's own words apart."""
    return [line for line in result.stderr.splitlines() if line.startswith("dsa")]


def said(name, result, status, pattern):
    """One line that matches, the status, and nobody left."""
    lines = lines_of(result)
    tap.ok(result.returncode == status and len(lines) == 1 and
           re.search(pattern, lines[0]) is not None and not children(),
           name, f"status {result.returncode}, wanted {status}; {pattern}; "
           f"children {children()}", result.stderr)


def profile(scratch, *words, train=(), out="out", **more):
    """dsa run over the example, its compute emulated and quick."""
    return scratch.run(DSA, "run", "-q", "-o", scratch.at(out), "--budget", BUDGET,
                       *words, "--", TRAIN, "--size", 32, "--emulate-gpu", 2000,
                       *train, **more)


def data_sets(scratch):
    images = scratch.images()
    empty = scratch.folder("empty")
    loop = scratch.images("loop", 10)
    os.symlink("..", os.path.join(os.path.dirname(pictures(loop)[0]), "again"))
    wanted = (("no data set", scratch.at("nowhere"), "no data set .*nowhere"),
              ("an empty folder", empty, "no pictures in"),
              ("a loop of folders", loop, "again leads back"),
              ("a file that is no list", DSA, "line|list"),
              ("a name that is none", "synthetic:0", "synthetic"))
    for name, path, pattern in wanted:
        result = profile(scratch, "--dataset", path, train=("--dataset", images))
        said(name, result, COULD_NOT, "before it asked for a batch")
        told = [line for line in result.stderr.splitlines() if "train:" in line]
        tap.ok(len(told) == 1 and re.search(pattern, told[0]), f"{name}: the program says it",
               result.stderr)
        if not path.startswith("synthetic"):
            said(f"{name}: inspected", scratch.run(DSA, "dataset", "inspect", path),
                 COULD_NOT, pattern)


def bomb(good):
    """The picture with other dimensions in its header: 65,500 x 65,500."""
    at = good.index(b"\xff\xc0")
    return good[:at + 5] + struct.pack(">HH", 65500, 65500) + good[at + 9:]


def pictures(path):
    return sorted(os.path.join(folder, name) for folder, _, names in os.walk(path)
                  for name in names if name.endswith(".jpg"))


def spoil(images):
    """5 % corrupt ones, a bomb, names that bite. Returns the bad files."""
    files = pictures(images)
    bad = files[3::20]
    for number, path in enumerate(bad):
        with open(path, "rb") as file:
            good = file.read()
        kinds = (good[:len(good) // 2], b"", b"no picture at all", good[:20] + good[40:])
        with open(path, "wb") as file:
            file.write(kinds[number % len(kinds)])
    with open(files[0], "rb") as file:
        good = file.read()
    folder = os.path.dirname(files[0])
    for name in NASTY:
        with open(os.path.join(folder, name), "wb") as file:
            file.write(good[:700])
        bad.append(os.path.join(folder, name))
    bad.append(os.path.join(folder, "bomb.jpg"))
    with open(bad[-1], "wb") as file:
        file.write(bomb(good))
    return bad


def shown(name):
    """As results spell a name: control characters and quotes made visible."""
    name = re.sub(r"[\\'\"]", r"\\\g<0>", name).replace("\n", "\\n")
    return re.sub(r"[\x00-\x1f\x7f]", lambda c: f"\\x{ord(c.group()):02x}", name)


def as_nobody(scratch, path):
    """Words in front of a command that may not read everything; None: impossible."""
    if os.geteuid() != 0:
        return []
    words = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
    if shutil.which("setpriv") is None or \
            scratch.run(*words, "test", "-x", path).returncode != 0:
        return None
    return words


def corrupt(scratch):
    images = scratch.images()
    bad = spoil(images)
    words = as_nobody(scratch, DSA)
    locked = pictures(images)[1]
    if words is None:
        tap.skip("an unreadable file", "nobody else can run this build")
        words = []
    else:
        os.chmod(locked, 0)
        bad.append(locked)
    scratch.folder("out")
    result = scratch.run(
        *words, DSA, "run", "-o", scratch.at("out"), "--budget", BUDGET, "--", TRAIN,
        "--size", 32, "--emulate-gpu", 2000, "--dataset", images)
    tap.ok(result.returncode == DONE, "a data set with bad files is measured",
           result.stderr)
    found = scratch.result()["run"]
    tap.ok(found["skipped_samples"] == len(bad), "each bad file counts once",
           found["skipped_samples"], len(bad))
    names = {os.path.basename(skip["name"]) for skip in found["skips"]}
    wanted = {shown(os.path.basename(path)) for path in bad}
    tap.ok(names == wanted, "and is named", sorted(names), sorted(wanted))
    reasons = {os.path.basename(skip["name"]): skip["reason"] for skip in found["skips"]}
    tap.ok(re.search("65500|dimension|large|pixels", reasons.get("bomb.jpg", "")),
           "the bomb is called what it is", reasons.get("bomb.jpg"))
    tap.ok("Permission" in reasons.get(os.path.basename(locked), "Permission" if not words
                                       else ""), "so is what may not be read", reasons)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10
    tap.ok(peak < 1500, "the bomb takes no memory", f"{peak} MiB")
    printed_safely(scratch, result.stdout + result.stderr)


def printed_safely(scratch, printed):
    text = scratch.run(DSA, "report", scratch.at("out"))
    html = scratch.run(DSA, "report", "--format=html", scratch.at("out"))
    csv = scratch.run(DSA, "report", "--format=csv", scratch.at("out"))
    tap.ok(text.returncode == html.returncode == csv.returncode == DONE,
           "every form shows it", text.stderr, html.stderr, csv.stderr)
    tap.ok("\x1b[31m" not in printed + text.stdout + html.stdout + csv.stdout,
           "no name colours the terminal")
    tap.ok("<script>alert" not in html.stdout and "&lt;script&gt;alert" in html.stdout,
           "no name is markup")
    tap.ok("line\\nbreak" in html.stdout and "line\nbreak" not in html.stdout,
           "no name breaks a line")
    tap.ok(not os.path.exists(scratch.at("x")) and not os.path.exists("x"),
           "no name is a command")


def outputs(scratch):
    images = scratch.images()
    with open(scratch.at("file"), "w", encoding="ascii"):
        pass
    for name, out in (("an output folder below a file", scratch.at("file/out")),
                      ("an output folder that is a file", scratch.at("file")),
                      ("an output folder in /proc", "/proc/dsa-out")):
        said(name, scratch.run(DSA, "run", "-q", "-o", out, "--", TRAIN, "--dataset", images),
             COULD_NOT, re.escape(out))
    words = as_nobody(scratch, DSA)
    if words is None:
        tap.skip("an output folder of somebody else", "nobody else can run this build")
        return
    os.mkdir(scratch.at("mine"), 0o555)
    said("an output folder that may not be written",
         scratch.run(*words, DSA, "run", "-q", "-o", scratch.at("mine"), "--", TRAIN,
                     "--dataset", images), COULD_NOT, "mine: Permission denied")


def while_on(scratch, command, session, look):
    """What look() returns while a run is on, which is then ended by a signal."""
    with subprocess.Popen(command, env=scratch.environment, cwd=scratch.path,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        wait_until(lambda: os.path.exists(session) and os.path.getsize(session) > 0)
        seen = look()
        process.terminate()
    return seen


def busy(scratch):
    """A folder that a run is writing into."""
    images = scratch.images()
    command = [DSA, "run", "-q", "-o", scratch.at("out"), "--", TRAIN, "--size", "32",
               "--emulate-gpu", "2000", "--dataset", images]
    second, report = while_on(scratch, command, scratch.at("out/session"), lambda: (
        scratch.run(*command), scratch.run(DSA, "report", scratch.at("out"))))
    for name, result, pattern in (("a second run into it", second, "another run"),
                                  ("a report of it", report, "still going on")):
        tap.ok(result.returncode == COULD_NOT and len(lines_of(result)) == 1 and
               re.search(pattern, result.stderr), name, result.returncode, result.stderr)
    tap.ok(not children(), "SIGTERM ends run and target")


def on_small_disk(scratch, size, *command):
    """Runs with a disk of its own at `small`, in a mount name space of its own."""
    script = 'mount -t tmpfs -o size="$0" none small && "$@"; status=$?; ' \
             'ls -A small/out 2>/dev/null | sed "s/^/left: /"; exit $status'
    return scratch.run("unshare", "-m", "sh", "-c", script, size, *command)


def full_disk(scratch):
    images = scratch.images()
    scratch.folder("small")
    if os.geteuid() != 0 or scratch.run("unshare", "-m", "true").returncode != 0:
        tap.skip("a full disk", "needs root and a mount name space")
        return
    command = [DSA, "run", "-q", "-o", "small/out", "--budget", BUDGET, "--", TRAIN,
               "--size", "32", "--emulate-gpu", "2000", "--dataset", images]
    result = on_small_disk(scratch, 100 << 10, *command)
    said("no room for the session", result, COULD_NOT, "No space left")
    tap.ok("left:" not in result.stdout, "and nothing stays of it", result.stdout)
    session = scratch.at("small/out/session")
    room = while_on(scratch, command, session, lambda: os.path.getsize(session))
    shutil.rmtree(scratch.at("small/out"))
    result = on_small_disk(scratch, room, *command)
    said("no room for the result", result, COULD_NOT, "No space left")
    tap.ok("left: session" in result.stdout and "run.json" not in result.stdout,
           "what was measured stays in the session, no half result", result.stdout)


def targets(scratch):
    images = scratch.images()
    train = f"{TRAIN} --size 32 --emulate-gpu 2000 --dataset {images}"
    plain = scratch.at("plain")
    with open(plain, "w", encoding="ascii") as file:
        file.write("no program\n")

    def run(*command, words=()):
        return scratch.run(DSA, "run", "-q", "-o", scratch.at("out"), "--budget", BUDGET,
                           *words, "--", *command)

    said("no such program", run("dsa-no-such-program"), COULD_NOT, "dsa-no-such-program")
    tap.ok(not os.path.exists(scratch.at("out")), "an empty folder is not left")
    said("a program that may not be run", run(plain), COULD_NOT, "plain.*Permission denied")
    said("a program that exits at once", run("true"), COULD_NOT,
         "status 0 before it asked for a batch: no loader of torch's or dsa's was seen")
    said("a program that fails at once", run("false"), COULD_NOT,
         "status 1 before it asked for a batch")
    ignored = ["env", "--ignore-signal=CHLD", DSA, "run", "-q", "-o", scratch.at("out")]
    said("the same where SIGCHLD is ignored", scratch.run(*ignored, "--", "false", timeout=30),
         COULD_NOT, "status 1 before it asked for a batch")
    said("a program whose status is no signal's", run("sh", "-c", "exit 200"), COULD_NOT,
         "status 200 before it asked for a batch")
    said("a program that dies at once", run("sh", "-c", "kill -SEGV $$"), COULD_NOT,
         "crashed .SIGSEGV. before it asked for a batch")
    said("a program that asks for no batch",
         run("sleep", "1000", words=("--timeout", "0.3s")), COULD_NOT,
         "no batch in .*nor the hook.*use dsa.Loader or dsa.watch\\(\\) in Python")
    result = run("sh", "-c", f"{train} & exit 0")
    tap.ok(result.returncode == DONE and not lines_of(result) and not children(),
           "its leader leaves at once: what it left in the background is measured",
           result.stderr)
    result = scratch.run(DSA, "run", "--observe", "-o", scratch.at("out"), "--", "sh", "-c",
                         "sh -c 'sleep 3; echo done' & exit 0")
    tap.ok(result.returncode == COULD_NOT and result.stdout == "done\n" and
           "but process" in lines_of(result)[0] and len(lines_of(result)) == 2,
           "or waited for, which is told", result.stdout, result.stderr)
    result = run("sh", "-c", f"sleep 1000 & {train} & wait $!")
    tap.ok(result.returncode == DONE and not lines_of(result) and not children(),
           "a program that forks, and leaves one behind", result.stderr)
    result = run("sh", "-c", f"{train} & {train} --steps 30 & wait", words=("--grace", "1s"))
    tap.ok(result.returncode in (DONE, COULD_NOT) and len(lines_of(result)) <= 1 and
           not children(), "two trainings in one program", result.stderr)
    result = run("sh", "-c", f"trap '' TERM; {train}; while :; do sleep 0.1; done",
                 words=("--grace", "0.1s"))
    tap.ok(result.returncode == DONE and not children(),
           "a program that ignores SIGTERM is stopped", result.stderr)
    found = scratch.result()["run"]
    tap.ok("did not leave" in found.get("status_why", ""), "and that is told",
           found.get("status"), found.get("status_why"))


def usage(scratch):
    images = scratch.images(count=10)
    wanted = (
        ((), "usage"), (("walk",), "walk"), (("run",), "which program"),
        (("run", "--budget", "soon", "--", "true"), "budget.*soon"),
        (("run", "--precision", "0", "--", "true"), "precision"),
        (("run", "--workers", "0", "--", "true"), "workers"),
        (("run", "--cache-policy", "magic", "--", "true"), "magic"),
        (("run", "--cache", "120%", "--", "true"), "120%"),
        (("run", "--fetch", "pigeon", "--", "true"), "pigeon"),
        (("run", "--storage-bandwidth", "-5", "--", "true"), "bandwidth"),
        (("run", "--fast", "--", "true"), "--fast"),
        (("report", "--format=xml", images), "xml"), (("report",), "which"),
        (("dataset", "make", "--count", "0", scratch.at("new")), "count"),
        (("bench", "fetch", "--dataset", images, "--fetch", "uring"), "uring-direct"),
        (("completion", "tcsh"), "tcsh"))
    for words, pattern in wanted:
        result = scratch.run(DSA, *words)
        tap.ok(result.returncode == USAGE and re.search(pattern, result.stderr),
               f"dsa {' '.join(words[:3])}".strip(), result.returncode, result.stderr)


def reports(scratch):
    os.mkdir(scratch.at("none"))
    texts = {"cut.json": '{"schema": "dsa.result/1", "windows": [', "empty.json": "",
             "new.json": '{"schema": "dsa.result/9"}', "other.json": '{"a": 1}',
             "deep.json": "[" * 100000}
    for name, text in texts.items():
        with open(scratch.at(name), "w", encoding="ascii") as file:
            file.write(text)
    wanted = ((scratch.at("nowhere"), "No such file"), (scratch.at("none"), "none"),
              (scratch.at("cut.json"), "cut.json"), (scratch.at("empty.json"), "empty.json"),
              (scratch.at("new.json"), "dsa.result/9"), (scratch.at("other.json"), "schema"),
              (scratch.at("deep.json"), "deep.json"), (DSA, os.path.basename(DSA)))
    for path, pattern in wanted:
        said(f"dsa report {os.path.basename(path)}", scratch.run(DSA, "report", path),
             COULD_NOT, pattern)


def full_output(scratch):
    """Where standard output leads is full: of a report, and of a run that has just ended."""
    def to_full(*command):
        return scratch.run("sh", "-c", '"$@" >/dev/full', "sh", DSA, *command)
    for form in ("text", "json", "html", "csv", "markdown"):
        said(f"no room to show it as {form}", to_full("report", "-f", form, RESULT), COULD_NOT,
             "No space left")
    for options in ([], ["--json"]):
        result = to_full("run", "--observe", *options, "-o", scratch.at("out"), "--", TRAIN,
                         "--dataset", "synthetic:400", "--emulate-gpu", "800", "--steps", "20")
        tap.ok(result.returncode == COULD_NOT and "No space left" in lines_of(result)[-1] and
               os.path.exists(scratch.at("out/run.json")),
               f"nor at the end of a run {' '.join(options)}".strip(), result.returncode,
               result.stderr)


TESTS = (usage, reports, data_sets, outputs, busy, full_output, full_disk, corrupt, targets)

adopt_orphans()
for test in TESTS:
    if len(sys.argv) < 2 or test.__name__ in sys.argv[1:]:
        with Scratch() as folder:
            test(folder)
            wait_until(lambda: not children(), 5)
tap.done()
