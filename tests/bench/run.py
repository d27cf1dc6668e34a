#!/usr/bin/env python3
"""Runs the benchmarks and says which bars are met.

usage: run.py [NAME...] [--json] [--quick] [--check]   (by ./sonde.sh bench)

A benchmark is tests/bench/X_bench.py, called with the path of the sonde binary,
or X_bench.cc, built as build/tests/bench/X_bench. With `--quick` it is as short
as it can be and still work. It prints one JSON object a line:

    {"bar":"run_true_ms","value":21,"unit":"ms","limit":30,"ok":true,"peers":{}}

NAME is a benchmark or a bar. --json prints these lines and nothing else.
--check asks only whether each bar can be measured, not whether it is met: that
is what a busy CI machine can tell. Otherwise a bar that is missed fails.
"""
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BUILD = pathlib.Path(os.environ.get("SONDE_BUILD", ROOT / "build"))
FIELDS = {"bar", "value", "unit", "limit", "ok"}


def benchmarks():
    """Name -> (command, the source's text)."""
    found = {}
    for path in sorted([*HERE.glob("*_bench.py"), *HERE.glob("*_bench.cc")]):
        if path.suffix == ".py":
            command = [sys.executable, str(path), str(BUILD / "src/sonde")]
        else:
            command = [str(BUILD / "tests/bench" / path.stem)]
        found[path.stem.removesuffix("_bench")] = (command, path.read_text())
    return found


def measure(command, quick):
    """Yields each object as the benchmark prints it; at last its failure."""
    env = dict(os.environ, SONDE=str(BUILD / "src/sonde"),
               SONDE_BUILD=str(BUILD), SONDE_ROOT=str(ROOT))
    try:
        child = subprocess.Popen(command + ["--quick"] * quick, env=env,
                                 cwd=ROOT, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, text=True)
    except OSError as error:
        yield None, str(error)
        return
    rows, missed = 0, False
    for line in child.stdout:
        try:
            row = json.loads(line)
            assert FIELDS <= row.keys()
        except (ValueError, AttributeError, AssertionError):
            yield None, f"said {line.strip()!r}, which is no measurement"
            continue
        rows += 1
        missed |= not row["ok"]
        yield row, None
    # It may end with 1 to say that a bar is missed; the rows say so too.
    if child.wait() != 0 and not (child.returncode == 1 and missed):
        yield None, f"ended with status {child.returncode}"
    elif rows == 0:
        yield None, "measured nothing"


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
    for name in names:
        if name not in table and not any(f'"{name}"' in text
                                         for _, text in table.values()):
            sys.exit(f"bench: no benchmark or bar called '{name}'; "
                     "the benchmarks are: " + " ".join(sorted(table)))
    if not table and mode == "--check":
        print("skip bench no benchmarks here")

    good = True
    for name, (command, text) in table.items():
        whole = not names or name in names
        if not whole and not any(f'"{bar}"' in text for bar in names):
            continue
        for row, failure in measure(command, "--quick" in flags):
            if failure:
                print(f"FAIL bench/{name} {failure}", flush=True,
                      file=sys.stderr if mode == "--json" else sys.stdout)
                good = False
            elif whole or row["bar"] in names:
                show(row, mode)
                good &= bool(row["ok"]) or mode == "--check"
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
