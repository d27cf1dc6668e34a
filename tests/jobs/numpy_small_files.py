"""A sample is a file of its own, read again and again."""
import os
import tempfile
import time
import numpy


def load(path):
    return numpy.fromfile(path, numpy.uint8)


with tempfile.TemporaryDirectory() as folder:
    for i in range(500):
        numpy.zeros(64, numpy.uint8).tofile(f"{folder}/{i}.raw")
    paths = [f"{folder}/{name}" for name in os.listdir(folder)]
    end = time.monotonic() + 6
    while time.monotonic() < end:
        for path in paths:
            load(path)
