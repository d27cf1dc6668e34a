#!/usr/bin/env python3
"""How often the verdict on a real program is right, and how often it is wrong.

usage: workloads_bench.py SONDE [--quick] [--alone | --beside] [--rounds=10]
       [WORKLOAD...]

Records each program of tests/workloads ten times, in turns, and counts every
run, in two conditions: alone, and beside a neighbour that uses a core and one
that uses a disk (tests/workloads/neighbours.py).

workloads_right is the share of runs whose first finding about the program is the
workload's, in the worse condition. workloads_wrong is the number of findings that
are not true of it, in both. What was wrong is in "wrong".
"""
import contextlib
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "workloads"))
import neighbours
import suite

ROUNDS = 10
LIMIT = 0.95
CONDITIONS = {"alone": contextlib.nullcontext, "beside": neighbours.Neighbours}


class Tally:
    """What the runs of one condition gave."""

    def __init__(self, condition, workloads):
        self.condition = condition
        self.right = {w.name: 0 for w in workloads}
        self.not_right, self.untrue, self.missing = [], [], {}

    def run(self, sonde, workload):
        try:
            with CONDITIONS[self.condition]() as beside:
                report = suite.record(sonde, workload)
                if beside is not None:
                    beside.check()
        except suite.NotHere as why:
            self.missing[workload.name] = str(why)
            return
        except OSError as error:
            self._say(self.not_right, f"{workload.name}: {error}")
            return
        if suite.is_right(workload, report):
            self.right[workload.name] += 1
        else:
            self._say(self.not_right, f"{workload.name}: {report['verdict']}")
        for rule in suite.wrong(workload, report):
            self._say(self.untrue, f"{workload.name}: {rule}: {report['verdict']}")

    def _say(self, where, text):
        where.append(f"{self.condition}: {text}")
        print("wrong:", where[-1], file=sys.stderr, flush=True)

    def share(self):
        right = sum(self.right.values())
        runs = right + len(self.not_right)
        return right / runs if runs else 0


def bar(name, value, unit, limit, ok, **more):
    print(json.dumps({"bar": name, "value": value, "unit": unit, "limit": limit,
                      "ok": ok, **more}), flush=True)


def main(sonde, quick, conditions, rounds, names):
    chosen = [w for w in suite.SUITE if not names or w.name in names]
    if len(chosen) < len(set(names)):
        sys.exit("workloads_bench: no workload "
                 + " ".join(set(names) - {w.name for w in chosen}))
    if quick:
        chosen = chosen[:1]
    tallies = [Tally(condition, chosen) for condition in conditions]
    rounds = 1 if quick else rounds
    for number in range(rounds):
        print(f"workloads: round {number + 1} of {rounds}", file=sys.stderr, flush=True)
        for workload in chosen:
            for tally in tallies:
                tally.run(sonde, workload)
    shares = {t.condition: round(t.share(), 4) for t in tallies}
    missing = {name: why for t in tallies for name, why in t.missing.items()}
    untrue = [text for t in tallies for text in t.untrue]
    bar("workloads_right", min(shares.values()), "share", LIMIT,
        min(shares.values()) >= LIMIT and not missing, shares=shares,
        right={t.condition: t.right for t in tallies},
        wrong=[text for t in tallies for text in t.not_right], missing=missing)
    bar("workloads_wrong", len(untrue), "findings", 0, not untrue and not missing,
        wrong=untrue, missing=missing)


if __name__ == "__main__":
    words = sys.argv[2:]
    options = [w for w in words if w.startswith("--")]
    rounds = [o for o in options if o.startswith("--rounds=")]
    unknown = set(options) - {"--quick", "--alone", "--beside", *rounds}
    if unknown:
        sys.exit(f"workloads_bench: no option {' '.join(unknown)}")
    main(sys.argv[1], "--quick" in options,
         [c for c in CONDITIONS if f"--{c}" in options] or list(CONDITIONS),
         int(rounds[-1].partition("=")[2]) if rounds else ROUNDS,
         [w for w in words if w not in options])
