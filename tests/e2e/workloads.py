#!/usr/bin/python3
"""Is the first finding on a real program the right one?

Each program of tests/workloads has one known limit, after which it is named, and
is recorded as a user would do it. REPEAT=N records each N times and says how
often the first finding was right; nine in ten must be. If it is wrong while
other programs keep the machine busy, they are the limit: then it is recorded
again, three times at most, and not counted if they still do.
"""

import json
import os
import subprocess

from common import Failure, Runner, Skip, wait_for

run = Runner()
FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "workloads")
REPEAT = int(os.environ.get("REPEAT", "1"))
TRIES = 3
BUSY_CORES = 0.5
NOT_HERE = 77


class Limited:
    """A cgroup that may use half a core, of whichever version there is."""

    def __init__(self):
        name = f"sonde-workload-{os.getpid()}"
        for path, settings in (
                (f"/sys/fs/cgroup/cpu/{name}",
                 (("cpu.cfs_period_us", "100000"), ("cpu.cfs_quota_us", "50000"))),
                (f"/sys/fs/cgroup/{name}", (("cpu.max", "50000 100000"),))):
            try:
                os.mkdir(path)
            except OSError:
                continue
            self.path = path
            try:
                for file, text in settings:
                    self.write(file, text)
                return
            except OSError:
                os.rmdir(path)
        raise Skip("no cgroup with a CPU limit can be made here")

    def write(self, file, text):
        with open(f"{self.path}/{file}", "w") as f:
            f.write(text)

    def enter(self):
        self.write("cgroup.procs", str(os.getpid()))

    def remove(self):
        def removed():
            try:
                os.rmdir(self.path)
            except OSError:
                return False
            return True
        wait_for("the cgroup to be empty", removed)


def command(name):
    source = os.path.join(FOLDER, name)
    if os.path.exists(source + ".py"):
        return ["/usr/bin/python3", source + ".py"]
    binary = os.path.join(run.dir, name)
    if not os.path.exists(binary):
        subprocess.run(["cc", "-O2", "-pthread", "-o", binary, source + ".c"], check=True)
    return [binary]


def record(name, enter=None):
    """The report of one run."""
    trace = run.path("t.sonde")
    done = subprocess.run([run.sonde, "run", "-o", trace, "--", *command(name)],
                          capture_output=True, text=True, timeout=120, preexec_fn=enter)
    if done.returncode == NOT_HERE:
        raise Skip(done.stdout.strip().removeprefix("skip: "))
    if done.returncode != 0:
        raise Failure(f"status {done.returncode}: {done.stderr[-500:]}")
    said = subprocess.run([run.sonde, "report", "--json", trace],
                          capture_output=True, text=True, timeout=60)
    return json.loads(said.stdout)


def first(report):
    return report["findings"][0]["rule"] if report["findings"] else None


def judged(name, want, enter):
    """A report that counts, or None."""
    for _ in range(TRIES):
        report = record(name, enter)
        if first(report) == want or (report["machine"]["other_cores"] or 0) < BUSY_CORES:
            return report
    return None


def finds(name, want):
    limited = Limited() if name == "cpu_throttled" else None
    try:
        reports = [judged(name, want, limited.enter if limited else None)
                   for _ in range(REPEAT)]
    finally:
        if limited:
            limited.remove()
    reports = [report for report in reports if report]
    if not reports:
        raise Skip("other programs keep the machine busy")
    wrong = [report for report in reports if first(report) != want]
    right = f"right in {len(reports) - len(wrong)} of {len(reports)}"
    if REPEAT > 1:
        print(f"     {name}: {right}, {REPEAT - len(reports)} not counted", flush=True)
    if len(wrong) > 0.1 * len(reports):
        raise Failure(f"{right}; else {first(wrong[0])}: {wrong[0]['verdict']}")


for workload in ("cpu_bound", "one_core_bound", "disk_bound", "small_files",
                 "oversubscribed", "cpu_throttled", "memory_leak", "alternating",
                 "network_bound"):
    run.case(workload, finds, workload, workload)
run.case("healthy", finds, "healthy", None)
run.done()
