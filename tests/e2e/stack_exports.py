#!/usr/bin/python3
"""What other tools make of the stacks that `sonde export` writes.

The flame graph is judged by Python's XML, pprof's file by a decoder of protobuf
written here after its guide and by `go tool pprof` where there is one.
"""

import gzip
import json
import pathlib
import re
import shutil
import subprocess
import xml.etree.ElementTree

from common import Runner, equal, true

run = Runner()

EVIL = "</title><script>alert(1)</script>;'\\\"&]]>\\x1b[31m\\xe2\\x80\\xae"
TRACE = rf"""sonde-text 0
meta started_ns 0
meta ended_ns 1000000000
process 1 pid=100 name=python3 start=0 end=1s exit=0 cpu=1s
thread 1 process=1 tid=100 name=python3 start=0 end=1s cpu=1s
thread 2 process=1 tid=102 name="{EVIL}" start=0 end=1s cpu=1s
process 2 parent=1 pid=101 name="{EVIL}" start=0 end=1s exit=0 cpu=200ms
thread 3 process=2 tid=101 name=burn start=0 end=1s cpu=200ms
module 1 path=/usr/lib/libm.so.6 build_id=0123abcd
frame 1 function=main file=/src/train.py line=10
frame 2 function=parse file=/src/loader.py line=31
frame 3 function=parse file=/src/loader.py line=33
frame 4 module=1 offset=496
frame 5 module=1 offset=512
frame 6 function="{EVIL}" file="{EVIL}" line=1
symbol 5 depth=0 function=mul file=kernel.h line=7 inlined=1
symbol 5 depth=1 function=gemm file=kernel.c line=80
stack 1 frame=1
stack 2 parent=1 frame=2
stack 3 parent=2 frame=3
stack 4 parent=1 frame=4
stack 5 frame=5
stack 6 parent=1 frame=6
sample 10ms thread=1 stack=3 weight=400ms
sample 20ms thread=1 stack=2 weight=100ms
sample 30ms thread=1 stack=4 weight=200ms
sample 40ms thread=1 stack=1 weight=100ms
sample 50ms thread=1 stack=2 weight=900ms waiting
sample 60ms thread=1 weight=50ms
sample 70ms thread=3 stack=5 weight=200ms
sample 80ms thread=2 stack=6 weight=150ms
sample 90ms thread=1 stack=3 weight=100ms
"""
ALL_MS = 1300
FORMATS = ("firefox", "flame", "folded", "pprof", "speedscope")


def made(text=TRACE):
    path = pathlib.Path(run.path("t.txt"))
    path.write_text(text)
    return path


def export(to, trace=None, status=0):
    out = run.path("out")
    done = subprocess.run([run.sonde, "export", trace or made(), "--to", to, "-o", out],
                          stderr=subprocess.PIPE, text=True, timeout=60)
    equal(f"status of {to}: {done.stderr}", done.returncode, status)
    return (pathlib.Path(out).read_bytes() if status == 0 else b""), done.stderr


def a_trace_without_samples_is_refused_with_a_cure():
    empty = made("sonde-text 0\nmeta started_ns 0\n")
    for to in FORMATS:
        _, said = export(to, empty, status=1)
        true(said, "has no samples of stacks" in said and "--stacks" in said)


def summaries_tell_the_samples():
    for to in FORMATS:
        _, said = export(to)
        true(said, "(8 samples, " in said)


def harmless(text, where):
    for byte in (*range(0, 9), 11, 12, *range(14, 32), 127):
        true(f"{where}: has the byte {byte}", byte not in text)
    true(f"{where}: turns the direction", "\u202e".encode() not in text)
    text.decode("utf-8", "strict")


def boxes(svg):
    """[(title, x, y, width)] of a flame graph."""
    space = "{http://www.w3.org/2000/svg}"
    found = []
    for group in xml.etree.ElementTree.fromstring(svg).iter(space + "g"):
        rect = group.find(space + "rect")
        found.append((group.find(space + "title").text,
                      *(float(rect.get(key)) for key in ("x", "y", "width"))))
    return found


