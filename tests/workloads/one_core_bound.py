#!/usr/bin/python3
"""Computes in one thread for six seconds; the other cores have nothing to do."""

import time

end = time.monotonic() + 6
total = 0
while time.monotonic() < end:
    for i in range(10000):
        total += i * i
