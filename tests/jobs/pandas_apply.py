"""A function of Python for each row of a table."""
import time
import numpy
import pandas

table = pandas.DataFrame(numpy.random.rand(20000, 4), columns=list("abcd"))


def score(row):
    return row.a * 2 + row.b - row.c * row.d


end = time.monotonic() + 6
while time.monotonic() < end:
    table.apply(score, axis=1)
