#!/usr/bin/env python3
"""Builds, runs every test there is, and sums them up.

usage: run.py [--full] [NAME...]      (through ./sonde.sh test)

Tests are found, not listed: the unit tests, what else CMake knows (add_test),
tests/golden/*.golden, and every script in tests/e2e that no other one there
imports. --full adds the sanitizer builds, the fuzz targets, the arm64 build,
tools/check, each benchmark for a moment and the e2e scripts that take minutes
(they say "Takes minutes."). NAME picks stages (unit, golden,
asan ...) or e2e scripts, with or without `_test`.

A script gets the path of the sonde binary as its first argument (a unittest
file does not), and in $SONDE. It says what it found on lines of its own,

    ok NAME
    FAIL NAME why
    skip NAME why

or is a unittest file, or says nothing and is judged by its exit status. With
CI=true in the environment a skip is a failure. The last line of the output is
the sum: `N passed, N failed`, and `, N skipped` if there were any.
"""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
E2E_TIMEOUT_S = 1200
FUZZ_SECONDS = 6

# Also with the time between, "ok    12 ms  NAME", and as fuzzers say it,
# "NAME: ok, 1234 runs".
REPORT = re.compile(r"^(ok|FAIL|skip) +(?:\d+ ms +)?(\S+?):?(?: +(.*))?$")
FUZZED = re.compile(r"^(\w+_fuzz): (ok|FAILED), (.*)$")
CTEST = re.compile(r"^ *\d+/\d+ Test +#\d+: (\S+) [. ]*(\**)([A-Z][A-Za-z ()]*?) +"
                   r"[\d.]+ sec")
UNITTEST_SKIP = re.compile(r"^(\w+) \(.*\.\.\. skipped (.*)$")
UNITTEST_FAIL = re.compile(r"^(?:FAIL|ERROR): (.*)$")
UNITTEST_RAN = re.compile(r"^Ran (\d+) tests? in ")
UNITTEST_END = re.compile(r"^(?:OK|FAILED)(?: \((.*)\))?$")


class Tally:
    """What has passed, and by name what has not."""

    def __init__(self):
        self.passed = 0
        self.failed = []
        self.skipped = []

    def ok(self, count=1):
        self.passed += count

    def fail(self, name, why=""):
        self.failed.append((name, why))

    def skip(self, name, why):
        if os.environ.get("CI") == "true":
            self.fail(name, f"skipped in CI: {why}")
        else:
            self.skipped.append((name, why))

    def total(self):
        return self.passed + len(self.failed) + len(self.skipped)


def environment():
    return dict(os.environ, SONDE=str(BUILD / "src/sonde"),
                SONDE_ROOT=str(ROOT), SONDE_BUILD=str(BUILD),
                PYTHONUNBUFFERED="1", PYTHONDONTWRITEBYTECODE="1")


def stream(command, on_line, timeout_s, env=None):
    """Runs a command, prints and hands over each line. Its exit status, or
    None if it took too long and was killed with everything it started."""
    child = subprocess.Popen([str(c) for c in command], cwd=ROOT,
                             env=env or environment(),
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, start_new_session=True)
    late = False

    def kill(*_):
        nonlocal late
        late = True
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    signal.signal(signal.SIGALRM, kill)
    signal.alarm(timeout_s)
    try:
        with child.stdout:
            for raw in child.stdout:
                line = raw.decode("utf-8", "replace").rstrip("\n")
                print(line, flush=True)
                on_line(line)
        status = child.wait()
    except KeyboardInterrupt:
        kill()
        raise
    finally:
        signal.alarm(0)
    return None if late else status


