#!/usr/bin/python3
"""The action for GitHub: every input reaches dsa gate as the words that were meant, its
status and outcome come back, and no shell reads an input. Speaks TAP."""
import os
import re
import sys

import yaml

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..")
sys.path.insert(0, os.path.join(HERE, "lib"))
from house import Scratch, Tap

tap = Tap()

# Stands where dsa would: it tells its words, one a line, and ends as it is told.
TELLER = '#!/bin/sh\nprintf "%s\\n" "$@"\nexit "$ENDS"\n'


def act(scratch, ends, **inputs):
    path = scratch.at("dsa")
    with open(path, "w", encoding="ascii") as file:
        file.write(TELLER)
    os.chmod(path, 0o755)
    output = scratch.at("output")
    scratch.environment.update(
        DSA=path, ENDS=str(ends), GITHUB_OUTPUT=output, DSA_REPORT=scratch.at("report"),
        **{name: "" for name in ("DSA_BASELINE", "DSA_AGAINST", "DSA_LIMITS",
                                 "DSA_OPTIONS", "DSA_INCONCLUSIVE")})
    scratch.environment.update(inputs)
    if os.path.exists(output):
        os.remove(output)
    result = scratch.run(os.path.join(ROOT, ".ci/gate"))
    with open(output, encoding="ascii") as file:
        return result.returncode, result.stdout.splitlines(), file.read().split()


def main():
    with open(os.path.join(ROOT, "action.yml"), encoding="utf-8") as file:
        text = file.read()
    action = yaml.safe_load(text)
    steps = action["runs"]["steps"]
    used = set(re.findall(r"\$\{\{ inputs\.(\w+) \}\}", text)) | {"upload"}
    tap.ok(action["runs"]["using"] == "composite" and set(action["inputs"]) == used,
           "every input is used", set(action["inputs"]) ^ used)
    tap.ok(all("${{" not in step.get("run", "") for step in steps),
           "none of them in what a shell reads")
    others = [step["uses"] for step in steps if "uses" in step]
    tap.ok(others and all(re.search("@[0-9a-f]{40}$", other) for other in others),
           "actions of others are pinned by digest: a tag may move", others)
    with Scratch() as scratch:
        status, words, output = act(
            scratch, 0, DSA_COMMAND="./train --dataset 'my images' a\\ b $(id) `id`",
            DSA_BASELINE="base line.json", DSA_LIMITS="samples_per_s=5%\n\nopens=1%",
            DSA_OPTIONS="--pairs=16\n--metric=x=1 2")
        at = words.index("--")
        tap.ok(words[at + 1:] == ["./train", "--dataset", "my images", "a b", "$(id)",
                                  "`id`"], "the command's words", words)
        tap.ok({"--baseline=base line.json", "--metric=samples_per_s=5%",
                "--metric=opens=1%", "--pairs=16", "--metric=x=1 2"} <= set(words[:at]),
               "limits and options, a line each", words)
        tap.ok(status == 0 and output == ["status=0", "outcome=pass"], "it passes", output)
        for ends, outcome in ((1, "regression"), (4, "inconclusive"), (5, "target"),
                              (6, "mismatch"), (3, "failed")):
            status, _, output = act(scratch, ends, DSA_COMMAND="true")
            tap.ok(status == ends and output == ["status=%d" % ends, "outcome=" + outcome],
                   "status %d is %s" % (ends, outcome), status, output)
        os.makedirs(scratch.at("report"), exist_ok=True)
        with open(scratch.at("report/gate.json"), "w", encoding="ascii") as file:
            file.write('{\n  "outcome": "improvement",\n  "paired": true\n}\n')
        _, _, output = act(scratch, 0, DSA_COMMAND="true")
        tap.ok(output == ["status=0", "outcome=improvement"], "an improvement is named",
               output)
        with open(scratch.at("report/gate.json"), "w", encoding="ascii") as file:
            file.write('{\n  "outcome": "inconclusive",\n  "paired": true\n}\n')
        _, words, output = act(scratch, 0, DSA_COMMAND="true", DSA_INCONCLUSIVE="pass")
        tap.ok(output == ["status=0", "outcome=inconclusive"] and
               "--inconclusive=pass" in words, "so is what is inconclusive and passes",
               output, words)
        os.remove(scratch.at("report/gate.json"))
        tap.ok(action["inputs"]["inconclusive"]["default"] == "pass",
               "noise alone fails no build")
        status, words, output = act(scratch, 0, DSA_COMMAND="./train it's")
        tap.ok(status == 2 and words == [] and output == ["status=2", "outcome=usage"],
               "half a command is not run", status, words, output)
        _, words, _ = act(scratch, 0, DSA_COMMAND="true", DSA_AGAINST="./old --x 'y z'")
        tap.ok("--against=./old --x 'y z'" in words, "--against goes on as it is", words)
    tap.done()


if __name__ == "__main__":
    main()
