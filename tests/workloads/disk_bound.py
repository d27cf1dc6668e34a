#!/usr/bin/python3
"""Four threads write blocks past the page cache for six seconds.

The file lies in /var/tmp, which is a disk where /tmp may be memory.
"""

import mmap
import os
import tempfile
import threading
import time

END = time.monotonic() + 6
BLOCK = 1 << 20
SPAN = 64 << 20  # what each thread writes over and over


def write(fd, begin):
    block = mmap.mmap(-1, BLOCK)  # O_DIRECT wants whole pages
    block.write(os.urandom(4096) * (BLOCK // 4096))
    at = 0
    while time.monotonic() < END:
        os.pwrite(fd, block, begin + at)
        at = (at + BLOCK) % SPAN


with tempfile.NamedTemporaryFile(dir="/var/tmp", prefix="sonde-disk-") as file:
    fd = os.open(file.name, os.O_WRONLY | os.O_DIRECT)
    threads = [threading.Thread(target=write, args=(fd, i * SPAN))
               for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
