"""An independent reader of .sonde files, written from docs/trace-format.md.

Slow and plain on purpose: it is what the C++ reader is compared with.
"""

import os
import struct

import xxhash
import zstandard

FILE_MAGIC = b"\x89SONDE\r\n"
FRAME_MAGIC = b"\xf5Snd"
(STRINGS, TRACKS, PROCESSES, THREADS, SERIES, STACKS, ARGS, EVENTS, COUNTERS,
 CLOCKS, LOSSES, META, TOTALS, INDEX, END, DEVICES, MODULES, SYMBOLS,
 NOT_COLLECTED, SAMPLES, SAMPLE_SUMS) = range(1, 22)
CHUNKS = (EVENTS, COUNTERS, SAMPLES)
MAX_TIME = 4 * 10**18
MASK = (1 << 64) - 1


class Damaged(Exception):
    pass


def need(condition):
    if not condition:
        raise Damaged()


def checksum(data):
    return xxhash.xxh3_64_intdigest(data) & 0xffffffff


def unzigzag(v):
    return (v >> 1) ^ -(v & 1)


def to_signed(v):
    v &= MASK
    return v - (1 << 64) if v >> 63 else v


def unzstd(data, size):
    out = zstandard.ZstdDecompressor().decompress(data, max_output_size=size or 1)
    need(len(out) == size)
    return out


class Bytes:
    def __init__(self, data):
        self.data, self.at = data, 0

    def at_end(self):
        return self.at >= len(self.data)

    def raw(self, size):
        need(self.at + size <= len(self.data))
        self.at += size
        return self.data[self.at - size:self.at]

    def varint(self):
        value = 0
        for i in range(10):
            byte = self.raw(1)[0]
            value |= (byte & 0x7f) << (7 * i)
            if byte < 0x80:
                return value & MASK
        raise Damaged()

    def signed(self):
        return unzigzag(self.varint())

    def text(self):
        return self.raw(self.varint())

    def time(self):
        return self.signed()

    def f64(self):
        return struct.unpack("<d", self.raw(8))[0]

    # A field that an older writer may not have.
    def opt(self, kind):
        if self.at_end():
            return b"" if kind == "text" else 0
        return getattr(self, kind, self.varint)()  # else the id of such a row


class Header:
    def __init__(self, data):
        need(len(data) >= 64 and data[:8] == FILE_MAGIC)
        need(checksum(data[:60]) == struct.unpack_from("<I", data, 60)[0])
        self.version, _ = struct.unpack_from("<II", data, 8)
        self.session = data[16:32]
        self.realtime, self.monotonic, flags = struct.unpack_from("<qqI", data, 32)
        self.journal = bool(flags & 1)


class Frame:
    """The header of a frame and where it stands."""

    def __init__(self, data, at, journal):
        head = data[at:at + 24]
        need(len(head) == 24 and head[:4] == FRAME_MAGIC)
        need(checksum(head[:20]) == struct.unpack_from("<I", head, 20)[0])
        (self.kind, _, self.flags, self.length, self.sequence,
         self.sum) = struct.unpack_from("<BBHIII", head, 4)
        need(self.length <= 64 << 20)
        self.offset, self.journal, self.size = at, journal, 24 + self.length
        self.stored = None

    def load(self, data):
        self.stored = data[self.offset + 24:self.offset + self.size]
        need(len(self.stored) == self.length and checksum(self.stored) == self.sum)
        if self.kind == EVENTS:
            self.chunk = EventChunk(self.stored)
        if self.kind == COUNTERS:
            self.chunk = CounterChunk(self.stored)
        if self.kind == SAMPLES:
            self.chunk = SampleChunk(self.stored)
        return self

    def payload(self):
        if not self.flags & 1:
            return self.stored
        return unzstd(self.stored[4:], struct.unpack_from("<I", self.stored)[0])


