#!/usr/bin/python3
"""Is the first finding on a real program the right one?

Each program of tests/workloads has one known limit and is recorded as a user
would do it. If the finding is wrong while other programs keep the machine busy,
they are the limit: then it is recorded again, twice at most. How often it is
right when each is recorded ten times and all are counted, the benchmark
`workloads` says. Takes minutes.
"""

import os
import sys

from common import Failure, Runner, Skip

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "workloads"))
import suite

TRIES = 3
BUSY_CORES = 0.5
run = Runner()


def finds(workload):
    for left in reversed(range(TRIES)):
        try:
            report = suite.record(run.sonde, workload)
        except suite.NotHere as why:
            raise Skip(str(why))
        if suite.is_right(workload, report):
            return
        if left == 0 or (report["machine"]["other_cores"] or 0) < BUSY_CORES:
            raise Failure(f"found {suite.found(report)}: {report['verdict']}")


for one in suite.SUITE:
    run.case(one.name, finds, one)
run.done()
