#!/usr/bin/python3
"""What can go wrong in a target and between it and the collector, and the tests
of it: those that say "Fault 7" of number 7. Each fault has a test, or a reason
why it cannot happen here."""

import pathlib
import re

from common import Runner, equal, true

FAULTS = {
    1: "the target behaves differently",
    2: "a library to be preloaded is not where the target is",
    3: "a target of another ABI, or a static one",
    4: "a program with more rights than its user",
    5: "a child under another user",
    6: "fork while threads record",
    7: "vfork, posix_spawn, subprocess",
    8: "exec, one image after the other",
    9: "records before main() and while the process ends",
    10: "dlclose",
    11: "the order of the loader's locks",
    12: "thread-local memory is exhausted",
    13: "an allocator that is not libc's",
    14: "a record inside a record, by a signal",
    15: "signals of ours collide with the target's",
    16: "waits are cut short (EINTR)",
    17: "a fault while the target's memory is read",
    18: "tiny stacks",
    19: "very many threads",
    20: "limits: files, memory, size of a file",
    21: "a seccomp filter that kills",
    22: "a device's driver that misbehaves",
    23: "an API that is used wrongly",
    24: "Python: interpreters, finalisation, hooks",
    25: "a higher cost than promised",
    26: "sudden death of the target",
    27: "sudden death of the collector",
    28: "the ring is full",
    29: "garbage in the ring",
    30: "a ring file that shrinks, or is none",
    31: "a flood of targets, or a wrong version",
    32: "another user looks in",
}

# Why there is no test.
NOT_HERE = {
    2: "nothing is preloaded: a program links the library itself",
    3: "nothing is put into a program that did not ask for it",
    22: "no driver is spoken to from inside a target",
}

ROOT = pathlib.Path(__file__).resolve().parents[2]
SAYS = re.compile(r"\bFault (\d+)\b")
PLACES = ["tests/**/*.py", "tests/**/*.cc", "src/**/*_test.cc", "tools/*.py"]

run = Runner()


def found():
    """Number -> files that say it."""
    places = {}
    for path in sorted(p for glob in PLACES for p in ROOT.glob(glob)):
        if path.name == pathlib.Path(__file__).name:
            continue
        for number in set(SAYS.findall(path.read_text())):
            places.setdefault(int(number), []).append(path.name)
    return places


def has_a_test_or_a_reason(number, files):
    true("neither a test nor a reason", files or number in NOT_HERE)
    true(f"a reason, and tests: {files}", not (files and number in NOT_HERE))


places = found()
for number, what in FAULTS.items():
    by = ", ".join(places.get(number, [])) or NOT_HERE.get(number, "nothing")
    run.case(f"{number} {what}: {by}", has_a_test_or_a_reason, number,
             places.get(number))
run.case("no other numbers", lambda: equal("unknown", set(places) - set(FAULTS), set()))
run.done()
