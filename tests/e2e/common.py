"""What the end-to-end tests share: a runner, and the tools under test.

A case is a function that raises Failure (or AssertionError) or Skip. Each
script is run as `/usr/bin/python3 SCRIPT path/to/sonde`; trace_check is looked
for in the same build tree.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback


class Failure(Exception):
    pass


class Skip(Exception):
    pass


class Runner:
    """Runs cases, prints a line each and the sum at the end."""

    def __init__(self):
        if len(sys.argv) < 2:
            sys.exit(f"usage: {sys.argv[0]} path/to/sonde [words of case names]")
        self.sonde = os.path.abspath(sys.argv[1])
        self.words = sys.argv[2:]
        self.passed = self.failed = self.skipped = 0
        build = os.path.dirname(os.path.dirname(self.sonde))
        self.checker = os.path.join(build, "tests", "trace_check")
        self.dir = tempfile.mkdtemp(prefix="sonde-e2e-")
        os.environ.pop("SONDE_SESSION", None)
        # Whoever started us may ignore some (nohup does): a shell cannot trap
        # what was ignored before it began.
        for number in (signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM,
                       signal.SIGUSR1, signal.SIGUSR2):
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)

    def case(self, name, function, *args):
        if self.words and not any(word in name for word in self.words):
            return
        began = time.monotonic()
        try:
            function(*args)
            self.passed += 1
            state = "ok  "
        except Skip as why:
            self.skipped += 1
            state, name = "skip", f"{name}: {why}"
        except (Failure, AssertionError, OSError, ValueError, KeyError,
                IndexError, TypeError, subprocess.SubprocessError) as error:
            self.failed += 1
            state = "FAIL"
            name += "\n       " + str(error or repr(error)).replace("\n", "\n       ")
            if not isinstance(error, Failure):
                name += "\n" + traceback.format_exc(limit=-2)
        print(f"{state} {(time.monotonic() - began) * 1000:6.0f} ms  {name}",
              flush=True)

    def done(self):
        shutil.rmtree(self.dir, ignore_errors=True)
        extra = f", {self.skipped} skipped" if self.skipped else ""
        print(f"{self.passed} passed, {self.failed} failed{extra}")
        sys.exit(1 if self.failed else 0)

    def path(self, name):
        """A fresh path in the scratch directory."""
        return os.path.join(tempfile.mkdtemp(dir=self.dir), name)

    def check(self, trace):
        """What trace_check says of a trace; it must open and decode."""
        done = subprocess.run([self.checker, trace], capture_output=True,
                              text=True, timeout=60)
        if done.returncode != 0:
            raise Failure(f"trace does not open: {done.stderr.strip()}")
        found = json.loads(done.stdout)
        equal("undecodable frames", found["undecodable"], 0)
        return found

    def ctl(self, *words, env=None):
        return subprocess.run([self.sonde, "ctl", *words], capture_output=True,
                              text=True, timeout=20, env=env)


def equal(what, got, want):
    if got != want:
        raise Failure(f"{what}: {short(got)}\n{'wanted':>{len(what)}}: {short(want)}")


def true(what, condition):
    if not condition:
        raise Failure(what)


def short(value):
    text = repr(value)
    return text if len(text) < 600 else text[:300] + " ... " + text[-280:]


def wait_for(what, condition, seconds=10):
    """Until condition() is true; returns its value."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.005)
    raise Failure(f"waited {seconds} s in vain: {what}")


def reap(process, seconds=20):
    """The return code of a Popen, which must come in time."""
    try:
        return process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        raise Failure(f"still running after {seconds} s") from None


def children_of(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as f:
            return [int(word) for word in f.read().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []
