#!/usr/bin/env python3
"""`sonde report --json` keeps its contract, docs/report-json.md.

The shape is written down here a second time, by hand; a field that changes its
type, goes missing or appears undocumented fails. Traces come from the golden
tests and, where this build can record, from real runs.
"""
import json
import math
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SONDE = os.environ.get("SONDE", str(ROOT / "build/src/sonde"))
GOLDEN = ROOT / "tests/golden"

TEXT, BOOL, INT, NUMBER = "text", "bool", "int", "number"


class Maybe:
    """The type, or null for what was not collected."""

    def __init__(self, kind):
        self.kind = kind


class Words:
    """One of a few strings."""

    def __init__(self, *words):
        self.words = words


EXIT = {"kind": Words("exit", "signal", "running", "unknown"),
        "code": Maybe(INT)}
THREAD = {
    "number": INT, "tid": INT, "name": TEXT, "start_ns": Maybe(INT),
    "end_ns": Maybe(INT), "cpu_ns": Maybe(INT), "wait_ns": Maybe(INT),
    "cpu_share": Maybe(NUMBER), "cores_used": Maybe(NUMBER),
    "voluntary_switches": Maybe(INT), "involuntary_switches": Maybe(INT)}
PROCESS = {
    "number": INT, "pid": INT, "parent": Maybe(INT), "name": TEXT,
    "cmdline": Maybe(TEXT), "start_ns": Maybe(INT), "end_ns": Maybe(INT),
    "exit": EXIT, "execs": INT, "sampled": BOOL, "cpu_ns": Maybe(INT),
    "cpu_exact": BOOL, "cpu_user_ns": Maybe(INT), "cpu_system_ns": Maybe(INT),
    "cpu_share": Maybe(NUMBER), "cores_used": Maybe(NUMBER),
    "rss_peak_bytes": Maybe(INT), "pss_peak_bytes": Maybe(INT),
    "threads_peak": Maybe(INT), "minor_faults": Maybe(INT),
    "major_faults": Maybe(INT), "voluntary_switches": Maybe(INT),
    "involuntary_switches": Maybe(INT), "read_bytes": Maybe(INT),
    "write_bytes": Maybe(INT), "read_chars": Maybe(INT),
    "write_chars": Maybe(INT), "read_calls": Maybe(INT),
    "write_calls": Maybe(INT), "threads": [THREAD]}
FINDING = {
    "rule": TEXT, "severity": Words("info", "warning", "critical"),
    "confidence": NUMBER, "summary": TEXT,
    "evidence": [{"text": TEXT, "from_ns": Maybe(INT), "to_ns": Maybe(INT)}],
    "numbers": [{"name": TEXT, "value": NUMBER,
                 "unit": Words("1", "share", "cores", "s", "1/s", "bytes",
                               "bytes/s", "MHz", "C")}],
    "advice": TEXT,
    "gain": Maybe({"share": NUMBER, "from_share": NUMBER, "estimated": BOOL, "how": TEXT}),
    "from_ns": INT, "to_ns": INT,
    "where": Maybe({"process": INT, "pid": INT, "process_name": TEXT,
                    "cmdline": Maybe(TEXT), "thread": Maybe(INT),
                    "tid": Maybe(INT), "thread_name": Maybe(TEXT),
                    "function": Maybe(TEXT), "file": Maybe(TEXT),
                    "line": Maybe(INT)})}
FUNCTION = {"process": Maybe(INT), "thread": Maybe(INT), "function": TEXT,
            "file": Maybe(TEXT), "line": Maybe(INT), "module": Maybe(TEXT),
            "language": Maybe(TEXT), "own_share": NUMBER, "self_share": NUMBER,
            "total_share": NUMBER, "own_ns": INT, "self_ns": INT, "samples": INT}
LINE = Maybe({"function": TEXT, "file": Maybe(TEXT), "line": Maybe(INT)})
WAIT = {"process": Maybe(INT), "thread": Maybe(INT),
        "kind": Words("other", "lock", "queue", "thread", "socket", "sleep", "child",
                      "file", "disk", "event"),
        "call": Maybe(TEXT), "own": LINE, "library": LINE, "wait_ns": INT,
        "samples": INT}
SLICE = {"name": TEXT, "count": INT, "total_ns": INT, "self_ns": INT,
         "mean_ns": INT, "p50_ns": INT, "p99_ns": INT, "share": NUMBER}
