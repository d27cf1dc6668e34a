"""Large products of matrices: BLAS fills every core."""
import time
import numpy

a, b = numpy.random.rand(1200, 1200), numpy.random.rand(1200, 1200)


def multiply():
    return a @ b


end = time.monotonic() + 6
while time.monotonic() < end:
    multiply()
