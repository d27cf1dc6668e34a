#!/usr/bin/python3
"""Trains on all the cores it may use, and stands still every 1.2 s to save.

It saves for 0.3 s, as much as the disk takes in this time.
"""

import multiprocessing
import os
import tempfile
import time

STEPS, STEP_S, SAVE_S = 5, 1.2, 0.3
BLOCK = os.urandom(4 << 20)


def step(_):
    end = time.monotonic() + STEP_S
    while time.monotonic() < end:
        sum(i * i for i in range(1000))


def save(file):
    end = time.monotonic() + SAVE_S
    file.seek(0)
    while time.monotonic() < end:
        file.write(BLOCK)
        file.flush()
        os.fsync(file.fileno())


def main():
    workers = len(os.sched_getaffinity(0))
    with multiprocessing.Pool(workers) as pool, \
            tempfile.NamedTemporaryFile(dir="/var/tmp", prefix="sonde-save-") as file:
        for _ in range(STEPS):
            pool.map(step, range(workers))
            save(file)


if __name__ == "__main__":
    main()
