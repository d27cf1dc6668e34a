#!/usr/bin/env python3
"""Fails if a word stands in the tree that should not.

Notes for later belong to the tracker, paths of one machine and the hosts of
package registries nowhere. The words are put together here so that this file
may be searched as well.
"""
import re
import sys

import tree

WORDS = [
    r"\b" + "TO" + r"DO\b", r"\b" + "FIX" + r"ME\b", r"\b" + "X" + r"XX\b",
    r"(?<![\w.])/" + r"work/", "helper" + " agent", "language" + " model",
    "pypi" + r"\.org", "python" + r"hosted\.org", "npm" + r"js\.(?:org|com)",
    "crates" + r"\.io", "deb\\." + r"debian\.org", "conda" + r"\.io",
    "docker" + r"\.io",
]
PATTERN = re.compile("|".join(WORDS))

bad = False
for path in tree.files():
    if path.name == "LICENSE":
        continue
    try:
        text = path.read_text()
    except UnicodeDecodeError:
        continue
    for number, line in enumerate(text.splitlines(), 1):
        if match := PATTERN.search(line):
            print(f"{tree.name(path)}:{number}: '{match[0]}'")
            bad = True
sys.exit(bad)
