#!/usr/bin/env python3
"""Runs the commands that README.md and docs/cli/*.md show.

usage: run_docs.py path/to/sonde [PAGE...]

In a block marked ```console, each line `$ sonde ...` or `$ ./sonde.sh help` is
run by bash and must succeed; other lines are its output, for the reader.

    ```console            must succeed
    ```console exit=2     the last command must end with this status
    ```console exact      the output must be what the block shows

All blocks of a page share one empty directory, in order, so that one command
may use the trace of another. What cannot run anywhere stands in a block
without `console`.
"""
import difflib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import tree

BLOCK = re.compile(r"^```console([^\n]*)\n(.*?)^```$", re.M | re.S)
RUN = re.compile(r"(sonde|\./sonde\.sh help)(\s|$)")
TIMEOUT_S = 60


def steps(body):
    """(command, shown output) of a block; a line ending in \\ goes on."""
    found = []
    lines = body.splitlines(True)
    while lines:
        line = lines.pop(0)
        if line.startswith("$ "):
            while line.endswith("\\\n") and lines:
                line += lines.pop(0)
            found.append((line[2:], []))
        elif found:
            found[-1][1].append(line)
    return [(command.strip(), "".join(shown)) for command, shown in found]


def run_block(where, info, body, sonde, directory):
    problems = []
    flags = info.split()
    want_exit = next((int(f[5:]) for f in flags if f.startswith("exit=")), 0)
    todo = [(c, shown) for c, shown in steps(body) if RUN.match(c)]
    env = dict(os.environ, LC_ALL="C.UTF-8", TZ="UTC",
               PATH=f"{os.path.dirname(sonde)}:{os.environ['PATH']}")
    for index, (command, shown) in enumerate(todo):
        cwd = tree.ROOT if command.startswith("./") else directory
        try:
            done = subprocess.run(
                ["bash", "-o", "pipefail", "-c", command], cwd=cwd, env=env,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            problems.append(f"{where}: `{command}` took over {TIMEOUT_S} s")
            continue
        said = done.stdout.decode("utf-8", "backslashreplace")
        want = want_exit if index + 1 == len(todo) else 0
        if done.returncode != want:
            problems.append(f"{where}: `{command}` ended with "
                            f"{done.returncode}, not {want}\n{said}")
        if "exact" in flags and said != shown:
            diff = difflib.unified_diff(shown.splitlines(True),
                                        said.splitlines(True), "page", "said")
            problems.append(f"{where}: `{command}`\n" + "".join(diff))
    return len(todo), problems


def main(sonde, *pages):
    sonde = os.path.abspath(sonde)
    paths = [pathlib.Path(p).resolve() for p in pages] or [
        tree.ROOT / "README.md", *sorted((tree.ROOT / "docs/cli").glob("*.md"))]
    count, problems = 0, []
    for path in paths:
        text = path.read_text()
        with tempfile.TemporaryDirectory() as directory:
            for match in BLOCK.finditer(text):
                line = text.count("\n", 0, match.start()) + 1
                ran, wrong = run_block(f"{path.name}:{line}", match[1],
                                       match[2], sonde, directory)
                count += ran
                problems += wrong
    for problem in problems:
        print(problem)
    print(f"{count} commands of the pages were run")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
