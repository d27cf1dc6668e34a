#!/usr/bin/env python3
"""Fails if libsonde.so is not the guest that docs/in-target.md promises.

usage: check_guests.py LIBRARY

Looks at the built library, not at the source: what it needs at run time, which
symbols it asks for, how new a glibc, how much thread-local memory, and what
runs when it is loaded. What it does not ask for cannot go wrong: Fault 11, the
order of the loader's locks; Fault 12, thread-local memory that is exhausted;
Fault 13, an allocator that is not libc's.
"""
import re
import subprocess
import sys

NEEDED = {"libc.so.6"}
NEWEST_GLIBC = (2, 18)
TLS_BYTES = 8
# What it may ask of libc. Weak ones may be absent.
STRONG = {"__errno_location", "clock_gettime", "memcmp", "memcpy", "memset",
          "pthread_self", "secure_getenv", "strlen", "strnlen"}
WEAK = {"pthread_getcpuclockid", "pthread_key_create", "pthread_setspecific",
        "__cxa_finalize", "__gmon_start__", "_ITM_deregisterTMCloneTable",
        "_ITM_registerTMCloneTable"}
# What it exports that is not called sonde_...: see src/sdk/prctl.cc.
OTHERS = {"prctl"}
# crt1's own and ours.
INIT_FUNCTIONS = 2


def said(*command):
    return subprocess.run(command, capture_output=True, text=True,
                          check=True).stdout


def check(library):
    dynamic = said("readelf", "-dW", library)
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic))
    for name in sorted(needed - NEEDED):
        yield f"needs {name} at run time"
    if "NODELETE" not in dynamic:
        yield "is not linked with -z nodelete"
    if "TEXTREL" in dynamic:
        yield "has relocations in its code"

    for line in said("nm", "-D", "--undefined-only", library).splitlines():
        kind, symbol = line.split()[-2:]
        name, _, version = symbol.partition("@")
        if name not in (WEAK if kind in "wv" else STRONG):
            yield f"asks for {symbol} ({kind})"
        glibc = re.match(r"GLIBC_([\d.]+)$", version)
        if glibc and tuple(map(int, glibc[1].split(".")))[:2] > NEWEST_GLIBC:
            yield f"asks for {symbol}, newer than glibc 2.18"

    for line in said("nm", "-D", "--defined-only", library).splitlines():
        name = line.split()[-1].partition("@")[0]
        if not name.startswith("sonde_") and name not in OTHERS:
            yield f"exports {name}"

    segments = said("readelf", "-lW", library)
    for size in re.findall(r"^ +TLS +(?:\w+ +){4}(0x\w+)", segments, re.M):
        if int(size, 16) > TLS_BYTES:
            yield f"has {int(size, 16)} bytes of thread-local memory"
    if re.search(r"GNU_STACK.*RWE", segments):
        yield "wants an executable stack"

    sections = said("readelf", "-SW", library)
    init = re.search(r"\.init_array +\w+ +\w+ +\w+ +(\w+)", sections)
    if init and int(init[1], 16) > 8 * INIT_FUNCTIONS:
        yield "has constructors of static objects"
    fini = re.search(r"\.fini_array +\w+ +\w+ +\w+ +(\w+)", sections)
    if fini and int(fini[1], 16) > 8:
        yield "has something to do at exit"


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    problems = list(check(sys.argv[1]))
    for problem in problems:
        print(f"{sys.argv[1]}: {problem}")
    sys.exit(bool(problems))