REPORT = {
    "version": INT,
    "trace": {"path": TEXT, "finished": BOOL, "bytes": INT, "events": INT},
    "verdict": TEXT, "advice": TEXT,
    "findings": [FINDING],
    "functions": [FUNCTION],
    "sampling": Maybe({"samples": INT, "sampled_ns": INT, "unknown_ns": INT,
                       "approximate": INT,
                       "by": Maybe(Words("proc", "perf", "bpf"))}),
    "waits": [WAIT],
    "rules": [{"rule": TEXT, "question": TEXT, "why": Maybe(TEXT),
               "state": Words("found", "silent", "not enough data")}],
    "losses": [{"reason": TEXT, "detail": TEXT, "count": Maybe(INT),
                "from_ns": Maybe(INT), "to_ns": Maybe(INT)}],
    "not_collected": [{"source": TEXT, "why": TEXT, "cure": Maybe(TEXT)}],
    "overhead": {"cpu_ns": Maybe(INT), "cpu_pct_of_core": Maybe(NUMBER),
                 "rss_bytes": Maybe(INT), "trace_bytes": INT},
    "clock": {"source": TEXT, "started_realtime_ns": Maybe(INT),
              "started_ns": INT, "ended_ns": INT},
    "run": {
        "command": [TEXT], "wall_ns": INT, "paused_ns": INT, "delay_ns": Maybe(INT),
        "steady_ns": Maybe(INT), "steady_why": Maybe(TEXT),
        "exit": Maybe({"kind": Words("exit", "signal"), "code": INT}),
        "cpu_ns": Maybe(INT), "cpu_from": Maybe(Words("rusage", "processes")),
        "cpu_wall_ns": INT, "cores_used": Maybe(NUMBER), "judged_ns": INT,
        "judged_cores_used": Maybe(NUMBER), "max_rss_bytes": Maybe(INT),
        "cores": Maybe(INT), "allowed_cores": Maybe(INT), "cpu_limit_cores": Maybe(NUMBER),
        "memory_bytes": Maybe(INT), "memory_limit_bytes": Maybe(INT),
        "host": Maybe(TEXT), "kernel": Maybe(TEXT), "cpu_model": Maybe(TEXT),
        "cwd": Maybe(TEXT), "rate_hz": Maybe(NUMBER), "ticks": INT,
        "watched": Maybe(TEXT), "ended_by": Maybe(TEXT),
        "still_running": Maybe(INT), "tree_source": Maybe(TEXT),
        "sonde_version": Maybe(TEXT)},
    "processes": [PROCESS],
    "short_processes": [{
        "name": TEXT, "count": INT, "failed": INT, "exit_unknown": INT,
        "cpu_ns": Maybe(INT),
        "cpu_unknown": INT, "cpu_share": Maybe(NUMBER), "wall_ns": INT}],
    "unattributed_cpu_ns": Maybe(INT),
    "machine": {
        **{name: Maybe(NUMBER) for name in (
            "busy_cores", "other_cores", "iowait_cores", "steal_cores",
            "psi_cpu_some", "psi_io_some", "psi_memory_some", "load1_peak")},
        **{name: Maybe(INT) for name in (
            "cores", "covered_ns", "mem_total_bytes", "mem_peak_bytes", "swap_total_bytes",
            "swap_peak_bytes", "disk_read_bytes", "disk_write_bytes",
            "net_rx_bytes", "net_tx_bytes")}},
    "cgroups": [{
        "path": TEXT,
        **{name: Maybe(NUMBER) for name in (
            "cpu_limit_cores", "psi_cpu_some", "psi_io_some", "psi_memory_some")},
        **{name: Maybe(INT) for name in (
            "cpu_ns", "periods", "throttled_periods", "throttled_ns",
            "memory_peak_bytes", "memory_limit_bytes", "cache_peak_bytes", "limit_hits",
            "oom_kills", "read_bytes", "write_bytes")}}],
    "devices": [{
        "index": INT, "name": Maybe(TEXT), "processes": [INT],
        **{name: Maybe(NUMBER) for name in (
            "busy_mean", "busy_p5", "busy_p95", "memory_mean_share",
            "memory_peak_share", "throttled_share", "clock_mean_mhz",
            "power_mean_w", "temperature_peak_c")},
        **{name: Maybe(INT) for name in (
            "memory_peak_bytes", "memory_total_bytes")}}],
    "phases": [{"phase": Words("start-up", "warm-up", "steady", "checkpoint",
                               "evaluation", "dip", "end", "idle", "hung"),
                "from_ns": INT, "to_ns": INT, "level": NUMBER, "why": TEXT}],
    "series": [{"name": TEXT, "unit": TEXT, "pattern": TEXT, "confidence": NUMBER,
                "level": NUMBER, "low": NUMBER, "high": NUMBER,
                "period_s": Maybe(NUMBER), "slope_per_s": Maybe(NUMBER),
                "text": TEXT}],
    "slices": [SLICE],
    "slice_tracks": [{"process": Maybe(INT), "thread": Maybe(INT), "name": TEXT,
                      "self_ns": INT, "slices": [SLICE]}],
    "counters": [{"process": Maybe(INT), "name": TEXT, "unit": TEXT, "values": INT,
                  "min": Maybe(NUMBER), "max": Maybe(NUMBER),
                  "mean": Maybe(NUMBER), "last": Maybe(NUMBER)}],
    "marks": [{"time_ns": INT, "text": TEXT}]}


