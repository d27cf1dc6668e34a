#!/usr/bin/python3
"""Small traces that lie about their size, given to every command that reads one.

The promise, for a file of N bytes: at most 512 MB of memory and 5 s + N / 10 MB/s
of CPU time, to an answer or to one line that says no. What an export writes
counts like what it reads; it can be stopped at any time and then leaves nothing
behind. Takes minutes.
"""

import os
import pathlib
import resource
import signal
import struct
import subprocess
import sys
import time

import xxhash
import zstandard

import common

MAX_BYTES = 512_000_000
(STRINGS, TRACKS, PROCESSES, THREADS, SERIES, STACKS, ARGS, EVENTS, COUNTERS,
 CLOCKS, LOSSES, META, TOTALS, INDEX, END, DEVICES, MODULES, SYMBOLS,
 NOT_COLLECTED, SAMPLES, SAMPLE_SUMS) = range(1, 22)
run = common.Runner()


# The format, from docs/trace-format.md.

def checksum(data):
    return xxhash.xxh3_64_intdigest(data) & 0xffffffff


def varint(v):
    out = b""
    while v >= 128:
        out += bytes([v & 127 | 128])
        v >>= 7
    return out + bytes([v])


def signed(v):
    return varint((v << 1) ^ (v >> 63) if v >= 0 else ((-v) << 1) - 1)


def varints(*values):
    return b"".join(map(varint, values))


def text(data):
    return varint(len(data)) + data


def header():
    head = (b"\x89SONDE\r\n" + struct.pack("<II", 0, 64) + b"S" * 16 +
            struct.pack("<qqIQ", 10**18, 10**12, 0, 0))
    return head + struct.pack("<I", checksum(head))


def frame(kind, payload, sequence, packed=True):
    flags = 0
    if packed and kind not in (EVENTS, COUNTERS, SAMPLES) and len(payload) > 512:
        payload = (struct.pack("<I", len(payload)) +
                   zstandard.ZstdCompressor(level=3).compress(payload))
        flags = 1
    head = b"\xf5Snd" + struct.pack("<BBHIII", kind, 0, flags, len(payload),
                                    sequence, checksum(payload))
    return head + struct.pack("<I", checksum(head)) + payload


def trace(*frames):
    return header() + b"".join(
        frame(kind, payload, i) for i, (kind, payload) in enumerate(frames))


def rows(fields):
    return varint(len(fields)) + b"".join(map(text, fields))


def strings(first, values):
    return varints(first, len(values)) + b"".join(map(text, values))


def events(track, count, columns=(), begin=0, depth=0):
    """A chunk of `count` events at one moment; columns are (id, constant)."""
    return (varints(track, count, 0, 1) + signed(begin) + varint(0) +
            signed(begin) + varint(depth) + constants(columns))


def constants(columns):
    """Columns of one value each, given as (id, value)."""
    values = [varint(v) for _, v in columns]
    return (varint(len(columns)) +
            b"".join(bytes([column, 2]) + varints(len(value), len(value))
                     for (column, _), value in zip(columns, values)) +
            b"".join(values))


def ticks(group, count, each, begin=0, span=0, ordinal=0):
    """`count` ticks of `each` values, all equal."""
    return (varints(group, count, count * each, ordinal) + signed(begin) +
            varint(span) + constants([(1, each), (3, 1), (4, 2)]))


def samples(count, columns, begin=0):
    """`count` samples at one moment."""
    return varints(count, 0) + signed(begin) + varint(0) + constants(columns)


def series(number, name, group=2, scope=2, scope_id=1, kind=2, source=2):
    """A total of a thread; string 2 says who keeps it."""
    return varints(number, group, scope, scope_id, name, 0, 0, kind, 1, source)


# The bombs.

def far_string():
    return trace((STRINGS, strings((1 << 26) - 2, [b"x"])))


