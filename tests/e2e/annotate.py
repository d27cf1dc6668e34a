#!/usr/bin/python3
"""Annotations: what a program says of itself is in the trace, or counted.

The targets are those of guest_test.py; here the real collector records them.
"""

import glob
import json
import os
import re
import signal
import subprocess
import sys
import time

from common import Runner, children_of, equal, true, wait_for

run = Runner()
BUILD = os.path.dirname(os.path.dirname(run.sonde))
LIFE = os.path.join(BUILD, "tests", "guest", "life")
TALK = os.path.join(BUILD, "tests", "guest", "talk")
LIBRARY = os.path.join(BUILD, "src", "libsonde.so.1")


def query(trace, sql):
    done = subprocess.run([run.sonde, "query", "--json", trace, sql],
                          capture_output=True, text=True, timeout=60)
    equal(f"query, which said {done.stderr!r}", done.returncode, 0)
    return json.loads(done.stdout)["rows"]


def count(trace, name):
    rows = query(trace, f"SELECT count FROM top_ops() WHERE name = '{name}'")
    return rows[0][0] if rows else 0


def lost(trace):
    rows = query(trace, "SELECT sum(count) FROM loss WHERE reason LIKE 'ring-%'")
    return rows[0][0] or 0


def life(*words, before=None):
    """Runs a target, and returns its trace and how many records it made."""
    trace = run.path("t.sonde")
    process = subprocess.Popen([run.sonde, "run", "--quiet", "-o", trace, "--",
                                LIFE, *map(str, words)],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True)
    if before:
        before(process)
    out, err = process.communicate(timeout=120)
    equal("status", (process.returncode, err), (0, ""))
    return trace, int(re.search(r"produced (\d+)", out)[1])


def conserved(trace, made):
    """Everything is there or counted."""
    seen, gone = count(trace, "one"), lost(trace)
    true(f"{seen} + {gone} = {made}", seen + gone == made)
    return seen


def mode(name, number, all_seen):
    def test():
        trace, made = life(name, number)
        seen = conserved(trace, made)
        if all_seen:
            equal("seen", seen, made)
    return test


def runs_life(pid):
    try:
        return os.path.samefile(f"/proc/{pid}/exe", LIFE)
    except FileNotFoundError:
        return False


def a_stopped_collector_costs_records_and_says_so():
    """Fault 28, a full ring: recorded + lost = produced."""
    def stop(process):
        wait_for("the target", lambda: any(runs_life(p) for p in children_of(process.pid)))
        time.sleep(0.3)
        process.send_signal(signal.SIGSTOP)
        time.sleep(1.5)
        process.send_signal(signal.SIGCONT)
    # Threads that record as fast as they can, for about as long.
    trace, made = life("fork", 200, before=stop)
    seen = conserved(trace, made)
    true(f"{made - seen} lost", seen < made)


def a_pause_leaves_out_and_a_resume_goes_on():
    trace = run.path("t.sonde")
    process = subprocess.Popen([run.sonde, "run", "--quiet", "-o", trace, "--",
                                TALK, "3"], stdout=subprocess.PIPE)
    wait_for("the session to answer", lambda: run.ctl(
        "status", "--session", str(process.pid)).returncode == 0)
    time.sleep(0.5)
    equal("pause", run.ctl("pause", "--session", str(process.pid)).returncode, 0)
    time.sleep(1)
    equal("resume", run.ctl("resume", "--session", str(process.pid)).returncode, 0)
    out = process.communicate(timeout=30)[0]
    made = int(re.search(rb"produced (\d+)", out)[1])
    rows = query(trace, "SELECT ts, dur FROM slice WHERE name = 'paused'")
    equal("pauses", len(rows), 1)
    begin, dur = rows[0]
    # The first moments of a pause and of what follows are not exact.
    inside = query(trace, "SELECT count(*) FROM slice WHERE name = 'step' AND "
                          f"ts > {begin + 5 * 10**7} AND ts < {begin + dur}")[0][0]
    equal("steps while paused", inside, 0)
    seen = count(trace, "step")
    # There are some from before it, and some from after it.
    true(f"{seen} of {made}", made * 0.2 < seen < made * 0.9)
    after = query(trace, "SELECT count(*) FROM slice WHERE name = 'step' AND "
                         f"ts > {begin + dur}")[0][0]
    true(f"{after} of {seen} after it", 0 < after < seen)