def wrong(value, shape, place="report"):
    """What is not as promised, in words; empty if all is."""
    if isinstance(shape, Maybe):
        return [] if value is None else wrong(value, shape.kind, place)
    if isinstance(shape, Words):
        return [] if value in shape.words else [f"{place}: {value!r}"]
    if isinstance(shape, list):
        if not isinstance(value, list):
            return [f"{place}: not an array"]
        return [w for i, v in enumerate(value)
                for w in wrong(v, shape[0], f"{place}[{i}]")]
    if isinstance(shape, dict):
        if not isinstance(value, dict):
            return [f"{place}: not an object"]
        out = [f"{place}.{k}: missing" for k in shape.keys() - value.keys()]
        out += [f"{place}.{k}: not in the contract"
                for k in value.keys() - shape.keys()]
        return out + [w for k in shape.keys() & value.keys()
                      for w in wrong(value[k], shape[k], f"{place}.{k}")]
    good = {
        TEXT: isinstance(value, str),
        BOOL: isinstance(value, bool),
        INT: isinstance(value, int) and not isinstance(value, bool),
        NUMBER: isinstance(value, (int, float))
        and not isinstance(value, bool) and math.isfinite(value),
    }[shape]
    return [] if good else [f"{place}: {value!r} is not {shape}"]


def sum_of_parts(report):
    parts = [p["cpu_ns"] for p in report["processes"]]
    parts += [s["cpu_ns"] for s in report["short_processes"]]
    parts.append(report["unattributed_cpu_ns"])
    return sum(p for p in parts if p is not None)


def sonde(*args, cwd=None):
    return subprocess.run([SONDE, *args], capture_output=True, cwd=cwd,
                          timeout=120)


def can(verb):
    return re.search(rf"^  {verb} ", sonde("help").stdout.decode(), re.M)


def traces():
    """Name and text of the traces in the golden tests."""
    for path in sorted(GOLDEN.glob("report_*.golden")):
        found = re.search(r"^--- trace\n(.*?)^--- want", path.read_text(),
                          re.M | re.S)
        if found:
            yield path.stem, found[1]


def documented_numbers():
    """The unit of each number that a finding may have, by its name."""
    page = (ROOT / "docs/report-json.md").read_text()
    table = re.search(r"^### findings\[\]\.numbers\[\]\n(.*?)^## ", page,
                      re.M | re.S)[1]
    return {name: unit
            for names, unit in re.findall(r"^\| (`.*?) \| `(.*?)` \|", table, re.M)
            for name in re.findall(r"`(\w+)`", names)}


