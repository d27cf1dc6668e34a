#!/usr/bin/python3
"""Programs with a known bottleneck at a simulated GPU: the first finding names it.

REPEAT=N runs each N times. One that is wrong now and then on a busy machine
passes if most are right; how often is printed.
"""

import json
import os
import pathlib
import subprocess
import sys

from common import Runner, true

run = Runner()
BUILD = os.path.dirname(os.path.dirname(run.sonde))
WORKLOADS = pathlib.Path(__file__).resolve().parent.parent / "workloads"
REPEAT = int(os.environ.get("REPEAT", "1"))
SECONDS = float(os.environ.get("SECONDS", "6"))
# A run may be spoilt by what else goes on; three in a row are not.
TRIES = 3


def first_finding(workload, memory_mb):
    """The rule of the first finding, or None; and the whole report."""
    meter, script = run.path("meter"), run.path("script")
    root = os.path.dirname(run.path("root"))
    os.makedirs(root + "/dev")
    pathlib.Path(root + "/dev/nvidiactl").write_text("")
    pathlib.Path(meter).write_bytes(bytes(8))
    pathlib.Path(script).write_text(
        f"devices 1\nat 0 gpu 0 meter {meter} used {memory_mb} total 16000\n")
    trace = run.path("t.sonde")
    env = dict(os.environ, SONDE_DEVICE_ROOT=root, SONDE_SIM_NVML=script,
               LD_LIBRARY_PATH=os.path.join(BUILD, "tests", "sim"))
    subprocess.run([run.sonde, "run", "--quiet", "-o", trace, "--", sys.executable,
                    str(WORKLOADS / f"{workload}.py"), meter, str(SECONDS)],
                   env=env, check=True, timeout=120)
    report = json.loads(subprocess.run([run.sonde, "report", "--json", trace],
                                       capture_output=True, check=True).stdout)
    found = [one["rule"] for one in report["findings"]]
    return found, report


def workload(name, wanted, memory_mb):
    def test():
        right, seen = 0, []
        runs = REPEAT
        while len(seen) < runs:
            found, report = first_finding(name, memory_mb)
            good = (found[0] if found else None) == wanted
            right += good
            seen.append((found, report["verdict"], report["devices"][0]["busy_mean"]))
            if not good and REPEAT == 1 and len(seen) < TRIES:
                runs = len(seen) + 1
        print(f"{name}: {right} of {len(seen)} right", flush=True)
        wrong = [s for s in seen if (s[0][0] if s[0] else None) != wanted]
        for found, verdict, busy in wrong:
            print(f"  found {found}, busy {busy}: {verdict}", flush=True)
        true(f"{name}: {seen}",
             right >= (1 if REPEAT == 1 else (REPEAT * 2 + 2) // 3))
    return test


run.case("input bound", workload("input_bound", "input_bound", 4000))
run.case("interpreter bound", workload("interpreter_bound", "interpreter_bound", 4000))
run.case("device memory full", workload("device_memory_full", "device_memory_full",
                                        15200))
run.case("healthy", workload("healthy_gpu", None, 8000))
run.done()
