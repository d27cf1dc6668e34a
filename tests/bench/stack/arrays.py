"""Arrays in Python and in a library: arrays.py numpy|torch SECONDS of CPU time."""
import importlib
import sys
import time


def product(a):
    return a @ a


def ordered(lib, a):
    return lib.sort(a.reshape(-1))


def elements(a):
    return a * 2 + a.sum()


def loop(a):
    return sum(float(x) for x in a[0])


def recursion(a, levels):
    return recursion(a, levels - 1) if levels else elements(a)


def main(name, seconds):
    lib = importlib.import_module(name)
    a = lib.ones((300, 300))
    end = time.process_time() + float(seconds)
    while time.process_time() < end:
        product(a)
        ordered(lib, a)
        recursion(a, 20)
        loop(a)
    print(f"cpu {time.process_time():.6f}")


main(*sys.argv[1:])
