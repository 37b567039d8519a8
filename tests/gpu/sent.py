"""Runs a program of dsa.py that trains on batches which arrive on a device, and gives it, in
turn, such ones and ones that it sends there itself by images.to(device).

    sent.py PROGRAM --device cuda [ARGUMENT...]

It ends, as JSON, with the seconds that STEPS steps took: {"arrive": [...], "sent": [...]}.
"""
import itertools
import json
import runpy
import sys
import time

import torch

import dsa

STEPS, TURNS = 100, 10


class Turns(dsa.Loader):
    def __init__(self, *words, device=None, **more):
        super().__init__(*words, device=device, **more)
        self.sent_to = device
        self.memory = Loader(*words, **more)

    def send(self):
        for images, labels in self.memory.forever():
            yield images.to(self.sent_to), labels.to(self.sent_to)

    def forever(self):
        ways = {"arrive": super().forever(), "sent": self.send()}
        took = {name: [] for name in ways}
        for turn in range(TURNS):
            for name in sorted(ways, reverse=bool(turn % 2)):
                torch.cuda.synchronize()
                begun = time.monotonic()
                yield from itertools.islice(ways[name], STEPS)
                torch.cuda.synchronize()
                took[name].append(time.monotonic() - begun)
        self.memory.close()
        print(json.dumps(took), flush=True)


if __name__ == "__main__":
    Loader, dsa.Loader = dsa.Loader, Turns
    sys.argv = sys.argv[1:]
    runpy.run_path(sys.argv[0], run_name="__main__")
