"""What a test in Python asks of its own process."""

import os
import re

from house import wait_until


def available(name):
    try:
        __import__(name)
    except ImportError:
        return False
    return True


def raised_as(form, kind, function, *arguments, **more):
    """form(what it raised), which is not kept: it keeps all that was called. None when it
    did not raise."""
    try:
        function(*arguments, **more)
    except kind as error:
        return form(error)
    return None


def raised(kind, function, *arguments, **more):
    """What it said."""
    return raised_as(str, kind, function, *arguments, **more)


def no_threads():
    """A thread that was joined stands in /proc a moment longer."""
    return wait_until(lambda: threads() == 0, 5)


def threads():
    """Of the library."""
    count = 0
    for task in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{task}/comm", encoding="ascii") as file:
                count += file.read().startswith("dsa-")
        except (FileNotFoundError, ProcessLookupError):
            pass
    return count


def resident():
    """Bytes of memory of our own, without what is shared."""
    with open("/proc/self/status", encoding="ascii") as file:
        return int(re.search(r"RssAnon:\s*(\d+)", file.read())[1]) << 10
