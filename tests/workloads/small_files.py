#!/usr/bin/python3
"""Reads two thousand files of 4 kB again and again for six seconds, all from the page cache."""

import os
import tempfile
import time

COUNT = 2000

with tempfile.TemporaryDirectory(prefix="sonde-small-") as place:
    paths = [f"{place}/{i:05}" for i in range(COUNT)]
    for path in paths:
        with open(path, "wb") as file:
            file.write(b"x" * 4096)
    end = time.monotonic() + 6
    total = 0
    while time.monotonic() < end:
        for path in paths:
            with open(path, "rb") as file:
                total += len(file.read())
