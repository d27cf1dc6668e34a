"""A sum over an array, element by element."""
import time
import numpy

values = numpy.random.rand(200000)


def add_up():
    total = 0.0
    for value in values:
        total += value * value
    return total


end = time.monotonic() + 6
while time.monotonic() < end:
    add_up()
