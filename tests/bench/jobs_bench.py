#!/usr/bin/env python3
"""How often the verdict on a real job is right: its cause, and its place.

usage: jobs_bench.py SONDE [--quick] [--quiet | --beside] [JOB...]

Records each program of tests/jobs once on a quiet machine and once beside a
neighbour that uses a core. Their libraries come from tests/jobs/python_env.py; a job
whose library or language is not to be had is in "missing", with the reason.

jobs_right is the share of runs whose first finding names the cause and the place.
jobs_wrong is the number of findings that are not true of the job.
"""
import contextlib
import json
import pathlib
import subprocess
import sys

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS / "jobs"))
import python_env
import suite

LIMIT = 0.85
FEWEST = 24
NEIGHBOUR = [sys.executable, str(TESTS / "workloads/neighbours.py"), "core"]


@contextlib.contextmanager
def neighbour():
    """A program that uses a core meanwhile."""
    program = subprocess.Popen(NEIGHBOUR, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE)
    try:
        program.stdout.readline()
        yield
        if program.poll() is not None:
            raise OSError("the neighbour ended")
    finally:
        program.kill()
        program.wait()
        program.stdout.close()


CONDITIONS = {"quiet": contextlib.nullcontext, "beside": neighbour}


def bar(name, value, unit, limit, ok, **more):
    print(json.dumps({"bar": name, "value": value, "unit": unit, "limit": limit,
                      "ok": ok, **more}), flush=True)


class Tally:
    def __init__(self):
        self.runs, self.right = 0, 0
        self.not_right, self.untrue, self.missing = [], [], {}

    def take(self, job, condition, report):
        self.runs += 1
        first = next(iter(report["findings"]), None)
        said = f"{condition}: {job.name}: {report['verdict']}"
        if suite.is_right(job, report):
            self.right += 1
            print("right:", said, file=sys.stderr, flush=True)
        else:
            at = ((first or {}).get("where") or {}).get("function")
            self.not_right.append(f"{said} [{at}]")
            print("not right:", self.not_right[-1], file=sys.stderr, flush=True)
        for rule in suite.wrong(job, report):
            self.untrue.append(f"{condition}: {job.name}: {rule}")
            print("wrong:", self.untrue[-1], file=sys.stderr, flush=True)

    def run(self, sonde, job, conditions, python):
        try:
            with suite.Prepared(job, python) as prepared:
                for condition in conditions:
                    with CONDITIONS[condition]():
                        report = prepared.record(sonde)
                    self.take(job, condition, report)
        except suite.NotHere as why:
            self.missing[job.name] = str(why)
            print(f"skip {job.name} {why}", file=sys.stderr, flush=True)
        except (OSError, subprocess.SubprocessError) as error:
            self.runs += 1
            self.not_right.append(f"{job.name}: {error}")
            print("failed:", self.not_right[-1], file=sys.stderr, flush=True)


def main(sonde, quick, conditions, names):
    chosen = [job for job in suite.SUITE if not names or job.name in names]
    if len(chosen) < len(set(names)):
        sys.exit("jobs_bench: no job " + " ".join(set(names) - {j.name for j in chosen}))
    if quick:
        chosen, conditions = chosen[:1], conditions[:1]
    tally, python = Tally(), python_env.PythonEnv()
    for job in chosen:
        tally.run(sonde, job, conditions, python)
    share = tally.right / tally.runs if tally.runs else 0
    enough = len(chosen) - len(tally.missing) >= (1 if quick or names else FEWEST)
    bar("jobs_right", round(share, 4), "share", LIMIT, share >= LIMIT and enough,
        runs=tally.runs, wrong=tally.not_right, missing=tally.missing)
    bar("jobs_wrong", len(tally.untrue), "findings", 0, not tally.untrue and enough,
        wrong=tally.untrue, missing=tally.missing)


if __name__ == "__main__":
    words = sys.argv[2:]
    options = [w for w in words if w.startswith("--")]
    if set(options) - {"--quick", "--quiet", "--beside"}:
        sys.exit(__doc__)
    main(str(pathlib.Path(sys.argv[1]).resolve()), "--quick" in options,
         [c for c in CONDITIONS if f"--{c}" in options] or list(CONDITIONS),
         [w for w in words if w not in options])
