"""For programs that sleep until deadlines: they hardly need a CPU, but need it at once; and
what is true of them."""
import os


def go_first():
    """Below tests/lib/awake: before all that has no real-time priority, from now on and in
    children. Call it when all is imported, which takes seconds of a CPU."""
    if "AWAKE" in os.environ:
        try:
            os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
        except PermissionError:
            pass


def torch_truth(workers, own, compute, prep, fetch):
    """Shares of a step whose batch takes so many seconds in its three stages, by PyTorch's
    rules. The hand-over (own["over"]) belongs to prep, and what a batch takes beyond its
    sleeps (own["batch"])."""
    prep += own["batch"]
    if workers == 0:
        cached, real = compute + prep, compute + prep + fetch
    else:
        cached = max(compute + own["over"], prep / workers)
        real = max(compute + own["over"], (prep + fetch) / workers)
    return {"compute": compute / real, "prep": (cached - compute) / real,
            "fetch": (real - cached) / real}
