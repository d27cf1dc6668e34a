#!/usr/bin/env python3
"""The pictures of `sonde report`: SVG files, curves in a terminal, the page.

usage: pictures_test.py SONDE

What a browser makes of the page is asked of Debian's chromium; without it those
tests are skipped by name.
"""
import base64
import fcntl
import hashlib
import html.parser
import os
import pathlib
import pty
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import time
import xml.etree.ElementTree

import browser

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SONDE = pathlib.Path(sys.argv[1] if len(sys.argv) > 1
                     else ROOT / "build/src/sonde").resolve()

EVIL = "<script>alert(1)</script><img src=x onerror=alert(2)>'\\\"&"
TRACE = f"""sonde-text 0
meta started_ns 0
meta ended_ns 20000000000
meta rate_hz 10
meta cores 2
meta allowed_cores 2
meta host "{EVIL}"
meta command ["python","{EVIL.replace(chr(92) + chr(34), '')}"]
meta exit "exit 0"
not_collected "<b>s" why="<b>w" cure="<b>c"
process 1 pid=100 name="{EVIL}" cmdline="{EVIL}" start=0 end=20s exit=0
process 2 parent=1 pid=101 name=quiet start=0 end=20s exit=0
thread 1 process=1 tid=100 name="{EVIL}" start=0 end=20s
track 1 kind=thread process=1 thread=1 name="{EVIL}"
track 2 kind=machine name=session
slice 1 5s 6s "{EVIL}" cat="{EVIL}"
slice 1 7s 9s plain
instant 2 8s mark args={{text="{EVIL}"}}
loss disk-full count=3 from=11s to=12s detail="{EVIL}"
series 1 scope=process:1 name=cpu_ns
series 2 scope=thread:1 name=cpu_ns
series 3 scope=process:2 name=cpu_ns
series 4 scope=machine name=net_rx_bytes label="{EVIL}" kind=total
series 5 scope=device:0 name=gpu_busy_pct label="{EVIL}" unit="{EVIL}" group=5
series 6 scope=device:0 name="{EVIL}" label=x unit="{EVIL}" group=5
series 7 scope=process:1 name="{EVIL}" unit="{EVIL}" group=9 source=api
ramp 1 from=0 to=3s slope=0.1s/s
ramp 1 from=3100ms to=20s value=480ms slope=1.8s/s
ramp 2 from=0 to=3s slope=0.1s/s
ramp 2 from=3100ms to=20s value=480ms slope=1.8s/s
ramp 3 to=20s slope=0.01s/s
ramp 4 to=20s slope=1MB/s
ramp 5 to=20s value=50 slope=1/s
ramp 6 to=20s value=5
ramp 7 to=20s value=5
"""
VERDICT = "Limited by the CPU"


def sonde(*args, want=0, **env):
    run = subprocess.run([str(SONDE), *map(str, args)], capture_output=True,
                         timeout=60, env={**os.environ, **env})
    assert run.returncode == want, (run.returncode, run.stderr.decode())
    return run.stdout.decode(), run.stderr.decode()


def on_a_terminal(*args, **env):
    """What sonde writes to a terminal of 100 columns."""
    pid, fd = pty.fork()
    if pid == 0:
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
        clean = {k: v for k, v in os.environ.items() if k != "NO_COLOR"}
        os.execve(str(SONDE), [str(SONDE), *map(str, args)], {**clean, **env})
    said = b""
    while True:
        try:
            more = os.read(fd, 1 << 16)
        except OSError:
            break
        if not more:
            break
        said += more
    os.close(fd)
    assert os.waitpid(pid, 0)[1] == 0, said
    return said.decode()


