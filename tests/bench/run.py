#!/usr/bin/env python3
"""Runs the benchmarks and says which bars are met.

usage: run.py [NAME...] [--json] [--quick] [--check]   (by ./sonde.sh bench)

A benchmark is tests/bench/X_bench.py, or X_bench.cc built as
build/tests/bench/X_bench. A line near its top names what it measures:

    bars: run_true_ms tree200_10hz_pct

It is called with `--quick` (as short as it can be and still work) and the bars
wanted (none: all of its own), and prints one JSON object a line:

    {"bar":"run_true_ms","value":21,"unit":"ms","limit":30,"ok":true,"peers":{}}

NAME is a benchmark or a bar. --json prints these lines and nothing else.
--check asks only whether each bar can be measured, not whether it is met: that
is what a busy CI machine can tell. Otherwise a bar that is missed fails.
"""
import json
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BUILD = pathlib.Path(os.environ.get("SONDE_BUILD", ROOT / "build"))
FIELDS = {"bar", "value", "unit", "limit", "ok"}


def benchmarks():
    """Name -> (command, bars)."""
    found = {}
    for path in sorted([*HERE.glob("*_bench.py"), *HERE.glob("*_bench.cc")]):
        head = "".join(path.open().readlines()[:40])
        match = re.search(r"\bbars: ([\w ]+(?:\n(?://|#)? {2,}[\w ]+)*)", head)
        bars = re.sub(r"[/#\n]", " ", match[1]).split() if match else []
        if path.suffix == ".py":
            command = [sys.executable, str(path)]
        else:
            command = [str(BUILD / "tests/bench" / path.stem)]
        found[path.stem.removesuffix("_bench")] = (command, bars)
    return found


def measure(command, bars, quick):
    """Yields each object as the benchmark prints it; at last its failure."""
    env = dict(os.environ, SONDE=str(BUILD / "src/sonde"),
               SONDE_BUILD=str(BUILD), SONDE_ROOT=str(ROOT))
    try:
        child = subprocess.Popen(command + ["--quick"] * quick + bars, env=env,
                                 cwd=ROOT, stdout=subprocess.PIPE, text=True)
    except OSError as error:
        yield None, str(error)
        return
    for line in child.stdout:
        try:
            row = json.loads(line)
            assert FIELDS <= row.keys()
        except (ValueError, AttributeError, AssertionError):
            yield None, f"said {line.strip()!r}, which is no measurement"
            continue
        yield row, None
    if child.wait() != 0:
        yield None, f"ended with status {child.returncode}"


def show(row, mode):
    if mode == "--json":
        print(json.dumps(row, separators=(",", ":")), flush=True)
    elif mode == "--check":
        print(f"ok bench/{row['bar']}", flush=True)
    else:
        peers = "  ".join(f"{name} {value:g}" if isinstance(value, (int, float))
                          else f"{name} {value}"
                          for name, value in (row.get("peers") or {}).items())
        verdict = "met" if row["ok"] else "MISSED"
        print(f"{row['bar']:24} {row['value']:>12g} {row['unit']:8} "
              f"limit {row['limit']:<8g} {verdict:7} {peers}".rstrip(),
              flush=True)


def main(args):
    flags = [a for a in args if a.startswith("-")]
    names = [a for a in args if not a.startswith("-")]
    if set(flags) - {"--json", "--quick", "--check"}:
        sys.exit(__doc__)
    mode = next((f for f in ("--check", "--json") if f in flags), "table")
    table = benchmarks()
    known = set(table) | {bar for _, bars in table.values() for bar in bars}
    for name in names:
        if name not in known:
            sys.exit(f"bench: no benchmark or bar called '{name}'; there are: "
                     + " ".join(sorted(known)))
    if not table and mode == "--check":
        print("skip bench no benchmarks here")

    good = True
    for name, (command, bars) in table.items():
        wanted = [bar for bar in bars if bar in names]
        if names and name not in names and not wanted:
            continue
        missing = set(wanted if name not in names and wanted else bars)
        for row, failure in measure(command, [] if name in names else wanted,
                                    "--quick" in flags):
            if failure:
                print(f"FAIL bench/{name} {failure}", flush=True,
                      file=sys.stderr if mode == "--json" else sys.stdout)
                good = False
                continue
            missing.discard(row["bar"])
            show(row, mode)
            good &= bool(row["ok"]) or mode == "--check"
        for bar in sorted(missing):
            print(f"FAIL bench/{bar} was not measured", flush=True,
                  file=sys.stderr if mode == "--json" else sys.stdout)
            good = False
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
