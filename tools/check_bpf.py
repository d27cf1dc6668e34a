#!/usr/bin/env python3
"""Fails if src/collect/bpf/walker_code.cc is not what walker.bpf.c compiles to.

usage: check_bpf.py [--write]

--write makes the file anew; that needs clang 14, since another version chooses
other instructions. Where there is none, only the sum of the sources is compared.
"""
import hashlib
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "src/collect/bpf"
MADE = FOLDER / "walker_code.cc"
SOURCES = [FOLDER / "walker.bpf.c", FOLDER / "walk_format.h"]
FLAGS = ["-O2", "-target", "bpf", "-mcpu=v2", "-ffreestanding", "-Wall",
         "-Wextra", "-Werror", "-Isrc"]
TEXT = """\
// Made by tools/check_bpf.py of walker.bpf.c and walk_format.h. Do not edit.
// Sources: {sum}

#include "collect/bpf/walker_code.h"

namespace sonde {{
namespace {{

// clang-format off
constexpr uint64_t kInstructions[] = {{
{instructions}
}};

constexpr MapReference kReferences[] = {{
{references}
}};
// clang-format on

}}  // namespace

std::span<const uint64_t> WalkerInstructions() {{ return kInstructions; }}
std::span<const MapReference> WalkerReferences() {{ return kReferences; }}

}}  // namespace sonde
"""


def source_sum():
    whole = hashlib.sha256()
    for path in SOURCES:
        whole.update(path.read_bytes())
    return whole.hexdigest()


def find_clang():
    for name in ("clang-14", "clang"):
        if path := shutil.which(name):
            says = subprocess.run([path, "--version"], capture_output=True,
                                  text=True).stdout
            if re.search(r"version 14\.", says):
                return path
    return None


def compile_walker(clang):
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "walker.o"
        subprocess.run([clang, *FLAGS, "-c", SOURCES[0].relative_to(ROOT), "-o",
                        out], cwd=ROOT, check=True)
        return out.read_bytes()


def text_at(data, at):
    return data[at:data.index(b"\0", at)].decode()


def read_object(data):
    """The words of the section perf_event, and [(word, map)] that it names."""
    table, = struct.unpack_from("<Q", data, 40)
    size, count, names = struct.unpack_from("<HHH", data, 58)
    # name, type, flags, address, offset, size, link, info
    sections = [struct.unpack_from("<IIQQQQII", data, table + i * size)
                for i in range(count)]
    by_name = {text_at(data, sections[names][4] + one[0]): one
               for one in sections}
    code = by_name["perf_event"]
    words = struct.unpack_from(f"<{code[5] // 8}Q", data, code[4])
    references = []
    moved = by_name[".relperf_event"]
    symbols = sections[moved[6]]
    strings = sections[symbols[6]]
    for at in range(moved[4], moved[4] + moved[5], 16):
        where, info = struct.unpack_from("<QQ", data, at)
        name, = struct.unpack_from("<I", data, symbols[4] + 24 * (info >> 32))
        references.append((where // 8, text_at(data, strings[4] + name)))
    return words, references


def make(clang):
    words, references = read_object(compile_walker(clang))
    rows = [", ".join(f"0x{word:016x}" for word in words[i:i + 3])
            for i in range(0, len(words), 3)]
    return TEXT.format(
        sum=source_sum(),
        instructions="\n".join(f"    {row}," for row in rows),
        references="\n".join(f'    {{{at}, "{name}"}},'
                             for at, name in references))


def main():
    clang = find_clang()
    if "--write" in sys.argv[1:]:
        if not clang:
            sys.exit("check_bpf.py: there is no clang 14")
        MADE.write_text(make(clang))
        return 0
    made = MADE.read_text()
    fresh = f"// Sources: {source_sum()}\n" in made
    if fresh and clang:
        fresh = made == make(clang)
    if not fresh:
        print(f"{MADE.relative_to(ROOT)}: not what its sources compile to; "
              "tools/check_bpf.py --write")
    return not fresh


if __name__ == "__main__":
    sys.exit(main())
