#!/usr/bin/python3
"""False alarms and power of the gate, on the recorded launches of data/gate. Speaks TAP."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "lib"), os.path.join(HERE, "bench")]
import gate
from house import Tap


def main():
    tap = Tap()
    for what, found, goal, met in gate.goals(os.path.join(HERE, "data/gate")):
        print("# {regression} regressions, {pass} passes, {inconclusive} inconclusive of "
              "{trials}".format_map(found),
              f"in {gate.median_s(found):.0f} s, p95 {gate.p95_s(found):.0f} s")
        tap.ok(met, f"{what}: {goal}", found)
    tap.done()


if __name__ == "__main__":
    main()
