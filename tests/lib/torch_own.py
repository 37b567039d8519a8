"""What a DataLoader takes on this machine that nobody asked for, as torch_truth() wants it."""
import json
import os

from house import AWAKE, HERE


def torch_own(scratch, python, *words):
    """Of a loader of scratch's "data"."""
    program = os.path.join(HERE, "lib/torch_program.py")
    own = json.loads(scratch.run(AWAKE, python, program, "own_times", "data", *words).stdout)
    print("#   a batch that lies ready takes {:.1f} ms to be given, one takes {:.1f} ms to "
          "make".format(1e3 * own["over"], 1e3 * own["batch"]))
    return own


def torch_own_mean(before, after):
    """It drifts by a third within minutes."""
    return {key: (before[key] + after[key]) / 2 for key in before}
