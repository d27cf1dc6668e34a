#!/usr/bin/python3
"""The functions of real Pythons, with the shares they have, and where they wait.

The Pythons are those of stacks.py. Fault 17: the memory of a target is read.
"""

import glob
import json
import os
import signal
import subprocess
import textwrap

from common import Runner, Skip, equal, true, wait_for
from python_versions import pythons

run = Runner()

# Three functions that use CPU time as 1 : 2 : 3, whoever else uses the core.
SHARES = textwrap.dedent('''\
    import sys, time

    def one():
        end = time.process_time() + 0.010
        while time.process_time() < end: pass

    def two():
        end = time.process_time() + 0.020
        while time.process_time() < end: pass

    def three(deep=5):
        if deep:
            return three(deep - 1)
        end = time.process_time() + 0.030
        while time.process_time() < end: pass

    def main():
        end = time.process_time() + float(sys.argv[1])
        while time.process_time() < end:
            one()
            two()
            three()

    main()
    print("done")
    sys.exit(3)
    ''')

# Code objects that come and go at one address, each with a name of its own.
RECYCLED = textwrap.dedent('''\
    import time
    end = time.monotonic() + 2
    i = 0
    while time.monotonic() < end:
        i += 1
        source = "def name_%06d(t):\\n while t() < stop: pass\\nf = name_%06d" % (i, i)
        space = {"stop": time.monotonic() + 0.004}
        exec(source, space)
        space["f"](time.monotonic)
    print(i)
    ''')

WAITS = textwrap.dedent('''\
    import sys, threading, time

    def sleeper():
        while True:
            time.sleep(0.003)

    def worker():
        end = time.process_time() + 1.5
        while time.process_time() < end:
            sum(range(1000))

    threading.Thread(target=sleeper, daemon=True).start()
    worker()
    ''')

# Works for 0.3 s before it loads a Python, which then works on and on.
LATE = textwrap.dedent('''\
    #include <dlfcn.h>
    #include <time.h>
    static volatile unsigned sink;
    int main(int, char** argv) {
      while (clock() < 0.3 * CLOCKS_PER_SEC) ++sink;
      void* python = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
      if (python == nullptr) return 1;
      reinterpret_cast<void (*)()>(dlsym(python, "Py_Initialize"))();
      return reinterpret_cast<int (*)(const char*)>(
          dlsym(python, "PyRun_SimpleString"))(argv[2]);
    }
    ''')

# One thread for each kind of wait.
PLACES = textwrap.dedent('''\
    import queue, socket, subprocess, threading, time

    lock, jobs = threading.Lock(), queue.Queue()
    here, there = socket.socketpair()

    def for_lock():
        with lock: pass

    def for_queue():
        jobs.get()

    def for_socket():
        here.recv(1)

    def for_time():
        end = time.monotonic() + 3
        while time.monotonic() < end:
            time.sleep(0.002)

    def for_child():
        subprocess.run(["sleep", "3"])

    lock.acquire()
    all = [threading.Thread(target=f)
           for f in (for_lock, for_queue, for_socket, for_time, for_child)]
    for t in all: t.start()
    time.sleep(3)
    lock.release(), jobs.put(1), there.send(b"x")
    for t in all: t.join()
    ''')
WAIT_OF = {"for_lock": "lock", "for_queue": "queue", "for_socket": "socket",
           "for_time": "sleep", "for_child": "child"}

# 30 forks of 0.1 s, 10 programs of 0.2 s.
SHORT = textwrap.dedent('''\
    import os, subprocess, sys, time

    def forked(end):
        while time.process_time() < end: sum(range(1000))

    def started(end):
        while time.process_time() < end: sum(range(1000))

    if len(sys.argv) > 1:
        started(time.process_time() + 0.2)
        sys.exit()
    for _ in range(30):
        if os.fork() == 0:
            forked(time.process_time() + 0.1)
            os._exit(0)
        os.wait()
    for _ in range(10):
        subprocess.run([sys.executable, __file__, "again"], check=True)
    ''')

