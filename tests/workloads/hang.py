"""A trainer whose worker waits for a lock that is never given back.

It computes for three seconds; then both threads wait for each other, and a
heartbeat goes on. The program gives up after five seconds more.
"""
import hashlib
import os
import threading
import time

first, second = threading.Lock(), threading.Lock()
both = threading.Barrier(2)


def compute(seconds):
    block, end = bytes(1 << 16), time.monotonic() + seconds
    while time.monotonic() < end:
        hashlib.sha256(block).digest()


def worker():
    with second:
        both.wait()
        first.acquire()


def trainer():
    compute(3)
    with first:
        both.wait()
        second.acquire()


for target in (trainer, worker):
    threading.Thread(target=target, daemon=True).start()
end = time.monotonic() + 8
while time.monotonic() < end:
    time.sleep(1)
    print(".", end="", flush=True)
print(flush=True)
os._exit(0)