def far_ids():
    """Every table that has ids, with ids that lie far apart."""
    far = [1, 1 << 20, (1 << 26) - 2, (1 << 32) - 2]
    return trace(
        (STRINGS, strings(1, [b"cpu_ns", b"tasks"])),
        *[(STRINGS, strings(i, [b"far"])) for i in far[1:]],
        (TRACKS, rows([varints(i, 1, 1, 1, 2) for i in far])),
        (PROCESSES, rows([varints(i, 0) for i in far])),
        (THREADS, rows([varints(i, 1) for i in far])),
        (SERIES, rows([series(i, 1) for i in far])),
        (STACKS, rows([varints(1, i, 2) for i in far] +
                      [varints(2, i, i - 1, i) for i in far])),
        (ARGS, rows([varints(i, 1, 2, 1, 5) for i in far])),
        *[(EVENTS, events(i, 3, [(2, i), (7, i), (8, i)])) for i in far],
        *[(COUNTERS, ticks(i, 1, 1)) for i in far])


def doubling_ids():
    """Each id twice as far as the one before: growing by halves is no bound."""
    ids = [1 << i for i in range(26)]
    return trace(*[(STRINGS, strings(i, [b"x"])) for i in ids],
                 (STACKS, rows([varints(1, i, 2) for i in ids] +
                               [varints(2, i, 0, i) for i in ids])))


def many(kind, row, count):
    """A table of `count` rows, as zstd packs it."""
    return trace((kind, rows([row(i) for i in range(1, count + 1)])))


def many_threads():
    return many(THREADS, lambda i: varints(i, 1, 2), 3_000_000)


def many_processes():
    return many(PROCESSES, lambda i: varints(i, i - 1, 2, 4, 6), 1_000_000)


def half_million_threads():
    return many(THREADS, lambda i: varints(i, 1, 2), 500_000)


def half_million_processes():
    """Few enough to be read."""
    return many(PROCESSES, lambda i: varints(i, i - 1, 2, 4, 6), 500_000)


def many_series():
    return trace(
        (STRINGS, strings(1, [b"cpu_ns", b"tasks"])),
        (SERIES, rows([series(i, 1, scope_id=i) for i in range(1, 500_001)])),
        *[(COUNTERS, ticks(2, 1, 500_000, begin=i * 10**8)) for i in range(9)])


def many_tracks():
    return trace((STRINGS, strings(1, [b"n" * 1000])),
                 (TRACKS, rows([varints(i, 4, 0, 0, 1)
                                for i in range(1, 500_001)])),
                 *[(EVENTS, events(i, 1, [(2, 1)])) for i in range(1, 10_001)])


def many_meta():
    return many(META, lambda i: text(b"k%d" % i) + text(b"v"), 100_000)


def million_meta():
    """As many as may be kept."""
    return many(META, lambda i: text(b"k%d" % i) + text(b"v"), 2_000_000)


def sparse_series():
    """As far apart as ids may be to be kept by their place."""
    return trace((STRINGS, strings(1, [b"cpu_ns", b"tasks"])),
                 (SERIES, rows([series(4 * i, 1, scope_id=i)
                                for i in range(1, 1_600_001)])),
                 (COUNTERS, ticks(2, 1, 1)))


def padded_events():
    """Events of all columns, and megabytes of an unknown kind that allow more."""
    columns = [(2, 1), (6, 1), (7, 1), (8, 1), (9, 3), (10, 3), (11, 1), (12, 1)]
    frames = [(STRINGS, strings(1, [b"step"])),
              (STACKS, rows([varints(1, 1, 1), varints(2, 1, 0, 1)])),
              (ARGS, rows([varints(1, 1, 1, 1, 5)]))]
    frames += [(EVENTS, events(1, 16384, columns, begin=i)) for i in range(2300)]
    frames += [(40, bytes(1_000_000))] * 30
    return header() + b"".join(frame(kind, payload, i, packed=False)
                               for i, (kind, payload) in enumerate(frames))


def many_losses():
    return many(LOSSES, lambda i: varint(i) + text(b"lost") + text(b"x" * 100),
                100_000)


def empty_strings():
    return trace((STRINGS, varints(1, 30_000_000) + bytes(30_000_000)))


