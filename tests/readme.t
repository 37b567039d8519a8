#!/usr/bin/python3
"""Every command of README.md, as it stands there: in a folder with ./train, train.py and
images/, where dsa.ini makes budgets short, and without XDG_RUNTIME_DIR. Speaks TAP. SLEEPS
most of the time.
SOAK=1: also in a bare Debian 12, as root and as a user, from `make demo` on; needs root,
debootstrap and a network."""

import concurrent.futures
import os
import re
import shlex
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE + "/lib")
from debian import bootstrap, run_inside
from house import BUILD, DSA, Scratch, Tap, adopt_orphans, children, end_all, wait_until

ROOT = os.path.dirname(HERE)
SHORT = """grace = 3s
[run]
budget = 2s
sweep-budget = 0.5s
[whatif]
budget = 0.5s
[gate]
alpha = 0.4
pairs = 3
repetition = 0.1s
samples = 100
"""
# What commands that did what they should may say besides 0: a budget that is so short may
# find nothing, and nothing to predict from, beside other tests; a gate with so few pairs
# finds little; a machine has limits; and nobody may read its bucket.
MAY = (("dsa run", 3, "is too short|machine was too busy"),
       ("dsa whatif", 3, "no predictions|too little|raise --budget|too busy"),
       ("dsa whatif out --gpu-speed", 3, "computes on the CPU"),
       ("dsa gate", 1, "regression|this gate"), ("dsa gate", 4, "inconclusive"),
       ("dsa run", 3, "^train: s3://bucket/(imagenet/train)?: "),
       ("dsa doctor", 3, "^broken"))
# Too long, or too much for this machine: that make has such a target is enough here.
TARGET = re.compile(r"(?:sudo )?make\b ?([\w-]*)")


def readme():
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
        return file.read()


def sections():
    """The commands of each, in their order. What follows a # is a comment for a shell, too."""
    command = re.compile(r"^    ((?:[A-Z_]+=\S+ |sudo )*(?:dsa|make|cc)(?: (?! ).*)?"
                         r"|[A-Z_]+=\S+ \./train .*)$", re.M)
    return [command.findall(text) for text in re.split(r"^## ", readme(), flags=re.M)]


def snippet(language):
    return re.search(rf"^```{language}\n(.*?)^```", readme(), re.M | re.S)[1]


def fits(command, status, said):
    return status == 0 or any(command.startswith(begin) and status == code and
                              re.search(words, said, re.M) for begin, code, words in MAY)


# ---- here ----


def lay_programs(scratch):
    """./train trains at the pace of an emulated accelerator, and so does what it was.
    train.py has many steps and no compute."""
    for name in ("train", "train.main"):
        with open(scratch.at(name), "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\nexec {shlex.quote(BUILD)}/examples/train --batch 8 '
                       '--emulate-gpu 1000 "$@"\n')
        os.chmod(scratch.at(name), 0o755)
    head, _, body = snippet("c").partition("\n\n")
    with open(scratch.at("train.c"), "w", encoding="utf-8") as file:
        file.write(f"#include <err.h>\n{head}\n"
                   "static void train(const void *data, const uint32_t *labels, uint32_t n)\n"
                   "{\n\t(void)data, (void)labels, (void)n;\n}\n"
                   f"int main(void)\n{{\n{body}\nreturn 0;\n}}\n")
    lay_python(scratch, "train.py", snippet("python").replace("batch=64", "batch=8")
               .replace("range(10)", "range(1000)"))


def lay_python(scratch, name, text):
    with open(scratch.at(name), "w", encoding="utf-8") as file:
        file.write("def train(images, labels):\n    assert len(images) == len(labels)\n\n"
                   + text)


def lay_package(scratch):
    """What pkg-config finds of an installed dsa."""
    with open(os.path.join(ROOT, "loader/dsa.pc.in"), encoding="utf-8") as file:
        text = file.read()
    for name, value in (("PREFIX", os.path.join(ROOT, "build")), ("LIBDIR", BUILD),
                        ("VERSION", "0"), ("NEEDS", "")):
        text = text.replace(f"@{name}@", value)
    with open(os.path.join(scratch.folder("pkgconfig"), "dsa.pc"), "w",
              encoding="utf-8") as file:
        file.write(text)


def lay(scratch):
    """What every section finds in its folder; results as of sections before."""
    lay_programs(scratch)
    lay_package(scratch)
    scratch.images(count=200, size="12K")
    os.symlink(os.path.join(ROOT, "examples"), scratch.at("examples"))
    with open(scratch.at("dsa.ini"), "w", encoding="utf-8") as file:
        file.write(SHORT)
    scratch.run(DSA, "run", "-q", "-o", "out", "--", "./train", "--dataset", "images/")
    for name in ("before", "after"):
        shutil.copytree(scratch.at("out"), scratch.at(name))
    scratch.environment.update(
        PATH=f"{BUILD}:/usr/bin:{os.environ['PATH']}", LD_LIBRARY_PATH=BUILD,
        PKG_CONFIG_PATH=scratch.at("pkgconfig"), DSA_LIBRARY=BUILD + "/libdsa.so",
        PYTHONPATH=os.path.join(ROOT, "loader/python"))
    scratch.environment.pop("XDG_RUNTIME_DIR", None)


def run(scratch, folder, command):
    """Its status and what it said. A server that it leaves running holds no pipe of ours."""
    with open(os.path.join(folder, "said"), "w+", encoding="utf-8",
              errors="replace") as said:
        status = subprocess.run(["sh", "-c", command], env=scratch.environment, cwd=folder,
                                stdin=subprocess.DEVNULL, stdout=said, stderr=said,
                                timeout=300, check=False).returncode
        said.seek(0)
        return status, said.read()