class Columns:
    def __init__(self, data, rows):
        self.columns = {}
        entries = []
        for _ in range(data.varint()):
            column, coding = data.raw(2)
            entries.append((column, coding, data.varint(), data.varint()))
        for column, coding, raw, stored in entries:
            self.columns.setdefault(column, (coding, raw, data.raw(stored)))
        self.rows = rows

    def raw(self, column):
        coding, raw, stored = self.columns.get(column, (0, 0, b""))
        return unzstd(stored, raw) if coding == 1 else stored

    def values(self, column, rows=None):
        rows = self.rows if rows is None else rows
        if column not in self.columns:
            return [0] * rows
        data = Bytes(self.raw(column))
        if self.columns[column][0] == 2:
            return [data.varint()] * rows
        out = [data.varint() for _ in range(rows)]
        need(data.at_end())
        return out


def read_aggregate(data):
    row = {"name": data.varint(), "count": data.varint(), "sum": data.varint(),
           "min": data.varint(), "max": data.varint(), "self": data.signed()}
    row["buckets"] = {}
    for _ in range(data.varint()):
        bucket = data.varint()
        row["buckets"][bucket] = data.varint()
    return row


class EventChunk:
    NAMES = ["end", "dur", "name", "depth", "kind", "flags", "category", "args",
             "stack", "flow_in", "flow_out", "class", "source"]

    def __init__(self, payload):
        data = Bytes(payload)
        self.stream, self.count, self.first_ordinal, flags = (
            data.varint() for _ in range(4))
        self.sorted = flags & 1
        self.begin = data.signed()
        self.end = self.begin + data.varint()
        self.first_end, self.max_depth = data.signed(), data.varint()
        need(0 < self.count <= 16384 and -MAX_TIME <= self.begin)
        need(self.end <= MAX_TIME and self.max_depth <= 65535)
        self.data = data

    def columns(self):
        if not hasattr(self, "_columns"):
            self._columns = Columns(self.data, self.count)
        return self._columns

    def events(self):
        columns = [self.columns().values(i) for i in range(len(self.NAMES))]
        out, end = [], self.first_end
        for row in zip(*columns):
            event = dict(zip(self.NAMES, row))
            end += event["end"] if self.sorted else unzigzag(event["end"])
            event["end"] = end
            event["begin"] = end - event["dur"]
            need(self.begin <= event["begin"] and end <= self.end)
            need(event["depth"] <= self.max_depth)
            out.append(event)
        return out

    def aggregates(self):
        data = Bytes(self.columns().raw(18))
        return [read_aggregate(data) for _ in range(data.varint())]

    def lod(self, column):
        """depth -> nodes of (begin, end, busy, max_dur, max_name, count)."""
        data, out = Bytes(self.columns().raw(column)), {}
        full = {16: 16, 17: 1024}[column]
        while not data.at_end():
            depth, nodes, at = data.varint(), data.varint(), self.begin
            for _ in range(nodes):
                begin = at + data.signed()
                span = data.varint()
                idle, dur, name = data.signed(), data.varint(), data.varint()
                at = begin + span
                out.setdefault(depth, []).append(
                    (begin, at, span - idle, dur, name, full - data.signed()))
        return out


class CounterChunk:
    def __init__(self, payload):
        data = Bytes(payload)
        self.stream, self.count, self.values, self.first_ordinal = (
            data.varint() for _ in range(4))
        self.begin = data.signed()
        self.end = self.begin + data.varint()
        need(0 < self.count <= 16384 and self.values <= 1 << 24)
        need(-MAX_TIME <= self.begin and self.end <= MAX_TIME)
        self.data = data

    def columns(self):
        if not hasattr(self, "_columns"):
            self._columns = Columns(self.data, self.count)
        return self._columns

    def ticks(self):
        """(time, [(series, 64 bits)], [series that end]) for each tick."""
        columns = self.columns()
        steps, changed, gone = (columns.values(i) for i in range(3))
        need(sum(changed) == self.values)
        ids = iter(columns.values(3, sum(changed) + sum(gone)))
        values = iter(columns.values(4, sum(changed)))
        out, now, last = [], self.begin, {}
        for step, n_changed, n_gone in zip(steps, changed, gone):
            now += step
            need(self.begin <= now <= self.end)
            changes, ends, series = [], [], 0
            for _ in range(n_changed):
                series += next(ids)
                last[series] = (last.get(series, 0) + unzigzag(next(values))) & MASK
                changes.append((series, last[series]))
            series = 0
            for _ in range(n_gone):
                series += next(ids)
                last.pop(series, None)
                ends.append(series)
            out.append((now, changes, ends))
        return out

    def aggregates(self):
        data = Bytes(self.columns().raw(18))
        names = ["first", "last", "min", "max", "integral"]
        out = []
        for _ in range(data.varint()):
            row = {"series": data.varint(), "count": data.varint(),
                   "first_ns": data.signed(), "lasted": data.varint()}
            row.update((name, data.f64()) for name in names)
            out.append(row)
        return out


