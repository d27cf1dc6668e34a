#!/usr/bin/python3
"""check_oracle.py BUILD_DIR [SEEDS]: compares the C++ reader with the oracle.

Random traces are made by make_trace: finished, cut off without Close(), kept
within a limit, and damaged. For each, the text that trace_dump prints must be
what the oracle says, byte for byte. Aggregates, totals and levels of detail are
computed again from the events and must be the stored ones.
"""

import math
import os
import random
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import sonde_trace as st  # noqa: E402

NO_TIME = -(1 << 63)
SIMPLE = set(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:+-@%")


def hostile(text):
    """True if a terminal would obey some of it."""
    return any(0x80 <= ord(c) < 0xa0 or 0x202a <= ord(c) <= 0x202e or
               0x2066 <= ord(c) <= 0x2069 for c in text)


def readable(data):
    try:
        return not hostile(bytes(b for b in data if b >= 0x20 and b != 0x7f).decode())
    except UnicodeDecodeError:
        return False


def quoted(data):
    keep, out = readable(data), b""
    for b in data:
        if b in b'"\\':
            out += b"\\" + bytes([b])
        elif b in b"\n\t":
            out += {10: b"\\n", 9: b"\\t"}[b]
        elif b < 0x20 or b == 0x7f or (b >= 0x80 and not keep):
            out += b"\\x%02x" % b
        else:
            out += bytes([b])
    return b'"' + out + b'"'


def word(data):
    return data if data and set(data) <= SIMPLE else quoted(data)


def rest(data):
    plain = (data and data[0] not in b'" ' and data[-1:] != b" " and b"#" not in data
             and readable(data) and all(b >= 0x20 and b != 0x7f for b in data))
    return data if plain else quoted(data)


def time(ns):
    if ns == 0:
        return b"0"
    for unit, size in ((b"s", 10**9), (b"ms", 10**6), (b"us", 10**3)):
        if ns % size == 0:
            return b"%d%s" % (ns // size, unit)
    return b"%d" % ns


def double(bits):
    value = struct.unpack("<d", struct.pack("<Q", bits))[0]
    if math.isnan(value):
        return b"nan" if bits == 0x7ff8 << 48 else b"nan:0x%016x" % bits
    return repr(value).encode()


class Printer:
    """The text form of a trace, as docs/trace-format.md has it."""

    def __init__(self, trace):
        self.trace, self.out = trace, []
        tables = trace.tables
        self.tracks = dict(tables[st.TRACKS])
        for stream in trace.chunks(st.EVENTS):
            self.tracks.setdefault(stream, dict.fromkeys(
                "process thread name source device parent order clock".split(), 0,
            ) | {"id": stream, "kind": 1})
        self.ids = {
            "track": self.number(self.tracks),
            "series": self.number(tables[st.SERIES]),
            **{name: self.number(tables[kind]) for name, kind in st.PLAIN.items()},
            "frame": self.number(k for k in tables[st.STACKS] if k[0] == 1),
            "stack": self.number(k for k in tables[st.STACKS] if k[0] == 2),
        }

    @staticmethod
    def number(keys):
        return {key: i + 1 for i, key in enumerate(sorted(keys))}

    def string(self, number):
        return self.trace.strings.get(number, b"")

    def line(self, head, *fields):
        out = head
        for key, value in fields:
            if value is not None:
                out += b" " + key.encode() + b"=" + value
        self.out.append(out)

    def text(self, key, number):
        data = self.string(number)
        return key, word(data) if data else None

    @staticmethod
    def count(key, value):
        return key, b"%d" % value if value else None

    @staticmethod
    def when(key, ns, none=NO_TIME):
        return key, time(ns) if ns != none else None

    def print(self):
        t, tables = self.trace, self.trace.tables
        self.out.append(b"sonde-text 0")
        self.out.append(b"session %s realtime=%d monotonic=%d" % (
            t.header.session.hex().encode(), t.header.realtime, t.header.monotonic))
        for key, row in sorted(tables[st.META].items()):
            self.out.append(b"meta %s %s" % (word(key), rest(row["value"])))
        for _, row in sorted(tables[st.CLOCKS].items()):
            self.out.append(b"clock monotonic=%(monotonic)d realtime=%(realtime)d "
                            b"boottime=%(boottime)d" %
                            {k.encode(): v for k, v in row.items()})
        for number, row in sorted(tables[st.PROCESSES].items()):
            self.line(b"process %d" % number, self.count("parent", row["parent"]),
                      self.count("pid", row["pid"]),
                      self.when("start", row["start"]), self.when("end", row["end"]),
                      self.text("name", row["name"]),
                      self.text("cmdline", row["cmdline"]))
            code = b"%d" % row["exit_code"]
            self.out[-1] += {0: b" exit=unknown", 1: b" exit=" + code,
                             2: b" signal=" + code, 3: b" running"}[row["exit"]]
            self.line(self.out.pop(), self.count("execs", row["execs"]),
                      self.when("cpu", row["cpu"], -1))
        for number, row in sorted(tables[st.THREADS].items()):
            self.line(b"thread %d" % number, self.count("process", row["process"]),
                      self.count("tid", row["tid"]),
                      self.when("start", row["start"]), self.when("end", row["end"]),
                      self.text("name", row["name"]), self.when("cpu", row["cpu"], -1))
        for name, kind in st.PLAIN.items():
            for number, row in sorted(tables[kind].items()):
                self.line(b"%s %d" % (name.encode(), self.ids[name][number]),
                          *(self.plain(key, how, row)
                            for key, how in st.fields(kind)[1:]))
        kinds = [b"", b"thread", b"process", b"machine", b"custom", b"queue"]
        seen = set()
        for number, row in sorted(self.tracks.items()):
            self.line(b"track %d" % self.ids["track"][number],
                      ("kind", kinds[row["kind"]]),
                      self.count("process", row["process"]),
                      self.count("thread", row["thread"]),
                      self.text("name", row["name"]), self.source(row),
                      self.count("device", self.ids["device"].get(row["device"], 0)),
                      self.count("parent", self.ids["track"][row["parent"]]
                                 if row["parent"] in seen else 0),
                      self.count("order", row["order"]), self.text("clock", row["clock"]))
            seen.add(number)
        scopes = [b"", b"machine", b"process", b"thread", b"device"]
        for number, row in sorted(tables[st.SERIES].items()):
            scope = scopes[row["scope"]]
            if row["scope_id"]:
                scope += b":%d" % row["scope_id"]
            self.line(b"series %d" % self.ids["series"][number],
                      ("group", b"%d" % row["group"]), ("scope", scope),
                      self.text("name", row["name"]), self.text("label", row["label"]),
                      ("unit", word(self.string(row["unit"]))),
                      ("kind", [b"", b"gauge", b"total"][row["kind"]]),
                      ("type", [b"", b"int", b"double"][row["type"]]),
                      self.source(row),
                      self.count("device", self.ids["device"].get(row["device"], 0)))
        for key, row in sorted(tables[st.STACKS].items()):
            if key[0] == 1:
                self.line(b"frame %d" % self.ids["frame"][key],
                          self.text("function", row["function"]),
                          self.count("module", self.ids["module"].get(row["module"], 0)),
                          self.text("file", row["file"]),
                          self.count("line", row["line"]),
                          ("offset", b"0x%x" % row["offset"] if row["offset"] else None))
        for _, row in sorted(tables[st.SYMBOLS].items()):
            frame = self.ids["frame"].get((1, row["frame"]), 0)
            if frame:
                self.line(b"symbol %d" % frame, self.count("depth", row["depth"]),
                          self.text("function", row["function"]),
                          self.text("file", row["file"]),
                          *(self.count(k, row[k]) for k in ("line", "inlined", "loop")))
        for key, row in sorted(tables[st.STACKS].items()):
            if key[0] == 2:
                self.line(b"stack %d" % self.ids["stack"][key],
                          self.count("parent", self.stack(row["parent"])),
                          self.count("frame",
                                     self.ids["frame"].get((1, row["frame"]), 0)))
        for track, frames in sorted(t.chunks(st.EVENTS).items()):
            for frame in frames:
                for event in frame.chunk.events():
                    self.event(self.ids["track"][track], event)
        groups = {row["group"] for row in tables[st.SERIES].values()}
        for group, frames in sorted(t.chunks(st.COUNTERS).items()):
            if group in groups:
                self.ticks(group, frames)
        for frame in t.chunks(st.SAMPLES).get(0, []):
            for sample in frame.chunk.samples():
                self.sample(sample)
        if t.lost_journal:
            self.out.append(b'loss %s detail="*"' % (b"cut" if t.cut else b"journal"))
        for _, row in sorted(tables[st.LOSSES].items()):
            self.line(b"loss " + word(row["reason"]), self.say("detail", row),
                      self.count("count", row["count"]),
                      self.when("from", row["from"]), self.when("to", row["to"]),
                      self.say("source", row))
        for _, row in sorted(tables[st.NOT_COLLECTED].items()):
            if row["source"]:
                self.line(b"not_collected " + word(row["source"]),
                          self.say("why", row), self.say("cure", row))
        for journal, offset, size in t.damages:
            self.out.append(b'loss damaged detail="*(%d bytes at byte %d%s)" count=%d' % (
                size, offset, b" of the journal" if journal else b"", size))
        if not t.finished:
            self.out.append(b"unfinished")
        return self.out

    def plain(self, key, how, row):
        if key == "source":
            return self.source(row)
        if how in self.ids:
            return self.count(key, self.ids[how].get(row[key], 0))
        spell = {"string": self.text, "time": self.when}.get(how, self.count)
        return spell(key, row[key])

    def source(self, row):
        return "source", word(self.string(row["source"]))

    @staticmethod
    def say(key, row):
        return key, quoted(row[key]) if row[key] else None

    def sample(self, s):
        self.line(b"sample " + time(s["time"]), self.count("thread", s["thread"]),
                  self.count("stack", self.stack(s["stack"])),
                  ("weight", time(s["weight"]) if s["weight"] else None))
        for bit, flag in ((1, b" waiting"), (2, b" approximate")):
            if s["flags"] & bit:
                self.out[-1] += flag

    def stack(self, number):
        return self.ids["stack"].get((2, number), 0)

    def args(self, number):
        row = self.trace.tables[st.ARGS].get(number)
        if not row or not row["args"]:
            return None
        parts = []
        for key, how, value in row["args"]:
            if how == 2:
                value = double(struct.unpack("<Q", struct.pack("<d", value))[0])
            else:
                value = b"%d" % value if how == 1 else quoted(self.string(value))
            parts.append(word(self.string(key)) + b"=" + value)
        return b"{" + b",".join(parts) + b"}"

    def event(self, track, e):
        name = word(self.string(e["name"]))
        if e["kind"] == 1:
            head = b"instant %d %s %s" % (track, time(e["begin"]), name)
        else:
            head = b"slice %d %s %s %s" % (track, time(e["begin"]), time(e["end"]), name)
        classes = [None, b"call", b"device", b"operator"]
        self.line(head, ("depth", b"%d" % e["depth"]), self.text("cat", e["category"]),
                  ("class", classes[e["class"] & 3]), self.text("source", e["source"]),
                  ("args", self.args(e["args"])),
                  self.count("stack", self.stack(e["stack"])),
                  self.count("flow_in", e["flow_in"]),
                  self.count("flow_out", e["flow_out"]))
        if e["flags"] & 1:
            self.out[-1] += b" unfinished"

    def ticks(self, group, frames):
        live, ordinal, ids = {}, 0, self.ids["series"]
        for frame in frames:
            hole = frame.chunk.first_ordinal != ordinal
            ordinal = frame.chunk.first_ordinal + frame.chunk.count
            for i, (now, changes, gone) in enumerate(frame.chunk.ticks()):
                out = b"tick %d %s" % (group, time(now))
                if i == 0 and hole and not frame.journal:
                    named = {series for series, _ in changes} | set(gone)
                    for series in sorted(set(live) - named):
                        out += b" %d=gone" % ids[series]
                        del live[series]
                for series, bits in changes:
                    if series not in ids or live.get(series) == bits:
                        continue
                    live[series] = bits
                    row = self.trace.tables[st.SERIES][series]
                    value = double(bits) if row["type"] == 2 else \
                        b"%d" % st.to_signed(bits)
                    out += b" %d=%s" % (ids[series], value)
                for series in gone:
                    if live.pop(series, None) is not None:
                        out += b" %d=gone" % ids[series]
                self.out.append(out)


def bucket(dur):
    if dur < 4:
        return dur
    log = dur.bit_length() - 1
    return (log - 1) * 4 + ((dur >> (log - 2)) & 3)


def aggregate(events, inner):
    """What the aggregates of a chunk must be; `inner` goes on between chunks."""
    rows = {}
    for e in events:
        row = rows.setdefault(e["name"], {
            "name": e["name"], "count": 0, "sum": 0, "min": e["dur"], "max": 0,
            "self": 0, "buckets": {}})
        dur = e["dur"]
        row["count"] += 1
        row["sum"] += dur
        row["min"], row["max"] = min(row["min"], dur), max(row["max"], dur)
        b = bucket(dur)
        row["buckets"][b] = row["buckets"].get(b, 0) + 1
        if e["kind"] == 0:
            depth = e["depth"]
            row["self"] += dur - inner.get(depth + 1, 0)
            inner[depth + 1] = 0
            if depth > 0:
                inner[depth] = inner.get(depth, 0) + dur
    return list(rows.values())


def level_of_detail(events, size):
    rows = {}
    for e in events:
        rows.setdefault(e["depth"], []).append(e)
    out = {}
    for depth, mine in rows.items():
        for i in range(0, len(mine), size):
            part = mine[i:i + size]
            longest = max(part, key=lambda e: e["dur"])  # the first of equals
            out.setdefault(depth, []).append(
                (min(e["begin"] for e in part), max(e["end"] for e in part),
                 sum(e["dur"] for e in part), longest["dur"], longest["name"],
                 len(part)))
    return out


def check_counters(trace, chunk):
    lives, rows = {}, []
    types = {k: r["type"] for k, r in trace.tables[st.SERIES].items()}
    ticks = chunk.ticks()

    def hold(row, now):
        row["integral"] += row["last"] * (now - row["last_ns"]) / 1e9
        row["last_ns"] = now

    for now, changes, gone in ticks:
        for series, bits in changes:
            v = (struct.unpack("<d", struct.pack("<Q", bits))[0]
                 if types[series] == 2 else float(st.to_signed(bits)))
            if series not in lives:
                lives[series] = {"series": series, "count": 0, "first_ns": now,
                                 "last_ns": now, "first": v, "last": v, "min": v,
                                 "max": v, "integral": 0.0}
                rows.append(lives[series])
            row = lives[series]
            hold(row, now)
            row["last"] = v
            row["min"] = v if v < row["min"] else row["min"]
            row["max"] = v if v > row["max"] else row["max"]
            row["count"] += 1
        for series in gone:
            if series in lives:
                hold(lives.pop(series), now)
    for row in lives.values():
        hold(row, ticks[-1][0])
    for row in rows:
        row["lasted"] = row.pop("last_ns") - row["first_ns"]
    stored = chunk.aggregates()
    assert len(stored) == len(rows), (len(stored), len(rows))
    for a, b in zip(stored, rows):
        for key in b:
            same = a[key] == b[key] or (a[key] != a[key] and b[key] != b[key])
            assert same, (key, a, b)


def check_summaries(trace):
    seen = 0
    whole = trace.finished and not any(
        r["reason"] == b"max-size" for r in trace.tables[st.LOSSES].values())
    totals = {}
    for track, frames in trace.chunks(st.EVENTS).items():
        inner, ordinal = {}, 0
        for frame in frames:
            chunk, events = frame.chunk, frame.chunk.events()
            if frame.journal:
                continue
            # Self times go on from chunks that may be missing.
            continuous, ordinal = (chunk.first_ordinal == ordinal,
                                   chunk.first_ordinal + chunk.count)
            want, got = aggregate(events, inner), chunk.aggregates()
            if not continuous:
                return seen
            assert want == got, (want, got)
            assert chunk.lod(16) == level_of_detail(events, 16)
            assert chunk.lod(17) == level_of_detail(events, 1024)
            seen += 1
            for row in got:
                sums = totals.setdefault((track, row["name"]), [0, 0, 0])
                for i, key in enumerate(("count", "sum", "self")):
                    sums[i] += row[key]
    for frames in trace.chunks(st.COUNTERS).values():
        for frame in frames:
            if not frame.journal:
                check_counters(trace, frame.chunk)
                seen += 1
    if whole:
        stored = {key: [row[k] for k in ("count", "sum", "self")]
                  for key, row in trace.totals[0].items()}
        assert stored == totals
    return seen


def check_kept_within_limit(trace):
    """Kept and given up must be all there ever was."""
    lost = sum(r["count"] for r in trace.tables[st.LOSSES].values()
               if r["reason"] == b"max-size")
    kept = sum(f.chunk.count for f in trace.frames if f.kind == st.EVENTS)
    kept += sum(f.chunk.values for f in trace.frames if f.kind == st.COUNTERS)
    samples = [f.chunk for f in trace.frames if f.kind == st.SAMPLES]
    kept += sum(chunk.count for chunk in samples)
    given_up = sum(r["count"] for r in trace.tables[st.SAMPLE_SUMS].values())
    assert not samples or given_up == samples[0].first_ordinal, given_up
    assert kept + lost == trace.events_ever, (kept, lost, trace.events_ever)
    sums = {}
    for which in (0, 1):
        for row in trace.totals.get(which, {}).values():
            sums[which] = sums.get(which, 0) + row["count"]
    events = sum(f.chunk.count for f in trace.frames if f.kind == st.EVENTS)
    # Chunks that found no room at all are in the totals of the end only.
    assert events + sums.get(1, 0) <= sums.get(0, 0) <= events + lost, (sums, events)
    return lost


def compare(build, path):
    trace = st.Trace(path)
    dump = subprocess.run([os.path.join(build, "tests/trace_dump"), path],
                          capture_output=True, check=True).stdout
    want, got = Printer(trace).print(), dump.split(b"\n")[:-1]
    for i, (a, b) in enumerate(zip(want, got)):
        if a.startswith((b"loss damaged", b"loss journal", b"loss cut")):
            head, tail = a.split(b"*")  # the wording is not in the format
            b = a if b.startswith(head) and b.endswith(tail) else b
        assert a == b, "%s: line %d\noracle %r\nsonde  %r" % (path, i + 1, a, b)
    assert len(want) == len(got), (path, len(want), len(got))
    return trace


def damage(path, rng):
    with open(path, "r+b") as file:
        data = bytearray(file.read())
        for _ in range(rng.randrange(1, 6)):
            at = rng.randrange(64, len(data))
            how = rng.randrange(3)
            if how == 0:
                data[at] ^= 1 << rng.randrange(8)
            elif how == 1:
                data[at:at + rng.randrange(1, 2000)] = b""
            else:
                size = min(rng.randrange(1, 2000), len(data) - at)
                data[at:at + size] = rng.randbytes(size)
            if len(data) < 200:
                break
        file.seek(0)
        file.truncate()
        file.write(data)


def main():
    build = sys.argv[1]
    seeds = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    make = os.path.join(build, "tests/make_trace")
    chunks = lost = damaged = 0
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "t.sonde")
        for seed in range(1, seeds + 1):
            rng = random.Random(seed)
            for options in ([], ["--kill-at", str(rng.randrange(400))],
                            ["--kill-at", str(rng.randrange(400, 900)),
                             "--max-bytes", str(256 << 10)],
                            ["--steps", "900", "--max-bytes", str(256 << 10)]):
                subprocess.run([make, str(seed), path] + options, check=True)
                trace = compare(build, path)
                assert not trace.damages, (seed, options, trace.damages)
                assert trace.finished == ("--kill-at" not in options)
                chunks += check_summaries(trace)
                if "--steps" in options:
                    assert os.path.getsize(path) <= 256 << 10
                    lost += check_kept_within_limit(trace)
                elif "--kill-at" in options and os.path.getsize(path) < 65:
                    continue
                damage(path, rng)
                damaged += len(compare(build, path).damages)
                for name in (path, path + ".journal"):
                    if os.path.exists(name):
                        os.remove(name)
    assert chunks and lost and damaged
    print("oracle: %d seeds agree; %d chunks recomputed, %d values given up, "
          "%d damages" % (seeds, chunks, lost, damaged))


if __name__ == "__main__":
    main()