def same_row_again():
    """Rows that replace each other cost no memory, but time."""
    row = text(varints(1, 1, 2))
    frames = [(THREADS, varint(10_000_000) + row * 10_000_000)] * 40
    return trace(*frames)


def zeros(kind):
    """Frames of nothing that unpack to 60 MB each."""
    return lambda: trace(*[(kind, varint(0) + bytes(60_000_000))] * 200)


def big_frame():
    """A frame that says it has 255 MB."""
    payload = struct.pack("<I", 255 << 20) + zstandard.ZstdCompressor(
        level=3).compress(bytes(255 << 20))
    head = b"\xf5Snd" + struct.pack("<BBHIII", META, 0, 1, len(payload), 0,
                                    checksum(payload))
    return header() + head + struct.pack("<I", checksum(head)) + payload


def args_bomb():
    """Every event names the same large set of arguments."""
    args = varints(1, 100_000) + b"".join(varints(i + 1, 1, 2)
                                          for i in range(100_000))
    return trace((STRINGS, strings(1, [b"key%d" % i for i in range(100_000)])),
                 (ARGS, rows([args])),
                 *[(EVENTS, events(1, 16384, [(7, 1)]))] * 3)


def same_args():
    """Every event names a large set in which one key stands again and again."""
    args = varints(1, 200_000) + b"".join(varints(1, 1, 2) for _ in range(200_000))
    return trace((STRINGS, strings(1, [b"key"])), (ARGS, rows([args])),
                 (EVENTS, events(1, 16384, [(7, 1)])))


def long_args():
    """One event whose arguments are many references to one long string."""
    args = varints(1, 1000) + b"".join(varints(i + 2, 3, 1)
                                       for i in range(1000))
    return trace((STRINGS, strings(1, [b"x" * 1_000_000] +
                                   [b"key%d" % i for i in range(1000)])),
                 (ARGS, rows([args])), (EVENTS, events(1, 2, [(7, 1)])))


def deep_stack():
    """A stack of many frames, each with one long name."""
    return trace((STRINGS, strings(1, [b"f" * 1_000_000])),
                 (STACKS, rows([varints(1, 1, 1)] +
                               [varints(2, i, i - 1, 1)
                                for i in range(1, 1001)])),
                 (EVENTS, events(1, 100, [(8, 1000)])))


def many_events():
    """Chunks of 60 bytes with 16384 events each."""
    return trace((STRINGS, strings(1, [b"step"])),
                 *[(EVENTS, events(1, 16384, [(2, 1)], begin=i))
                   for i in range(20_000)])


def many_values():
    """Chunks of 60 bytes with a million values each."""
    return trace((STRINGS, strings(1, [b"cpu_ns", b"tasks"])),
                 (SERIES, rows([series(i, 1, scope_id=i)
                                for i in range(1, 65)])),
                 *[(COUNTERS, ticks(2, 16384, 64, begin=i))
                   for i in range(2000)])


def many_holes():
    """Chunks that never follow the one before: each loses all series."""
    return trace((STRINGS, strings(1, [b"cpu_ns", b"tasks"])),
                 (SERIES, rows([series(i, 1, scope_id=i)
                                for i in range(1, 200_001)])),
                 (COUNTERS, ticks(2, 1, 200_000)),
                 *[(COUNTERS, ticks(2, 1, 1, begin=i, ordinal=i * 1000))
                   for i in range(1, 30_000)])


