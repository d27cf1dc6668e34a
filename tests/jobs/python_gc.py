"""Many objects that live, and garbage in circles."""
import gc
import time


class Node:
    def __init__(self):
        self.me = self


def make():
    for _ in range(2000):
        Node()


kept = [[i] for i in range(1_000_000)]
end = time.monotonic() + 8
while time.monotonic() < end:
    make()
    kept.append([kept])
    gc.collect()
