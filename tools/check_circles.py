#!/usr/bin/env python3
"""Fails if modules of src/ include each other in a circle.

usage: check_circles.py [SOURCE_ROOT]

A module is x.h with x.cc; tests do not count. Those of a circle can only be
read, tested and changed together. Circles that are old stand in tools/circles.txt,
a line each; the list may only shrink: a line that is longer than its circle fails too.
"""
import pathlib
import re
import sys

INCLUDE = re.compile(r'\s*#\s*include\s*"([^"]+)"')


def read_modules(src):
    """Module -> the modules it includes, both as paths without suffix."""
    files = [p for p in sorted(src.rglob("*")) if p.suffix in (".h", ".cc")
             and not p.stem.endswith("_test")]
    graph = {str(p.relative_to(src).with_suffix("")): set() for p in files}
    for path in files:
        own = str(path.relative_to(src).with_suffix(""))
        for line in path.read_text().splitlines():
            match = INCLUDE.match(line)
            if not match:
                continue
            other = str(pathlib.PurePath(match[1]).with_suffix(""))
            if other in graph and other != own:
                graph[own].add(other)
    return graph


def circles(graph):
    """The sets of modules that reach each other, by Tarjan's algorithm."""
    index, low, stack, on_stack, found = {}, {}, [], set(), []

    def visit(start):
        work = [(start, iter(sorted(graph[start])))]
        index[start] = low[start] = len(index)
        stack.append(start)
        on_stack.add(start)
        while work:
            node, others = work[-1]
            for other in others:
                if other not in index:
                    index[other] = low[other] = len(index)
                    stack.append(other)
                    on_stack.add(other)
                    work.append((other, iter(sorted(graph[other]))))
                    break
                if other in on_stack:
                    low[node] = min(low[node], index[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    circle = []
                    while True:
                        circle.append(stack.pop())
                        on_stack.discard(circle[-1])
                        if circle[-1] == node:
                            break
                    if len(circle) > 1:
                        found.append(sorted(circle))

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return sorted(found)


def check(root):
    listed = root / "tools/circles.txt"
    lines = listed.read_text().splitlines() if listed.exists() else []
    known = [sorted(line.split()) for line in lines
             if line.strip() and not line.startswith("#")]
    found = circles(read_modules(root / "src"))
    wrong = [f"src: these include each other: {' '.join(circle)}"
             for circle in found if circle not in known]
    wrong += [f"tools/circles.txt: no such circle any more: {' '.join(circle)}"
              for circle in known if circle not in found]
    return wrong


if __name__ == "__main__":
    here = pathlib.Path(__file__).resolve().parent.parent
    problems = check(pathlib.Path(sys.argv[1]) if sys.argv[1:] else here)
    print("\n".join(problems), end="\n" if problems else "")
    sys.exit(bool(problems))
