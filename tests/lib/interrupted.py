"""Programs in Python whose main thread is interrupted while it waits for a batch."""

INTERRUPTED = """
import os, signal, sys, threading
import dsa
loader = dsa.Loader("synthetic:64", batch=8, size=8, workers=1)
def interrupt():
    while not loader._core.lock.locked():
        pass
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=interrupt).start()
try:
    loader.next()
    print("no")
except KeyboardInterrupt:
    print("interrupted", loader.stats.epoch)
if sys.argv[1:]:
    print([batch.step for _, batch in zip(range(8), loader.batches())])
"""

# Where an interrupt finds the main thread before or just after another one was asked.
CUT_SHORT = """
import sys, dsa
loader = dsa.Loader("synthetic:64", batch=8, size=8, workers=1)
core, steps = loader._core, []
def interrupt(task):
    del core.send
    if sys.argv[1] == "after":
        core.send(task)
    raise KeyboardInterrupt
while len(steps) < 8:
    core.send = interrupt
    try:
        loader.next()
    except KeyboardInterrupt:
        steps.append(loader.next().step)
print(steps)
"""