class SampleChunk:
    NAMES = ["time", "thread", "stack", "weight", "flags"]
    stream = 0

    def __init__(self, payload):
        data = Bytes(payload)
        self.count, self.first_ordinal = data.varint(), data.varint()
        self.begin = data.signed()
        self.end = self.begin + data.varint()
        need(0 < self.count <= 16384)
        need(-MAX_TIME <= self.begin and self.end <= MAX_TIME)
        self.data = data

    def samples(self):
        if not hasattr(self, "_samples"):
            columns = Columns(self.data, self.count)
            self._samples, now = [], self.begin
            for row in zip(*(columns.values(i) for i in range(5))):
                sample = dict(zip(self.NAMES, row))
                now += unzigzag(sample["time"])
                sample["time"] = now
                need(self.begin <= now <= self.end)
                self._samples.append(sample)
        return self._samples


ROWS = {
    TRACKS: "id:varint kind:varint process:varint thread:varint name:varint "
            "source:varint device:varint parent:varint order:varint clock:varint",
    PROCESSES: "id:varint parent:varint pid:signed start:signed end:signed "
               "name:varint cmdline:varint exit:varint exit_code:signed "
               "execs:varint cpu:signed",
    THREADS: "id:varint process:varint tid:signed start:signed end:signed "
             "name:varint cpu:signed",
    SERIES: "id:varint group:varint scope:varint scope_id:varint name:varint "
            "label:varint unit:varint kind:varint type:varint source:varint "
            "device:varint",
    DEVICES: "id:varint source:string vendor:string name:string uuid:string "
             "number:varint",
    MODULES: "id:varint path:string build_id:string",
    SYMBOLS: "frame:varint depth:varint function:varint file:varint line:varint "
             "inlined:varint loop:varint",
    SAMPLE_SUMS: "thread:varint stack:varint flags:varint count:varint "
                 "weight:varint",
    CLOCKS: "id:varint monotonic:signed realtime:signed boottime:signed",
    LOSSES: "id:varint reason:text detail:text count:varint from:signed to:signed "
            "source:text",
    NOT_COLLECTED: "id:varint source:text why:text cure:text",
    META: "id:text value:text",
}


# Kinds that the text form spells field by field, by their word in it.
PLAIN = {"device": DEVICES, "module": MODULES}


def fields(kind):
    return [field.split(":") for field in ROWS[kind].split()]


def read_row(kind, data):
    if kind in ROWS:
        row = {name: data.opt(how) for name, how in fields(kind)}
        if kind == SYMBOLS:
            row["id"] = row["frame"], row["depth"]
        if kind == SAMPLE_SUMS:
            row["id"] = row["thread"], row["stack"], row["flags"]
        return row
    if kind == STACKS:
        tag, number = data.varint(), data.varint()
        names = ("function module file line offset".split() if tag == 1
                 else ["parent", "frame"])
        return {"id": (tag, number), **{name: data.opt("varint") for name in names}}
    number, args = data.varint(), []
    for _ in range(data.varint()):
        key, how = data.varint(), data.varint()
        args.append((key, how, {1: data.signed, 2: data.f64, 3: data.varint}[how]()))
    return {"id": number, "args": args}


