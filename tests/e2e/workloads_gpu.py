#!/usr/bin/python3
"""Programs with a known bottleneck at a simulated GPU: the first finding names it.

REPEAT=N runs each N times and says how often that was right. Runs that other
programs held up, as the report says itself, are counted apart.
"""

import json
import os
import pathlib
import subprocess
import sys

from common import Runner, Skip, true

run = Runner()
BUILD = os.path.dirname(os.path.dirname(run.sonde))
WORKLOADS = pathlib.Path(__file__).resolve().parent.parent / "workloads"
REPEAT = int(os.environ.get("REPEAT", "1"))
SECONDS = float(os.environ.get("SECONDS", "6"))
# How many runs more than asked for may be held up before it gives up.
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


def held_up(report):
    """Somebody else had the cores: what the program is short of is those."""
    return any(rule["why"] == "other programs held it up" for rule in report["rules"])


def workload(name, wanted, memory_mb):
    def test():
        right, wrong, spoilt = 0, [], 0
        while right + len(wrong) < REPEAT and spoilt < REPEAT + TRIES:
            found, report = first_finding(name, memory_mb)
            if (found[0] if found else None) == wanted:
                right += 1
            elif held_up(report):
                spoilt += 1
            else:
                wrong.append(f"found {found}: {report['verdict']}")
        print(f"{name}: {right} of {right + len(wrong)} right, "
              f"{spoilt} more held up by other programs", flush=True)
        if right + len(wrong) == 0:
            raise Skip("other programs held up every run")
        # One in three may be spoilt in a way that the report does not see.
        true("\n".join(wrong), 3 * right >= 2 * (right + len(wrong)))
    return test


run.case("input bound", workload("input_bound", "input_bound", 4000))
run.case("interpreter bound", workload("interpreter_bound", "interpreter_bound", 4000))
run.case("device memory full", workload("device_memory_full", "device_memory_full",
                                        15200))
run.case("healthy", workload("healthy_gpu", None, 8000))
run.done()
