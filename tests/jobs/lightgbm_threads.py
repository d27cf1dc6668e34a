"""Boosting on few rows with eight threads."""
import time
import lightgbm
import numpy

x = numpy.random.rand(500, 10)
data = lightgbm.Dataset(x, x.sum(axis=1))
end = time.monotonic() + 6
while time.monotonic() < end:
    lightgbm.train({"num_threads": 8, "verbosity": -1}, data, num_boost_round=50)
