#!/usr/bin/python3
"""Where native code sleeps: the functions that called, from outside.

Fault 8: another program under the reader.
Fault 17: the memory of a target is read, which may vanish, change or lie.
"""

import json
import os
import re
import subprocess
import sys
import textwrap
import time

from common import Runner, equal, reap, true, wait_for

run = Runner()

WAITS = textwrap.dedent('''\
    #include <pthread.h>
    #include <stdio.h>
    #include <sys/wait.h>
    #include <time.h>
    #include <unistd.h>

    #define ALONE __attribute__((noinline))
    static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
    static pthread_mutex_t other = PTHREAD_MUTEX_INITIALIZER;
    static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
    static int ends[2];
    static pid_t child;
    static volatile int sink;
    typedef int Wait(int);

    ALONE int wait_for_mutex(int n) {
      return pthread_mutex_lock(&held) + n + sink;
    }
    ALONE int wait_for_condition(int n) {
      pthread_mutex_lock(&other);
      return pthread_cond_wait(&never, &other) + n + sink;
    }
    ALONE int wait_for_pipe(int n) {
      char c;
      return (int)read(ends[0], &c, 1) + n + sink;
    }
    ALONE int wait_for_time(int n) {
      struct timespec t = {1000, 0};
      return nanosleep(&t, 0) + n + sink;
    }
    ALONE int wait_for_child(int n) {
      int status;
      return waitpid(child, &status, 0) + n + sink;
    }
    // Deeper than what is copied first.
    ALONE int through(Wait* wait, int n) {
      volatile char room[20000];
      room[n] = 1;
      return wait(n) + room[n] + sink;
    }
    static void* start(void* wait) {
      sink = through((Wait*)wait, 7);
      return 0;
    }
    int main(int argc, char** argv) {
      if (pipe(ends) != 0) return 1;
      const pid_t above = getpid();
      child = fork();
      if (child == 0) {
        while (getppid() == above) sleep(1);
        _exit(0);
      }
      pthread_mutex_lock(&held);
      Wait* all[] = {wait_for_mutex, wait_for_condition, wait_for_pipe,
                     wait_for_time};
      pthread_t t;
      for (int i = 0; i < 4; ++i) pthread_create(&t, 0, start, (void*)all[i]);
      puts("ready");
      fflush(stdout);
      if (argc > 1) {
        struct timespec t = {3, 0};
        nanosleep(&t, 0);
        return 0;
      }
      sink = through(wait_for_child, 3);
      return argc;
    }
    ''')
NAMES = {"wait_for_mutex": "futex", "wait_for_condition": "futex",
         "wait_for_pipe": "read", "wait_for_time": "nanosleep",
         "wait_for_child": "wait4"}

LIBRARY = textwrap.dedent('''\
    #include <time.h>
    static volatile int sink;
    __attribute__((noinline)) int rest_in_c(int seconds) {
      struct timespec t = {seconds, 0};
      return nanosleep(&t, 0) + sink;
    }
    __attribute__((noinline)) int call_c(int seconds) {
      return rest_in_c(seconds) + sink;
    }
    ''')

CALLS = textwrap.dedent('''\
    import ctypes, sys
    library = ctypes.CDLL(sys.argv[1])

    def inner():
        return library.call_c(int(sys.argv[2]))

    def outer():
        return inner()

    print("ready", flush=True)
    outer()
    ''')

BY = ("proc", "perf", "bpf") if os.getuid() == 0 else ("proc", "perf")