class Trace:
    """Frames in order, damages as (journal, offset, bytes), and the tables."""

    def __init__(self, path):
        with open(path, "rb") as file:
            data = file.read()
        self.damages, self.frames, self.finished = [], [], False
        self.torn = False  # the file ends within a frame, or has an index
        self.ended = False  # an end mark is there
        self.header = Header(data)
        walked = self.walk(data, False)
        self.finished = self.has_end(data)
        journal = path + ".journal"
        self.lost_journal = not self.finished and not self.ended
        self.cut = self.torn and not os.path.exists(journal)
        if not self.finished and os.path.exists(journal):
            with open(journal, "rb") as file:
                data = file.read()
            try:
                header = Header(data)
                if header.journal and header.session == self.header.session:
                    walked += self.walk(data, True)
                    self.lost_journal = False
            except Damaged:
                self.lost_journal = False  # sonde lists it as damaged
        self.merge([f for f in walked if f.kind not in (INDEX, END)])
        self.load_tables()

    def has_end(self, data):
        try:
            end = Frame(data, len(data) - 48, False).load(data)
            at, self.events_ever, size = struct.unpack("<QQQ", end.payload())
            need(end.kind == END and size == len(data) and at < len(data) - 48)
            while at < len(data) - 48:
                index = Frame(data, at, False).load(data)
                need(index.kind == INDEX)
                at += index.size
            return at == len(data) - 48
        except (Damaged, struct.error):
            return False

    def good_header(self, data, at):
        try:
            return Frame(data, at, False)
        except Damaged:
            return None

    def find(self, data, at):
        while True:
            at = data.find(FRAME_MAGIC, at)
            if at < 0:
                return len(data)
            if self.good_header(data, at):
                return at
            at += 1

    def walk(self, data, journal):
        at, out = 64, []
        while at < len(data):
            frame = self.good_header(data, at)
            try:
                need(frame is not None)
                frame.journal = journal
                out.append(frame.load(data))
                self.torn |= not journal and frame.kind == INDEX
                self.ended |= not journal and frame.kind == END
                at += frame.size
                continue
            except Damaged:
                following = self.find(data, at + 1)
            end = at + frame.size if frame else 0
            behind = self.good_header(data, end) if 0 < end < len(data) else None
            if frame and (end >= len(data) or behind):
                bound = behind.sequence if behind else frame.sequence + 2
                while (following < min(end, len(data)) and
                       not frame.sequence < self.good_header(
                           data, following).sequence < bound):
                    following = self.find(data, following + 1)
            if following == len(data) and (not frame or end > len(data)):
                self.torn |= not journal
            self.damages.append((journal, at, following - at))
            at = following
        return out

    def merge(self, frames):
        frames.sort(key=lambda f: (f.sequence, not f.journal))
        covered, seen = {}, set()
        for f in frames:
            if not f.journal and f.kind in CHUNKS:
                key = (f.kind, f.chunk.stream)
                covered[key] = max(covered.get(key, 0),
                                   f.chunk.first_ordinal + f.chunk.count)
        for f in frames:
            if not f.journal:
                if f.sequence in seen:
                    continue
                seen.add(f.sequence)
            elif f.kind in CHUNKS and f.chunk.first_ordinal < \
                    covered.get((f.kind, f.chunk.stream), 0):
                continue
            self.frames.append(f)

    def load_tables(self):
        self.strings = {0: b""}
        self.tables = {kind: {} for kind in range(1, 22)}
        self.totals = {}
        for f in self.frames:
            if f.kind in CHUNKS or f.kind > SAMPLE_SUMS:
                continue
            if f.kind == SAMPLE_SUMS:
                self.tables[SAMPLE_SUMS] = {}
            data = Bytes(f.payload())
            if f.kind == STRINGS:
                first = data.varint()
                for i in range(data.varint()):
                    self.strings[first + i] = data.text()
                continue
            which = data.varint() if f.kind == TOTALS else None
            if which is not None:
                part, parts = data.varint(), data.varint()
                need(part < parts)
                if part == 0:
                    self.totals[which] = {}
            for _ in range(data.varint()):
                row = Bytes(data.text())
                if which is not None:
                    track = row.varint()
                    aggregate = read_aggregate(row)
                    self.totals[which][track, aggregate["name"]] = aggregate
                else:
                    row = read_row(f.kind, row)
                    self.tables[f.kind][row["id"]] = row

    def chunks(self, kind):
        """stream -> its chunks in order."""
        out = {}
        for f in self.frames:
            if f.kind == kind:
                out.setdefault(f.chunk.stream, []).append(f)
        return out
