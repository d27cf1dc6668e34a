#!/usr/bin/env python3
"""Refuses source files of 1000 lines; speaks of those over 500."""
import sys

import tree

SPEAK, REFUSE = 500, 1000

refused = False
for path in tree.files(".h", ".cc", ".c", ".py", ".sh", ".ts"):
    lines = len(path.read_text(errors="replace").splitlines())
    if lines >= REFUSE:
        print(f"{tree.name(path)}: {lines} lines; {REFUSE} is too many")
        refused = True
    elif lines > SPEAK:
        print(f"note: {tree.name(path)}: {lines} lines; can it be two files?")
sys.exit(refused)
