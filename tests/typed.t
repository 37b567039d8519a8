#!/usr/bin/python3
"""Audio and tokens as programs get them: in Python, from a shared loader, in a measured run.
Speaks TAP."""

import os
import subprocess
import sys
import wave

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/lib")
from house import BUILD, DSA, HERE, Scratch, Tap

sys.path.insert(0, os.path.join(HERE, "../loader/python"))

RATE, CLIP = 8000, 4000


def write_clips(numpy, scratch):
    """Recording i of a class is a ramp that begins at 100 i."""
    for name in ("high", "low"):
        for i in range(6):
            with wave.open(os.path.join(scratch.folder("audio", name), f"{i}.wav"), "wb") as file:
                file.setnchannels(1)
                file.setsampwidth(2)
                file.setframerate(RATE)
                file.writeframes((numpy.arange(CLIP) + 100 * i).astype("<i2").tobytes())
    return scratch.at("audio")


def test_audio(tap, dsa, numpy, dataset, arrays):
    with dsa.Loader(dataset, prep="audio", seconds=.25, rate=RATE, batch=5, epochs=1,
                    arrays=arrays) as loader:
        seen, good = [], True
        for batch in loader.batches():
            waves = numpy.array(batch.images)
            good = good and waves.shape == (batch.count, RATE // 4) and \
                waves.dtype == numpy.float32
            steps = numpy.diff(waves[:, 20:-20].astype(float), axis=1) * 32768
            good = good and abs(steps - 1).max() < .02
            seen += zip(batch.samples.tolist(), batch.labels.tolist())
        tap.ok(good and sorted(seen) == [(i, i // 6) for i in range(12)] and
               loader.classes == ("high", "low"),
               f"{arrays}: crops are stretches of their recordings, each once", seen)
    with dsa.Loader(dataset, prep="audio", seconds=.25, rate=RATE, features="logmel", batch=4,
                    epochs=1, arrays=arrays) as loader:
        shapes = [tuple(images.shape) for images, _ in loader]
        tap.ok(shapes == [(4, 80, 23)] * 3, f"{arrays}: log-mel has bands and frames", shapes)


def test_tokens(tap, dsa, numpy, path, arrays):
    with dsa.Loader(path, prep="tokens", length=100, batch=16, epochs=1,
                    arrays=arrays) as loader:
        targets = numpy.concatenate([numpy.array(tokens)[:, 1:].ravel() for tokens, _ in loader])
        tap.ok(targets.dtype == numpy.int64 and
               (numpy.sort(targets) == numpy.arange(1, 20001)).all(),
               f"{arrays}: each token is a target once", targets.shape)


def test_shared(tap, scratch, tokens):
    """Two jobs of one loader; a third wants windows of another length."""
    socket = scratch.at("socket")
    job = ("import sys; sys.path.insert(0, sys.argv[1]); import dsa\n"
           "loader = dsa.Loader(sys.argv[2], prep='tokens', length=int(sys.argv[3]), batch=16,"
           " epochs=1)\n"
           "print(sum(int(tokens[:, 1:].sum()) for tokens, _ in loader), loader.stats.shared)")
    with subprocess.Popen([DSA, "serve", tokens, "--socket", socket, "--jobs", "2", "-q",
                           "--leave"], stderr=subprocess.PIPE, text=True,
                          env=dict(scratch.environment,
                                   DSA_LOADER="prep=tokens,length=100")) as server:
        def start(length):
            return subprocess.Popen(
                [sys.executable, "-c", job, os.path.join(HERE, "../loader/python"), tokens,
                 str(length)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                env=dict(scratch.environment, DSA_SHARE=socket, DSA_LOADER="takeover=10s"))
        first, other = start(100), start(100)
        told = [process.communicate(timeout=60) for process in (first, other)]
        server.wait(60)
    want = f"{sum(range(1, 20001))} 1\n"
    tap.ok([out for out, _ in told] == [want] * 2, "two jobs share windows of tokens", *told)


def test_run(tap, scratch, tokens):
    told = scratch.run(DSA, "run", "--budget", "1", "-o", "out", "--",
                       os.path.join(BUILD, "examples/train"), "--dataset", tokens,
                       "--emulate-gpu", 4000,
                       variables={"DSA_LOADER": "prep=tokens,length=100"})
    stalls = scratch.result()["stalls"]
    shares = [stalls[stage]["share"] for stage in ("compute", "prep", "fetch")]
    tap.ok(told.returncode == 0 and abs(sum(shares) - 1) < 1e-6 and shares[0] > .5,
           "a run of windows of tokens has shares", shares, told.stderr)


def main():
    tap = Tap()
    import numpy

    import dsa
    with Scratch() as scratch:
        clips = write_clips(numpy, scratch)
        tokens = scratch.at("tokens.bin")
        numpy.arange(20050).astype("<u2").tofile(tokens)
        os.environ["XDG_CACHE_HOME"] = scratch.at("kept")
        test_audio(tap, dsa, numpy, clips, "numpy")
        test_tokens(tap, dsa, numpy, tokens, "numpy")
        test_shared(tap, scratch, tokens)
        test_run(tap, scratch, tokens)
    return tap.done()


sys.exit(main())
