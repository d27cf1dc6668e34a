#!/usr/bin/env python3
"""The highest rate of records that `sonde run` takes without losing one.

usage: drain_bench.py [path/to/sonde] [--quick]

A target of two threads makes its records in bursts, a thousand a second. A rate
counts if the target kept to it and every record is in the trace.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

LIMIT = 10  # million a second
RATES = (4, 6, 8, 10, 12, 14, 16, 20, 24)
KEPT = 0.97


def once(sonde, rate, seconds):
    """(records made, records in the trace, lost, seconds, collector's share)."""
    burst = pathlib.Path(sonde).parent.parent / "tests/guest/burst"
    with tempfile.TemporaryDirectory() as scratch:
        trace = os.path.join(scratch, "t.sonde")
        done = subprocess.run([sonde, "run", "--quiet", "-o", trace, "--", burst,
                               str(rate), str(seconds)],
                              capture_output=True, text=True, check=True)
        made, took = re.search(r"produced (\d+) in ([0-9.]+)", done.stdout).groups()
        report = json.loads(subprocess.run(
            [sonde, "report", "--json", trace], capture_output=True, text=True,
            check=True).stdout)
    seen = 2 * sum(s["count"] for s in report["slices"] if s["name"] == "burst")
    lost = sum(loss["count"] or 0 for loss in report["losses"])
    return int(made), seen, lost, float(took), report["overhead"]["cpu_pct_of_core"]


def main(words):
    quick = "--quick" in words
    sonde = next((w for w in words if not w.startswith("-")), "build/src/sonde")
    seconds = 0.3 if quick else 10
    held, cost = 0, 0
    for rate in (1,) if quick else RATES:
        made, seen, lost, took, share = once(os.path.abspath(sonde), rate, seconds)
        if lost or seen != made or took > seconds / KEPT + 0.02:
            break
        held, cost = rate, share
    print(json.dumps({"bar": "drain_rate", "value": held, "unit": "M records/s",
                      "limit": LIMIT, "ok": held >= LIMIT, "peers": {},
                      "collector_pct_of_core": round(cost, 1)}))
    return 0 if held >= LIMIT or quick else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
