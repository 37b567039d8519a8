"""What dsa doctor asks a Python: its version, which torch it has, which it does not import,
and what of that torch's iterator the hook would miss. One line, with tabs between; any
Python can read this file."""

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


def main():
    told = torch_of() if sys.version_info >= (3, 8) else ("", "")
    print("\t".join(("dsa-ask", "%d.%d.%d" % sys.version_info[:3]) + told))


main()
