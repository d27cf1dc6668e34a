#!/usr/bin/env python3
"""run_true_ms: what `sonde run` adds to the wall time of the shortest program.

usage: run_true_bench.py SONDE [--quick]

Bare runs, runs under sonde and runs under the peers take turns, so that a
noisy moment hits all of them; the values are medians. Prints one JSON object
a line, as every benchmark here does.
"""
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time


def once(command):
    begin = time.perf_counter()
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return (time.perf_counter() - begin) * 1e3


def works(command):
    try:
        once(command)
        return True
    except (OSError, subprocess.CalledProcessError):
        return False


def main(sonde, quick):
    rounds = 5 if quick else 41
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "t.sonde")
        data = os.path.join(folder, "perf.data")
        target = [shutil.which("true") or "/bin/true"]
        commands = {
            "bare": target,
            "sonde": [sonde, "run", "--force", "-o", trace, "--", *target],
        }
        peers = {
            "perf_record": ["perf", "record", "-q", "-e", "cpu-clock", "-o",
                            data, "--", *target],
            "strace": ["strace", "-f", "-c", "-o", data, *target],
        }
        commands.update({name: command for name, command in peers.items()
                         if works(command)})
        times = {name: [] for name in commands}
        for name, command in commands.items():
            once(command)  # warms the page cache
        for _ in range(rounds):
            for name, command in commands.items():
                times[name].append(once(command))
    medians = {name: statistics.median(v) for name, v in times.items()}
    added = {name: round(value - medians["bare"], 2)
             for name, value in medians.items()}
    print(json.dumps({
        "bar": "run_true_ms", "value": added["sonde"], "unit": "ms",
        "limit": 30, "ok": added["sonde"] <= 30,
        "peers": {k: v for k, v in added.items() if k in peers},
        "bare_ms": round(medians["bare"], 2), "rounds": rounds,
    }))


if __name__ == "__main__":
    main(sys.argv[1], "--quick" in sys.argv[2:])
