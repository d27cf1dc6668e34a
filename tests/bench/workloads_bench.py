#!/usr/bin/env python3
"""workloads_right: how often the first finding on a real program is the right one.

usage: workloads_bench.py SONDE [--quick] [WORKLOAD...]

Records each program of tests/workloads ten times, in turns, and counts every
run, also those that other programs disturbed. What was wrong is in "wrong".
"""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "workloads"))
import suite

ROUNDS = 10
LIMIT = 0.95


def main(sonde, quick, names):
    chosen = [w for w in suite.SUITE if not names or w.name in names]
    if quick:
        chosen = chosen[:1]
    right, wrong, missing = {w.name: 0 for w in chosen}, [], {}
    rounds = 1 if quick else ROUNDS
    for number in range(rounds):
        print(f"workloads: round {number + 1} of {rounds}", file=sys.stderr, flush=True)
        for workload in chosen:
            try:
                report = suite.record(sonde, workload)
            except suite.NotHere as why:
                missing[workload.name] = str(why)
                continue
            if suite.first(report) == workload.finds:
                right[workload.name] += 1
            else:
                wrong.append(f"{workload.name}: {report['verdict']}")
                print("wrong:", wrong[-1], file=sys.stderr, flush=True)
    runs = sum(right.values()) + len(wrong)
    share = sum(right.values()) / runs if runs else 0
    print(json.dumps({"bar": "workloads_right", "value": round(share, 4),
                      "unit": "share", "limit": LIMIT,
                      "ok": share >= LIMIT and not missing, "runs": runs,
                      "right": right, "wrong": wrong, "missing": missing}))


if __name__ == "__main__":
    words = sys.argv[2:]
    main(sys.argv[1], "--quick" in words, [w for w in words if w != "--quick"])
