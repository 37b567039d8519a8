#!/usr/bin/python3
"""Writes what tests/unit/loader/audio/audio_test.c compares with: tests/data/audio.py >
tests/data/audio_golden.h. Needs python3-scipy; resampled by scipy.signal.resample_poly,
log-mel by numpy's FFT and a table of bands made here."""

import sys

import numpy
import scipy.signal

FRAMES = 2000
MELS = 80


def signal(frames):
    """What the test makes, too: noise of 16 bits by a linear congruence."""
    state, values = 1, []
    for _ in range(frames):
        state = (state * 1103515245 + 12345) % (1 << 31)
        values.append((state >> 15) - 32768)
    return numpy.array(values) / 32768


def bands(rate, length):
    """Weights of shape (mels, bins): triangles on HTK's mel scale."""
    edges = numpy.linspace(0, 2595 * numpy.log10(1 + rate / 2 / 700), MELS + 2)
    edges = 700 * (10 ** (edges / 2595) - 1)
    bins = numpy.arange(length // 2 + 1) * rate / length
    rise = (bins - edges[:-2, None]) / (edges[1:-1] - edges[:-2])[:, None]
    fall = (edges[2:, None] - bins) / (edges[2:] - edges[1:-1])[:, None]
    return numpy.maximum(0, numpy.minimum(rise, fall))


def logmel(wave, rate, length):
    window, hop = (rate + 20) // 40, (rate + 50) // 100
    hann = .5 - .5 * numpy.cos(2 * numpy.pi * numpy.arange(window) / window)
    starts = range(0, len(wave) - window + 1, hop)
    power = numpy.array([abs(numpy.fft.rfft(wave[at:at + window] * hann, length)) ** 2
                         for at in starts])
    return numpy.log(numpy.maximum(1e-10, bands(rate, length) @ power.T))


def table(name, values):
    print(f"static const float {name}[{values.size}] = {{")
    texts = [f"{value:.7g}f" if "." in f"{value:.7g}" or "e" in f"{value:.7g}"
             else f"{value:.7g}.f" for value in values.ravel()]
    for at in range(0, len(texts), 6):
        print("\t" + ", ".join(texts[at:at + 6]) + ",")
    print("};\n")


print("/* audio_golden.h - made by tests/data/audio.py with scipy and numpy. */")
print("/* clang-format off */")
for source, to in ((44100, 16000), (8000, 11025), (48000, 16000)):
    table(f"golden_{source}_{to}",
          scipy.signal.resample_poly(signal(FRAMES), to, source)[:400])
table("golden_logmel", logmel(signal(FRAMES), 16000, 800))
print("/* clang-format on */")
sys.stdout.flush()