def run_script(tally, name, command, timeout_s=E2E_TIMEOUT_S):
    """A script that reports by lines, by unittest, or by its exit status."""
    passed, failed, skipped, ran, ended = 0, [], [], None, None
    unittest_failed = []

    def on_line(line):
        nonlocal passed, ran, ended
        if match := REPORT.match(line):
            word, what, why = match[1], match[2], match[3] or ""
            if word == "ok":
                passed += 1
            elif word == "FAIL":
                failed.append((what, why))
            else:
                skipped.append((what, why))
        elif match := FUZZED.match(line):
            if match[2] == "ok":
                passed += 1
            else:
                failed.append((match[1], match[3]))
        elif match := CTEST.match(line):
            if match[3] == "Passed":
                passed += 1
            elif match[3] in ("Skipped", "Not Run (Disabled)"):
                skipped.append((match[1], match[3]))
            else:
                failed.append((match[1], match[3]))
        elif match := UNITTEST_SKIP.match(line):
            skipped.append((match[1], match[2]))
        elif match := UNITTEST_FAIL.match(line):
            unittest_failed.append((match[1].split(" ")[0], ""))
        elif match := UNITTEST_RAN.match(line):
            ran = int(match[1])
        elif match := UNITTEST_END.match(line):
            ended = match[1] or ""

    status = stream(command, on_line, timeout_s)

    if ran is not None and ended is not None:
        # unittest's own sum is right even where other output broke its lines.
        counts = dict(re.findall(r"([a-z ]+)=(\d+)", ended))
        counts = {key.strip(): int(value) for key, value in counts.items()}
        unnamed = counts.get("skipped", 0) - len(skipped)
        skipped += [(name, "skipped, its name was lost")] * max(0, unnamed)
        failures = counts.get("failures", 0) + counts.get("errors", 0)
        failed += (unittest_failed + [(name, "")] * failures)[:failures]
        passed = max(0, ran - len(skipped) - len(failed))
    if status is None:
        failed.append((name, f"took more than {timeout_s} s"))
    elif status != 0 and not failed:
        failed.append((name, f"ended with status {status}"))
    elif passed + len(failed) + len(skipped) == 0:
        if ran == 0:
            failed.append((name, "ran no test"))
        else:
            passed = 1

    tally.ok(passed)
    for what, why in failed:
        tally.fail(what, why)
    for what, why in skipped:
        tally.skip(what, why)


def build(tally, name, *args):
    status = stream([ROOT / "sonde.sh", "build", *args], lambda _: None, 1800)
    if status != 0:
        tally.fail(name, "did not build")
    return status == 0


def run_gtest(tally, binary, prefix):
    if not binary.exists():
        return tally.fail(prefix, f"{binary} is not there")
    with tempfile.TemporaryDirectory() as scratch:
        report = pathlib.Path(scratch) / "report.json"
        status = stream([binary, "--gtest_brief=1",
                         f"--gtest_output=json:{report}"], lambda _: None, 900)
        if not report.exists():
            return tally.fail(prefix, f"ended with status {status}")
        suites = json.loads(report.read_text())["testsuites"]
    failures = 0
    for suite in suites:
        for test in suite["testsuite"]:
            name = f"{prefix}/{suite['name']}.{test['name']}"
            if "failures" in test:
                tally.fail(name)
                failures += 1
            elif test.get("result") == "SKIPPED":
                tally.skip(name, "skipped by the test")
            elif test.get("status") != "NOTRUN":
                tally.ok()
    if status != 0 and failures == 0:
        # A sanitizer speaks at the very end, when every test has passed.
        tally.fail(prefix, f"ended with status {status}")


def unit(tally):
    if build(tally, "unit", "--target", "unit_tests"):
        run_gtest(tally, BUILD / "tests/unit_tests", "unit")


def golden(tally, names=()):
    run_script(tally, "golden", [sys.executable, ROOT / "tests/run_golden.py",
                                 BUILD / "src/sonde", *names])


def ctest(tally):
    """Tests that CMake knows, but for the unit tests: those were counted."""
    command = ["ctest", "--test-dir", BUILD, "-E", "^unit$"]
    listed = subprocess.run([*command, "-N"], text=True, cwd=ROOT,
                            stdout=subprocess.PIPE).stdout
    if "Total Tests: 0" not in listed:
        run_script(tally, "ctest", [*command, "--output-on-failure"])


def e2e_files():
    """The scripts of tests/e2e; what another one imports is none."""
    folder = ROOT / "tests/e2e"
    scripts = sorted(folder.glob("*.py"))
    imported = set()
    for path in scripts:
        imported |= set(re.findall(r"^\s*(?:from|import) (\w+)",
                                   path.read_text(), re.M))
    return [p for p in scripts if p.stem not in imported] + \
        sorted(folder.glob("*.sh"))


def takes_minutes(path):
    """Whether its first words say so; then it is run by --full or by its name."""
    return "Takes minutes." in path.read_text()[:1000]