def everything_a_program_can_say_is_there():
    trace = run.path("t.sonde")
    done = subprocess.run([run.sonde, "run", "--quiet", "-o", trace, "--", TALK, "0.3"],
                          capture_output=True, text=True, timeout=30)
    equal("status", done.returncode, 0)
    made = int(re.search(r"produced (\d+)", done.stdout)[1])
    equal("steps", count(trace, "step"), made)
    equal("arguments", query(
        trace, "SELECT count(*) FROM slice WHERE name = 'step' AND category = 'ml' "
               "AND arg_set_id > 0"), [[made]])
    equal("names", query(trace, "SELECT count(*) FROM thread WHERE name = 'talker'"),
          [[1]])
    equal("the process", query(trace, "SELECT name FROM process WHERE name = 'chatty'"),
          [["chatty"]])
    rows = query(trace, "SELECT dur FROM slice WHERE name = 'on the device'")
    equal("device slices", len(rows), made)
    true(f"a millisecond each, by the device's clock: {rows[:3]}",
         all(abs(row[0] - 10**6) < 1000 for row in rows))
    equal("ranges", count(trace, "request"), made)
    equal("flows", query(trace, "SELECT count(*) FROM flow")[0][0], made)
    unfinished = query(trace, "SELECT count(*) FROM slice WHERE name = 'never ends' "
                              "AND unfinished")
    equal("what never ended", unfinished, [[1]])


def who_speaks_is_told_apart():
    """Slices of one thread by three speakers, and a device's queue."""
    trace = run.path("t.sonde")
    done = subprocess.run([run.sonde, "run", "--quiet", "-o", trace, "--", TALK, "0.3"],
                          capture_output=True, text=True, timeout=30)
    equal("status", done.returncode, 0)
    made = int(re.search(r"produced (\d+)", done.stdout)[1])
    rows = query(trace, """
        SELECT slice.name, class, slice.source, depth, kind, track.source, count(*)
        FROM slice JOIN track ON track_id = track.id
        WHERE slice.name IN ('step', 'phase', 'usleep', 'on the device')
        GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY 1""")
    equal("speakers", rows, [
        ["on the device", "device", "driver", 0, "queue", "driver", made],
        ["phase", "program", "nvtx", 1, "thread", "api", made],
        ["step", "program", "api", 0, "thread", "api", made],
        ["usleep", "call", "calls", 2, "thread", "api", made]])
    equal("the queue", query(
        trace, "SELECT queue.clock, queue.position, card.name FROM track AS queue "
               "JOIN track AS card ON card.id = queue.parent_id"), [["device", 1, "card"]])
    # One nest: the step's own time is without the call in it.
    total, own = query(trace, "SELECT total_ns, self_ns FROM top_ops() "
                              "WHERE name = 'step'")[0]
    true(f"{own} of {total} is the step's own", own < total - made * 2 * 10**6)
    equal("the device apart", query(
        trace, "SELECT name FROM top_ops() WHERE device"), [["on the device"]])


# Calls what docs/annotate.md shows.
PAGE_MAIN = """
#include <time.h>
static uint64_t device_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000 + 777;
}
int main(void) {
  open_device(device_us());
  for (int i = 0; i < 5; ++i) {
    load(i, "/data");
    take(hand_over());
    const uint64_t end = device_us() + 2000;
    while (device_us() < end) {}
    copied(end - 1500, end - 500);
    measure(i, i / 4.0);
    watched_sync(1);
  }
  close_device(device_us());
  return 0;
}
"""


ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def compile_and_record(compiler, name, text):
    """The trace of a program, which must compile without a warning."""
    trace, source, program = run.path("t.sonde"), run.path(name), run.path("page")
    with open(source, "w") as file:
        file.write(text)
    built = subprocess.run(
        [*compiler, "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{ROOT}/include", source,
         LIBRARY, f"-Wl,-rpath,{os.path.dirname(LIBRARY)}", "-o", program],
        capture_output=True, text=True)
    equal("compiler", (built.returncode, built.stderr), (0, ""))
    done = subprocess.run([run.sonde, "run", "--quiet", "-o", trace, "--", program],
                          capture_output=True, text=True, timeout=30)
    equal("status", (done.returncode, done.stderr), (0, ""))
    equal("lost", lost(trace), 0)
    return trace


def the_examples_of_the_page_compile_and_work():
    with open(os.path.join(ROOT, "docs", "annotate.md")) as page:
        blocks = re.findall(r"^```c\n(.*?)^```", page.read(), re.M | re.S)
    equal("examples", len(blocks), 5)
    trace = compile_and_record(["cc", "-std=c99", "-D_POSIX_C_SOURCE=200809L"], "page.c",
                               "\n".join(blocks) + PAGE_MAIN)
    equal("arguments", query(
        trace, "SELECT key, value FROM slice JOIN arg ON set_id = arg_set_id "
               "WHERE slice.name = 'load' ORDER BY ts, key LIMIT 4"),
          [["batch", 0], ["path", "/data"], ["batch", 1], ["path", "/data"]])
    equal("flows", query(trace, "SELECT count(*) FROM flow")[0][0], 5)
    equal("calls", query(trace, "SELECT class, source, count(*) FROM slice "
                                "WHERE name = 'fsync' GROUP BY 1, 2"), [["call", "calls", 5]])
    rows = query(trace, "SELECT dur FROM slice JOIN track ON track_id = track.id "
                        "WHERE slice.name = 'copy' AND track.name = 'device queue'")
    true(f"copies of a millisecond: {rows}",
         len(rows) == 5 and all(abs(row[0] - 10**6) < 10**4 for row in rows))
    for name, last in ("waiting", 4), ("loss", 1), ("requests", 5):
        equal(name, query(trace, "SELECT last FROM series_stats() JOIN series ON "
                                 f"id = series_id WHERE name = '{name}'"), [[last]])


