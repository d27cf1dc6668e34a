#!/usr/bin/env python3
"""`sonde export` to every format, judged by readers that are not ours.

usage: export_test.py SONDE BUILD

The trace is made by tests/tools/make_export_trace.cc; its numbers are known
here. Chrome JSON is judged by tests/oracle/chrome_check.py, CSV by Python's csv,
the database by Python's sqlite3.
"""
import csv
import json
import math
import pathlib
import re
import resource
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import traceback

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests/oracle"))
import chrome_check  # noqa: E402

BUILD = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else ROOT / "build")
SONDE = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else BUILD / "src/sonde")
SONDE, BUILD = SONDE.resolve(), BUILD.resolve()
BASE = 5_000_000_000_123
SLICES, INSTANTS = 681, 3


def run_sonde(*args, **options):
    options.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.run([str(SONDE), *map(str, args)],
                          capture_output=True, timeout=60, **options)


def sonde(*args, **options):
    return run_sonde("export", *args, **options)


def export(*args, **options):
    run = sonde(*args, **options)
    assert run.returncode == 0, run.stderr.decode()
    return run


def names(directory):
    return sorted(p.name for p in pathlib.Path(directory).iterdir())


class Tests:
    def __init__(self, directory):
        self.dir = pathlib.Path(directory)
        self.trace = self.dir / "t.sonde"
        subprocess.run([str(BUILD / "tests/make_export_trace"),
                        str(self.trace)], check=True)

    def events(self):
        export(self.trace, "--to", "chrome", "-o", self.dir / "e.json",
               "--force")
        document = json.loads((self.dir / "e.json").read_bytes())
        return document, document["traceEvents"]

    def test_viewers_take_the_json_without_complaint(self):
        self.events()
        problems = chrome_check.check((self.dir / "e.json").read_bytes())
        assert not problems, "\n".join(problems[:5])

    def test_the_judge_of_json_finds_each_fault(self):
        head = '{"ph":"M","pid":1,"name":"process_name","args":{"name":"p"}},' \
               '{"ph":"M","pid":1,"tid":2,"name":"thread_name","args":' \
               '{"name":"t"}},'
        x = '{"ph":"X","pid":1,"tid":2,"name":"a","ts":%s,"dur":%s}'
        flow = '{"ph":"%s","id":1,"pid":1,"tid":2,"cat":"c","name":"n",' \
               '"ts":%s,"bp":"e"}'
        good = x % ("0", "10") + "," + x % ("2", "3")
        assert not chrome_check.check(f"[{head}{good}]".encode())
        faults = {
            "J6": [x % (0, 10) + "," + x % (5, 10), x % (0, -1),
                   '{"ph":"X","pid":1,"tid":2,"name":"a","ts":0}'],
            "J14": [x % (0, "NaN"), good.replace('"a"', '"\x01"')],
            "J13": [good.replace('"tid":2', '"tid":0'),
                    good.replace('"pid":1', '"pid":5000000000'), head[:-1]],
            "J3": [x % ('"0"', 1), x % ("0.0001", 1)],
            "J5": ['{"pid":1,"tid":2,"name":"a","ts":0,"dur":1}'],
            "J9": [good + "," + flow % ("s", 20) + "," + flow % ("f", 21)],
            "J16": [good + "," + flow % ("f", 1),
                    good + "," + ",".join([flow % ("s", 1)] * 2),
                    good + "," + flow % ("s", 3) + "," + flow % ("f", 2)],
            "J10": ['{"ph":"i","pid":1,"tid":2,"name":"a","ts":0,"s":"x"}'],
            "J11": ['{"ph":"C","pid":1,"name":"a","ts":0,"args":{}}',
                    '{"ph":"C","pid":1,"name":"a","ts":0,"args":{"v":"1"}}'],
            "J12": ['{"ph":"M","pid":1,"tid":3,"name":"thread_name","args":'
                    '{"name":""}}', good.replace('"tid":2', '"tid":3')],
        }
        for rule, texts in faults.items():
            for text in texts:
                found = chrome_check.check(f"[{head}{text}]".encode())
                assert any(f.startswith(rule) for f in found), (rule, text,
                                                                found)

    def test_every_slice_and_instant_is_in_the_json(self):
        _, events = self.events()
        slices = [e for e in events if e["ph"] == "X"]
        # One instant ends an arrow and is therefore drawn as a slice.
        assert len(slices) == SLICES + 1, len(slices)
        instants = [e["name"] for e in events if e["ph"] == "i"]
        assert sorted(instants) == ["loss", "mark", "recording", "tick"], instants
        with sqlite3.connect(self.database()) as db:
            want = db.execute("SELECT ts, dur FROM slice").fetchall()
        want = sorted(want + [(BASE + 3_250_000, 0)])
        have = sorted((BASE + round(e["ts"] * 1000), round(e["dur"] * 1000))
                      for e in slices)
        assert have == want

    def test_crossing_slices_are_in_lanes(self):
        _, events = self.events()
        rows = {(e["pid"], e["tid"]): e["args"]["name"] for e in events
                if e["name"] == "thread_name"}
        kernels = [rows[e["pid"], e["tid"]] for e in events
                   if e["name"] == "kernel"]
        assert len(kernels) == 100
        assert set(kernels) == {"stream 7", "stream 7 lane 1"}, set(kernels)
        reversed_ = {rows[e["pid"], e["tid"]] for e in events
                     if e["name"] == "reversed"}
        assert reversed_ == {"worker", "worker lane 1"}, reversed_

    def test_of_two_slices_of_the_same_time_the_outer_comes_first(self):
        _, events = self.events()
        twins = [e["name"] for e in events if "twin" in e["name"]]
        assert twins == ["outer twin", "inner twin"] * 100

    def test_processes_of_one_pid_are_told_apart(self):
        _, events = self.events()
        name = {e["args"]["name"]: e["pid"] for e in events
                if e["name"] == "process_name"}
        labels = {e["pid"]: e["args"]["labels"] for e in events
                  if e["name"] == "process_labels"}
        assert name["python"] == 1000 and name["worker"] == 1001
        assert name["worker2"] >= 2**22
        assert "pid 1001" in labels[name["worker2"]]
        assert "signal 9" in labels[1001] and "exit 3" in labels[1000]

    def test_arrows_bind_where_they_belong(self):
        document, events = self.events()
        slices = [e for e in events if e["ph"] == "X"]

        def at(flow):
            inside = [s for s in slices
                      if (s["pid"], s["tid"]) == (flow["pid"], flow["tid"])
                      and s["ts"] <= flow["ts"] <= s["ts"] + s["dur"]]
            return min(inside, key=lambda s: s["dur"])["name"]

        ends = {}
        for event in events:
            if event["ph"] in "sf" and "id" in event:
                ends.setdefault(event["id"], {})[event["ph"]] = at(event)
        pairs = sorted((e["s"], e["f"]) for e in ends.values())
        want = [("one", "of three")] * 3 + [("op", "kernel")] * 100 + [
            ("send", "arrived"), ("send", "receive")]
        assert pairs == want, [p for p in pairs if p not in want]
        assert document["metadata"]["flow_ends_without_partner"] == 2

    def test_arguments_of_every_type_are_kept(self):
        _, events = self.events()
        op = next(e for e in events if e["name"] == "op")
        assert op["cat"] == "cpu_op"
        assert op["args"] == {"count": -42, "share": 0.25, "text\x1b": '=a"b\n',
                              "nan": "NaN", "inf": "-Infinity",
                              "stack": "main;train<T>"}, op["args"]
        opened = next(e for e in events if e["name"] == "open")
        assert opened["args"] == {"unfinished": True}

    def counter(self, name, pid):
        _, events = self.events()
        return [(e["ts"], *e["args"].items()) for e in events
                if e["ph"] == "C" and e["name"] == name and e["pid"] == pid]

    def test_totals_are_rates_over_the_time_they_were_measured(self):
        # Half a core up to the fourth tick, at rest, a quarter from the seventh.
        got = self.counter("cpu", 1000)
        assert got == [(0, ("%", 0)), (0.007, ("%", 50)), (4000.007, ("%", 0)),
                       (7000.007, ("%", 25))], got
        got = self.counter("cpu core 0", 2**22)
        assert got == [(0, ("%", 35))], got
        got = self.counter("disk_read =sda\x1b", 2**22)
        assert got == [(0, ("bytes/s", 0)), (4000, ("bytes/s", 1005e6)),
                       (5000, ("bytes/s", 1e6))], got
        assert self.counter("cpu_steal core 0", 2**22) == []

    def test_a_gauge_is_as_it_was_sampled_and_0_where_it_has_no_value(self):
        got = self.counter("rss", 1001)
        want = [(t * 1000 + 0.007, ("bytes", 1_000_000 + t * 4096))
                for t in (0, 1, 2, 7, 8, 9)]
        want.insert(3, (3000.007, ("bytes", 0)))
        assert got == want, got
        assert self.counter("rss #10", 1001) == [(0.007, ("bytes", 5))]
        load = self.counter("load1", 2**22)
        assert [v for _, (_, v) in load] == [0, .5, 1, 2, 2.5, 3, 4, 4.5], load

    def test_losses_and_the_clock_are_in_the_json(self):
        document, events = self.events()
        meta = document["metadata"]
        assert meta["base_monotonic_ns"] == str(BASE)
        assert meta["base_realtime_ns"] == str(1_700_000_000_000_000_000)
        assert [l["reason"] for l in meta["losses"]] == ["perf-lost"]
        loss = next(e for e in events if e["name"] == "loss")
        assert loss["ts"] == 1 and loss["args"]["count"] == 17
        assert "distributedInfo" not in document

    def test_a_cut_stream_can_be_mended_and_a_whole_one_is_an_array(self):
        run = export(self.trace, "--to", "chrome", "-o", "-")
        assert run.stdout.startswith(b"[")
        assert not chrome_check.check(run.stdout)
        cut = run.stdout[:len(run.stdout) // 2]
        json.loads(cut[:cut.rindex(b",\n")] + b"]")

    def database(self):
        path = self.dir / "e.db"
        export(self.trace, "--to", "sqlite", "-o", path, "--force")
        return path

    def test_csv_database_and_query_tell_the_same(self):
        db = sqlite3.connect(self.database())
        out = self.dir / "same"
        export(self.trace, "--to", "csv", "-o", out)
        listed = run_sonde("query", "--tables").stdout.decode()
        tables = [table for table in re.findall(r"^(\w+): ", listed, re.M)
                  if not table.startswith("finding")]  # which no trace has
        assert {"slice", "instant", "counter", "process", "loss"} <= set(tables)
        assert names(out) == sorted(t + ".csv" for t in tables)
        made = db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        assert [name for (name,) in made] == tables
        for table in tables:
            asked = run_sonde("query", self.trace, "--csv",
                              f"SELECT * FROM {table}")
            assert asked.stdout == (out / f"{table}.csv").read_bytes(), table
            with open(out / f"{table}.csv", newline="", encoding="utf-8") as f:
                header, *rows = csv.reader(f)
            info = db.execute(f"PRAGMA table_info({table})").fetchall()
            assert header == [column[1] for column in info], table
            want = [[as_csv(v) for v in row]
                    for row in db.execute(f"SELECT * FROM {table} ORDER BY rowid")]
            # NUL and bytes that are not UTF-8 are U+FFFD in the database.
            lost = re.compile(r"\\x(?:00|[89a-f][0-9a-f])")
            rows = [[lost.sub("\ufffd", c) for c in row] for row in rows]
            want = [[lost.sub("\ufffd", c) for c in row] for row in want]
            for a, b in zip(rows, want):
                assert a == b, (table, a, b)
            assert len(rows) == len(want), table

    def test_a_query_gives_the_same_on_the_trace_and_on_the_database(self):
        # SQLite plans the two in quite different ways.
        db = sqlite3.connect(self.database())
        for sql in [
                "SELECT name, count(*), sum(dur), min(ts), max(id) FROM slice "
                "GROUP BY name ORDER BY 3 DESC, 2, 4",
                "SELECT name_id, count(DISTINCT track_id) FROM slice "
                "GROUP BY name_id ORDER BY 1",
                f"SELECT id FROM slice WHERE ts < {BASE + 900_000} AND "
                f"ts + dur > {BASE + 500_000} ORDER BY id",
                "SELECT s.id, t.tid, p.pid, p.name FROM slice s JOIN track k ON "
                "k.id = s.track_id LEFT JOIN thread t ON t.id = k.thread_id "
                "LEFT JOIN process p ON p.id = k.process_id WHERE s.depth > 0 "
                "ORDER BY s.id",
                "SELECT series_id, ts, value - lag(value) OVER w, "
                "lead(ts) OVER w - ts FROM counter "
                "WINDOW w AS (PARTITION BY series_id ORDER BY ts) ORDER BY 1, 2",
                f"SELECT s.id, c.ts, c.value FROM series s JOIN counter c ON "
                f"c.series_id = s.id AND c.ts BETWEEN {BASE + 2_000_000} AND "
                f"{BASE + 7_000_000} ORDER BY 1, 2",
                "SELECT c.id, p.id FROM slice c JOIN slice p ON p.track_id = "
                "c.track_id AND p.depth = c.depth - 1 AND p.ts <= c.ts AND "
                "p.ts + p.dur >= c.ts + c.dur ORDER BY 1, 2",
                "SELECT a.name, b.name, count(*) FROM flow JOIN slice a ON "
                "a.id = from_slice JOIN slice b ON b.id = to_slice "
                "GROUP BY 1, 2 ORDER BY 1, 2",
                "SELECT DISTINCT s.name, a.key FROM slice s JOIN arg a ON "
                "a.set_id = s.arg_set_id ORDER BY 1, 2",
                "WITH RECURSIVE t(id, level) AS (SELECT id, 0 FROM process WHERE "
                "parent_id IS NULL UNION ALL SELECT p.id, level + 1 FROM process "
                "p JOIN t ON p.parent_id = t.id) SELECT * FROM t ORDER BY id",
                "SELECT id FROM slice WHERE id IN (SELECT from_slice FROM flow) "
                "AND name <> 'op' ORDER BY id DESC LIMIT 20",
                "SELECT count(*) FROM slice WHERE track_id = '4' OR dur = 100"]:
            run = run_sonde("query", self.trace, "--json", sql)
            got = json.loads(run.stdout)["rows"]
            want = [list(row) for row in db.execute(sql)]
            assert clean(got) == clean(want) and want, (sql, got[:3], want[:3])

    def test_the_tables_hold_what_the_trace_holds(self):
        db = sqlite3.connect(self.database())

        def one(sql):
            return db.execute(sql).fetchone()

        assert one("PRAGMA integrity_check") == ("ok",)
        assert one("SELECT count(*), sum(name = 'op') FROM slice") == (SLICES,
                                                                       100)
        assert one("SELECT count(*) FROM instant") == (INSTANTS,)
        assert one("SELECT sum(dur), min(ts) FROM slice WHERE name='step'") == (
            1_500_000, BASE + 10_000)
        assert one("SELECT count(*) FROM slice WHERE unfinished") == (1,)
        assert one("SELECT pid, exit_kind, exit_code, cpu_ns, parent_id FROM "
                   "process WHERE id=2") == (1001, "signaled", 9, 2000, 1)
        assert one("SELECT end_ts, exit_code, cpu_ns FROM process WHERE "
                   "id=3") == (None, None, None)
        assert one("SELECT value, typeof(value) FROM arg WHERE key='share'") == (
            0.25, "real")
        assert one("SELECT flow_out FROM slice WHERE name='op' ORDER BY ts") == (
            0xfeed000000000000 - 2**64,)
        assert one("SELECT count(*), max(value) FROM counter JOIN series ON "
                   "id=series_id WHERE name='cpu_ns' AND scope='process'") == (
            7, 2_500_000)
        assert db.execute("SELECT value FROM counter WHERE series_id=8 AND ts=?",
                          (BASE + 3_000_007,)).fetchall() == [(None,)]
        assert one("SELECT c.function FROM stack c JOIN stack p ON "
                   "c.parent_id = p.id WHERE p.function = 'main'") == (
            "train<T>",)
        assert one("SELECT count(*) FROM flow") == (105,)
        assert db.execute(
            "SELECT DISTINCT a.name, b.name FROM flow JOIN slice a ON "
            "a.id = from_slice JOIN slice b ON b.id = to_slice ORDER BY 1"
        ).fetchall() == [("one", "of three"), ("op", "kernel"),
                         ("send", "receive")]
        assert one("SELECT reason, count FROM loss") == ("perf-lost", 17)
        plan = str(db.execute("EXPLAIN QUERY PLAN SELECT * FROM counter WHERE "
                              "series_id=1").fetchall())
        assert "counter_series" in plan, plan

    def test_no_cell_is_a_formula_and_no_output_has_an_escape(self):
        out = self.dir / "hostile"
        export(self.trace, "--to", "csv", "-o", out)
        export(self.trace, "--to", "chrome", "-o", out / "t.json")
        hostile = 0
        for path in out.iterdir():
            data = path.read_bytes()
            data.decode("utf-8", "strict")
            assert b"\x1b" not in data and b"\x00" not in data, path
            assert b"\xe2\x80\xae" not in data and b"\xc2\x9b" not in data
            if path.suffix != ".csv":
                assert b"</" not in data
                continue
            with open(path, newline="", encoding="utf-8") as f:
                for row in csv.reader(f):
                    for cell in row:
                        if re.fullmatch(r"-?[0-9.e+-]+", cell):
                            continue
                        assert cell[:1] not in ("=", "+", "-", "@", "\t", "\r"), \
                            (path, cell)
                        hostile += cell.startswith("'")
        assert hostile >= 12, hostile

    def test_one_table_goes_to_the_standard_output(self):
        run = export(self.trace, "--to", "csv", "--table", "process", "-o", "-")
        rows = list(csv.reader(run.stdout.decode().splitlines()))
        assert len(rows) == 5 and rows[0][:3] == ["id", "pid", "parent_id"]
        assert b"wrote the standard output" in run.stderr

    def test_the_output_is_named_after_the_trace_and_never_overwritten(self):
        home = self.dir / "home"
        home.mkdir()
        trace = home / "run.sonde"
        trace.write_bytes(self.trace.read_bytes())
        run = export("--to", "chrome", cwd=home)  # the newest trace here
        assert b"wrote run.json (681 slices, 28 counter values, " in run.stderr
        assert (home / "run.json").stat().st_mode & 0o777 == 0o600
        for to in ("csv", "sqlite"):
            export("--to", to, cwd=home)
        export("--to", "csv", "--table", "slice", cwd=home)
        want = ["run-csv", "run.db", "run.json", "run.sonde", "run.slice.csv"]
        assert names(home) == sorted(want), names(home)
        (home / "run.json").write_text("mine")
        for to in ("chrome", "csv", "sqlite"):
            run = sonde("--to", to, cwd=home)
            assert run.returncode == 2 and b"exists already" in run.stderr
        assert (home / "run.json").read_text() == "mine"
        for to in ("chrome", "csv", "sqlite"):
            export("--to", to, "--force", cwd=home)
        assert (home / "run.json").read_text() != "mine"
        assert names(home) == sorted(want), names(home)

    def test_json_says_what_was_written(self):
        run = export(self.trace, "--to", "sqlite", "-o", self.dir / "j.db",
                     "--json")
        said = json.loads(run.stdout)
        assert said["slices"] == SLICES and said["instants"] == INSTANTS
        assert said["bytes"] == (self.dir / "j.db").stat().st_size
        assert said["losses"] == 1 and run.stderr == b""

    def test_wrong_use_is_refused_with_a_cure(self):
        empty = self.dir / "empty"
        empty.mkdir()
        for args, status, words in [
                (["--to", "chrome"], 1, b"sonde run -- "),
                ([self.trace], 2, b"--to"),
                ([self.trace, "--to", "word"], 2, b"firefox, flame, folded, pai, pprof, speedscope"),
                ([self.trace, "--to", "csv", "-o", "-"], 2, b"--table"),
                ([self.trace, "--to", "csv", "--table", "x", "-o", "-"], 2,
                 b"no table called"),
                ([self.trace, "--to", "chrome", "--table", "slice"], 2,
                 b"has no tables"),
                ([self.trace, "--to", "sqlite", "-o", "-"], 2, b"pipe"),
                ([self.trace, "--to", "pai", "-o", "-"], 2, b"directory"),
                ([self.trace, "--to", "chrome", "-o", "no/where.json"], 1,
                 b"No such file"),
                ([self.trace, "--to", "chrome", "-o", "-", "--json"], 2,
                 b"standard output"),
                (["missing.sonde", "--to", "chrome"], 1, b"missing.sonde")]:
            run = sonde(*args, cwd=empty)
            assert run.returncode == status, (args, run)
            assert words in run.stderr, (args, run.stderr)
        assert names(empty) == []

    def test_a_full_disk_leaves_nothing_behind(self):
        full = self.dir / "full"
        full.mkdir()

        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (16384, 16384))

        for to in ("chrome", "csv", "sqlite"):
            run = sonde(self.trace, "--to", to, "-o", full / "out",
                        preexec_fn=limit)
            assert run.returncode == 1 and b"out" in run.stderr, (to, run)
            assert names(full) == [], (to, names(full))
        run = sonde(self.trace, "--to", "chrome", "-o", "/dev/full")
        assert run.returncode == 1 and b"No space left" in run.stderr, run

    def test_a_reader_that_goes_away_is_an_error_not_a_death(self):
        big = self.big()
        child = subprocess.Popen(
            [str(SONDE), "export", str(big), "--to", "chrome", "-o", "-"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        child.stdout.read(100)
        child.stdout.close()
        said = child.stderr.read()
        assert child.wait(30) == 1 and b"Broken pipe" in said, said

    def test_an_interrupted_export_leaves_nothing_behind(self):
        big = self.big()
        home = self.dir / "interrupted"
        home.mkdir()
        for to in ("chrome", "sqlite", "csv"):
            child = subprocess.Popen(
                [str(SONDE), "export", str(big), "--to", to, "-o",
                 str(home / "out")], stderr=subprocess.PIPE)
            while not names(home) and child.poll() is None:
                time.sleep(0.001)
            child.send_signal(signal.SIGINT)
            said = child.stderr.read()
            assert child.wait(30) == 1 and b"interrupted" in said, (to, said)
            assert names(home) == [], (to, names(home))

    def big(self):
        path = self.dir / "big.sonde"
        if not path.exists():
            subprocess.run([str(BUILD / "tests/make_export_trace"), str(path),
                            "1000000"], check=True)
        return path

    def test_a_damaged_trace_is_exported_as_far_as_it_goes(self):
        data = bytearray(self.trace.read_bytes())
        path = self.dir / "damaged.sonde"
        whole = 0
        for at in range(64, len(data), max(1, len(data) // 60)):
            hurt = bytearray(data)
            hurt[at] ^= 0x55
            path.write_bytes(hurt)
            run = sonde(path, "--to", "chrome", "-o", "-")
            assert run.returncode in (0, 1), (at, run)
            if run.returncode == 0:
                whole += 1
                problems = chrome_check.check(run.stdout)
                assert not problems, (at, problems[:3])
        assert whole > 30, whole


def clean(rows):
    """Without the bytes that are U+FFFD in one form and kept in another."""
    return [[re.sub("[\0\ufffd]+", "", v) if isinstance(v, str) else v
             for v in row] for row in rows]


def as_csv(value):
    """A database cell as docs/formats/csv.md says it is written."""
    if value is None or value in (math.inf, -math.inf):
        return ""
    if isinstance(value, (int, float)):
        return repr(value).removesuffix(".0")
    out = ""
    for c in value:
        code = ord(c)
        if c not in "\n\r\t" and (code < 0x20 or 0x7f <= code < 0xa0 or
                                  0x202a <= code <= 0x202e or
                                  0x2066 <= code <= 0x2069):
            out += "".join(f"\\x{b:02x}" for b in c.encode())
        else:
            out += c
    return "'" + out if out[:1] in ("=", "+", "-", "@", "\t", "\r") else out


def main():
    passed = failed = 0
    with tempfile.TemporaryDirectory() as directory:
        tests = Tests(directory)
        for name in dir(tests):
            if not name.startswith("test_"):
                continue
            try:
                getattr(tests, name)()
                print(f"ok {name[5:]}", flush=True)
                passed += 1
            except Exception as error:  # noqa: BLE001
                why = str(error).replace("\n", " ") or repr(error)
                line = traceback.extract_tb(error.__traceback__)[-1].lineno
                print(f"FAIL {name[5:]} line {line}: {why[:600]}", flush=True)
                failed += 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
