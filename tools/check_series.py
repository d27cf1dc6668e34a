#!/usr/bin/env python3
"""Every series of src/trace/series_list.h stands on a page, with its kind."""

import re
import sys

from tree import ROOT

LIST = re.compile(r'\{"(\w+)", "[^"]+", k(Total|Gauge)')
text = (ROOT / "src/trace/series_list.h").read_text()
pages = "".join((ROOT / "docs" / name).read_text()
                for name in ("series.md", "devices.md"))
rows = [line for line in pages.splitlines() if line.startswith("| `")]
errors = []
for name, kind in LIST.findall(text):
    told = [row for row in rows if f"`{name}`" in row.split("|")[1]]
    if not told:
        errors.append(f"{name} is on neither docs/series.md nor docs/devices.md")
    elif not name.startswith("gpu_") and not all(
            row.split("|")[2].strip() == kind.lower() for row in told):
        errors.append(f"docs/series.md: {name} is a {kind.lower()}")
for error in errors:
    print(error, file=sys.stderr)
sys.exit(1 if errors else 0)
