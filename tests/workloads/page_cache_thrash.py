#!/usr/bin/python3
"""Reads a file of 256 MB over and over, with a limit that leaves it no room."""

import os
import tempfile
import time

with tempfile.TemporaryFile(dir="/var/tmp") as file:
    for _ in range(256):
        file.write(os.urandom(1 << 20))
    file.flush()
    os.fsync(file.fileno())
    end = time.monotonic() + 7
    while time.monotonic() < end:
        if not os.read(file.fileno(), 1 << 20):
            os.lseek(file.fileno(), 0, os.SEEK_SET)
