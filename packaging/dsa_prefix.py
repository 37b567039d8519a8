"""In a wheel: the folder that holds what `make install` puts below PREFIX, and the command."""

import os
import signal
import sys

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "dsa")


def main():
    """Becomes the program. What it starts ignores none of the signals that Python ignores."""
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    os.execv(PROGRAM, ["dsa", *sys.argv[1:]])
