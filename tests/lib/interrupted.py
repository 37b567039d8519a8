"""Programs in Python that are interrupted as they wait for a batch or get it, or end
with batches held."""

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

# Where a signal's handler closes the loader.
CLOSED = """
import os, signal, threading
import dsa
loader = dsa.Loader("synthetic:64", batch=8, size=8, workers=1)
def interrupt():
    while not loader._core.lock.locked():
        pass
    os.kill(os.getpid(), signal.SIGUSR1)
signal.signal(signal.SIGUSR1, lambda *_: loader.close())
threading.Thread(target=interrupt).start()
print(loader.next(), loader)
"""

# Where an interrupt comes when there is a batch, but the program has not got it.
HANDED_OVER = """
import threading, dsa
loader = dsa.Loader("synthetic:40", batch=8, size=8, epochs=1)
core, pair, gave_back = loader._core, dsa._pair, set()
drain = core.drain
def watched():
    gave_back.add(threading.current_thread().name)
    drain()
def interrupt(*_):
    raise KeyboardInterrupt
core.drain, dsa._pair = watched, interrupt
for ask in (loader.next, iter(loader).__next__):
    try:
        ask()
        print("no")
    except KeyboardInterrupt:
        pass
dsa._pair = pair
print([batch.step for batch in loader.batches()])
print(gave_back)
"""

EXITING = """
import builtins, sys
import dsa
loader = dsa.Loader("synthetic:64", batch=8, size=64, arrays=sys.argv[1])
walk = iter(loader)
kept = [next(walk) for _ in range(3)]
class Late:
    def __init__(self, images):
        self.images, self.sum = images, float(images.sum())
    def __del__(self):
        assert float(self.images.sum()) == self.sum
builtins.late = Late(kept[0][0][1:])
batch = loader.next()
other = dsa.Loader("synthetic:64", batch=8, size=64)
print("done")
"""
