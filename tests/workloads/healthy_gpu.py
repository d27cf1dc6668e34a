#!/usr/bin/python3
"""Keeps the GPU busy all the time; the next batch is always there.

usage: healthy_gpu.py METER SECONDS
"""

import sys
import time

from gpu import Gpu


def main():
    gpu, end = Gpu(sys.argv[1]), time.monotonic() + float(sys.argv[2])
    while time.monotonic() < end:
        gpu.compute(0.1)


if __name__ == "__main__":
    main()
