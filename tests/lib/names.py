#!/usr/bin/python3
"""Lint of names: a static function's name stands in one file of the rooms alone, so that
a profile, a backtrace and grep find it; every file opens with what it is for."""

import collections
import re
import sys

FUNCTION = re.compile(r"^static [^;{}=()]*?\b(\w+)\([^;{}]*?\)\s*\n\{", re.M)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def main(paths):
    owners = collections.defaultdict(set)
    found = []
    for path in paths:
        text = read(path)
        if not text.startswith("/*"):
            found.append(f"{path}: its first line does not say what it is for")
        for match in FUNCTION.finditer(re.sub(r"/\*.*?\*/", "", text, flags=re.S)):
            if not match.group(0).startswith("static inline"):
                owners[match.group(1)].add(path)
    found += [f"{name}: static in {', '.join(sorted(where))}"
              for name, where in sorted(owners.items()) if len(where) > 1]
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
