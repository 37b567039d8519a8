"""PyTorch's DataLoader with torchvision's ImageNet training recipe, as JSON.

usage: torch_loader.py FOLDER BATCHES
"""
import json
import os
import sys

import torch
from torchvision import datasets, transforms

BATCH = 64


def cpu_seconds():
    t = os.times()
    return t.user + t.system + t.children_user + t.children_system


def main(folder, batches):
    torch.set_num_threads(1)
    recipe = transforms.Compose([
        transforms.RandomResizedCrop(224),
        transforms.RandomHorizontalFlip(),
        transforms.ToTensor(),
        transforms.Normalize([.485, .456, .406], [.229, .224, .225])])
    loader = torch.utils.data.DataLoader(
        datasets.ImageFolder(folder, recipe), batch_size=BATCH, shuffle=True,
        drop_last=True, num_workers=0)
    stream = iter(loader)
    next(stream)
    began = cpu_seconds()
    for _ in range(batches):
        try:
            next(stream)
        except StopIteration:
            stream = iter(loader)
            next(stream)
    spent = cpu_seconds() - began
    print(json.dumps({"samples_per_cpu_s": batches * BATCH / spent,
                      "version": torch.__version__}))


main(sys.argv[1], int(sys.argv[2]))
