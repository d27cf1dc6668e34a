#!/usr/bin/python3
"""Computes, then writes what it has, then computes again: never both at once."""

import hashlib
import mmap
import os
import tempfile
import time

BLOCK = 1 << 20
TURN_S = 0.6


def compute():
    end = time.monotonic() + TURN_S
    while time.monotonic() < end:
        hashlib.sha256(b"x" * 65536).digest()


def store(fd, block):
    end = time.monotonic() + TURN_S
    at = 0
    while time.monotonic() < end:
        os.pwrite(fd, block, at)
        at = (at + BLOCK) % (64 << 20)


with tempfile.NamedTemporaryFile(dir="/var/tmp", prefix="sonde-turns-") as file:
    fd = os.open(file.name, os.O_WRONLY | os.O_DIRECT)
    block = mmap.mmap(-1, BLOCK)
    block.write(os.urandom(4096) * (BLOCK // 4096))
    for _ in range(6):
        compute()
        store(fd, block)
