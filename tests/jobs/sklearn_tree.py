"""A forest that is grown in one thread."""
import time
import numpy
from sklearn.ensemble import RandomForestRegressor

x = numpy.random.rand(4000, 20)
y = x.sum(axis=1)


def grow():
    RandomForestRegressor(n_estimators=5, n_jobs=1).fit(x, y)


end = time.monotonic() + 6
while time.monotonic() < end:
    grow()
