#!/usr/bin/python3
"""A loader process that computes each batch, and a consumer that waits for it.

usage: input_bound.py METER SECONDS
"""

import multiprocessing
import sys
import time

from gpu import Gpu

LOAD_S, COMPUTE_S = 0.08, 0.03


def load(batches):
    while True:
        end = time.process_time() + LOAD_S
        total = 0
        while time.process_time() < end:
            total += sum(i * i for i in range(1000))
        batches.put(total)


def main():
    gpu, seconds = Gpu(sys.argv[1]), float(sys.argv[2])
    batches = multiprocessing.Queue(maxsize=2)
    loader = multiprocessing.Process(target=load, args=(batches,), daemon=True)
    loader.start()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        batches.get()
        gpu.compute(COMPUTE_S)
    loader.kill()


if __name__ == "__main__":
    main()
