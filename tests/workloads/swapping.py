#!/usr/bin/python3
"""Works on 240 MB where it may have 90 MB, for six seconds: the rest is in swap.

Needs root, a memory cgroup and a file system that swap can lie on; without them
it says so and ends with status 77. Its swap is taken away again at the end.
"""

import ctypes
import mmap
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

SECONDS = 6
MEMORY, LIMIT, SWAP = 240 << 20, 90 << 20, 320 << 20
NAME = f"sonde-swapping-{os.getpid()}"


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


def limited():
    """A cgroup with little memory, of whichever version there is."""
    for path, limit in ((f"/sys/fs/cgroup/memory/{NAME}", "memory.limit_in_bytes"),
                        (f"/sys/fs/cgroup/{NAME}", "memory.max")):
        try:
            os.mkdir(path)
        except OSError:
            continue
        try:
            write(f"{path}/{limit}", str(LIMIT))
            return path
        except OSError:
            os.rmdir(path)
    raise OSError("no cgroup with a memory limit can be made here")


def work():
    pages = mmap.mmap(-1, MEMORY, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    for at in range(0, MEMORY, mmap.PAGESIZE):
        pages[at:at + 8] = random.randbytes(8)
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        for _ in range(100):
            pages[random.randrange(MEMORY)] ^= 1


def work_in(cgroup):
    worker = os.fork()
    if worker == 0:
        # If this is killed, the worker must not go on without an end.
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
        try:
            write(f"{cgroup}/cgroup.procs", str(os.getpid()))
            work()
        finally:
            os._exit(0)
    os.waitpid(worker, 0)


def main():
    with tempfile.NamedTemporaryFile(dir="/var/tmp", prefix="sonde-swap-") as swap:
        os.posix_fallocate(swap.fileno(), 0, SWAP)
        subprocess.run(["mkswap", swap.name], check=True, capture_output=True)
        cgroup = limited()
        try:
            subprocess.run(["swapon", swap.name], check=True, capture_output=True)
            try:
                work_in(cgroup)
            finally:
                subprocess.run(["swapoff", swap.name], check=True, capture_output=True)
        finally:
            os.rmdir(cgroup)


if __name__ == "__main__":
    try:
        main()
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"skip: {error}")
        sys.exit(77)
