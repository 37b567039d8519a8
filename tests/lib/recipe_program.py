"""Programs that prepare pictures: tests/recipe.t runs them.

    recipe_program.py torch|dsa FOLDER RATE [BATCH]    trains, on an emulated accelerator
    recipe_program.py look FOLDER CASES         what the hook makes of transforms
    recipe_program.py pixels FOLDER             PSNR of evaluation, libdsa's to torchvision's
"""
import json
import sys
import time

import torch
import torchvision
from torchvision import transforms

IMAGENET = transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
TRAINS = "RandomResizedCrop(224), RandomHorizontalFlip(), ToTensor(), ImageNet"
EVALUATES = "Resize(256), CenterCrop(224), ToTensor(), ImageNet"
BATCH = 32


def compose(words):
    names = dict(vars(transforms), ImageNet=IMAGENET, FLOAT=torch.float32,
                 BICUBIC=transforms.InterpolationMode.BICUBIC)
    return eval(f"Compose([{words}])", names)


class Own(torchvision.datasets.ImageFolder):
    """Does more than its class."""

    def __getitem__(self, index):
        return super().__getitem__(index)


def together(samples):
    return samples


def loader_of(folder, words, kind):
    """As a case says it."""
    own = Own if kind == "own" else torchvision.datasets.ImageFolder
    data = own(folder, compose(words), target_transform=len if kind == "target" else None)
    more = {"shuffle": kind not in ("in_order", "weighted")}
    if kind == "png":
        data.samples = [(path + ".png", 0) for path, _ in data.samples]
    elif kind == "subset":
        data = torch.utils.data.Subset(data, range(8))
    elif kind == "weighted":
        more["sampler"] = torch.utils.data.WeightedRandomSampler([1.] * len(data), 8)
    elif kind == "collate":
        more["collate_fn"] = together
    elif kind == "drop_last":
        more["drop_last"] = True
    return data, torch.utils.data.DataLoader(data, BATCH, **more)


def look(folder, cases):
    """A line each: the code, or ! and what is missing."""
    import dsa_recipe
    for words, kind in json.loads(cases):
        data, loader = loader_of(folder, words, kind)
        it = iter(loader)
        it._dsa_loads = data, BATCH, True
        recipe = dsa_recipe.recipe_of(it)
        print(recipe.code.decode() if recipe.code else "!" + recipe.lacks.decode())


def pixels(folder):
    import dsa
    data = torchvision.datasets.ImageFolder(folder, compose(EVALUATES))
    theirs = torch.utils.data.DataLoader(data, BATCH)
    ours = dsa.Loader(folder, batch=BATCH, in_order=True, evaluate=True, epochs=1)
    squares, count = 0, 0
    for (a, labels), (b, others) in zip(theirs, ours):
        assert labels.tolist() == others.tolist()
        scale = torch.tensor(IMAGENET.std).view(1, 3, 1, 1)
        squares += float((((a - b) * scale) ** 2).sum())
        count += a.numel()
    print(-10 * torch.log10(torch.tensor(squares / count)).item())


def train(batches, rate):
    weight = torch.nn.Parameter(torch.zeros(()))
    for images, _ in batches:
        due = time.monotonic() + len(images) / rate
        (weight * images[0].mean()).backward()
        time.sleep(max(0, due - time.monotonic()))


def by_torch(folder, rate, batch=BATCH):
    data = torchvision.datasets.ImageFolder(folder, compose(TRAINS))
    loader = torch.utils.data.DataLoader(data, int(batch), shuffle=True, num_workers=2)
    while True:
        train(loader, float(rate))


def by_dsa(folder, rate):
    import dsa
    train(dsa.Loader(folder, batch=BATCH).forever(), float(rate))


if __name__ == "__main__":
    torch.set_num_threads(1)
    {"torch": by_torch, "dsa": by_dsa, "look": look, "pixels": pixels}[sys.argv[1]](*sys.argv[2:])
