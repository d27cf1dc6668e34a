"""Sixteen processes compute for each pair of cores."""
import multiprocessing
import os
import time


def work(_):
    end, number = time.monotonic() + 5, 1
    while time.monotonic() < end:
        for _ in range(1000):
            number = number * 48271 % 2147483647


if __name__ == "__main__":
    count = 8 * len(os.sched_getaffinity(0))
    with multiprocessing.get_context("fork").Pool(count) as pool:
        pool.map(work, range(count), 1)
