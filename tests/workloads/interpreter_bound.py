#!/usr/bin/python3
"""One thread computes most of the time and hands out a little work now and then.

usage: interpreter_bound.py METER SECONDS
"""

import os
import struct
import sys
import time


def main():
    meter = open(sys.argv[1], "r+b", buffering=0)
    end = time.monotonic() + float(sys.argv[2])
    ns, last = 0, time.monotonic_ns()
    while time.monotonic() < end:
        sum(i * i for i in range(20000))
        now = time.monotonic_ns()
        ns += (now - last) // 5
        last = now
        os.pwrite(meter.fileno(), struct.pack("<Q", ns), 0)


if __name__ == "__main__":
    main()
