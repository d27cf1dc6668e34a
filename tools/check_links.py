#!/usr/bin/env python3
"""Fails if a page links to a file of the tree that is not there."""
import re
import sys

import tree

bad = False
for path in tree.files(".md"):
    text = re.sub(r"```.*?```", "", path.read_text(), flags=re.S)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:|#", target):
            continue
        if not (path.parent / target.split("#")[0]).exists():
            print(f"{tree.name(path)}: {target} is not there")
            bad = True
sys.exit(bad)