DEADLOCK = textwrap.dedent('''\
    import threading
    one, other, both = threading.Lock(), threading.Lock(), threading.Barrier(2)

    def take(first, second):
        with first:
            both.wait()
            with second: pass

    for locks in ((one, other), (other, one)):
        threading.Thread(target=take, args=locks).start()
    ''')


def script(name, text):
    path = run.path(name)
    with open(path, "w") as f:
        f.write(text)
    return path


def record(*words, python="/usr/bin/python3", options=(), status=0):
    trace = run.path("t.sonde")
    done = subprocess.run([run.sonde, "run", "--force", "--quiet",
                           *options, "-o", trace, "--", python, *words],
                          stdout=subprocess.PIPE, text=True, timeout=120)
    equal("status", done.returncode, status)
    return trace, done.stdout


def report(trace):
    done = subprocess.run([run.sonde, "report", "--json", trace],
                          stdout=subprocess.PIPE, check=True, timeout=60)
    return json.loads(done.stdout)


def last_name(function):
    return function.split(".")[-1]


def owns(told):
    """{function: own_ns}"""
    out = {}
    for f in told["functions"]:
        out[last_name(f["function"])] = out.get(last_name(f["function"]), 0) + f["own_ns"]
    return out


def shares(name, python, minor):
    program = script("shares.py", SHARES)
    trace, output = record(program, "2.4", python=python, status=3)
    equal("output", output, "done\n")
    told = report(trace)
    by = owns(told)
    three = sum(by.get(f, 0) for f in ("one", "two", "three"))
    true("hardly anything was sampled", three > 1.2e9)
    for function, part in (("one", 1 / 6), ("two", 2 / 6), ("three", 3 / 6)):
        got = by.get(function, 0) / three
        true(f"{function} has {got:.3f}, not {part:.3f}", abs(got - part) < 0.08)
    # Parts and the whole.
    sampling = told["sampling"]
    for part in ("self_ns", "own_ns"):
        equal("sum of " + part, sum(f[part] for f in told["functions"]) +
              sampling["unknown_ns"], sampling["sampled_ns"])
    true("more was sampled than used",
         sampling["sampled_ns"] <= told["run"]["cpu_ns"] * 1.02)
    lines = SHARES.splitlines()
    for f in told["functions"]:
        if f["function"] in ("one", "two", "three") and f["line"]:
            true(f"{f['function']} at line {f['line']}: {lines[f['line'] - 1]}",
                 "time" in lines[f["line"] - 1])
        if f["function"] == "three":
            true("three calls itself and counts once",
                 f["total_share"] <= f["own_share"] * 1.03)
        # There is another main() in the site.py of each Python.
        if f["function"] == "main" and f["file"] == program:
            true("main has nearly all", f["total_share"] > 0.6)


def the_hottest_function_is_named():
    program = script("hot.py", "def hot():\n    while True:\n        sum(range(100))\n\n"
                     "import signal\nsignal.alarm(4)\nhot()\n")
    trace, _ = record(program, status=-signal.SIGALRM)
    told = report(trace)
    # Beside busy neighbours there may be no finding; report_hot_place.golden has
    # the words.
    for finding in told["findings"]:
        if finding["rule"] in ("one_core_bound", "cpu_bound"):
            equal("function", finding["where"]["function"], "hot")
            equal("file", os.path.basename(finding["where"]["file"]), "hot.py")
            true("line", finding["where"]["line"] in (2, 3))
    equal("hottest", told["functions"][0]["function"], "hot")
    folded = subprocess.run([run.sonde, "export", trace, "--to", "folded", "-o", "-"],
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                            text=True, check=True).stdout
    true("folded", any("<module> (hot.py:7);hot (hot.py:" in line
                       for line in folded.splitlines()))
    for to in ("flame", "speedscope", "firefox"):
        text = subprocess.run([run.sonde, "export", trace, "--to", to, "-o", "-"],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              text=True, check=True).stdout
        true(to, "hot" in text and "hot.py" in text)
    page = subprocess.run([run.sonde, "report", trace, "--html", "-"],
                          stdout=subprocess.PIPE, text=True, check=True).stdout
    true("the source of the hottest line",
         "<code>        sum(range(100))</code>" in page)


