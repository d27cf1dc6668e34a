#!/usr/bin/env python3
"""Fails if a file of src/ includes a folder that tools/layers.txt does not allow.

usage: check_layers.py [SOURCE_ROOT]

Quotes and angle brackets are the same here. A folder that has no line in
layers.txt fails, and so does a line that names a folder below it in the file:
the list is ordered, so there can be no cycle. The same holds inside a folder of
which folders have lines, `collect/tree: collect/proc`; a folder in these without a
line is part of the one it lies in. A test may include all folders of its own one:
what it asks a part is often best made by the whole.
"""
import pathlib
import re
import sys

INCLUDE = re.compile(r'\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)')


def read_layers(path):
    """Folder -> the folders it may include; and what is wrong with the list."""
    allowed, wrong = {}, []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        line = line.split("#")[0].strip()
        if not line:
            continue
        folder, _, uses = line.partition(":")
        for use in uses.split():
            if use not in allowed:
                wrong.append(f"{path}:{number}: {folder} names {use}, "
                             "which does not stand above it")
        allowed[folder.strip()] = set(uses.split()) | {folder.strip()}
    return allowed, wrong


def room(path, allowed):
    """The folder of layers.txt that a path from src/ lies in."""
    parts = path.split("/")[:-1]
    while parts and "/".join(parts) not in allowed:
        parts.pop()
    return "/".join(parts)


def inside(folder, other):
    return f"{folder}/".startswith(f"{other}/")


def may_include(folder, target, allowed):
    """Whoever may include a folder from outside may include those in it."""
    may = {use for line in allowed if inside(folder, line)
           for use in allowed[line]}
    return any(inside(target, use) and (use == target or not inside(folder, use))
               for use in may)


def check(root):
    allowed, wrong = read_layers(root / "tools/layers.txt")
    src = root / "src"
    parents = {"."} | {line.rsplit("/", 1)[0] for line in allowed if "/" in line}
    folders = {p.relative_to(src).as_posix() for parent in parents
               for p in (src / parent).glob("*") if p.is_dir()}
    for folder in sorted(folders - allowed.keys()):
        wrong.append(f"src/{folder}: no line in tools/layers.txt")
    for path in sorted(src.rglob("*")):
        if path.suffix not in (".h", ".cc", ".c", ".hpp", ".in"):
            continue
        where = path.relative_to(src).as_posix()
        folder = room(where, allowed)
        if not folder:
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            name = match[1] or match[2]
            if ".." in name.split("/"):
                wrong.append(f"src/{where}:{number}: include by path from src/")
            target = room(name, allowed)
            if where.endswith("_test.cc") and inside(
                    target, where.split("/")[0]):
                continue
            if target and not may_include(folder, target, allowed):
                wrong.append(f"src/{where}:{number}: {folder}/ may not include "
                             f"{target}/")
    return wrong


if __name__ == "__main__":
    here = pathlib.Path(__file__).resolve().parent.parent
    problems = check(pathlib.Path(sys.argv[1]) if sys.argv[1:] else here)
    print("\n".join(problems), end="\n" if problems else "")
    sys.exit(bool(problems))