def e2e(tally, path):
    if path.suffix == ".py" and "unittest.main(" in path.read_text():
        command = [sys.executable, path, "-v"]
    else:
        shell = "bash" if path.suffix == ".sh" else sys.executable
        command = [shell, path, BUILD / "src/sonde"]
    run_script(tally, path.stem, command)


def strays(tally):
    """A test that no one runs is worse than none."""
    for path in sorted((ROOT / "tests").glob("**/*.py")):
        if path in e2e_files():
            continue
        if re.search(r"^\s*unittest\.main\(", path.read_text(), re.M):
            tally.fail(str(path.relative_to(ROOT)),
                       "is a test, but not in tests/e2e")


def sanitized(tally, preset):
    if build(tally, preset, "--preset", preset, "--target", "unit_tests"):
        run_gtest(tally, ROOT / f"build-{preset}/tests/unit_tests", preset)


def fuzz(tally):
    script = ROOT / "tests/fuzz/run_fuzz.sh"
    if not script.exists():
        return tally.skip("fuzz", "no fuzz targets here")
    if build(tally, "fuzz", "--preset", "fuzz", "--target", "fuzzers"):
        run_script(tally, "fuzz", ["bash", script, FUZZ_SECONDS], 1200)


def arm64(tally):
    run_script(tally, "arm64", [ROOT / "tools/build_arm64"], 1800)


def check(tally):
    run_script(tally, "check", [ROOT / "tools/check"])


def bench(tally):
    run_script(tally, "bench", [sys.executable, ROOT / "tests/bench/run.py",
                                "--quick", "--check"], 900)


def stages(full):
    """Name and function of everything to run, in order."""
    table = [("build", lambda t: build(t, "build")), ("unit", unit),
             ("ctest", ctest), ("golden", golden)]
    table += [(p.stem, lambda t, p=p: e2e(t, p)) for p in e2e_files()
              if full or not takes_minutes(p)]
    table += [("strays", strays)]
    if full:
        table += [("check", check),
                  ("asan", lambda t: sanitized(t, "asan")),
                  ("tsan", lambda t: sanitized(t, "tsan")),
                  ("fuzz", fuzz), ("arm64", arm64), ("bench", bench)]
    return table


def chosen(table, names):
    """The stages named, behind the build; goldens may be named one by one."""
    picked, goldens = {"build"}, []
    for name in names:
        if name in dict(table):
            picked.add(name)
        elif f"{name}_test" in dict(table):
            picked.add(f"{name}_test")
        elif (ROOT / f"tests/golden/{name}.golden").exists():
            goldens.append(name)
        else:
            sys.exit(f"run.py: no test called '{name}'; there are: "
                     + " ".join(n for n, _ in table))
    table = [row for row in table if row[0] in picked]
    if goldens:
        table.append(("golden", lambda t: golden(t, goldens)))
    return table


def main(args):
    full = "--full" in args
    names = [a for a in args if a != "--full"]
    for name in names:
        if name.startswith("-"):
            sys.exit(__doc__)
    # Every stage can be asked for by name, also those of --full.
    table = stages(full or names)
    if names:
        table = chosen(table, names)
    elif full:
        # The same tests are run under the sanitizers, which see more.
        table.remove(("unit", unit))

    os.environ.pop("MAKEFLAGS", None)
    os.environ.setdefault("ASAN_OPTIONS", "detect_leaks=1")
    os.environ.setdefault("UBSAN_OPTIONS", "halt_on_error=1:print_stacktrace=1")
    os.environ.setdefault("TSAN_OPTIONS", "halt_on_error=1")
    tally, times = Tally(), []
    for name, run in table:
        print(f"=== {name}", flush=True)
        started, before = time.monotonic(), len(tally.failed)
        run(tally)
        times.append((name, time.monotonic() - started))
        if name == "build" and len(tally.failed) > before:
            break

    print("=== sum")
    for name, seconds in times:
        print(f"time: {name} {seconds:.1f} s")
    print(f"time: all {sum(s for _, s in times):.1f} s")
    for name, why in tally.skipped:
        print(f"skipped: {name}: {why}")
    for name, why in tally.failed:
        print(f"failed: {name}" + (f": {why}" if why else ""))
    if tally.total() == 0:
        tally.fail("run.py", "nothing was tested")
    line = f"{tally.passed} passed, {len(tally.failed)} failed"
    if tally.skipped:
        line += f", {len(tally.skipped)} skipped"
    print(line, flush=True)
    return 1 if tally.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
