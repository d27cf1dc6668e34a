"""Functions of known shares: parts.py KIND SECONDS [LIBRARY].

Burns SECONDS of CPU time in functions whose shares it measures by itself, and
prints: `part NAME SECONDS` for each, and `cpu SECONDS`. The library of `mixed` is
parts.c. What counts for a function is what it did outside of the others; each has a
loop of its own, for a function that they shared would have their time.
"""
import ctypes
import sys
import time

UNIT = 0.007
used = time.thread_time
spent = {}


def one():
    begin = used()
    end = begin + UNIT
    x = 0
    while used() < end:
        for i in range(100):
            x += i
    spent["one"] = spent.get("one", 0) + used() - begin


def two():
    begin = used()
    end = begin + 2 * UNIT
    x = 0
    while used() < end:
        for i in range(100):
            x += i
    spent["two"] = spent.get("two", 0) + used() - begin


def three():
    begin = used()
    end = begin + 3 * UNIT
    x = 0
    while used() < end:
        for i in range(100):
            x += i
    spent["three"] = spent.get("three", 0) + used() - begin


def flat():
    one()
    two()
    three()


def outer():
    begin = used()
    end = begin + UNIT
    x = 0
    while used() < end:
        for i in range(100):
            x += i
    spent["outer"] = spent.get("outer", 0) + used() - begin
    two()


def nested():
    outer()


def down(levels):
    begin = used()
    end = begin + UNIT / 4
    x = 0
    while used() < end:
        for i in range(100):
            x += i
    spent["down"] = spent.get("down", 0) + used() - begin
    if levels > 1:
        down(levels - 1)
    else:
        three()


def recursive():
    down(12)


def mixed(library):
    """Python calls C, which calls Python, which calls C."""
    lib = ctypes.CDLL(library)
    lib.burner.argtypes = [ctypes.c_double]

    @ctypes.CFUNCTYPE(None)
    def inner():
        begin = used()
        lib.burner(2 * UNIT)
        spent["inner"] = spent.get("inner", 0) + used() - begin

    def caller():
        begin = used()
        lib.burner(UNIT)
        spent["caller"] = spent.get("caller", 0) + used() - begin
        lib.calls_back(inner)

    def both():
        caller()
        one()
    return both


def main(kind, seconds, *library):
    step = {"flat": flat, "nested": nested, "recursive": recursive}.get(kind)
    step = step or mixed(*library)
    end = used() + float(seconds)
    while used() < end:
        step()
    for name, value in spent.items():
        print(f"part {name} {value:.6f}")
    print(f"cpu {time.process_time():.6f}")


main(*sys.argv[1:])
