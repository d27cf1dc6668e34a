"""Waits of known length: waits.py SECONDS ROUNDS, or sleepers COUNT SECONDS.

One thread waits in turns for a lock, a queue, a socket, a moment and a child, each
in a function of its own, and prints how long: `part KIND SECONDS`. Others end the
waits. `sleepers` are threads that sleep.
"""
import queue
import socket
import subprocess
import sys
import threading
import time

lock, items, orders = threading.Lock(), queue.Queue(), queue.SimpleQueue()
here, there = socket.socketpair()
child = None


def ends_waits():
    while True:
        seconds, end = orders.get()
        time.sleep(seconds)
        end()


def on_lock(seconds):
    lock.acquire()


def on_queue(seconds):
    items.get()


def on_socket(seconds):
    here.recv(1)


def on_sleep(seconds):
    time.sleep(seconds)


def on_child(seconds):
    child.wait()


def starts_child(seconds):
    global child
    child = subprocess.Popen(["sleep", str(seconds)])


def waits(seconds, rounds):
    threading.Thread(target=ends_waits, daemon=True).start()
    lock.acquire()
    time.sleep(1)  # the start of a program is not sampled
    kinds = {"lock": (on_lock, lock.release), "queue": (on_queue, lambda: items.put(1)),
             "socket": (on_socket, lambda: there.send(b"x")),
             "sleep": (on_sleep, None), "child": (on_child, None)}
    spent = dict.fromkeys(kinds, 0)
    for _ in range(rounds):
        for kind, (wait, end) in kinds.items():
            if end:
                orders.put((seconds, end))
            if kind == "child":
                starts_child(seconds)
            begin = time.perf_counter()
            wait(seconds)
            spent[kind] += time.perf_counter() - begin
    for kind, value in spent.items():
        print(f"part {kind} {value:.6f}")


def sleepers(count, seconds):
    threads = [threading.Thread(target=time.sleep, args=(seconds,))
               for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if sys.argv[1] == "sleepers":
    sleepers(int(sys.argv[2]), float(sys.argv[3]))
else:
    waits(float(sys.argv[1]), int(sys.argv[2]))
print(f"cpu {time.process_time():.6f}")