def a_flame_graph_is_as_wide_as_the_time():
    svg, _ = export("flame")
    all_boxes = boxes(svg)
    whole = all_boxes[0]
    true(whole[0], whole[0].startswith("all: 1.30 s, 100.0 % of 1.30 s, 8 samples"))
    want = {"parse (loader.py:31)": 600, "parse (loader.py:33)": 500,
            "libm.so.6+0x1f0": 200, "stack not known": 50, "gemm (kernel.c:80)": 200}
    for title, _, _, width in all_boxes:
        name = title.split(": ")[0]
        if name in want:
            ms = want.pop(name)
            true(f"{name} has {width}", abs(width / whole[3] - ms / ALL_MS) < 0.001)
    equal("not drawn", want, {})
    # Level by level: nothing lies over another, and nothing leaves the picture.
    for level in {y for _, _, y, _ in all_boxes}:
        end = whole[1]
        for x, width in sorted((b[1], b[3]) for b in all_boxes if b[2] == level):
            true("boxes lie over each other", x >= end - 0.02)
            end = x + width
        true("leaves the picture", end <= whole[1] + whole[3] + 0.02)


def a_flame_graph_has_no_markup_of_others():
    svg, _ = export("flame")
    harmless(svg, "flame")
    tags = {e.tag.rpartition("}")[2]
            for e in xml.etree.ElementTree.fromstring(svg).iter()}
    equal("elements", tags, {"svg", "title", "desc", "style", "rect", "text", "g"})
    true("an address", len(re.findall(rb"https?:", svg)) == 1)
    true("what only some programs know", b"var(" not in svg and b"@media" not in svg)


def leaves(stacks):
    """{path of names: ms} of (names from the outermost in, ns)."""
    out = {}
    for names, ns in stacks:
        path = " ".join(name if name.isidentifier() or " " in name or "+" in name
                        else "EVIL" for name in names)
        out[path] = out.get(path, 0) + round(ns / 1e6)
    return out


WANT = {"main parse parse": 500, "main parse": 100, "main libm.so.6+0x1f0": 200,
        "main": 100, "stack not known": 50, "gemm mul": 200, "main EVIL": 150}


def speedscope_has_all_time_by_thread():
    data, _ = export("speedscope")
    harmless(data, "speedscope")
    told = json.loads(data)
    frames = told["shared"]["frames"]
    stacks = []
    for profile in told["profiles"]:
        equal("type", (profile["type"], profile["unit"]), ("sampled", "nanoseconds"))
        equal("lengths", len(profile["samples"]), len(profile["weights"]))
        equal("end", profile["startValue"] + sum(profile["weights"]),
              profile["endValue"])
        stacks += [([frames[i]["name"] for i in sample], weight) for sample, weight
                   in zip(profile["samples"], profile["weights"])]
    equal("stacks", leaves(stacks), WANT)
    equal("threads", len(told["profiles"]), 3)
    true("lines", {"name": "parse", "file": "/src/loader.py", "line": 33} in frames)
    true("a name", all(isinstance(frame["name"], str) for frame in frames))
    true("shown first", told["profiles"][told["activeProfileIndex"]]["name"] ==
         "python3 (pid 100) python3 (tid 100)")


def firefox_has_all_time_by_thread():
    data, _ = export("firefox")
    harmless(data, "firefox")
    told = json.loads(data)
    shared = told["shared"]
    for name, table in shared.items():
        if name != "stringArray":
            for column in table:
                if column != "length":
                    equal(f"{name}.{column}", len(table[column]), table["length"])
    strings, stacks = shared["stringArray"], []

    def path(row):
        out = []
        while row is not None:
            func = shared["frameTable"]["func"][shared["stackTable"]["frame"][row]]
            out.insert(0, strings[shared["funcTable"]["name"][func]])
            callers = shared["stackTable"]["prefix"][row]
            true("callers come later", callers is None or callers < row)
            row = callers
        return out

    for thread in told["threads"]:
        samples = thread["samples"]
        equal("order", samples["time"], sorted(samples["time"]))
        for column in ("stack", "time", "weight", "threadCPUDelta"):
            equal(column, len(samples[column]), samples["length"])
        stacks += [(path(row), ms * 1e6)
                   for row, ms in zip(samples["stack"], samples["weight"])]
        equal("pid", type(thread["pid"]), str)
    equal("stacks", leaves(stacks), WANT)
    equal("threads", len(told["threads"]), 3)
    equal("libraries", [lib["path"] for lib in told["libs"]], ["/usr/lib/libm.so.6"])


