"""A consumer that waits for a slow producer."""
import queue
import threading
import time

items = queue.Queue(2)


def produce():
    for i in range(60):
        time.sleep(0.1)
        items.put(i)
    items.put(None)


def consume():
    while items.get() is not None:
        pass


threading.Thread(target=produce).start()
consume()