def homeless_series():
    """Series without rows, that two groups name in turns."""
    return trace(*[(COUNTERS, ticks(2 + i % 2, 1, 100_000, begin=i, ordinal=i // 2))
                   for i in range(4000)])


def many_samples():
    """Chunks of 60 bytes with 16384 samples each."""
    return trace((STRINGS, strings(1, [b"f"])), (STACKS, rows(
        [varints(1, 1, 1), varints(2, 1, 0, 1)])),
        *[(SAMPLES, samples(16384, [(0, 0), (1, 1), (2, 1), (3, 1), (4, 0)],
                            begin=i)) for i in range(20_000)])


def many_symbols():
    """A million functions inlined into one frame of a stack that calls itself."""
    return trace((STRINGS, strings(1, [b"f" * 1000])),
                 (STACKS, rows([varints(1, 1, 1), varints(2, 1, 1, 1)])),
                 (SYMBOLS, rows([varints(1, i, 1, 1, 1, 1, 1)
                                 for i in range(1_000_000)])),
                 (SAMPLES, samples(16384, [(0, 0), (1, 1), (2, 1), (3, 1)])))


def many_missing():
    return many(NOT_COLLECTED, lambda i: varint(i) + text(b"s%d" % i) +
                text(b"why") + text(b"cure"), 500_000)


def many_sums():
    return many(SAMPLE_SUMS, lambda i: varints(i, i, 0, 1, 1), 1_000_000)


def deep_samples():
    """Stacks of 4000 functions, a quarter of a million that differ at the end."""
    deep, stacks = 4000, 250_000
    return trace(
        (STRINGS, strings(1, [b"f%d" % i for i in range(deep)])),
        (STACKS, rows([varints(1, i, i) for i in range(1, deep + 1)] +
                      [varints(2, i, i - 1, i) for i in range(1, deep + 1)] +
                      [varints(2, deep + i, deep, 1 + i % deep)
                       for i in range(1, stacks + 1)])),
        (SAMPLE_SUMS, rows([varints(0, deep + i, 0, 1, i)
                            for i in range(1, stacks + 1)])))


def busy_threads():
    """Half a million threads that each ran once, in one deep stack."""
    threads, deep = range(1, 500_001), 4000
    return trace((STRINGS, strings(1, [b"a thread with a name of its own"])),
                 (THREADS, rows([varints(i, 1, i, 2, 0, 1) for i in threads])),
                 (STACKS, rows([varints(1, 1, 1)] + [varints(2, i, i - 1, 1)
                                                     for i in range(1, deep + 1)])),
                 (SAMPLE_SUMS, rows([varints(i, deep, 0, 1, i) for i in threads])))


def wide_ticks():
    """Ticks of many groups, each as long as the whole run."""
    groups = range(2, 5000)
    long = 10**12
    return trace((STRINGS, strings(1, [b"cpu_ns", b"tasks"])),
                 (PROCESSES, rows([varints(1, 0, 2, 2, 2 * long)])),
                 (SERIES, rows([series(g, 1, group=g, scope_id=g)
                                for g in groups])),
                 *[(COUNTERS, varints(g, 2, 2, 0) + signed(0) + varint(long) +
                    varint(4) + bytes([0, 0]) + varints(7, 7) +
                    bytes([1, 2, 1, 1, 3, 2]) + varints(len(varint(g)),
                                                        len(varint(g))) +
                    bytes([4, 2, 1, 1]) + (varint(0) + varint(long))[:7] +
                    varint(1) + varint(g) + varint(2)) for g in groups])


def too_many_values():
    return trace((COUNTERS, ticks(2, 16384, 1024)))


def many_frames():
    return header() + b"".join(frame(META, b"", i) for i in range(1_200_000))


def damage_everywhere():
    good = frame(META, rows([]), 0)
    return header() + (good + b"damage") * 200_000


def deep_levels():
    """Level of detail with far more nodes than events."""
    raw = b"".join(varints(d, 16384) + varints(0, 0, 0, 0, 0, 0) * 16384
                   for d in range(300))
    packed = zstandard.ZstdCompressor().compress(raw)
    body = (varints(1, 16384, 0, 1) + signed(0) + varint(0) + signed(0) +
            varint(65535) + varint(1) + bytes([16, 1]) +
            varints(len(raw), len(packed)) + packed)
    return trace(*[(EVENTS, body)] * 10)


def lines(head, line, count):
    """The text form."""
    return lambda: (("sonde-text 0\n" + head).encode() +
                    b"".join(line(i).encode() for i in range(1, count + 1)))


BOMBS = {
    "far_string": far_string,
    "far_ids": far_ids,
    "doubling_ids": doubling_ids,
    "many_threads": many_threads,
    "half_million_threads": half_million_threads,
    "many_processes": many_processes,
    "half_million_processes": half_million_processes,
    "many_series": many_series,
    "many_tracks": many_tracks,
    "sparse_series": sparse_series,
    "padded_events": padded_events,
    "many_meta": many_meta,
    "million_meta": million_meta,
    "many_losses": many_losses,
    "empty_strings": empty_strings,
    "same_row_again": same_row_again,
    "zeros_as_meta": zeros(META),
    "zeros_of_the_future": zeros(77),
    "big_frame": big_frame,
    "args_bomb": args_bomb,
    "same_args": same_args,
    "long_args": long_args,
    "deep_stack": deep_stack,
    "many_events": many_events,
    "many_values": many_values,
    "many_holes": many_holes,
    "homeless_series": homeless_series,
    "many_samples": many_samples,
    "many_symbols": many_symbols,
    "many_missing": many_missing,
    "many_sums": many_sums,
    "deep_samples": deep_samples,
    "busy_threads": busy_threads,
    "wide_ticks": wide_ticks,
    "too_many_values": too_many_values,
    "many_frames": many_frames,
    "damage_everywhere": damage_everywhere,
    "deep_levels": deep_levels,
    "text_tracks": lines("", lambda i: f"track {i}\n", 1_500_000),
    "text_events": lines("track 1\n", lambda i: "slice 1 0 0 a\n", 3_000_000),
    "text_values": lines("series 1 name=x\n",
                         lambda i: f"tick 1 {i} 1=0\n", 3_000_000),
    "text_missing": lines("", lambda i: f"not_collected s{i} why=x\n", 500_000),
}

# Each with what it writes, if it can be stopped half-way.
COMMANDS = {
    "report": ["report", "T"],
    "report_json": ["report", "--json", "T"],
    "report_html": ["report", "T", "--html", "OUT"],
    "report_charts": ["report", "T", "--charts", "OUT"],
    "query_slices": ["query", "--timeout", "2s", "--limit", "1000", "T",
                     "SELECT name, count(*), sum(dur) FROM slice "
                     "GROUP BY name ORDER BY 2 DESC"],
    "query_counters": ["query", "--timeout", "2s", "--limit", "1000", "T",
                       "SELECT series_id, max(value) FROM counter GROUP BY 1"],
    "query_samples": ["query", "--timeout", "2s", "--limit", "1000", "T",
                      "SELECT stack_id, sum(weight_ns) FROM sample GROUP BY 1"],
    "query_findings": ["query", "--timeout", "2s", "T",
                       "SELECT rule, name, value FROM finding "
                       "JOIN finding_number ON finding_id = id"],
    # Each scan of a table must not have the table for itself.
    "query_joins": ["query", "--timeout", "2s", "T",
                    "SELECT 1 FROM run a, run b, run c, run d, loss e, loss f, "
                    "loss g, loss h LIMIT 1"],
    "query_nothing": ["query", "--timeout", "2s", "T"],
    "query_px": ["query", "--timeout", "2s", "--limit", "1000", "T",
                 "SELECT * FROM px(1, 0, 1000, 100)"],
    "query_top_ops": ["query", "--timeout", "2s", "T",
                      "SELECT * FROM top_ops() LIMIT 5"],
    "chrome": ["export", "T", "--to", "chrome", "-o", "OUT"],
    "csv": ["export", "T", "--to", "csv", "-o", "OUT"],
    "firefox": ["export", "T", "--to", "firefox", "-o", "OUT"],
    "flame": ["export", "T", "--to", "flame", "-o", "OUT"],
    "folded": ["export", "T", "--to", "folded", "-o", "OUT"],
    "pai": ["export", "T", "--to", "pai", "-o", "OUT"],
    "pprof": ["export", "T", "--to", "pprof", "-o", "OUT"],
    "speedscope": ["export", "T", "--to", "speedscope", "-o", "OUT"],
    "sqlite": ["export", "T", "--to", "sqlite", "-o", "OUT"],
    "text": ["export", "T", "--to", "text", "-o", "OUT"],
    "recover": ["recover", "T", "-o", "OUT", "--quiet"],
}
STREAMS = ("chrome", "csv", "firefox", "folded", "pprof", "speedscope", "sqlite",
           "text")
# These read stacks as folded does, which is tried on every bomb: so they are on
# those that have some.
OF_STACKS = ("firefox", "flame", "pprof", "speedscope")
HAVE_STACKS = ("sample", "stack", "frame", "symbol")
# A command that still writes after so long is stopped.
STOP_AFTER_S = 6


def measure(words, stop):
    """Runs sonde; returns its status, CPU seconds, peak bytes, errors."""
    process = subprocess.Popen([run.sonde, *words], stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE)
    stopped = None
    end = time.monotonic() + (STOP_AFTER_S if stop else 120)
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            break
        if time.monotonic() > end:
            if stopped:
                process.kill()
                os.wait4(process.pid, 0)
                raise common.Failure("SIGTERM did not end it in 20 s" if stop
                                     else "still running after 120 s")
            process.send_signal(signal.SIGTERM if stop else signal.SIGKILL)
            stopped = time.monotonic()
            end = stopped + 20
        time.sleep(0.01)
    process.returncode = os.waitstatus_to_exitcode(status)
    errors = process.stderr.read().decode(errors="replace")
    process.stderr.close()
    return (process.returncode, usage.ru_utime + usage.ru_stime,
            usage.ru_maxrss * 1024, errors, stopped)


def keeps_the_promise(path, name):
    out = run.path("out")
    words = [path if word == "T" else out if word == "OUT" else word
             for word in COMMANDS[name]]
    status, seconds, peak, errors, stopped = measure(words, name in STREAMS)
    said = errors.strip().splitlines()
    common.true(f"status {status}: {errors[:500]}",
                status in (0, 1, 2))
    allowed = 5 + os.path.getsize(path) / 10e6
    if name in STREAMS:
        allowed += sum(file.stat().st_size for file in pathlib.Path(out).parent.rglob("*")
                       if file.is_file()) / 10e6
    if not stopped:
        common.true(f"took {seconds:.1f} s of CPU time, {allowed:.1f} s are allowed",
                    seconds <= allowed)
    common.true(f"took {peak / 1e6:.0f} MB", peak <= MAX_BYTES)
    if status > 0:
        common.true(f"not one line: {errors[:500]}", len(said) in (1, 2))
        common.true(f"does not name the trace: {errors[:300]}",
                    stopped or name.startswith("query") or
                    os.path.basename(path) in errors or "out" in errors)
        common.equal("left behind", os.listdir(os.path.dirname(out)), [])
    if status != 0:
        common.true("left half of it behind", not os.path.exists(out))
    if "-v" in sys.argv:
        print(f"       {name:14} {status:3} {seconds:5.2f} s {peak / 1e6:5.0f} MB "
              f"{said[0][:100] if said else ''}", flush=True)


def bomb(name, make):
    path = run.path(name + ".sonde")
    # In a child: what this process has taken counts for those it starts.
    child = os.fork()
    if child == 0:
        with open(path, "wb") as f:
            f.write(make())
        os._exit(0)
    common.equal("status of the maker", os.waitpid(child, 0)[1], 0)
    failures = []
    for command in COMMANDS:
        if command in OF_STACKS and not any(word in name for word in HAVE_STACKS):
            continue
        try:
            keeps_the_promise(path, command)
        except common.Failure as failure:
            failures.append(f"{command}: {failure}")
    if failures:
        raise common.Failure("\n".join(failures))


# Nothing may swap this machine out if the promise is broken.
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
if "-v" in run.words:
    run.words.remove("-v")
for bomb_name, maker in BOMBS.items():
    run.case(bomb_name, bomb, bomb_name, maker)
run.done()
