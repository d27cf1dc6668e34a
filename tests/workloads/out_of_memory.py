#!/usr/bin/python3
"""A worker that needs more than its container may have, and is killed for it."""

import os
import time

worker = os.fork()
if worker == 0:
    kept = []
    while True:
        kept.append(b"x" * (4 << 20))
        time.sleep(0.03)
os.waitpid(worker, 0)
time.sleep(1)
