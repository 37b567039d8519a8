#!/usr/bin/python3
"""What dsa doctor says of programs in Python, by asking their interpreter. Speaks TAP."""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/lib")
from house import DSA, HERE, Scratch, Tap

PYTHON = "/usr/bin/python3"
LOADER = os.path.join(HERE, "../loader/python")
SCRIPTS = {"uses.py": "import dsa\n", "plain.py": "import sys\n", "torch.py": "import torch\n",
           "ranks": "import torch\n", "none/dsa.py": "raise ImportError('not here')\n",
           "has.py": """import torch
of = T.Compose([extra, T.ToTensor()])
of = T.Compose([T.RandAugment(), T.ToTensor()])
of = T.Compose([T.RandomResizedCrop(224), Compose((T.ToTensor(),))])
""", "lacks.py": "import torch\nof = T.Compose([T.ToTensor(), T.Gr\u00fcn(), T.Other()])\n",
           "none.py": "import torch\nof = T.Compose(ops)\n",
           "broken.py": "import torch\nof = T.Compose([T.ToTensor()\n"}

# command, PYTHONPATH, what is said
CASES = (
    (["./uses.py"], LOADER, "ok +program +/usr/bin/python3 finds dsa.Loader"),
    ([PYTHON, "-u", "uses.py"], LOADER, "ok +program .*finds dsa.Loader"),
    (["./uses.py"], "none", "limited +program .*no dsa.Loader: .*not here"),
    ([PYTHON, "missing.py"], LOADER, "broken +program +cannot read 'missing.py': No such file"),
    ([PYTHON, "plain.py"], LOADER, "limited +program +'plain.py' does not import"),
    ([PYTHON, "-I", "torch.py"], LOADER, "limited +preload .*with -I: it never looks"),
    ([PYTHON, "torch.py"], LOADER, "ok +Python +/usr/bin/python3 is Python 3.*kept"),
    (["./ranks"], LOADER, "limited +ranks +WORLD_SIZE is 2"),
    ([PYTHON, "has.py"], LOADER, "ok +recipe +line 5: libdsa has RandomResizedCrop, ToTensor:"),
    ([PYTHON, "lacks.py"], LOADER, r"ok +recipe +line 3: libdsa has no Gr\\xfcn\n"),
    ([PYTHON, "none.py"], LOADER, r"^(?![\s\S]*recipe)"),
    ([PYTHON, "broken.py"], LOADER, r"^(?![\s\S]*recipe)"),
)


def write_scripts(scratch):
    scratch.folder("none")
    for name, text in SCRIPTS.items():
        with open(scratch.at(name), "w", encoding="utf-8") as file:
            file.write(f"#!{PYTHON}\n{text}")
        os.chmod(scratch.at(name), 0o755)


def check_doctor(tap, scratch, words, path, found):
    variables = {"PYTHONPATH": path, "WORLD_SIZE": "2" if "./ranks" in words else "1"}
    told = scratch.run(DSA, "doctor", "--", *words, variables=variables)
    tap.ok(re.search(found, told.stdout), f"doctor of {' '.join(words)}: {found}", told.stdout,
           told.stderr)


def check_torch(tap, scratch):
    """A torch of which a part is missing."""
    folder = scratch.folder("fake/torch/utils/data")
    for name, text in (("../../__init__.py", "raise ImportError"), ("dataloader.py", ""),
                       ("../../version.py", "__version__ = '9.9'\n")):
        with open(os.path.join(folder, name), "w", encoding="ascii") as file:
            file.write(text)
    check_doctor(tap, scratch, [PYTHON, "torch.py"], scratch.at("fake"),
                 "limited +PyTorch +torch 9.9 has no _BaseDataLoaderIter")


def check_run(tap, scratch):
    told = scratch.run(DSA, "run", "-o", "out-I", "--", PYTHON, "-I", "plain.py")
    tap.ok(told.returncode == 3 and "with -I: it never looks for the hook" in told.stderr,
           "dsa run says so, too, where it was asked for no batch", told)


def main():
    tap = Tap()
    with Scratch() as scratch:
        write_scripts(scratch)
        for case in CASES:
            check_doctor(tap, scratch, *case)
        check_torch(tap, scratch)
        check_run(tap, scratch)
    tap.done()


main()
