#!/usr/bin/python3
"""Our loader beside others: the same files, one core, turn by turn, medians.

usage: compare.py BUILD IMAGES [ROUNDS]

Every figure is samples per CPU second of the whole process, everything included:
the file opened and read (from the page cache), decoded, cropped, resized, flipped,
normalised, delivered as float32 NCHW. The full decode of libjpeg-turbo is the decoding
alone, of files in memory: the floor of a loader that decodes whole images.
"""
import json
import os
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON = "/usr/bin/python3"
BATCHES = 16
PARTS = {"entropy": "entropy decoding", "idct": "IDCT, upsampling, colour",
         "resample": "resample, flip, normalise", "store": "copy into the batch"}


def contestants(build, images):
    """Name, command that prints JSON, where its figure stands in it."""
    script = lambda name, *more: [PYTHON, f"{HERE}/{name}", images, str(BATCHES), *more]
    return [
        ("dsa", [f"{build}/dsa", "bench", "prep", "--dataset", images, "--workers", "1",
                 "--steps", str(BATCHES), "--json"], ["samples_per_cpu_s"]),
        ("libjpeg-turbo, full decode",
         [f"{build}/tests/bench/prep_breakdown", "--rounds", "1", "--json", images],
         ["stages", "full_decode", "samples_per_cpu_s"]),
        ("PyTorch DataLoader + torchvision", script("torch_loader.py"),
         ["samples_per_cpu_s"]),
        ("OpenCV, bilinear without antialias", script("opencv_loader.py", "linear"),
         ["samples_per_cpu_s"]),
        ("OpenCV, area", script("opencv_loader.py", "area"), ["samples_per_cpu_s"]),
    ]


def measure(command, path):
    """One figure and the whole answer; None where the contestant is not installed."""
    core = str(max(os.sched_getaffinity(0)))
    said = subprocess.run(["taskset", "-c", core, *command], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True)
    if said.returncode != 0:
        if "ModuleNotFoundError" in said.stderr:
            return None, None
        sys.exit(f"{' '.join(command)}\n{said.stderr.strip()}")
    answer = json.loads(said.stdout)
    figure = answer
    for key in path:
        figure = figure[key]
    return figure, answer


def play(field, rounds):
    """figures[name] of every round; the order turns, so that drift hits all alike."""
    figures = {name: [] for name, _, _ in field}
    answers = {}
    for turn in range(rounds):
        for name, command, path in field[turn % len(field):] + field[:turn % len(field)]:
            figure, answers[name] = measure(command, path)
            figures[name].append(figure)
        print(f"  round {turn + 1} of {rounds}", file=sys.stderr)
    return figures, answers


def show(figures, answers, rounds):
    ours = figures["dsa"]
    print(f"Samples per CPU second, ImageNet training recipe; medians of {rounds} rounds\n")
    print(f"{'':<38}{'samples/s':>10}{'dsa is':>10}")
    for name, theirs in figures.items():
        if None in theirs:
            print(f"{name:<38}{'not installed':>20}")
            continue
        ratio = statistics.median(a / b for a, b in zip(ours, theirs))
        times = "" if name == "dsa" else f"{ratio:.2f} x"
        print(f"{name:<38}{statistics.median(theirs):>10.0f}{times:>10}")
    print(f"\n{'where the time of our prep goes':<38}{'share':>10}")
    shares = answers["libjpeg-turbo, full decode"]["float32_shares"]
    for key, title in PARTS.items():
        print(f"{title:<38}{100 * shares[key]:>8.1f} %")


def main(build, images, rounds=5):
    field = contestants(build, images)
    for name, command, path in field:
        measure(command, path)  # files and programs into the page cache
    show(*play(field, rounds), rounds)


main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:]))
