"""What the workloads for accelerators share: a GPU that is a number in a file.

The simulated NVML (tests/sim/nvml.cc, `meter`) reads it as nanoseconds of work
done so far.
"""

import struct
import time


class Gpu:
    def __init__(self, path):
        self.file = open(path, "r+b", buffering=0)
        self.ns = 0

    def compute(self, seconds):
        """Works that long, and counts as it goes: samples see it at work."""
        began = last = time.monotonic_ns()
        end = began + int(seconds * 1e9)
        while last < end:
            time.sleep(min(0.005, (end - last) / 1e9))
            now = time.monotonic_ns()
            self.ns += now - last
            last = now
            self.file.seek(0)
            self.file.write(struct.pack("<Q", self.ns))
