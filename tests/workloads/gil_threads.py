"""Four threads of pure Python: one runs at a time, under the interpreter's lock."""
import threading
import time

END = time.monotonic() + 6


def work():
    number = 1
    while time.monotonic() < END:
        for _ in range(1000):
            number = (number * 48271) % 2147483647


threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
