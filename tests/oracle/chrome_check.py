#!/usr/bin/env python3
"""Is this Chrome Trace Event JSON that every viewer takes without complaint?

usage: chrome_check.py FILE

Prints one line per broken rule, at most 50; status 1 if there are any. Written
from the rules of the readers (Perfetto's importer, catapult, speedscope), not
from our writer.
"""
import json
import re
import sys
from collections import defaultdict
from decimal import Decimal

PHASES = {"X", "i", "C", "M", "s", "f"}
META = {"process_name": ("name", str), "thread_name": ("name", str),
        "process_labels": ("labels", str),
        "process_sort_index": ("sort_index", int),
        "thread_sort_index": ("sort_index", int)}
MAX_ID = 2**31


def no_constant(name):
    raise ValueError(f"{name} is not JSON")


def unique_keys(pairs):
    if len({key for key, _ in pairs}) != len(pairs):
        raise ValueError(f"a key twice in {[key for key, _ in pairs]}")
    return dict(pairs)


def strings(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner)


def parse(data):
    """The document with exact numbers, or ValueError."""
    text = data.decode("utf-8", "strict")
    return json.loads(text, parse_float=Decimal, parse_constant=no_constant,
                      object_pairs_hook=unique_keys)


def check(data):
    problems = []

    def bad(rule, what):
        problems.append(f"{rule}: {what}")

    try:
        document = parse(data)
    except ValueError as error:
        return [f"J14: {error}"]
    if isinstance(document, dict):
        events = document.get("traceEvents")
        if document.get("displayTimeUnit") not in ("ms", "ns"):
            bad("J4", f"displayTimeUnit {document.get('displayTimeUnit')!r}")
    else:
        events = document
    if not isinstance(events, list):
        return problems + ["J1: no array of events"]
    raw = re.search(rb"[\x00-\x09\x0b-\x1f\x7f]", data)
    if raw:
        bad("J14", f"raw control byte {raw[0]!r} at {raw.start()}")
    for text in strings(document):
        if any(0xD800 <= ord(c) < 0xE000 for c in text):
            bad("J14", f"lone surrogate in {text!r}")

    slices = defaultdict(list)
    flows = defaultdict(list)
    counters = defaultdict(list)
    named = {"process_name": set(), "thread_name": set()}
    used_pids, used_rows = set(), set()
    for number, event in enumerate(events):
        def wrong(rule, what, event=event, number=number):
            bad(rule, f"event {number}: {what}: {str(event)[:200]}")

        if not isinstance(event, dict) or event.get("ph") not in PHASES:
            wrong("J5", "no phase that readers know")
            continue
        phase, pid, tid = event["ph"], event.get("pid"), event.get("tid")
        for key, value in (("pid", pid), ("tid", tid)):
            if value is None and (key == "tid" and phase in "CM"):
                continue
            if type(value) is not int or not 0 < value < MAX_ID:
                wrong("J13", f"{key} {value!r}")
        if not isinstance(event.get("name"), str):
            wrong("J5", "no name")
        if phase == "M":
            key, kind = META.get(event["name"], (None, None))
            value = event.get("args", {}).get(key)
            if key is None or type(value) is not kind or value == "":
                wrong("J12", "metadata nobody reads")
            elif event["name"] == "process_name":
                if pid in named["process_name"]:
                    wrong("J13", "two processes of one pid")
                named["process_name"].add(pid)
            elif event["name"] == "thread_name":
                if tid is None or (pid, tid) in named["thread_name"]:
                    wrong("J13", "two rows of one tid")
                named["thread_name"].add((pid, tid))
            continue
        ts = event.get("ts")
        if type(ts) not in (int, Decimal) or ts < 0:
            wrong("J3", f"ts {ts!r}")
            continue
        if (ts * 1000) % 1 != 0 or ts * 1000 > 2**53:
            wrong("J3", "ts is not a whole number of ns, or too large")
        used_pids.add(pid)
        if phase != "C":
            used_rows.add((pid, tid))
        if phase == "X":
            dur = event.get("dur")
            if type(dur) not in (int, Decimal) or dur < 0:
                wrong("J6", f"dur {dur!r}")
                continue
            slices[pid, tid].append((ts, -dur, number))
        elif phase == "i":
            if event.get("s") not in ("g", "p", "t"):
                wrong("J10", "unknown scope")
        elif phase == "C":
            args = event.get("args")
            if not isinstance(args, dict) or not args:
                wrong("J11", "no values")
                continue
            for key, value in args.items():
                if type(value) not in (int, Decimal):
                    wrong("J11", f"value {value!r}")
                counters[pid, event["name"], key].append((ts, number))
        elif phase in "sf":
            ident = event.get("id")
            if type(ident) is not int or not 0 < ident < MAX_ID:
                wrong("J9", f"id {ident!r}")
            if phase == "f" and event.get("bp") != "e":
                wrong("J9", "f without bp e")
            if "cat" not in event or "bind_id" in event:
                wrong("J9", "no category, or two kinds of flow")
            flows[event.get("cat"), event["name"], ident].append(
                (phase, ts, pid, tid, number))

    for pid in used_pids - named["process_name"]:
        bad("J12", f"pid {pid} has no name")
    for row in used_rows - named["thread_name"]:
        bad("J12", f"row {row} has no name")
    for row, list_ in slices.items():
        list_.sort()
        stack = []
        for ts, minus_dur, number in list_:
            end = ts - minus_dur
            while stack and stack[-1] <= ts:
                stack.pop()
            if stack and end > stack[-1]:
                bad("J6", f"row {row}: event {number} ends at {end}, but what "
                          f"it lies in ends at {stack[-1]}")
            stack.append(end)
    for key, steps in flows.items():
        kinds = [step[0] for step in sorted(steps, key=lambda s: (s[1], s[4]))]
        if kinds != ["s", "f"]:
            bad("J16", f"flow {key} is {kinds}")
        for phase, ts, pid, tid, number in steps:
            if not any(begin <= ts and (ts < begin - minus or
                                        (minus == 0 and ts == begin))
                       for begin, minus, _ in slices[pid, tid]):
                bad("J9", f"flow {key}: {phase} at {ts} is in no slice of "
                          f"row {(pid, tid)}")
    for key, values in counters.items():
        times = [ts for ts, _ in sorted(values, key=lambda v: v[1])]
        if times != sorted(times) or len(set(times)) != len(times):
            bad("J11", f"counter {key} has two values at one time, or goes back")
    return problems


def main(path):
    with open(path, "rb") as file:
        problems = check(file.read())
    for line in problems[:50]:
        print(line)
    return 1 if problems else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))
