#!/usr/bin/env python3
"""Runs tests/golden/*.golden against a sonde binary and compares what it says.

usage: run_golden.py [--accept] path/to/sonde [NAME...]

A golden file is a purpose in plain words, the commands, the inputs and what
must come out, on one screen:

    A user who forgets to record is told how.

    $ sonde report TRACE

    --- trace
    (a trace in text form: the file TRACE)

    --- file NAME
    (any other input, as the file NAME)

    --- want exit=1
    (standard output and error, together)

Commands run without a shell, in a directory of their own that holds the input
files; its path reads DIR in what must come out. With several commands each
part of the output begins with its command line, and `exit` is of the last one;
another that fails leaves a line `[exit N]`.

--accept rewrites the `--- want` part. Read the diff: it is the review.
"""
import difflib
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

GOLDEN = pathlib.Path(__file__).resolve().parent / "golden"
TIMEOUT_S = 60
SECTION = re.compile(r"^--- (trace|file (\S+)|want(?: exit=(\d+))?)$")


class Golden:
    """One golden file, taken apart."""

    def __init__(self, text):
        self.commands, self.files, self.want = [], {}, None
        self.want_exit, self.head = 0, ""
        name, body = None, []

        def close():
            if name is not None:
                # The blank line before the next section is for the eye.
                while body and body[-1] == "\n":
                    body.pop()
                self.files[name] = "".join(body)

        lines = text.splitlines(True)
        for at, line in enumerate(lines):
            match = SECTION.match(line.rstrip("\n"))
            if not match:
                if name is not None:
                    body.append(line)
                elif line.startswith("$ "):
                    self.commands.append(line[2:].rstrip("\n"))
                continue
            close()
            if match[1].startswith("want"):
                self.want = "".join(lines[at + 1:])
                self.want_exit = int(match[3] or 0)
                self.head = "".join(lines[:at])
                return
            name, body = match[2] or "TRACE", []
        raise ValueError("no `--- want`")

    def run(self, sonde):
        """What the commands say and the exit status of the last."""
        if not self.commands:
            raise ValueError("no `$ sonde ...`")
        said, status = "", 0
        with tempfile.TemporaryDirectory() as directory:
            directory = os.path.realpath(directory)
            for name, content in self.files.items():
                if "/" in name or name.startswith("."):
                    raise ValueError(f"`--- file {name}`: a plain name, please")
                pathlib.Path(directory, name).write_text(content)
            env = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"),
                   "HOME": directory, "TZ": "UTC", "LC_ALL": "C.UTF-8"}
            for index, command in enumerate(self.commands):
                words = shlex.split(command)
                if words[0] != "sonde":
                    raise ValueError(f"`$ {command}`: only sonde is run here")
                done = subprocess.run(
                    [sonde, *words[1:]], cwd=directory, env=env,
                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT, timeout=TIMEOUT_S)
                status = done.returncode
                if len(self.commands) > 1:
                    said += f"$ {command}\n"
                said += done.stdout.decode("utf-8", "backslashreplace")
                if status and index + 1 < len(self.commands):
                    said += f"[exit {status}]\n"
        return said.replace(directory, "DIR"), status


def run(path, sonde, accept):
    try:
        test = Golden(path.read_text())
        got, status = test.run(sonde)
    except (ValueError, OSError, subprocess.TimeoutExpired) as error:
        print(f"FAIL golden/{path.stem} {error}")
        return False
    if got == test.want and status == test.want_exit:
        print(f"ok golden/{path.stem}")
        return True
    if accept:
        if status < 0:
            print(f"FAIL golden/{path.stem} died of signal {-status}")
            return False
        mark = f" exit={status}" if status else ""
        path.write_text(f"{test.head}--- want{mark}\n{got}")
        print(f"ok golden/{path.stem} (rewritten)")
        return True
    for line in difflib.unified_diff(test.want.splitlines(True),
                                     got.splitlines(True), "want", "got"):
        # A mark before each line: what sonde says is not our own report.
        print("  | " + line.rstrip("\n"))
    exits = "" if status == test.want_exit else \
        f": exit {status}, not {test.want_exit}"
    print(f"FAIL golden/{path.stem} differs{exits}")
    return False


def main(args):
    accept = "--accept" in args
    args = [a for a in args if a != "--accept"]
    if not args or args[0].startswith("-"):
        sys.exit(__doc__)
    sonde, names = os.path.abspath(args[0]), args[1:]
    for name in names:
        if not (GOLDEN / f"{name}.golden").exists():
            sys.exit(f"run_golden.py: no golden called '{name}'")
    paths = [p for p in sorted(GOLDEN.glob("*.golden"))
             if not names or p.stem in names]
    results = [run(path, sonde, accept) for path in paths]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
