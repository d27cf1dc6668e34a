#!/usr/bin/python3
"""Who else used the cores is in the trace, by name."""

import json
import os
import subprocess
import sys

from common import Runner, equal, true

run = Runner()
NAME = "sonde_spinner"


def query(trace, sql):
    out = subprocess.run([run.sonde, "query", "--json", trace, sql],
                         capture_output=True, text=True, check=True)
    return json.loads(out.stdout)["rows"]


def a_busy_neighbour_is_named():
    trace = os.path.join(run.dir, "beside.sonde")
    program = os.path.join(run.dir, NAME)
    os.symlink(sys.executable, program)
    # More than one: other tests may use the cores as well.
    spinners = [subprocess.Popen([program, "-c", "while True: pass  # secret"])
                for _ in range(2 * os.cpu_count())]
    try:
        subprocess.run([run.sonde, "run", "-o", trace, "--", "sleep", "5"],
                       capture_output=True, check=True)
    finally:
        for one in spinners:
            one.kill()
            one.wait()
    rows = query(trace, "SELECT value FROM run WHERE key = 'neighbours'")
    equal("rows of neighbours", len(rows), 1)
    found = json.loads(rows[0][0])
    true(f"three at most: {found}", len(found) <= 3)
    true(f"the spinners are named: {found}",
         any(one["name"] == NAME and one["cores"] > 0.05 for one in found))
    with open(trace, "rb") as f:
        true("arguments of others are not kept", b"secret" not in f.read())


for test in (a_busy_neighbour_is_named,):
    run.case(test.__name__, test)
run.done()
