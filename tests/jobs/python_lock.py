"""Threads that compute a checksum, which lets others run, under one lock."""
import hashlib
import threading
import time

END = time.monotonic() + 6
DATA = bytes(8 << 20)
lock = threading.Lock()


def store():
    while time.monotonic() < END:
        with lock:
            hashlib.sha256(DATA).digest()


threads = [threading.Thread(target=store) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
