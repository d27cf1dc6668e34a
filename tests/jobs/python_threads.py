"""Threads that all compute in Python, under the interpreter's lock."""
import threading
import time

END = time.monotonic() + 6


def tokenize():
    while time.monotonic() < END:
        " ".join(str(i * 7 % 13) for i in range(2000)).split()


threads = [threading.Thread(target=tokenize) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
