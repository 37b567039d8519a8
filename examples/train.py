#!/usr/bin/python3
"""Trains a small network on pictures that libdsa loads.

A program to copy from: what concerns data is Loader() and the loop in train(). With
torch the network is that of network.c: convolutions of stride 2 with ReLU, the mean over
what is then left of the picture, a linear layer. With NumPy alone it is a linear layer
that sees each picture's power spectrum. Softmax loss; SGD with momentum.

    train.py --dataset pictures --test unseen --epochs 10
    train.py --dataset pictures --device cuda         on a GPU, where batches arrive
    train.py --dataset pictures --emulate-gpu 2000    an accelerator's pace, no network
"""

import argparse
import os
import sys
import time

# For a source tree; an installed dsa.py is found without.
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)),
                             "../loader/python"))

try:
    import torch
except ImportError:
    torch = None
    import numpy

import dsa

REPORT, REPORT_S = 50, 3
MOMENTUM = 0.9


class Network:
    """By torch. learn() and correct() take a batch; the loss is the batch's mean."""

    def __init__(self, classes, options):
        torch.manual_seed(options.seed)
        # Brightness and contrast of a picture say nothing: mean 0, deviation 1.
        layers, channels = [torch.nn.GroupNorm(1, 3, affine=False)], 3
        for kernel, outs in ((5, 16), (3, 32), (3, 64)):
            layers += [torch.nn.Conv2d(channels, outs, kernel, 2, kernel // 2),
                       torch.nn.ReLU()]
            torch.nn.init.kaiming_normal_(layers[-2].weight)
            channels = outs
        self.network = torch.nn.Sequential(
            *layers, torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(),
            torch.nn.Linear(channels, classes)).to(options.device)
        self.descent = torch.optim.SGD(self.network.parameters(), options.lr, MOMENTUM)

    def learn(self, images, labels):
        scores = self.network(images)
        loss = torch.nn.functional.cross_entropy(scores, labels)
        self.descent.zero_grad()
        loss.backward()
        self.descent.step()
        # Numbers of the device: to look at them would mean to wait for it.
        return loss.detach(), (scores.detach().argmax(1) == labels).sum()

    def correct(self, images, labels):
        with torch.no_grad():
            return (self.network(images).argmax(1) == labels).sum()


class LinearLayer:
    """The same by NumPy."""
    FIELDS = 16

    def __init__(self, classes, options):
        rng = numpy.random.default_rng(options.seed)
        self.weights = rng.normal(0, 0.01, (self.FIELDS ** 2, classes))
        self.bias = numpy.zeros(classes)
        self.speed = [0 * self.weights, 0 * self.bias]
        self.rate = options.lr

    def spectrum(self, images):
        """Logarithms of the power in FIELDS x FIELDS bands: mean 0, of equal length."""
        power = abs(numpy.fft.rfft2(images.mean(1))) ** 2
        for axis in (1, 2):
            width = power.shape[axis]
            edges = numpy.arange(self.FIELDS) * width // self.FIELDS
            power = numpy.add.reduceat(power, edges, axis)
        seen = numpy.log(power + 1e-6).reshape(len(images), -1)
        seen -= seen.mean(1, keepdims=True)
        return seen / seen.std(1, keepdims=True) / self.FIELDS ** 0.5

    def learn(self, images, labels):
        seen, rows = self.spectrum(images), numpy.arange(len(labels))
        scores = seen @ self.weights + self.bias
        shares = numpy.exp(scores - scores.max(1, keepdims=True))
        shares /= shares.sum(1, keepdims=True)
        loss = -numpy.log(shares[rows, labels] + 1e-30).mean()
        shares[rows, labels] -= 1
        shares /= len(labels)
        for values, slope, speed in zip((self.weights, self.bias),
                                        (seen.T @ shares, shares.sum(0)), self.speed):
            speed *= MOMENTUM
            speed += slope
            values -= self.rate * speed
        return loss, (scores.argmax(1) == labels).sum()

    def correct(self, images, labels):
        scores = self.spectrum(images) @ self.weights + self.bias
        return (scores.argmax(1) == labels).sum()


class Report:
    """A line for every REPORT steps, or REPORT_S seconds."""

    def __init__(self, emulated):
        self.emulated = emulated
        self.begin()

    def begin(self):
        self.since = time.monotonic()
        self.steps = self.samples = self.loss = self.correct = 0

    def step(self, number, samples, loss=0, correct=0):
        self.steps += 1
        self.samples += samples
        self.loss += loss * samples
        self.correct += correct
        if self.steps == REPORT or time.monotonic() - self.since > REPORT_S:
            self.print(number)

    def print(self, number):
        if self.samples == 0:
            return
        line = f"step {number}"
        if not self.emulated:
            line += (f"  loss {self.loss / self.samples:.3f}"
                     f"  accuracy {100 * self.correct / self.samples:.1f} %")
        rate = self.samples / (time.monotonic() - self.since)
        print(f"{line}  {rate:.0f} samples/s", flush=True)
        self.begin()


def train(options):
    loader = dsa.Loader(options.dataset, batch=options.batch, size=options.size,
                        epochs=options.epochs, seed=options.seed,
                        device=options.device)
    network, number = None, 0
    report = Report(options.emulate_gpu is not None)
    with loader:
        if not report.emulated:
            make = Network if torch else LinearLayer
            network = make(max(1, len(loader.classes)), options)
        for images, labels in loader.forever():
            number += 1
            if report.emulated:
                loader.compute(options.emulate_gpu)
                report.step(number, len(labels))
            else:
                report.step(number, len(labels), *network.learn(images, labels))
            if number == options.steps:
                break
        report.print(number)
    return network


def test(network, options):
    """Accuracy on pictures that were not trained on."""
    samples = correct = 0
    with dsa.Loader(options.test, batch=options.batch, size=options.size, epochs=1,
                    evaluate=True, in_order=True, device=options.device) as loader:
        for images, labels in loader:
            samples += len(labels)
            correct += network.correct(images, labels)
    if samples > 0:
        print(f"held-out accuracy {100 * correct / samples:.1f} % of {samples} samples")


def positive(kind):
    def parse(text):
        value = kind(text)
        if not 0 < value < 1 << 32:
            raise ValueError
        return value
    parse.__name__ = f"positive {kind.__name__}"
    return parse


def main():
    parser = argparse.ArgumentParser(description="Train a small network on pictures.")
    parser.add_argument("--dataset", required=True, help="train on DATASET")
    parser.add_argument("--test", metavar="DATASET",
                        help="then see how well DATASET is recognised")
    parser.add_argument("--batch", type=positive(int), default=32, metavar="N",
                        help="samples a step (default 32)")
    parser.add_argument("--steps", type=positive(int), metavar="N",
                        help="end after N steps (default: when the data ends)")
    parser.add_argument("--epochs", type=positive(int), metavar="N",
                        help="end the data after N epochs")
    parser.add_argument("--device", default="cpu",
                        help="train on cuda, or as cuda:1; needs torch (default cpu)")
    parser.add_argument("--emulate-gpu", type=positive(float), metavar="RATE",
                        help="do not train: be an accelerator that takes RATE samples/s")
    parser.add_argument("--size", type=positive(int), default=64, metavar="N",
                        help="crops of N x N pixels (default 64)")
    parser.add_argument("--lr", type=positive(float), default=0.05, metavar="RATE",
                        help="learning rate (default 0.05)")
    parser.add_argument("--seed", type=int, default=0, metavar="N",
                        help="of weights, order and crops (default 0)")
    options = parser.parse_args()
    if options.device != "cpu" and torch is None:
        sys.exit("train.py: --device needs torch")
    try:
        network = train(options)
        if options.test and network is not None:
            test(network, options)
    except dsa.Error as error:
        sys.exit(f"train.py: {error}")


main()
