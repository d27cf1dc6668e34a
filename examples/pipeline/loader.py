#!/usr/bin/python3
"""The input side of the example: unpacks, parses and normalises records.

usage: loader.py SECONDS > batches

Reads compressed text records (made in memory, the same in every run), parses
each into numbers of mean 0 and spread 1, and writes them to standard output as
raw doubles, SIZE*SIZE at a time. It goes on for SECONDS and says on standard error what CPU time it
used. Doing this in Python is slow; that is the point.
"""
import math
import random
import struct
import sys
import time
import zlib

SIZE = 24
DISTINCT = 16


def make_records():
    """Compressed lines of decimal numbers, as a data set on disk might be."""
    rng = random.Random(1)
    records = []
    for _ in range(DISTINCT):
        rows = [",".join(f"{rng.uniform(-1, 1):.9f}" for _ in range(SIZE))
                for _ in range(SIZE)]
        records.append(zlib.compress("\n".join(rows).encode()))
    return records


def parse(record):
    values = []
    for row in zlib.decompress(record).decode().split("\n"):
        for field in row.split(","):
            values.append(float(field))
    mean = sum(values) / len(values)
    spread = math.sqrt(sum((v - mean) ** 2 for v in values) / len(values))
    values = [(v - mean) / spread for v in values]
    return struct.pack(f"{SIZE * SIZE}d", *values)


def main(seconds):
    records = make_records()
    out = sys.stdout.buffer
    end = time.monotonic() + seconds
    count = 0
    while time.monotonic() < end:
        out.write(parse(records[count % DISTINCT]))
        count += 1
    out.flush()
    print(f"loader: {count} records, cpu_s={time.process_time():.3f}",
          file=sys.stderr, flush=True)


if __name__ == "__main__":
    main(float(sys.argv[1]))
