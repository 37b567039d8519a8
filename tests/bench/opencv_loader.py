"""The ImageNet training recipe with OpenCV, as JSON.

usage: opencv_loader.py FOLDER BATCHES linear|area

"linear" samples the crop without antialiasing, which is faster and looks worse;
"area" averages.
"""
import glob
import json
import math
import os
import random
import sys

import cv2
import numpy as np

BATCH = 64
MEAN = np.array([.485, .456, .406], np.float32) * 255
SCALE = 1 / (np.array([.229, .224, .225], np.float32) * 255)


def crop_of(height, width):
    """RandomResizedCrop as torchvision draws it: scale .08 to 1, ratio 3/4 to 4/3."""
    for _ in range(10):
        area = height * width * random.uniform(.08, 1)
        ratio = math.exp(random.uniform(math.log(3 / 4), math.log(4 / 3)))
        w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < w <= width and 0 < h <= height:
            return random.randint(0, height - h), random.randint(0, width - w), h, w
    side = min(height, width)
    return (height - side) // 2, (width - side) // 2, side, side


def prepare(path, out, how):
    image = cv2.imread(path, cv2.IMREAD_COLOR)
    y, x, h, w = crop_of(*image.shape[:2])
    image = cv2.resize(image[y:y + h, x:x + w], (224, 224), interpolation=how)
    if random.random() < .5:
        image = image[:, ::-1]
    planes = image[:, :, ::-1].astype(np.float32)
    planes -= MEAN
    planes *= SCALE
    out[:] = planes.transpose(2, 0, 1)


def main(folder, batches, name):
    cv2.setNumThreads(1)
    how = {"linear": cv2.INTER_LINEAR, "area": cv2.INTER_AREA}[name]
    paths = glob.glob(folder + "/*/*.jpg")
    out = np.zeros((BATCH, 3, 224, 224), np.float32)
    began = 0
    for batch in range(-1, batches):
        if batch == 0:
            began = os.times()
        for slot in out:
            prepare(random.choice(paths), slot, how)
    ended = os.times()
    spent = ended.user + ended.system - began.user - began.system
    print(json.dumps({"samples_per_cpu_s": batches * BATCH / spent,
                      "version": cv2.__version__}))


main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
