"""What dsa doctor asks a Python: its version, which torch it has, which it does not import,
what of that torch's iterator the hook would miss, and which of libdsa's ops a script names.
One line, with tabs between; any Python can read this file."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
FETCHERS = "_MapDatasetFetcher", "_IterableDatasetFetcher"


def text_of(*names):
    with open(os.path.join(*names), "rb") as file:
        return file.read().decode("utf-8", "replace")


def missing_of(folder):
    """The first name that is not there; "": all are."""
    import re

    sys.path.insert(0, HERE)
    from dsa_hook import NEEDED, NEEDED_OF_WORKERS
    places = ((("dataloader.py",), ("_BaseDataLoaderIter", "_reset") + NEEDED +
               NEEDED_OF_WORKERS), (("_utils", "fetch.py"), FETCHERS))
    for place, names in places:
        text = text_of(folder, "utils", "data", *place)
        for name in names:
            if not re.search(r"\b%s\b" % name, text):
                return name
    return ""


def torch_of():
    """(version, name that is missing)"""
    import importlib.util
    import re

    spec = importlib.util.find_spec("torch")
    if spec is None or not spec.origin:
        return "", ""
    folder = os.path.dirname(spec.origin)
    try:
        found = re.search(r"^__version__ = ['\"](.*)['\"]", text_of(folder, "version.py"), re.M)
        return found.group(1) if found else "unknown", missing_of(folder)
    except (IOError, OSError):
        return "unknown", "utils/data/dataloader.py"


def ops_in(node, ast):
    """Names of what a list of transforms in a script calls; None: it is made otherwise."""
    names = []
    for item in node.elts if isinstance(node, (ast.List, ast.Tuple)) else [None]:
        if not isinstance(item, ast.Call):
            return None
        name = getattr(item.func, "attr", getattr(item.func, "id", None))
        inner = ops_in(item.args[0], ast) if name == "Compose" and item.args else [name]
        if name is None or inner is None:
            return None
        names += inner
    return names


def composed_in(script):
    """(line, names of its ops) of each Compose with a list that can be read."""
    import ast

    for node in ast.walk(ast.parse(text_of(script))):
        if (isinstance(node, ast.Call) and node.args and
                getattr(node.func, "attr", getattr(node.func, "id", None)) == "Compose"):
            names = ops_in(node.args[0], ast)
            if names:
                yield node.lineno, names


def recipe_of(script):
    """What libdsa has of the script's transforms; "": they can't be told from its text."""
    from dsa_recipe import Reading

    lacks = ""
    try:
        for line, names in sorted(composed_in(script)):
            missing = [name for name in names if name not in Reading.READ]
            if not missing:
                return "line %d: libdsa has %s: dsa run tells what it would gain" % (
                    line, ", ".join(names))
            lacks = lacks or "line %d: libdsa has no %s" % (line, missing[0])
    except (IOError, OSError, SyntaxError, ValueError, RecursionError):
        pass
    return lacks.encode("ascii", "backslashreplace").decode()


def main():
    told = ["", "", ""]
    if sys.version_info >= (3, 8):
        told[:2] = torch_of()
        if told[0] and len(sys.argv) > 1:
            told[2] = recipe_of(sys.argv[1])
    print("\t".join(["dsa-ask", "%d.%d.%d" % sys.version_info[:3]] + told))


main()