def recycled_code_keeps_its_names():
    trace, output = record(script("recycled.py", RECYCLED))
    made = int(output)
    rows = json.loads(subprocess.run(
        [run.sonde, "query", "--json", trace,
         "SELECT s.ts, t.function FROM sample s JOIN stack t ON t.id = s.stack_id "
         "WHERE t.function LIKE 'name_%' ORDER BY s.ts"],
        stdout=subprocess.PIPE, check=True).stdout)
    numbers = [int(name[5:]) for _, name in rows["rows"]]
    true("too few samples", len(numbers) > 50)
    true("a name came back", numbers == sorted(numbers))
    # Each lives for one sample or so: a name that is remembered too long shows.
    true("the same name too often", len(set(numbers)) > len(numbers) / 4)
    true("a number that never was", numbers[-1] <= made)


def a_sleeper_is_not_charged():
    trace, _ = record(script("waits.py", WAITS))
    by = owns(report(trace))
    true("worker", by.get("worker", 0) > 1.0e9)
    true("sleeper", by.get("sleeper", 0) < 0.1 * by.get("worker", 1))


def waits(name, python, minor):
    trace, _ = record(script("places.py", PLACES), python=python)
    by = {}
    for wait in report(trace)["waits"]:
        at = wait["own"] and last_name(wait["own"]["function"])
        if at in WAIT_OF:
            # Up to 3.10 a sleep is a select() without files.
            kind = "sleep" if minor < 11 and wait["kind"] == "event" else wait["kind"]
            by[at, kind] = by.get((at, kind), 0) + wait["wait_ns"] / 1e9
    for at, kind in WAIT_OF.items():
        got = by.get((at, kind), 0)
        # Sonde comes within half a second; then the time is the kernel's.
        true(f"{at}: {got:.2f} s of {kind}: {by}", 1.6 < got < 3.6)


def a_deadlock_is_told_its_lines():
    trace, _ = record("7", "/usr/bin/python3", script("deadlock.py", DEADLOCK),
                      python="timeout", status=124)
    told = report(trace)["findings"][0]
    equal("rule", told["rule"], "hung")
    equal("function", told["where"]["function"], "take")
    equal("line", told["where"]["line"], 7)
    true("both threads are named",
         sum(e["text"].count("stood in take (deadlock.py:7)")
             for e in told["evidence"]) == 2)


def a_hang_is_shown_at_once():
    done = subprocess.run([run.sonde, "run", "--force", "--hang", "2s", "-o",
                           run.path("t.sonde"), "--", "timeout", "6",
                           "/usr/bin/python3", script("deadlock.py", DEADLOCK)],
                          stderr=subprocess.PIPE, text=True, timeout=60)
    equal("status", done.returncode, 124)
    shown = done.stderr.split("Hung:")[0]
    equal("said once", shown.count("has done nothing for 2.00 s"), 1)
    equal("both threads", shown.count("take ("), 2)
    for time in ("5", "0s", "x", "0.5s"):
        done = subprocess.run([run.sonde, "run", "--hang", time, "--", "true"],
                              stderr=subprocess.PIPE, text=True)
        equal(f"--hang {time}", (done.returncode, "--hang is a time" in done.stderr),
              (125, True))


