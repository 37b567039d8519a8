#!/usr/bin/python3
"""What libdsa could prepare of what programs in PyTorch do, told by looking at their
transforms; and that its numbers are torchvision's. Speaks TAP.

    SOAK=1 tests/recipe.t      the gain that a run predicts, and what libdsa really brings
"""
import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/lib")
from house import BUILD, DSA, HERE, Scratch, Tap

PYTHON = "/usr/bin/python3"
PROGRAM = os.path.join(HERE, "lib/recipe_program.py")
RATES = 2000, 600  # samples/s of the accelerator: prep limits far, and a little
BUDGET, OFF = "40s", .05
# A heap that shrinks and grows again, by chance, costs a program up to a quarter of its rate.
HEAPS_STAY = {"MALLOC_TRIM_THRESHOLD_": "1000000000", "MALLOC_MMAP_MAX_": "0"}
tap = Tap()

# What is written in Compose, and what is said of it.
CASES = (
    ("RandomResizedCrop(64), RandomHorizontalFlip(), ToTensor(), ImageNet", "size=64)"),
    ("RandomHorizontalFlip(), RandomResizedCrop((64, 64)), Compose([ToTensor()]), "
     "Normalize([.5] * 3, [.25] * 3)", "mean=(0.5, 0.5, 0.5), std=(0.25, 0.25, 0.25)"),
    ("RandomResizedCrop(64), RandomHorizontalFlip(), ToTensor()", "mean=(0, 0, 0)"),
    ("RandomResizedCrop(64), RandomHorizontalFlip(), PILToTensor()", 'type="uint8"'),
    ("PILToTensor(), RandomResizedCrop(64, antialias=True), RandomHorizontalFlip(), "
     "ConvertImageDtype(FLOAT), ImageNet", "size=64)"),
    ("PILToTensor(), Resize(256, antialias=True), CenterCrop(224)",
     'evaluate=True, type="uint8")'),
    ("PILToTensor(), RandomResizedCrop(64), ConvertImageDtype(FLOAT)",
     r"!RandomResizedCrop\(antialias=(None|warn)\)|!the order"),
    ("Resize(256), CenterCrop(224), ToTensor(), ImageNet", "size=224, evaluate=True"),
    ("RandomResizedCrop(64), RandomHorizontalFlip(), RandAugment(), ToTensor()", "!RandAugment"),
    ("Resize(300), CenterCrop(224), ToTensor()", r"!Resize\(size=300\)"),
    ("Resize((256, 256)), CenterCrop(224), ToTensor()", r"!Resize\(size=\(256, 256\)\)"),
    ("RandomResizedCrop(64, scale=(.2, 1)), ToTensor()", r"!RandomResizedCrop\(scale=\(0.2, 1"),
    ("RandomResizedCrop(64, interpolation=BICUBIC), ToTensor()", "!RandomResizedCrop.interpol"),
    ("RandomResizedCrop(64), RandomHorizontalFlip(.3), ToTensor()", "!RandomHorizontalFlip.p=0.3"),
    ("RandomResizedCrop(64), ToTensor()", "!the order RandomResizedCrop, ToTensor"),
    ("Resize(64), ToTensor()", "!Resize, ToTensor without RandomResizedCrop or CenterCrop"),
    ("Lambda(len)", "!Lambda"),
)
# Keywords of the loader or the data set, of the first case.
OTHERS = (
    ("subset", "!Subset"), ("own", "!Own.__getitem__"), ("png", "!.png files"),
    ("collate", "!collate_fn=together"), ("weighted", "!WeightedRandomSampler"),
    ("in_order", "in_order=True"), ("drop_last", "drop_last=True"), ("target", "!target_transform"),
)


# The same with transforms that libdsa has not, either: the data set is named.
BOTH = (("subset", "!Subset"), ("own", "!Own.__getitem__"))


def check_recognised(scratch):
    """One process looks at all."""
    words = ([[kind, "plain"] for kind, _ in CASES] +
             [[CASES[0][0], kind] for kind, _ in OTHERS] +
             [["Lambda(len)", kind] for kind, _ in BOTH])
    done = scratch.run(PYTHON, PROGRAM, "look", "images", json.dumps(words),
                       variables={"PYTHONPATH": os.path.join(BUILD, "python")})
    told = done.stdout.splitlines()
    if not tap.ok(len(told) == len(words), "recipes are looked at", done.stderr):
        return
    for said, (_, found), (ops, kind) in zip(told, CASES + OTHERS + BOTH, words):
        tap.ok(re.search(re.escape(found) if found[0] != "!" else found, said),
               f"{ops if kind == 'plain' else kind}: {found}", said)