CPP_MAIN = """
int main() {
  for (int i = 0; i < 3; ++i) LoadBatch(i, "/data", 3 - i);
  Answer();
}
"""


def the_cpp_example_of_the_page_compiles_and_works():
    with open(os.path.join(ROOT, "docs", "annotate.md")) as page:
        block = re.search(r"^## In C\+\+\n.*?^```cpp\n(.*?)^```", page.read(), re.M | re.S)
    trace = compile_and_record(["c++", "-std=c++17", "-pthread"], "page.cc",
                               block[1] + CPP_MAIN)
    equal("arguments", query(
        trace, "SELECT key, value FROM slice JOIN arg ON set_id = arg_set_id "
               "WHERE slice.name = 'batch' AND category = 'input' ORDER BY ts, key LIMIT 2"),
          [["number", 0], ["path", "/data"]])
    equal("counter", query(trace, "SELECT last, unit FROM series_stats() JOIN series ON "
                                  "id = series_id WHERE name = 'queue'"), [[1, "batches"]])
    equal("the row of the thread", query(
        trace, "SELECT track.name FROM slice JOIN track ON track_id = track.id "
               "WHERE slice.name = 'work'"), [["worker"]])
    equal("range", query(trace, "SELECT count(*) FROM slice WHERE name = 'request' "
                                "AND NOT unfinished"), [[1]])


def a_target_that_scribbles_loses_its_own_and_nothing_else():
    """Fault 29, garbage in a ring: another process of the run writes over the
    ring of one of two talkers."""
    trace = run.path("t.sonde")
    script = f"""
        {TALK} 2 > {trace}.good & {TALK} 2 > {trace}.bad & bad=$!
        until ls $SONDE_SESSION/$bad-*.ring > /dev/null 2>&1; do sleep 0.05; done
        sleep 0.3
        for ring in $SONDE_SESSION/$bad-*.ring; do
          dd if=/dev/urandom of=$ring bs=4096 seek=1040 count=64 conv=notrunc 2>/dev/null
        done
        wait"""
    done = subprocess.run([run.sonde, "run", "--quiet", "-o", trace, "--", "sh", "-c",
                           script], capture_output=True, text=True, timeout=60)
    equal("status", (done.returncode, done.stderr), (0, ""))
    with open(trace + ".good") as file:
        made = int(re.search(r"produced (\d+)", file.read())[1])
    rows = query(trace, "SELECT process_id, count(*) FROM slice JOIN track ON "
                        "track_id = track.id WHERE slice.name = 'step' GROUP BY 1")
    true(f"{made} in {rows}", any(row[1] == made for row in rows))
    true("the damage is told", lost(trace) > 0)
    run.check(trace)


def no_session_directory_is_left():
    left = glob.glob(f"/dev/shm/sonde-{os.getuid()}-*")
    life("plain", 1000)
    new = set(glob.glob(f"/dev/shm/sonde-{os.getuid()}-*")) - set(left)
    equal("left", new, set())


def twins_with_the_library_in_the_target():
    """Fault 1 again: every twin run, with libsonde.so loaded into every process."""
    twins = os.path.join(os.path.dirname(os.path.abspath(__file__)), "twins.py")
    done = subprocess.run([sys.executable, twins, run.sonde], capture_output=True, text=True, timeout=400,
                          env=dict(os.environ, LD_PRELOAD=LIBRARY))
    bad = [line for line in done.stdout.splitlines() if line.startswith("FAIL")]
    equal("twins", (done.returncode, bad), (0, []))


for name, number, all_seen in (("plain", 300000, True), ("fork", 30, False),
                               ("vfork", 30, True), ("exec", 50, True),
                               ("destructors", 50, True), ("atexit", 10, True),
                               ("dlclose", 100, True), ("signals", 300000, False),
                               ("seccomp", 4000, True),
                               ("seccomp", 500000, False),
                               ("rawseccomp", 4000, True),
                               ("sandbox", 500000, False)):
    run.case(f"{name}_{number}_is_there_or_counted", mode(name, number, all_seen))
for test in (a_stopped_collector_costs_records_and_says_so,
             a_pause_leaves_out_and_a_resume_goes_on,
             everything_a_program_can_say_is_there,
             who_speaks_is_told_apart,
             the_examples_of_the_page_compile_and_work,
             the_cpp_example_of_the_page_compiles_and_works,
             a_target_that_scribbles_loses_its_own_and_nothing_else,
             no_session_directory_is_left,
             twins_with_the_library_in_the_target):
    run.case(test.__name__, test)
run.done()