# Threads that come and go, and a process that becomes another program.
SHORT = textwrap.dedent('''\
    #include <pthread.h>
    #include <stdio.h>
    #include <stdlib.h>
    #include <time.h>
    #include <unistd.h>
    static void* nap(void* longer) {
      struct timespec t = {0, longer ? 5000000 : 300000};
      nanosleep(&t, 0);
      return longer;
    }
    int main(int argc, char** argv) {
      if (argc < 2) puts("ready"), fflush(stdout);
      const time_t end = argc < 2 ? time(0) + 5 : atol(argv[1]);
      for (int i = 0; i < 50; ++i) {
        pthread_t t[4];
        for (int k = 0; k < 4; ++k) pthread_create(&t[k], 0, nap, k % 2 ? t : 0);
        for (int k = 0; k < 4; ++k) pthread_join(t[k], 0);
      }
      if (time(0) >= end) return 5;
      char until[32];
      snprintf(until, sizeof(until), "%ld", (long)end);
      execl(argv[0], argv[0], until, (char*)0);
      return 1;
    }
    ''')


def compiled(name, text, *options):
    source, out = run.path(name + ".c"), run.path(name)
    with open(source, "w") as f:
        f.write(text)
    subprocess.run(["gcc", "-O2", "-fomit-frame-pointer", "-g", *options, source,
                    "-o", out, "-pthread"], check=True)
    return out


class Started:
    """A program that has said it is ready."""

    def __init__(self, *words):
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE)
        self.pid = self.process.pid
        equal("its first line", self.process.stdout.readline(), b"ready\n")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def threads(pid):
    done = subprocess.run([run.sonde, "stacks", str(pid), "--json"],
                          capture_output=True, text=True, timeout=30)
    equal(f"status ({done.stderr})", done.returncode, 0)
    return json.loads(done.stdout)["processes"][0]["threads"]


def functions(thread):
    return [f["function"] for f in thread["frames"]]


def who_called_is_named():
    program = compiled("waits", WAITS)
    with Started(program) as started:
        def seen():
            out = {}
            for thread in threads(started.pid):
                for name in set(functions(thread)) & set(NAMES):
                    out[name] = thread
            return out if set(out) == set(NAMES) else None
        for name, thread in wait_for("all five to sleep", seen).items():
            true(f"{name}: {thread['waits']}", NAMES[name] in thread["waits"])
            names = functions(thread)
            equal(f"callers {names}", names[names.index(name) + 1], "through")
            true(f"callers {names}", {"start", "main"} & set(names))
            equal("approximate", thread["approximate"], False)
            equal("cut", thread["cut"], False)
            frame = thread["frames"][names.index(name)]
            equal("frame", (frame["language"], frame["module"]), ("native", program))
            true(f"its line {frame}", frame["file"].endswith("waits.c") and
                 WAITS.splitlines()[frame["line"] - 1].startswith("  return "))
            libc = [f for f in thread["frames"][:names.index(name)]]
            true(f"the C library comes first {libc}",
                 libc and all("libc" in f["module"] for f in libc))
        text = subprocess.run([run.sonde, "stacks", str(started.pid)], text=True,
                              capture_output=True).stdout
        true(text, re.search(r"\n    wait_for_pipe \(\S+/waits\.c:\d+\)\n", text))


def recorded(*words, status=0):
    trace = run.path("t.sonde")
    done = subprocess.run([run.sonde, "run", "--force", "--quiet", "-o", trace, *words],
                          capture_output=True, text=True, timeout=60)
    equal(f"status ({done.stderr})", done.returncode, status)
    told = subprocess.run([run.sonde, "report", "--json", trace],
                          capture_output=True, check=True).stdout
    return json.loads(told)


def a_recording_tells_where_native_code_waits(by):
    """Three seconds at each place, the first of them before anybody looks."""
    told = recorded("--stacks-by", by, "--", compiled("waits", WAITS), "1")
    waits = [w for w in told["waits"] if w["process"] == 1]
    for name, call in {**NAMES, "main": "nanosleep"}.items():
        if name == "wait_for_child":
            continue
        at = [w for w in waits if w["own"] and w["own"]["function"] == name]
        equal(f"one place of {name} in {waits}", len(at), 1)
        true(f"{name}: {at}", call in at[0]["call"] and
             at[0]["own"]["file"].endswith("waits.c") and
             2.2e9 < at[0]["wait_ns"] < 3.2e9)
        true(f"{name}: what it called: {at}", at[0]["library"])
    first = told["findings"][0]
    equal("rule", first["rule"], "waiting")
    equal("where", first["where"]["function"], "main")
    true("how", "for a time to pass" in first["summary"])
    # They did not run, so they have no CPU time to be divided.
    true(told["sampling"], not told["sampling"] or
         told["sampling"]["sampled_ns"] < 0.2e9)


