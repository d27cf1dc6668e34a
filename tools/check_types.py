#!/usr/bin/env python3
"""Fails if a class or struct in a header has no comment above it.

Only types that stand at the first column and have a body: forward declarations
promise nothing, and what lies inside a type is spoken for by the type.
"""
import re
import sys

import tree

TYPE = re.compile(r"(?:class|struct|union)\s+(?:\[\[.*?\]\]\s*)?"
                  r"(?:alignas\(.*?\)\s*)?(\w+)")


def undocumented(lines):
    for at, line in enumerate(lines):
        match = TYPE.match(line)
        if not match:
            continue
        # `class X;` ends before a body begins, on this line or the next ones.
        rest = "".join(lines[at:at + 4])
        if rest.find(";") != -1 and rest.find(";") < (rest.find("{") % 10**9):
            continue
        above = at - 1
        while above >= 0 and re.match(r"template\b|\s+\S.*>$|requires\b",
                                      lines[above]):
            above -= 1
        if above < 0 or not re.match(r"//|.*\*/\s*$", lines[above]):
            yield at + 1, match[1]


bad = False
for path in tree.files(".h", ".hpp"):
    for number, type_name in undocumented(path.read_text().splitlines()):
        print(f"{tree.name(path)}:{number}: what does {type_name} promise?")
        bad = True
sys.exit(bad)
