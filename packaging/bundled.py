#!/usr/bin/python3
"""Puts the libraries that not every Linux has beside the programs of a folder.

    bundled.py FOLDER PLACE

Each library that a program or library below FOLDER needs is copied from this Debian into
PLACE, a folder in it, under a name of its own, so that a process may hold others of the same
name. All of them look for it there, by the way from their own folders, and lose what only a
debugger reads.
"""

import os
import re
import shutil
import subprocess
import sys

# Parts of glibc and of gcc's run time, which PEP 600 lets a wheel rely on.
EVERYWHERE = re.compile(r"(linux-vdso|ld-linux[\w-]*|lib(c|m|dl|rt|pthread|util|gcc_s))\.so\b")


def told_by(*command):
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout


def files_below(folder):
    """Their paths in it, sorted."""
    return sorted(os.path.relpath(os.path.join(above, name), folder)
                  for above, _, names in os.walk(folder) for name in names)


def programs_below(folder):
    """ELF files: programs and libraries."""
    found = []
    for path in files_below(folder):
        with open(os.path.join(folder, path), "rb") as file:
            if file.read(4) == b"\x7fELF":
                found.append(path)
    return found


def libraries_of(program):
    """{name: path}, of all that the dynamic loader would load for it."""
    told = told_by("ldd", program)
    missing = re.findall(r"^\t(\S+) => not found", told, re.M)
    if missing:
        sys.exit(f"{program} needs {' '.join(missing)}, which ldd does not find")
    found = dict(re.findall(r"^\t(\S+) => (/\S+) \(", told, re.M))
    return {name: path for name, path in found.items() if not EVERYWHERE.match(name)}


# What dsa loads itself, where it counts; by the name that it has here first.
BY_NAME = "libpfm.so.4"


def loaded_by_name():
    told = told_by("/sbin/ldconfig", "-p")
    return {BY_NAME: re.search(rf"^\t{re.escape(BY_NAME)} .* => (/\S+)$", told, re.M)[1]}


# What these need is the system's: a dozen decoders of audio, thirty libraries and the
# certificates of libcurl, for programs that mostly have neither.
LEFT = ("libdsa-audio.so", "libdsa-net.so")


def taken_programs(folder):
    """Those whose libraries are put in."""
    return [path for path in programs_below(folder)
            if os.path.basename(path) not in LEFT]


def rename_libraries(folder, place, path, names):
    """A program asks for those in `place`, by the way from its own folder to there."""
    at = os.path.join(folder, path)
    needed = set(told_by("patchelf", "--print-needed", at).split()) & set(names)
    if not needed:
        return
    way = os.path.relpath(place, os.path.dirname(path))
    # One call for both would let patchelf 0.14 mix up the names.
    told_by("patchelf", "--set-rpath", f"$ORIGIN/{way}", at)
    told_by("patchelf", *(word for name in sorted(needed)
                          for word in ("--replace-needed", name, "dsa-" + name)), at)


def bundle(folder, place):
    """Strips programs and puts in the libraries that they need. Returns {name: where it
    was}; those of the folder itself stay as they are."""
    libraries = loaded_by_name()
    for path in programs_below(folder):
        told_by("strip", "--strip-unneeded", os.path.join(folder, path))
    for path in taken_programs(folder):
        libraries.update(libraries_of(os.path.join(folder, path)))
    libraries = {name: path for name, path in libraries.items()
                 if not os.path.realpath(path).startswith(os.path.realpath(folder) + "/")}
    os.makedirs(os.path.join(folder, place))
    for name, path in sorted(libraries.items()):
        copy = os.path.join(folder, place, "dsa-" + name)
        shutil.copyfile(path, copy)
        told_by("patchelf", "--set-soname", "dsa-" + name, copy)
    for path in taken_programs(folder):
        rename_libraries(folder, place, path, libraries)
    for path in taken_programs(folder):
        outside = libraries_of(os.path.join(folder, path)).keys() & libraries.keys()
        if outside:
            sys.exit(f"patchelf left {path} with {' '.join(outside)}")
    return libraries


if __name__ == "__main__":
    bundle(*sys.argv[1:])
