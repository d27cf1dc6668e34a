#!/usr/bin/python3
"""A worker that gives its batches through a /dev/shm of 64 MB, until it is full."""

import ctypes
import mmap
import os
import time

CLONE_NEWNS, MS_REC, MS_PRIVATE = 0x00020000, 1 << 14, 1 << 18
libc = ctypes.CDLL(None, use_errno=True)
if (libc.unshare(CLONE_NEWNS) != 0 or
        libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None) != 0 or
        libc.mount(b"shm", b"/dev/shm", b"tmpfs", 0, b"size=64m") != 0):
    print("skip: no mount can be made here")
    raise SystemExit(77)

worker = os.fork()
if worker == 0:
    batches = []
    while True:
        fd = os.open(f"/dev/shm/batch{len(batches)}", os.O_RDWR | os.O_CREAT)
        os.ftruncate(fd, 2 << 20)
        batches.append(mmap.mmap(fd, 2 << 20))
        batches[-1][:] = b"x" * (2 << 20)
        time.sleep(0.1)
os.waitpid(worker, 0)
time.sleep(1.5)