def fields(data):
    """[(field, value)] of a protobuf message: numbers and bytes."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    out = []
    while at < len(data):
        key = varint()
        value = varint()
        if key & 7 == 2:
            value, at = data[at:at + value], at + value
        else:
            equal("wire type", key & 7, 0)
        out.append((key >> 3, value))
    equal("end", at, len(data))
    return out


def numbers(data):
    """Packed ones."""
    out, value, shift = [], 0, 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            out.append(value)
            value = shift = 0
    return out


def pprof_has_all_time_with_labels():
    data, _ = export("pprof")
    profile = fields(gzip.decompress(data))

    def rows(field):
        return [dict(fields(value)) for number, value in profile if number == field]

    strings = [value.decode("utf-8", "strict") for number, value in profile
               if number == 6]
    harmless("".join(strings).encode(), "pprof")
    equal("the first string", strings[0], "")
    equal("types", [(strings[t[1]], strings[t[2]]) for t in rows(1)],
          [("samples", "count"), ("cpu", "nanoseconds")])
    functions = {f[1]: strings[f[2]] for f in rows(5)}
    locations = {}
    for number, value in profile:
        if number == 4:
            row = fields(value)
            locations[dict(row)[1]] = [functions[dict(fields(line))[1]]
                                       for key, line in row if key == 4]
    mappings = {m[1]: (strings[m[5]], strings[m.get(6, 0)]) for m in rows(3)}
    equal("mappings", list(mappings.values()), [("/usr/lib/libm.so.6", "0123abcd")])
    stacks, count, threads = [], 0, set()
    for number, value in profile:
        if number != 2:
            continue
        row = fields(value)
        names = [name for at in numbers(dict(row)[1]) for name in locations[at]]
        values = numbers(dict(row)[2])
        count += values[0]
        stacks.append((names[::-1], values[1]))
        labels = [dict(fields(label)) for key, label in row if key == 3]
        equal("labels", [strings[label[1]] for label in labels],
              ["process", "thread", "tid", "pid"])
        threads.add(labels[2][3])
    equal("stacks", leaves(stacks), WANT)
    equal("samples", count, 8)
    equal("threads", threads, {100, 101, 102})


def pprof_reads_it():
    out = run.path("t.pb.gz")
    pathlib.Path(out).write_bytes(export("pprof")[0])
    told = subprocess.run(["go", "tool", "pprof", "-top", "-nodefraction=0", out],
                          capture_output=True, text=True, timeout=120)
    equal(told.stderr, told.returncode, 0)
    true(told.stdout, "Total samples = 1300ms" in told.stdout)
    true(told.stdout, re.search(r" 600ms 46\.15% .* parse\n", told.stdout))


run.case("a_trace_without_samples_is_refused_with_a_cure",
         a_trace_without_samples_is_refused_with_a_cure)
run.case("summaries_tell_the_samples", summaries_tell_the_samples)
run.case("a_flame_graph_is_as_wide_as_the_time", a_flame_graph_is_as_wide_as_the_time)
run.case("a_flame_graph_has_no_markup_of_others", a_flame_graph_has_no_markup_of_others)
run.case("speedscope_has_all_time_by_thread", speedscope_has_all_time_by_thread)
run.case("firefox_has_all_time_by_thread", firefox_has_all_time_by_thread)
run.case("pprof_has_all_time_with_labels", pprof_has_all_time_with_labels)
if shutil.which("go"):
    run.case("pprof_reads_it", pprof_reads_it)
run.done()
