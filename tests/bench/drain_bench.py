#!/usr/bin/env python3
"""The highest rate of records that `sonde run` takes without losing one, and
whether every record is in the trace or counted as lost, at any rate.

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
        # Begins and ends whose other half was lost are records, but no slices.
        rows = subprocess.run([sonde, "query", "--csv", trace,
                               "SELECT value FROM run WHERE key = 'guest_records'"],
                              capture_output=True, text=True, check=True).stdout
    seen = int(rows.split()[1])
    # Ticks without a sample are losses too, but not of records.
    lost = sum(loss["count"] or 0 for loss in report["losses"]
               if loss["reason"].startswith("ring-"))
    return int(made), seen, lost, float(took), report["overhead"]["cpu_pct_of_core"]


def main(words):
    quick = "--quick" in words
    sonde = next((w for w in words if not w.startswith("-")), "build/src/sonde")
    seconds = 0.3 if quick else 10
    sonde = os.path.abspath(sonde)
    held, cost, astray = 0, 0, 0
    for rate in (1,) if quick else RATES:
        made, seen, lost, took, share = once(sonde, rate, seconds)
        if lost or took > seconds / KEPT + 0.02:
            break
        astray += abs(made - seen)
        held, cost = rate, share
    # And much more than anybody can take.
    made, seen, lost, _, _ = once(sonde, 100, 0.5)
    astray += abs(made - seen - lost)
    print(json.dumps({"bar": "conservation", "value": astray, "unit": "records",
                      "limit": 0, "ok": astray == 0, "peers": {},
                      "overloaded": {"made": made, "lost": lost}}))
    print(json.dumps({"bar": "drain_rate", "value": held, "unit": "M records/s",
                      "limit": LIMIT, "ok": held >= LIMIT, "peers": {},
                      "collector_pct_of_core": round(cost, 1)}))
    return 0 if (held >= LIMIT or quick) and astray == 0 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
