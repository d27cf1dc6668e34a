"""Boosting on few rows with eight threads of OpenMP."""
import time
import numpy
from sklearn.ensemble import HistGradientBoostingRegressor

x = numpy.random.rand(400, 8)
y = x.sum(axis=1)
end = time.monotonic() + 6
while time.monotonic() < end:
    HistGradientBoostingRegressor(max_iter=50).fit(x, y)
