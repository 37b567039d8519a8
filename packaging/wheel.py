#!/usr/bin/python3
"""Makes a wheel (PEP 427) of what `make install` put into a folder.

    wheel.py FOLDER VERSION DIST

FOLDER is laid out as a wheel: dsa.py; dsa_prefix/, what lies below PREFIX; and
dsa-VERSION.data/data/, what pip puts below the environment. Added to it are the libraries
that not every Linux has, under names of their own, so that a process may hold others of the
same name; their licences; the command `dsa`; and what pip reads. It is tagged by the oldest
glibc that has all symbols. The same folder gives the same bytes; SOURCE_DATE_EPOCH is the
time of its files.
"""

import base64
import csv
import hashlib
import io
import os
import platform
import re
import shutil
import stat
import subprocess
import sys
import time
import zipfile

from bundled import bundle, files_below, programs_below, told_by

HERE = os.path.dirname(os.path.abspath(__file__))
BUNDLED = "dsa_prefix/lib/bundled"
# For who compiles programs, whom `make install` serves.
DEVELOPMENT = re.compile(r"^dsa_prefix/(include/|lib/pkgconfig/|.*\.a$)")
OLDEST_GLIBC = (2, 34)
FIRST_TIME = 315532800  # 1980, the first year that a ZIP file knows

METADATA = """Metadata-Version: 2.4
Name: dsa
Version: {version}
Summary: Finds out how long a training job waits for its data, and why
Requires-Python: >=3.8
{files}Description-Content-Type: text/plain

`dsa run -- python3 train.py` tells how long a training program waits for its data, and
why; `import dsa` loads data for one.

Libraries inside, from Debian: {bundled}.
"""
WHEEL = """Wheel-Version: 1.0
Generator: dsa {version}
Root-Is-Purelib: false
Tag: {tag}
"""
ENTRY_POINTS = """[console_scripts]
dsa = dsa_prefix:main
"""


def drop_development(folder):
    """A wheel holds no links, either: they would be copies."""
    for path in files_below(folder):
        at = os.path.join(folder, path)
        if DEVELOPMENT.match(path) or os.path.islink(at):
            os.remove(at)


# ---- their licences ----


def package_of(path):
    """(name, version) of the Debian package that has a file."""
    name = os.path.basename(os.path.realpath(path))
    try:
        package = told_by("dpkg-query", "-S", "*/" + name).partition(": ")[0]
        version = told_by("dpkg-query", "-W", "-f", "${Version}", package)
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"wheel: no Debian package has {path}, which would tell its licence: {error}")
    return package.partition(":")[0], version


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def licences(packages):
    """{name: text} of dsa, of Debian packages, and of the licences that these refer to."""
    texts = {"LICENSE": read(os.path.join(HERE, "../LICENSE"))}
    for package in packages:
        text = read(f"/usr/share/doc/{package}/copyright")
        texts[f"bundled/{package}"] = text
        for name in re.findall(r"/usr/share/common-licenses/([\w.-]*\w)", text):
            texts[f"bundled/{name}"] = read(f"/usr/share/common-licenses/{name}")
    return texts


# ---- what pip reads ----


def glibc_of(folder):
    """The oldest that has all symbols which programs of the folder ask for."""
    found = {OLDEST_GLIBC}
    for path in programs_below(folder):
        told = told_by("readelf", "-W", "--version-info", os.path.join(folder, path))
        found |= {(int(major), int(minor)) for major, minor in
                  re.findall(r"\bGLIBC_(\d+)\.(\d+)", told)}
    return max(found)


def tag_of(folder):
    return "py3-none-manylinux_{}_{}_{}".format(*glibc_of(folder), platform.machine())


def write(folder, path, text):
    at = os.path.join(folder, path)
    os.makedirs(os.path.dirname(at), exist_ok=True)
    with open(at, "w", encoding="utf-8") as file:
        file.write(text)


def describe(folder, info, version, libraries):
    """Everything in dist-info but RECORD. Returns the tag."""
    packages = dict(package_of(path) for path in libraries.values())
    texts, tag = licences(packages), tag_of(folder)
    bundled = ", ".join(" ".join(package) for package in sorted(packages.items()))
    files = "".join(f"License-File: {name}\n" for name in sorted(texts))
    for name, text in texts.items():
        write(folder, f"{info}/licenses/{name}", text)
    write(folder, f"{info}/METADATA",
          METADATA.format(version=version, files=files, bundled=bundled))
    write(folder, f"{info}/WHEEL", WHEEL.format(version=version, tag=tag))
    write(folder, f"{info}/entry_points.txt", ENTRY_POINTS)
    return tag


# ---- the file ----


def entry(folder, path, when):
    """How a file stands in the ZIP file: only whether it is a program is kept of its mode."""
    program = os.stat(os.path.join(folder, path)).st_mode & stat.S_IXUSR
    info = zipfile.ZipInfo(path, when)
    info.create_system = 3  # Unix
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = (stat.S_IFREG | (0o755 if program else 0o644)) << 16
    return info


def pack(folder, info, wheel):
    """RECORD comes last."""
    epoch = int(os.environ.get("SOURCE_DATE_EPOCH", FIRST_TIME))
    when = time.gmtime(max(epoch, FIRST_TIME))[:6]
    record = io.StringIO()
    rows = csv.writer(record, lineterminator="\n")
    with zipfile.ZipFile(wheel, "w") as file:
        for path in files_below(folder):
            with open(os.path.join(folder, path), "rb") as source:
                data = source.read()
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=")
            rows.writerow([path, "sha256=" + digest.decode(), len(data)])
            file.writestr(entry(folder, path, when), data)
        rows.writerow([f"{info}/RECORD", "", ""])
        write(folder, f"{info}/RECORD", record.getvalue())
        file.writestr(entry(folder, f"{info}/RECORD", when), record.getvalue())


def main():
    folder, version, dist = sys.argv[1:]
    info = f"dsa-{version}.dist-info"
    drop_development(folder)
    shutil.copyfile(os.path.join(HERE, "dsa_prefix.py"),
                    os.path.join(folder, "dsa_prefix/__init__.py"))
    tag = describe(folder, info, version, bundle(folder, BUNDLED))
    wheel = os.path.join(dist, f"dsa-{version}-{tag}.whl")
    pack(folder, info, wheel)
    print(f"  WHEEL  {wheel}")


if __name__ == "__main__":
    main()
