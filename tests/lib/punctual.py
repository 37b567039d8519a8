"""For programs that sleep until deadlines: they hardly need a CPU, but need it at once."""
import os


def go_first():
    """Below tests/lib/awake: before all that has no real-time priority, from now on and in
    children. Call it when all is imported, which takes seconds of a CPU."""
    if "AWAKE" in os.environ:
        try:
            os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
        except PermissionError:
            pass