def check_pixels(scratch):
    done = scratch.run(PYTHON, PROGRAM, "pixels", "images",
                       variables={"PYTHONPATH": os.path.join(HERE, "../loader/python"),
                                  "DSA_LIBRARY": os.path.join(BUILD, "libdsa.so.1")})
    psnr = float(done.stdout or 0)
    print(f"#   PSNR {psnr:.1f} dB")
    tap.ok(psnr > 45, "evaluation: libdsa's pixels are torchvision's", psnr, done.stderr)


def measure(scratch, out, *words, budget):
    done = scratch.run(DSA, "run", "-q", "--budget", budget, "-o", out, "--", PYTHON, PROGRAM,
                       *words, variables={"PYTHONPATH": os.path.join(HERE, "../loader/python"),
                                          "DSA_LIBRARY": os.path.join(BUILD, "libdsa.so.1"),
                                          **HEAPS_STAY})
    tap.ok(done.returncode == 0, f"{words[0]}: measured", done.stderr)
    return scratch.result(out)


def check_told(scratch):
    """A run has it in its result, and measured libdsa."""
    result = measure(scratch, "out", "torch", "images", "2000", "4", budget="5s")
    recipe = result.get("recipe", {})
    tap.ok(recipe.get("kind") == "train" and recipe["size"] == 224 and
           recipe.get("libdsa_per_s", {}).get("value", 0) > 0, "a run tells the recipe", recipe,
           result["stalls"])
    tap.ok(recipe.get("pictures", 0) >= 1 and recipe.get("psnr_db", 0) > 45,
           "and that its pixels are the program's in evaluation", recipe)
    made = [p for p in result["processes"] if p["role"] == "worker" and p["batches"] > 0]
    tap.ok(len(made) >= 2 and result["epoch_starts"]["persistent_saves_s"] > 0 and
           result["unseen"]["mapped_files"] == 0,
           "and its workers, what their start costs, and that all was seen",
           result["processes"], result["epoch_starts"], result["unseen"])
    done = scratch.run(DSA, "report", "out", "--format=text")
    told = re.sub(r"\s+", " ", done.stdout)
    tap.ok("(PSNR " in told and "dsa.Loader('images'" in told, "and the code to write",
           done.stdout)
    done = scratch.run(DSA, "report", "out", "--format=html")
    tap.ok("of the bytes that the loader" in done.stdout and "<td>trainer" in done.stdout,
           "the page tells how much was seen, and who trained", done.stdout[-4000:])


def check_gain(scratch, rate):
    result = measure(scratch, f"out-{rate}", "torch", "many", str(rate), budget=BUDGET)
    asked = [p for p in result["predictions"] if p["change"].get("libdsa")]
    if not tap.ok(asked, f"{rate}/s: libdsa is predicted", result["model"]):
        return
    brought = measure(scratch, f"brought-{rate}", "dsa", "many", str(rate), budget=BUDGET)
    rates = [run["rates"]["real_per_s"]["value"] for run in (result, brought)]
    predicted, gain = asked[0]["speedup"], rates[1] / rates[0]
    off = predicted["value"] / gain - 1
    print(f"#   {rate}/s: {rates[0]:.1f} -> {rates[1]:.1f} samples/s; predicted "
          f"{predicted['value']:.3f} ({predicted['low']:.3f} .. "
          f"{predicted['high']:.3f}), measured {gain:.3f}: {100 * off:+.1f} %")
    tap.ok(abs(off) <= OFF or predicted["low"] < gain < predicted["high"],
           f"{rate}/s: the gain predicted is that measured", predicted, gain)


def main():
    if not os.path.exists("/usr/lib/python3/dist-packages/torchvision"):
        tap.skip("recipes", "no python3-torchvision")
        tap.done()
    with Scratch() as scratch:
        scratch.images(count=64)
        check_recognised(scratch)
        check_pixels(scratch)
        check_told(scratch)
        if os.environ.get("SOAK"):
            scratch.images("many", 1500, "110K")
            for rate in RATES:
                check_gain(scratch, rate)
    tap.done()


main()
