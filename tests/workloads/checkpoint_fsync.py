#!/usr/bin/python3
"""Trains on one core and saves after every step: shards of 8 MB, kept by fsync.

A save takes as long as a step: there are as many shards as the disk takes.
"""

import hashlib
import os
import tempfile
import time

STEPS, STEP_S, SAVE_S = 4, 1.2, 1.2
SHARD = os.urandom(8 << 20)


def step():
    end = time.monotonic() + STEP_S
    while time.monotonic() < end:
        hashlib.sha256(b"x" * 65536).digest()


def save(folder):
    end = time.monotonic() + SAVE_S
    while time.monotonic() < end:
        with open(f"{folder}/new", "wb") as file:
            file.write(SHARD)
            file.flush()
            os.fsync(file.fileno())
        os.rename(f"{folder}/new", f"{folder}/shard")


with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="sonde-save-") as folder:
    for _ in range(STEPS):
        step()
        save(folder)
    step()
