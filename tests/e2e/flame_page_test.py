#!/usr/bin/env python3
"""The flame graph of `sonde report --html`, in a browser: zoom, search, keys.

usage: flame_page_test.py SONDE

The browser is Debian's chromium; without it these tests are skipped by name.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import browser

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SONDE = pathlib.Path(sys.argv[1] if len(sys.argv) > 1
                     else ROOT / "build/src/sonde").resolve()

EVIL = "<img src=x onerror=alert(1)>\\\"'&"
# main calls load and fit; fit calls itself, and gemm.
TRACE = """sonde-text 0
meta host "{host}"
meta started_ns 0
meta ended_ns 1000000000
meta cores 2
meta allowed_cores 2
clock monotonic=0 realtime={realtime}
process 1 pid=100 name=python3 start=0 end=1s exit=0 cpu=1s
thread 1 process=1 tid=100 name=python3 start=0 end=1s cpu=1s
frame 1 function=main file={source} line=2
frame 2 function=load file={source} line=4
frame 3 function=fit file={source} line=6
frame 4 function=gemm file=/no/such/kernel.c line=80
frame 5 function="{evil}" file="/{evil}.py" line=1
frame 6 function=tiny
stack 1 frame=1
stack 2 parent=1 frame=2
stack 3 parent=1 frame=3
stack 4 parent=3 frame=3
stack 5 parent=4 frame=4
stack 6 parent=1 frame=5
stack 7 frame=6
sample 10ms thread=1 stack=2 weight=400ms
sample 20ms thread=1 stack=5 weight=300ms
sample 30ms thread=1 stack=3 weight=200ms
sample 40ms thread=1 stack=6 weight=50ms
sample 50ms thread=1 weight=49ms
sample 60ms thread=1 stack=7 weight=1ms
"""
SOURCE = "def main():\n    load()\ndef load():\n    read('<&>')\ndef fit():\n    fit()\n"

BOXES = """[...document.querySelectorAll('.flame button')].filter(b => !b.hidden)
  .map(b => [b.textContent, Math.round(b.getBoundingClientRect().width /
      document.querySelector('.flame').getBoundingClientRect().width * 1000) / 10])"""
BOX = ("[...document.querySelectorAll('.flame button')]"
       ".find(b => b.textContent.startsWith(%r))")


class Tests:
    def __init__(self, page, path):
        self.page, self.path = page, path

    def fresh(self):
        """The page as it is at first; {name: % of the width} of its boxes."""
        self.page.open(self.path)
        return self.boxes()

    def boxes(self):
        return {name.split(" (")[0]: width for name, width in self.page.evaluate(BOXES)}

    def key(self, name):
        for kind in ("keyDown", "keyUp"):
            code = {"Enter": 13, "Escape": 27, "ArrowLeft": 37, "ArrowUp": 38,
                    "ArrowRight": 39, "ArrowDown": 40}[name]
            text = {"text": "\r"} if name == "Enter" and kind == "keyDown" else {}
            self.page.call("Input.dispatchKeyEvent", type=kind, key=name, code=name,
                           windowsVirtualKeyCode=code, **text)

    def focused(self):
        return self.page.evaluate("document.activeElement.textContent").split(" (")[0]

    def test_boxes_are_as_wide_as_their_time(self):
        got = self.fresh()
        for name, width in {"all": 100, "main": 95, "load": 40, "gemm": 30,
                            "stack not known": 4.9, "tiny": 0.1}.items():
            assert abs(got[name] - width) < 0.15, (name, got)

    def test_a_click_makes_a_box_wide_and_a_button_shows_all_again(self):
        self.fresh()
        self.page.evaluate(BOX % "fit" + ".click()")
        got = self.boxes()
        assert abs(got["gemm"] - 60) < 0.3 and got["main"] > 99, got
        assert "load" not in got and "stack not known" not in got, got
        self.page.evaluate("document.querySelector('.flame-tools button').click()")
        assert abs(self.boxes()["load"] - 40) < 0.3
        assert self.page.evaluate("document.querySelector('.flame-tools button').hidden")

    def test_keys_go_from_box_to_box(self):
        self.fresh()
        self.page.evaluate(BOX % "all" + ".focus()")
        seen = []
        for key in ("ArrowDown", "ArrowDown", "ArrowDown", "ArrowDown", "ArrowRight",
                    "ArrowLeft", "ArrowUp"):
            self.key(key)
            seen.append(self.focused())
        assert seen == ["python3", "python3", "main", "fit", "load", "fit", "main"], seen
        self.key("ArrowDown")
        self.key("Enter")
        assert abs(self.boxes()["gemm"] - 60) < 0.3
        self.key("Escape")
        assert abs(self.boxes()["gemm"] - 30) < 0.3
        told = self.page.evaluate("document.querySelector('.flame-told').textContent")
        assert told.startswith("fit ") and "500 ms, 50.0 % of 1.00 s" in told, told

    def test_the_tab_key_stops_at_one_box(self):
        self.fresh()
        self.page.evaluate(BOX % "all" + ".focus()")
        for _ in range(2):
            got = self.page.evaluate(
                "[...document.querySelectorAll('.flame button')]"
                ".filter(b => b.tabIndex === 0).map(b => b === document.activeElement)")
            assert got == [True], got
            self.key("ArrowDown")

    def search(self, word):
        self.page.evaluate(
            f"(() => {{const i = document.querySelector('.flame-tools input');"
            f"i.value = {word!r}; i.dispatchEvent(new Event('input'));}})()")
        return (self.page.evaluate("document.querySelector('.flame-tools output')"
                                   ".textContent"),
                self.page.evaluate("document.querySelectorAll('.flame .hit').length"))

    def test_what_is_searched_for_is_marked_and_summed(self):
        self.fresh()
        # One calls the other: the time is counted once.
        assert self.search("FIT") == ("2 boxes, 50.0 % of the time", 2)
        assert self.search("gemm") == ("1 box, 30.0 % of the time", 1)
        assert self.search("nobody") == ("0 boxes, 0.0 % of the time", 0)
        assert self.search("") == ("", 0)

    def test_the_source_is_shown_if_it_is_what_ran(self):
        self.fresh()
        text = self.page.evaluate("[...document.querySelectorAll('details')]"
                                  ".map(d => d.textContent).join('\\n')")
        assert "read('<&>')" in text, text
        row = self.page.evaluate(
            "[...document.querySelectorAll('table.source tr')].map(r => "
            "[...r.cells].map(c => c.textContent)).find(r => r[0] === '4')")
        assert row == ["4", "40.0 %", "40.0 %", "    read('<&>')"], row
        assert "/no/such/kernel.c: No such file or directory" in text, text

    def test_nothing_is_asked_for_and_nothing_is_wrong(self):
        self.fresh()
        self.search("fit")
        self.page.evaluate(BOX % "fit" + ".click()")
        asked = {r["request"]["url"]
                 for r in self.page.said("Network.requestWillBeSent")}
        assert asked == {self.path.as_uri()}, asked
        bad = self.page.said("Runtime.exceptionThrown", "Log.entryAdded",
                             "Runtime.consoleAPICalled",
                             "Page.javascriptDialogOpening")
        assert not bad, bad
        assert self.page.evaluate("document.querySelectorAll('img').length") == 0

    def test_it_is_readable_in_light_and_dark(self):
        self.fresh()
        self.search("fit")
        for name in ("light", "dark"):
            self.page.scheme(name)
            least, where = self.page.evaluate(browser.CONTRAST)
            assert least >= 4.5, (name, least, where)

    def test_it_is_whole_without_script(self):
        self.page.call("Emulation.setScriptExecutionDisabled", value=True)
        try:
            got = self.fresh()
            assert abs(got["load"] - 40) < 0.3, got
            assert self.page.evaluate("document.querySelector('.flame-tools').hidden")
        finally:
            self.page.call("Emulation.setScriptExecutionDisabled", value=False)


def names():
    return [name for name in dir(Tests) if name.startswith("test_")]


def main():
    program = shutil.which("chromium")
    if not program:
        for name in names():
            print(f"skip flame_page_{name[5:]} chromium is not installed")
        return 0
    failed = 0
    # chromium may still be writing to its profile.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory:
        home = pathlib.Path(directory).resolve()
        source, trace, path = home / "train.py", home / "t.txt", home / "page.html"
        source.write_text(SOURCE)
        trace.write_text(TRACE.format(
            host=os.uname().nodename, source=source, evil=EVIL,
            realtime=source.stat().st_mtime_ns + 10**9))
        subprocess.run([str(SONDE), "report", str(trace), "--html", str(path)],
                       check=True, stdout=subprocess.DEVNULL, timeout=60)
        page = browser.Browser(program, home)
        try:
            tests = Tests(page, path)
            for name in names():
                try:
                    getattr(tests, name)()
                    print(f"ok flame_page_{name[5:]}", flush=True)
                except Exception as error:  # noqa: BLE001
                    said = (str(error) or repr(error)).replace("\n", " ")
                    print(f"FAIL flame_page_{name[5:]} {said[:600]}", flush=True)
                    failed += 1
        finally:
            page.close()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