def a_python_that_is_loaded_late(by):
    libraries = [found for _, path, _ in pythons() for found in glob.glob(
        os.path.join(os.path.dirname(path), "../lib/libpython3.*.so.1.0"))]
    if not libraries:
        raise Skip("no Python that is a shared library")
    library = os.path.realpath(libraries[-1])
    program = run.path("late")
    subprocess.run(["c++", "-o", program, script("late.cc", LATE)], check=True)
    home = os.path.dirname(os.path.dirname(library))
    work = ("import time\ndef late():\n while time.process_time() < 2.3: "
            "sum(range(1000))\nlate()")
    trace, _ = record(f"PYTHONHOME={home}", program, library, work, python="env",
                      options=("--stacks-by", by))
    got = owns(report(trace)).get("late", 0) / 1e9
    true(f"late(): {got:.2f} s", 1 < got < 2)


def those_that_live_shortly_are_seen():
    trace, _ = record(script("short.py", SHORT))
    told = report(trace)
    by = owns(told)
    # Sonde comes some hundredths of a second after the start of a program.
    true(f"forked ones: {by.get('forked', 0) / 1e9:.2f} s", by.get("forked", 0) > 1.5e9)
    true(f"started ones: {by.get('started', 0) / 1e9:.2f} s",
         by.get("started", 0) > 1.0e9)


def stacks_can_be_off():
    trace, _ = record(script("shares.py", SHARES), "0.5", options=("--stacks", "off"),
                      status=3)
    equal("sampling", report(trace)["sampling"], None)


def paused_time_is_not_sampled():
    program = script("shares.py", SHARES)
    trace, _ = record(program, "2.4", options=("--delay", "1s"), status=3)
    told = report(trace)
    true("sampled in the delay", told["sampling"]["sampled_ns"] <
         told["run"]["cpu_ns"] - 0.3e9)


def samples_survive_a_kill():
    program = script("shares.py", SHARES)
    trace = run.path("k.sonde")
    sonde = subprocess.Popen([run.sonde, "run", "--force", "--quiet", "-o", trace,
                              "--", "/usr/bin/python3", program, "60"],
                             stdout=subprocess.DEVNULL, start_new_session=True)
    try:
        wait_for("samples", lambda: os.path.exists(trace) and
                 (report(trace)["sampling"] or {}).get("samples", 0) > 50)
    finally:
        sonde.kill()
        sonde.wait()
    before = report(trace)["sampling"]["samples"]
    subprocess.run(["pkill", "-f", program], check=False)
    subprocess.run([run.sonde, "recover", trace, "--quiet"], check=True)
    told = report(trace)
    true("samples were lost", told["sampling"]["samples"] >= before)
    true("names were lost", {"two", "three"} <= set(owns(told)))


def wrong_rates_are_refused():
    for rate in ("0", "2000", "fast", "-1"):
        done = subprocess.run([run.sonde, "run", f"--stacks={rate}", "--", "true"],
                              stderr=subprocess.PIPE, text=True)
        equal(f"status for {rate}", done.returncode, 125)
        true(done.stderr, "--stacks is from 1 to 1000 Hz" in done.stderr)


for one in pythons():
    if 8 <= one[2] <= 14:
        run.case(f"shares_{one[0]}", shares, *one)
for one in pythons():
    if 8 <= one[2] <= 14:
        run.case(f"waits_{one[0]}", waits, *one)
run.case("a_deadlock_is_told_its_lines", a_deadlock_is_told_its_lines)
run.case("a_hang_is_shown_at_once", a_hang_is_shown_at_once)
for one in ("proc", "perf"):
    run.case(f"a_python_that_is_loaded_late_by_{one}", a_python_that_is_loaded_late, one)
run.case("those_that_live_shortly_are_seen", those_that_live_shortly_are_seen)
run.case("stacks_can_be_off", stacks_can_be_off)
run.case("the_hottest_function_is_named", the_hottest_function_is_named)
run.case("recycled_code_keeps_its_names", recycled_code_keeps_its_names)
run.case("a_sleeper_is_not_charged", a_sleeper_is_not_charged)
run.case("paused_time_is_not_sampled", paused_time_is_not_sampled)
run.case("samples_survive_a_kill", samples_survive_a_kill)
run.case("wrong_rates_are_refused", wrong_rates_are_refused)
run.done()
