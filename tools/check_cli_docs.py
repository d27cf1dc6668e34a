#!/usr/bin/env python3
"""Fails unless every command of `sonde help` has its page docs/cli/NAME.md,
and every page there its command.

usage: check_cli_docs.py path/to/sonde
"""
import re
import subprocess
import sys

import tree

said = subprocess.run([sys.argv[1], "help"], check=True, text=True,
                      stdout=subprocess.PIPE).stdout
commands = set(re.findall(r"^  ([a-z][a-z0-9-]*) +\S", said, re.M)) - {"sonde"}
folder = tree.ROOT / "docs/cli"
pages = {p.stem for p in folder.glob("*.md")} if folder.exists() else set()

for name in sorted(commands - pages):
    print(f"docs/cli/{name}.md: not there, but `sonde {name}` is")
for name in sorted(pages - commands):
    print(f"docs/cli/{name}.md: there is no `sonde {name}`")
sys.exit(commands != pages)
