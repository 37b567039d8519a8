"""Runs a program of dsa.py whose batches arrive on a device as if it had written, instead,
images.to(device): what arriving is compared with.

    sent.py PROGRAM [ARGUMENT...]
"""
import runpy
import sys

import dsa


class Sent(dsa.Loader):
    def __init__(self, *words, device=None, **more):
        super().__init__(*words, **more)
        self.sent_to = device

    def send(self, batches):
        for images, labels in batches:
            yield images.to(self.sent_to), labels.to(self.sent_to)

    def __iter__(self):
        return self.send(super().__iter__())

    def forever(self):
        return self.send(super().forever())


if __name__ == "__main__":
    dsa.Loader = Sent
    sys.argv = sys.argv[1:]
    runpy.run_path(sys.argv[0], run_name="__main__")