class Tags(html.parser.HTMLParser):
    """The elements and attributes of a page."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes = set(), set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}


class Tests:
    """Those that need no browser."""

    def __init__(self, home):
        self.home = home
        self.trace = home / "t.txt"
        self.trace.write_text(TRACE)

    def test_charts_are_whole_files_for_their_owner(self):
        there = self.home / "charts"
        _, said = sonde("report", self.trace, "--charts", there)
        names = {p.name for p in there.iterdir()}
        want = {"cpu.svg", "network.svg", "gpu0.svg", "processes.svg",
                "threads.svg", "counters.svg"}
        assert names == want, names
        for name in want:
            assert name in said, said
            path = there / name
            assert path.stat().st_mode & 0o777 == 0o600, path
            root = xml.etree.ElementTree.fromstring(path.read_text())
            tags = {e.tag.rpartition("}")[2] for e in root.iter()}
            assert {"title", "desc", "path"} <= tags, tags
            assert "script" not in tags and "image" not in tags, tags
            for element in root.iter():
                for key in element.attrib:
                    assert not key.startswith("on") and "href" not in key, key

    def test_charts_leave_the_files_of_others(self):
        there = self.home / "mine"
        there.mkdir()
        (there / "cpu.svg").write_text("<svg/>")
        sonde("report", self.trace, "--charts", there, want=2)
        assert (there / "cpu.svg").read_text() == "<svg/>"
        sonde("report", self.trace, "--charts", there, "--force")
        sonde("report", self.trace, "--charts", there)
        assert (there / "cpu.svg").read_text() != "<svg/>"

    def test_curves_are_for_terminals(self):
        said, _ = sonde("report", self.trace, LC_ALL="C.UTF-8")
        assert "cpu: the program" not in said and "█" not in said
        said = on_a_terminal("report", self.trace, LC_ALL="C.UTF-8")
        assert "cpu: the program" in said and "█" in said
        assert "\x1b[36m" in said
        assert "█" not in on_a_terminal("report", "--no-curves", self.trace,
                                        LC_ALL="C.UTF-8")

    def test_curves_have_colour_only_if_wanted(self):
        said = on_a_terminal("report", self.trace, LC_ALL="C.UTF-8", NO_COLOR="1")
        assert "█" in said and "\x1b" not in said
        assert max(map(len, said.split("\r\n"))) == 100, "as wide as it is"
        said, _ = sonde("report", "--curves", self.trace, LC_ALL="C.UTF-8")
        assert "█" in said and "\x1b" not in said

    def test_curves_are_plain_where_the_locale_is(self):
        said, _ = sonde("report", "--curves", self.trace, LC_ALL="C")
        assert said.isascii() and "####" in said

    def test_page_has_no_markup_from_names(self):
        page = self.page()
        tags = Tags(page)
        assert "img" not in tags.tags and "b" not in tags.tags, tags.tags
        assert page.count("<script") == 1
        assert not {a for a in tags.attributes
                    if a.startswith("on") or a in ("src", "href")}
        assert page.count("alert(1)") > 10, "the names are there, as text"

    def test_page_allows_its_own_script_only(self):
        page = self.page()
        script = re.search("<script>(.*?)</script>", page, re.S)[1]
        want = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"script-src 'sha256-{want}'" in page, want
        assert "default-src 'none'" in page

    def test_page_is_small_whatever_the_trace_has(self):
        lines = ["sonde-text 0", "meta started_ns 0",
                 "meta ended_ns 2000000000000", "meta rate_hz 10",
                 "process 1 pid=9 name=sh start=0 end=2000s exit=0",
                 "series 1 scope=process:1 name=cpu_ns",
                 "ramp 1 to=2000s slope=1s/s"]
        lines += [f"process {i} parent=1 pid={i} name=short{i} start={i}ms "
                  f"end={i + 5}ms exit=0 cpu=5ms" for i in range(10, 1000)]
        lines += [f"series {i} scope=machine name=odd{i}"
                  for i in range(10, 2000)]
        for tick, value in (("0", 1), ("100ms", 2)):
            lines.append(f"tick 1 {tick} " + " ".join(
                f"{i}={value}" for i in range(10, 2000)))
        trace = self.home / "much.txt"
        trace.write_text("\n".join(lines) + "\n")
        page, _ = sonde("report", trace, "--html", "-")
        assert len(page) < 200_000, len(page)
        assert "(the first 32 of 1990)" in page
        assert "And 970 more names of short ones." in page

    def test_page_is_one_small_file(self):
        assert len(self.page()) < 2_000_000
        path = self.home / "page.html"
        assert path.stat().st_mode & 0o777 == 0o600
        sonde("report", self.trace, "--html", path, want=2)
        said, _ = sonde("report", self.trace, "--html", "-")
        assert said == path.read_text()
        sonde("report", self.trace, "--html", "-", "--json", want=2)

    def page(self):
        path = self.home / "page.html"
        sonde("report", self.trace, "--html", path, "--force")
        return path.read_text()


class BrowserTests:
    """Those that look at the page."""

    def __init__(self, page, path):
        self.page, self.path = page, path
        page.open(path)

    def test_it_asks_for_nothing(self):
        time.sleep(0.5)
        self.page.evaluate("1")
        asked = [r["request"]["url"]
                 for r in self.page.said("Network.requestWillBeSent")]
        assert asked == [self.path.as_uri()], asked

    def test_nothing_is_wrong(self):
        self.page.evaluate("1")
        bad = self.page.said("Runtime.exceptionThrown", "Log.entryAdded",
                             "Runtime.consoleAPICalled",
                             "Page.javascriptDialogOpening")
        assert not bad, bad

    def test_the_verdict_is_to_be_seen(self):
        text, top, height = self.page.evaluate(
            "(() => {const h = document.querySelector('h1'), "
            "b = h.getBoundingClientRect();"
            "return [h.innerText, b.top, b.height];})()")
        assert text.startswith(VERDICT) and height > 0 and top < 600, (text, top)

    def test_pictures_are_drawn(self):
        got = self.page.evaluate(
            "[...document.querySelectorAll('svg path.line')]"
            ".filter(p => p.getTotalLength() > 100).length")
        assert got >= 6, got

    def test_patterns_and_accelerators_have_their_tables(self):
        titles = self.page.evaluate(
            "[...document.querySelectorAll('h2')].map(h => h.innerText)")
        assert "Accelerators" in titles, titles
        assert "What it looks like over time" in titles, titles

    def test_tables_can_be_sorted(self):
        table = ("[...document.querySelectorAll('table')].find("
                 "t => t.rows[0].innerText.startsWith('Process'))")
        seen = []
        for _ in range(2):
            self.page.evaluate(table + ".querySelectorAll('button')[1].click()")
            seen.append(self.page.evaluate(table + ".rows[1].cells[0].innerText"))
        assert seen[0].startswith("1 ") and seen[1].startswith("2 "), seen

    def test_it_is_light_and_dark_and_readable_in_both(self):
        papers = set()
        for name in ("light", "dark"):
            papers.add(self.page.scheme(name))
            least, where = self.page.evaluate(browser.CONTRAST)
            assert least >= 4.5, (name, least, where)
        assert len(papers) == 2, papers


def run_all(tests):
    failed = 0
    for name in dir(tests):
        if not name.startswith("test_"):
            continue
        try:
            getattr(tests, name)()
            print(f"ok pictures_{name[5:]}", flush=True)
        except Exception as error:  # noqa: BLE001
            said = (str(error) or repr(error)).replace("\n", " ")
            print(f"FAIL pictures_{name[5:]} {said[:600]}", flush=True)
            failed += 1
    return failed


def main():
    # chromium may still be writing to its profile.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory:
        home = pathlib.Path(directory).resolve()
        tests = Tests(home)
        failed = run_all(tests)
        program = shutil.which("chromium")
        if not program:
            for name in dir(BrowserTests):
                if name.startswith("test_"):
                    print(f"skip pictures_{name[5:]} chromium is not installed")
            return 1 if failed else 0
        tests.page()
        page = browser.Browser(program, home)
        try:
            failed += run_all(BrowserTests(page, home / "page.html"))
        finally:
            page.close()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