def who_waits_for_a_child_is_not_the_one():
    told = recorded("--", "bash", "-c", f"{compiled('waits', WAITS)} 1; exit 4",
                    status=4)
    first = told["findings"][0]
    equal("rule", first["rule"], "waiting")
    equal("where", first["where"]["function"], "main")


def python_calls_c_that_sleeps():
    library = compiled("librests.so", LIBRARY, "-shared", "-fPIC")
    script = run.path("calls.py")
    with open(script, "w") as f:
        f.write(CALLS)
    with Started("/usr/bin/python3", script, library, "1000") as started:
        def seen():
            thread, = threads(started.pid)
            return thread if "rest_in_c" in functions(thread) else None
        thread = wait_for("C to sleep", seen)
        names = functions(thread)
        order = [names.index(one) for one in
                 ["rest_in_c", "call_c", "inner", "outer", "<module>"]]
        equal(f"order of {names}", order, sorted(order))
        true(f"libc is innermost: {names}", "nanosleep" in names[0])
        by = {f["function"]: f["language"] for f in thread["frames"]}
        equal("languages", (by["rest_in_c"], by["inner"]), ("native", "python"))
        equal("approximate", thread["approximate"], False)


def a_recording_tells_what_python_called(by):
    library = compiled("librests.so", LIBRARY, "-shared", "-fPIC")
    script = run.path("calls.py")
    with open(script, "w") as f:
        f.write(CALLS + "import time\ntime.sleep(1.5)\n")
    told = recorded("--stacks-by", by, "--", "/usr/bin/python3", script, library, "2")
    waits = {w["own"]["function"]: w for w in told["waits"] if w["own"]}
    equal("own functions", set(waits), {"rest_in_c", "<module>"})
    true(waits, 1.7e9 < waits["rest_in_c"]["wait_ns"] < 2.2e9 and
         1.2e9 < waits["<module>"]["wait_ns"] < 1.7e9)
    true(waits, "nanosleep" in waits["rest_in_c"]["library"]["function"])
    equal("what sleep() called", waits["<module>"]["library"], None)


def threads_that_end_and_another_program():
    """The reader says what it saw, and the program ends as without it."""
    program = compiled("short", SHORT)
    with Started(program) as started:
        naps = 0
        while started.process.poll() is None:
            done = subprocess.run([run.sonde, "stacks", str(started.pid), "--json"],
                                  capture_output=True, text=True, timeout=30)
            true(done.stderr, done.returncode in (0, 1))
            if done.returncode == 0:
                for thread in json.loads(done.stdout)["processes"][0]["threads"]:
                    names = functions(thread)
                    naps += "nap" in names
                    if not thread["approximate"] and "nap" in names:
                        true(f"no thread naps in main: {names}", "main" not in names)
            time.sleep(0.01)
        equal("status", reap(started.process), 5)
        true(f"{naps} naps were seen", naps > 0)


if os.uname().machine != "x86_64":
    print(f"ok stacks are not read on {os.uname().machine}")
    sys.exit(0)

run.case("who_called_is_named", who_called_is_named)
for one in BY:
    run.case(f"a_recording_tells_where_native_code_waits_by_{one}",
             a_recording_tells_where_native_code_waits, one)
run.case("who_waits_for_a_child_is_not_the_one", who_waits_for_a_child_is_not_the_one)
run.case("python_calls_c_that_sleeps", python_calls_c_that_sleeps)
for one in BY:
    run.case(f"a_recording_tells_what_python_called_by_{one}",
             a_recording_tells_what_python_called, one)
run.case("threads_that_end_and_another_program", threads_that_end_and_another_program)
run.done()
