#!/usr/bin/python3
"""What other tools make of the stacks that `sonde export` writes.

The flame graph is judged by Python's XML.
"""

import pathlib
import re
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
FORMATS = ("flame", "folded")


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


run.case("a_trace_without_samples_is_refused_with_a_cure",
         a_trace_without_samples_is_refused_with_a_cure)
run.case("summaries_tell_the_samples", summaries_tell_the_samples)
run.case("a_flame_graph_is_as_wide_as_the_time", a_flame_graph_is_as_wide_as_the_time)
run.case("a_flame_graph_has_no_markup_of_others", a_flame_graph_has_no_markup_of_others)
run.done()