def run_section(scratch, number, section):
    """A folder for each, so that they go side by side: they sleep most of the time. What
    those that run already keep for a while is not copied."""
    folder = scratch.at(f"section {number}")
    shutil.copytree(scratch.path, folder, symlinks=True,
                    ignore=shutil.ignore_patterns("section*", "tmp", "cache"))
    return [(command, *run(scratch, folder, command))
            for command in section if not TARGET.match(command)]


def here(tap, scratch):
    with open(os.path.join(ROOT, "Makefile"), encoding="utf-8") as file:
        targets = re.findall(r"^([\w-]+):", file.read(), re.M)
    made = [command for section in sections() for command in section
            if TARGET.match(command)]
    for command in made:
        tap.ok((TARGET.match(command)[1] or "all") in targets, f"make can do: {command}")
    with concurrent.futures.ThreadPoolExecutor() as pool:
        ran = [pool.submit(run_section, scratch, number, section)
               for number, section in enumerate(sections())]
    for section in ran:
        for command, status, said in section.result():
            tap.ok(fits(command, status, said), command, status, said)


def snippets(tap, scratch):
    status, said = run(scratch, scratch.path,
                       "DSA_LOADER=epochs=1 exec section*/a.out")
    tap.ok(status == 0, "the program in C that was built runs", status, said)
    lay_python(scratch, "snippet.py", snippet("python"))
    status, said = run(scratch, scratch.path,
                       "DSA_LOADER=epochs=2,size=32 python3 snippet.py")
    tap.ok(status == 0, "and so does the one in Python", status, said)


# ---- in a bare Debian ----

# What a reader has before: a virtual environment, a program, pictures.
PREPARED = """export VIRTUAL_ENV=$HOME/venv
sudo apt-get install -qq -y --no-install-recommends python3-venv python3-numpy >/dev/null
python3 -m venv --without-pip "$VIRTUAL_ENV"
cd ~/dsa
"""
LAID = """mkdir ~/work && cd ~/work
cp ~/dsa/build/plain/examples/train train && cp train train.main
cp /readme/train.c /readme/train.py /readme/dsa.ini . && ln -s ~/dsa/examples examples
dsa dataset make --count 200 --size-mean 12K images >/dev/null
dsa run -q -o before -- ./train --dataset images/ && cp -r before after
"""


def script(found):
    """Runs all of them, and says after each its number and its status."""
    def lines(which):
        return "".join(f"sh -c {shlex.quote(found[number])} >said 2>&1 </dev/null\n"
                       f"echo status {number} $?; tail -n 60 said\n" for number in which)
    made = [number for number, command in enumerate(found)
            if TARGET.match(command) and not command.startswith("make check")]
    rest = [number for number, command in enumerate(found) if not TARGET.match(command)]
    return PREPARED + lines(made) + LAID + lines(rest)


def furnish(scratch, root, user, found):
    """The source tree, as a clone has it, and the script."""
    home = os.path.join(root, "root" if user == "root" else "home/user")
    if user != "root":
        subprocess.run(["chroot", root, "useradd", "-m", user], check=True)
        with open(os.path.join(root, "etc/sudoers.d/user"), "w", encoding="ascii") as file:
            file.write("user ALL=(ALL) NOPASSWD: ALL\n")
    os.makedirs(os.path.join(home, "dsa"))
    subprocess.run(f"git ls-files -z | tar -c --null -T - | tar -x -C {home}/dsa", cwd=ROOT,
                   shell=True, check=True)
    subprocess.run(["chroot", root, "chown", "-R", user, home[len(root):]], check=True)
    os.mkdir(os.path.join(root, "readme"))
    for name in ("train.c", "train.py"):
        shutil.copy(scratch.at(name), os.path.join(root, "readme"))
    longer = SHORT.replace("budget = 2s", "budget = 10s").replace("0.5s", "5s")
    for name, text in (("script", script(found)), ("dsa.ini", longer)):
        with open(os.path.join(root, "readme", name), "w", encoding="utf-8") as file:
            file.write(text)


def bare_user(tap, root, user, found):
    told = run_inside(root, user, "/readme/script")
    for number, command in enumerate(found):
        if command.startswith("make check"):
            continue
        answer = re.search(rf"^status {number} (\d+)\n(.*?)(?=^status |\Z)", told,
                           re.M | re.S)
        tap.ok(answer and fits(command, int(answer[1]), answer[2]),
               f"in a bare Debian 12, as {user}: {command}", answer[0] if answer else told)


def bare(tap, scratch):
    base, found = scratch.at("debian"), sum(sections(), [])
    why = bootstrap(base, "bookworm", "git", "make", "sudo", "ca-certificates")
    if why is not None:
        tap.skip("the commands in a bare Debian 12", why)
        return
    for user in ("root", "user"):
        root = scratch.at("debian-" + user)
        subprocess.run(["cp", "-a", base, root], check=True)
        furnish(scratch, root, user, found)
        bare_user(tap, root, user, found)
        shutil.rmtree(root)


def main():
    tap = Tap()
    adopt_orphans()
    with Scratch() as scratch:
        found = sum(sections(), [])
        tap.ok(len(found) >= 25, "the commands of README.md are found", *found)
        lay(scratch)
        here(tap, scratch)
        snippets(tap, scratch)
        if os.environ.get("SOAK"):
            bare(tap, scratch)
        tap.ok(wait_until(lambda: len(children()) <= 1, 10),
               "what it started has ended, but for dsa serve", children())
        end_all(children())
    tap.done()


if __name__ == "__main__":
    main()