class ReportJson(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)

    def report(self, *args):
        done = sonde("report", "--json", *args, cwd=self.directory.name)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout.decode())

    def check(self, report):
        self.assertEqual(wrong(report, REPORT), [])
        self.assertEqual(report["version"], 1)
        if report["run"]["cpu_ns"] is not None:
            self.assertEqual(sum_of_parts(report), report["run"]["cpu_ns"])
            self.assertGreaterEqual(report["unattributed_cpu_ns"], 0)
        if report["findings"]:
            self.assertEqual(report["verdict"],
                             report["findings"][0]["summary"])
            self.assertEqual(report["advice"], report["findings"][0]["advice"])
        for finding in report["findings"]:
            self.assertNotEqual(finding["numbers"], [], finding["rule"])
            for number in finding["numbers"]:
                self.assertEqual(documented_numbers().get(number["name"]),
                                 number["unit"], number["name"])
                if number["unit"] == "share":
                    self.assertLessEqual(number["value"], 1, number["name"])
        self.assertNotEqual(report["advice"], "")
        found = {r["rule"] for r in report["rules"] if r["state"] == "found"}
        self.assertEqual(found, {f["rule"] for f in report["findings"]})
        for finding in report["findings"]:
            self.assertLessEqual(finding["from_ns"], finding["to_ns"])
            self.assertTrue((ROOT / f"docs/rules/{finding['rule']}.md").exists())

    def write(self, text):
        path = pathlib.Path(self.directory.name, "t.txt")
        path.write_text(text)
        return str(path)

    def test_every_golden_trace_keeps_the_contract(self):
        names = []
        for name, text in traces():
            with self.subTest(name):
                self.check(self.report(self.write(text)))
                names.append(name)
        self.assertGreater(len(names), 5)

    def test_every_field_is_on_the_page(self):
        page = (ROOT / "docs/report-json.md").read_text()

        def fields(shape):
            shape = shape.kind if isinstance(shape, Maybe) else shape
            shape = shape[0] if isinstance(shape, list) else shape
            if isinstance(shape, dict):
                for key, inner in shape.items():
                    yield key
                    yield from fields(inner)

        words = set(re.findall(r"[a-z0-9_]+", page))
        self.assertEqual(sorted(set(fields(REPORT)) - words), [])

    def test_lines_fit_in_80_columns_and_the_summary_in_25_lines(self):
        for name, text in traces():
            path = self.write(text)
            for args in ([], ["--brief"]):
                with self.subTest(name, args=args):
                    done = sonde("report", *args, path)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    lines = done.stdout.decode().splitlines()
                    self.assertLessEqual(max(map(len, lines)), 80)
                    if args:
                        self.assertLessEqual(len(lines), 25)
                    self.assertNotRegex(done.stdout.decode(),
                                        r"[\x00-\x09\x0b-\x1f\x7f]")

    def test_the_longest_names_keep_the_summary_short(self):
        long = "x" * 3000
        text = dict(traces())["report_one_core_bound"]
        text = text.replace("python3 loader.py --all", f"{long} {long}")
        text = text.replace("meta host box", "meta host " + long)
        text += "".join(f'loss damaged count=1 detail="{long} {i}"\n'
                        for i in range(50))
        lines = sonde("report", "--brief",
                      self.write(text)).stdout.decode().splitlines()
        self.assertLessEqual(len(lines), 25)
        self.assertLessEqual(max(map(len, lines)), 80)

    def table_sums(self, path, top):
        """CPU seconds and shares of the rows of the process table, and its all."""
        done = sonde("report", "--top", str(top), path, cwd=self.directory.name)
        lines = done.stdout.decode().splitlines()
        begin = next(i for i, l in enumerate(lines) if l.startswith("Process "))
        rows = {}
        for line in lines[begin + 1:]:
            if "all" in rows:
                break
            cpu, share = line[26:34].split(), line[34:42].split()
            unit = {"s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
            rows[line[:26].strip()] = (
                float(cpu[0]) * unit[cpu[1]] if len(cpu) == 2 else 0,
                float(share[0]) if len(share) == 2 else 0)
        whole = rows.pop("all")
        return [sum(r[i] for r in rows.values()) for i in (0, 1)], whole

    def test_rows_of_the_process_table_sum_to_all(self):
        for name, text in traces():
            path = self.write(text)
            processes = self.report(path)["processes"]
            if len(processes) < 2 and name != "report_short_processes":
                continue
            for top in (1, 2, 1000):
                with self.subTest(name, top=top):
                    parts, whole = self.table_sums(path, top)
                    self.assertAlmostEqual(parts[0], whole[0],
                                           delta=0.01 * whole[0])
                    self.assertAlmostEqual(parts[1], whole[1], delta=0.5)

    def test_what_was_not_collected_is_null(self):
        report = self.report(self.write(dict(traces())["report_short"]))
        self.assertIsNone(report["run"]["cpu_ns"])
        self.assertIsNone(report["unattributed_cpu_ns"])
        self.assertIsNone(report["processes"][0]["rss_peak_bytes"])
        self.assertIsNone(report["machine"]["busy_cores"])

    def test_bytes_that_are_not_utf8_still_make_json(self):
        text = dict(traces())["report_healthy"]
        report = self.report(
            self.write(text.replace("name=serve", 'name="a\\xffb"')))
        self.check(report)
        self.assertEqual(report["processes"][0]["name"], "a\ufffdb")

    @unittest.skipUnless(can("run"), "this build cannot record")
    def test_a_real_run_keeps_the_contract(self):
        done = sonde("run", "--quiet", "-o", "r.sonde", "--", "/bin/sh", "-c",
                     "for i in 1 2 3 4 5 6 7 8; do /bin/true; done; "
                     "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; exit 3",
                     cwd=self.directory.name)
        self.assertEqual(done.returncode, 3, done.stderr)
        report = self.report()
        self.check(report)
        self.assertEqual(report["trace"]["path"], "r.sonde")
        self.assertTrue(report["trace"]["finished"])
        self.assertEqual(report["run"]["exit"], {"kind": "exit", "code": 3})
        self.assertEqual(report["run"]["command"][:2], ["/bin/sh", "-c"])
        self.assertGreater(report["run"]["cpu_ns"], 0)


if __name__ == "__main__":
    unittest.main()
