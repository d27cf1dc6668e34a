#!/usr/bin/python3
"""`sonde stacks` shows where the threads of real Pythons are, and leaves them alone.

The Pythons are those that are here: /usr/bin/python3, those of pyenv, and those that
$SONDE_PYTHONS names, with colons between.
Fault 17: the memory of a target is read, which may vanish, change or lie.
Fault 24: interpreters are read as they run, fork and end.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import textwrap
import time

from common import Runner, Skip, equal, reap, true, wait_for
from python_versions import pythons

run = Runner()

# A comment "at NAME" marks the line where a frame of that function must stand.
SLEEPS = textwrap.dedent('''\
    import os, sys, threading, time


    class Worker:
        def run(self):
            def inner():
                self.deep(3)  # at inner
            inner()  # at run

        def deep(self, n):
            if n:
                return self.deep(n - 1)  # at deep
            for _ in numbers():  # at deepest
                pass


    def numbers():
        yield 1
        ready.release()
        time.sleep(  # at numbers
            1000)


    def through_c(_):
        ready.release()

        time.sleep(1000)  # at through_c


    def h\\u00e9(items):
        sorted(items, key=through_c)  # at h\\u00e9


    ready = threading.Semaphore(0)
    threading.Thread(target=Worker().run, daemon=True).start()
    ready.acquire()
    threading.Thread(target=lambda: (ready.acquire(), print(os.getpid(), flush=True)),
                     daemon=True).start()
    h\\u00e9([1])  # at <module>
    ''').encode().decode("unicode_escape")

BUSY = textwrap.dedent('''\
    import os, sys

    def even(n):
        return n if n < 2 else odd(n - 1)

    def odd(n):
        return n if n < 2 else even(n - 1)

    def work(rounds):
        total = 0
        for i in range(rounds):
            total += even(i % 20)
        return total

    print("ready", flush=True)
    wrong = 0
    while not os.access(sys.argv[1], os.F_OK):  # no function of Python
        wrong += work(20000) != 19000
    print("wrong:", wrong)
    sys.exit(7)
    ''')

FORKS = textwrap.dedent('''\
    import os, time

    def child():
        time.sleep(1000)  # at child

    def parent():
        if os.fork() == 0:
            child()  # at fork
        time.sleep(1000)  # at parent

    parent()  # at <module>
    ''')

RECURSES = textwrap.dedent('''\
    import sys, time
    sys.setrecursionlimit(5000)

    def down(n):
        if n == 0:
            print("ready", flush=True)
            time.sleep(1000)
        down(n - 1)

    down(1500)
    ''')


class Program:
    """A Python program that has said it is ready."""

    def __init__(self, python, text, *args, prefix=(), env=None):
        self.path = run.path("program.py")
        with open(self.path, "w", encoding="utf-8") as f:
            f.write(text)
        self.lines = {match[1]: number for number, line in
                      enumerate(text.splitlines(), 1)
                      if (match := re.search(r"# at (\S+)$", line))}
        self.process = subprocess.Popen(
            [*prefix, python, self.path, *args], stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, env=env, start_new_session=True)
        self.pid = self.process.pid

    def ready(self):
        self.first = self.process.stdout.readline().decode()
        true(f"the program says it is ready, not {self.first!r}", self.first.strip())
        return self

    def frames(self, *names):
        """Frames of this program as `stacks --json` must have them."""
        return [(name.split("@")[0], self.path, self.lines[name.split("@")[-1]])
                for name in names]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        self.process.stdout.close()


def stacks(pid, *options, status=0):
    done = subprocess.run([run.sonde, "stacks", str(pid), *options],
                          capture_output=True, text=True, timeout=30)
    equal(f"status ({done.stderr})", done.returncode, status)
    return done


def found(pid, *options):
    """The processes of `stacks --json`."""
    out = json.loads(stacks(pid, "--json", *options).stdout)
    equal("version", out["version"], 1)
    return out["processes"]


def frames_of(thread):
    return [(f["function"], f["file"], f["line"])
            for stack in thread["stacks"] for f in stack["frames"]]


def own(frames, path):
    return [frame for frame in frames if frame[1] == path]


def asleep(pid, count=1):
    """The process, once `count` of its threads are asleep in a sleep and none is
    about to end."""
    def look():
        process = found(pid)[0]
        sleeping = [t for t in process["threads"] if t["state"] == "asleep"
                    and re.search("nanosleep|select", t["waits"] or "")]
        return process if len(sleeping) >= count and not process["unmatched"] else None
    return wait_for("the program to sleep", look)


def sleeping_stacks_are_exact(python, minor):
    with Program(python, SLEEPS) as program:
        program.ready()
        check_sleeping(program, minor, asleep(program.pid, 2))
        check_text(program, minor)


def check_sleeping(program, minor, process):
    true(f"version {process['python']}",
         process["python"]["version"].startswith(f"3.{minor}"))
    equal("error", process["error"], None)
    equal("complete", process["complete"], True)
    equal("unmatched", process["unmatched"], [])
    main = process["threads"][0]
    equal("frames of the main thread", frames_of(main),
          program.frames("through_c", "h\u00e9", "<module>"))
    worker = next(t for t in process["threads"][1:] if t["stacks"])
    names = (["numbers", "Worker.deep@deepest", *["Worker.deep@deep"] * 3,
              "Worker.run.<locals>.inner@inner", "Worker.run@run"] if minor >= 11 else
             ["numbers", "deep@deepest", *["deep"] * 3, "inner", "run"])
    equal("frames of the thread", own(frames_of(worker), program.path),
          program.frames(*names))
    for thread in (main, worker):
        equal("approximate", [s["approximate"] for s in thread["stacks"]], [False])
        equal("cut", [s["cut"] for s in thread["stacks"]], [False])
        equal("GIL", [s["holds_gil"] for s in thread["stacks"]], [False])
        true("CPU time", thread["cpu_ns"] > 0)


def check_text(program, minor):
    text = stacks(program.pid).stdout
    true(text, f", Python 3.{minor}" in text.splitlines()[0])
    line = program.lines["through_c"]
    # The interpreter's sorting may have its place between the two.
    true(text, re.search(rf"\n    through_c \({re.escape(program.path)}:{line}\)\n"
                         r"(    \w+ \(\S+\)\n){0,9}    h\u00e9 \(", text))
    true(text, re.search(rf"^thread {program.pid} \(.*\): asleep, waits .*CPU time",
                         text, re.M))


def a_busy_program_is_left_alone(python):
    """100 looks; functions, output and status are right."""
    stop = run.path("stop")
    with Program(python, BUSY, stop) as program:
        program.ready()
        seen, exact, leaves = 0, 0, set()
        for _ in range(100):
            thread, = found(program.pid)[0]["threads"]
            with open(f"/proc/{program.pid}/status") as f:
                true("TracerPid", "\nTracerPid:\t0\n" in f.read())
            stack, = thread["stacks"]
            names = [f["function"] for f in stack["frames"]]
            true(f"functions {names}",
                 {"even", "odd", "work", "<module>"} >= set(names))
            if not stack["approximate"]:
                exact += 1
                equal("callers", names[-2:], ["work", "<module>"][-len(names):])
                true(f"turns {names}", all(a != b for a, b in zip(names, names[1:])))
            seen += len(names) > 0
            leaves.update(names[:1])
        with open(stop, "w"):
            pass
        status = reap(program.process, 60)
        equal("output and status", (program.process.stdout.read(), status),
              (b"wrong: 0\n", 7))
    true(f"{seen} of 100 looks saw a stack, {exact} exact", seen > 50)
    true(f"leaves {leaves}", leaves & {"even", "odd"})


def the_busy_thread_holds_the_gil(python):
    text = ("import threading, time\n"
            "def spin():\n    while True: pass\n"
            "threading.Thread(target=spin, daemon=True).start()\n"
            "print('ready', flush=True)\ntime.sleep(1000)\n")
    with Program(python, text) as program:
        program.ready()

        def marked():
            process = found(program.pid)[0]
            states = {f["function"].split(".")[0]: (t["state"], s["holds_gil"])
                      for t in process["threads"] for s in t["stacks"]
                      for f in s["frames"][:1]}
            return states == {"spin": ("runnable", True), "<module>": ("asleep", False)}
        wait_for("the busy thread to hold the GIL", marked)
        wait_for("the same in words", lambda: "; holds the GIL\n    spin (" in
                 stacks(program.pid).stdout)


def forked_workers_come_with_tree(python):
    with Program(python, FORKS) as program:
        processes = wait_for("two that sleep", lambda: (
            lambda all: all if len(all) == 2 and all[1]["threads"][0]["stacks"] and
            frames_of(all[1]["threads"][0])[:1] == program.frames("child") and
            frames_of(all[0]["threads"][0])[:1] == program.frames("parent")
            else None)(found(program.pid, "--tree")))
        equal("parent", frames_of(processes[0]["threads"][0]),
              program.frames("parent", "<module>"))
        equal("child", frames_of(processes[1]["threads"][0]),
              program.frames("child", "parent@fork", "<module>"))
        equal("without --tree", [p["pid"] for p in found(program.pid)], [program.pid])
        text = stacks(program.pid, "--tree").stdout
        equal("processes", len(re.findall(r"^process \d+: ", text, re.M)), 2)


def deep_recursion_is_cut(python):
    with Program(python, RECURSES) as program:
        program.ready()
        asleep(program.pid)
        stack = found(program.pid)[0]["threads"][0]["stacks"][0]
        equal("frames", len(stack["frames"]), 1024)
        equal("cut", stack["cut"], True)
        equal("approximate", stack["approximate"], False)
        true("text", "... and callers that were not read" in stacks(program.pid).stdout)


def another_pid_namespace(python, minor):
    unshare = ["unshare", "-pf", "--mount-proc"]
    if subprocess.run([*unshare, "true"], capture_output=True).returncode != 0:
        raise Skip("no right to make a pid namespace")
    with Program(python, SLEEPS, prefix=unshare) as program:
        program.ready()
        equal("its own pid", program.first.strip(), "1")
        with open(f"/proc/{program.pid}/task/{program.pid}/children") as f:
            inner = int(f.read().split()[0])
        check_sleeping(program, minor, asleep(inner, 2))


def a_stripped_copy(python, minor):
    """Without symbols of its own; the ones for the loader stay."""
    copy = run.path(os.path.basename(os.path.realpath(python)))
    shutil.copy(os.path.realpath(python), copy)
    subprocess.run(["strip", "--strip-all", copy], check=True)
    with Program(copy, SLEEPS, env=dict(os.environ, PYTHONHOME="/usr")) as program:
        program.ready()
        check_sleeping(program, minor, asleep(program.pid, 2))
        os.unlink(copy)  # as an upgrade does
        if os.geteuid() == 0:
            check_sleeping(program, minor, asleep(program.pid, 2))


def no_signal_and_no_ptrace(python):
    """What sonde asks the kernel for; the reading is seen, so the trace is good."""
    with Program(python, SLEEPS) as program:
        program.ready()
        log = run.path("strace")
        done = subprocess.run(["strace", "-f", "-o", log, run.sonde, "stacks",
                               str(program.pid)], capture_output=True, text=True)
        equal("status", done.returncode, 0)
        with open(log) as f:
            calls = set(re.findall(r"^\d+ +(\w+)\(", f.read(), re.M))
        true(f"it reads: {calls}", "process_vm_readv" in calls)
        bad = {"ptrace", "tkill", "tgkill", "process_vm_writev",
               "pidfd_send_signal", "rt_sigqueueinfo", "rt_tgsigqueueinfo"}
        equal("calls that touch the target", calls & bad, set())
        with open(log) as f:
            killed = set(re.findall(r"\bkill\((-?\d+)", f.read()))
        true(f"only a process of its own is killed: {killed}",
             not killed & {str(program.pid), str(-program.pid), "0", "-1"})


def a_target_that_ends_meanwhile(python):
    for pause in range(20):
        with Program(python, "import time\ntime.sleep(0.02)\n") as program:
            time.sleep(pause * 0.004)
            done = subprocess.run([run.sonde, "stacks", str(program.pid)],
                                  capture_output=True, text=True, timeout=20)
            true(done.stderr, done.returncode in (0, 1))
            equal("one error at most", done.stderr.count("sonde: "), done.returncode)
            equal("status", reap(program.process), 0)


def code_objects_that_are_made_anew_have_their_own_names(python):
    """Functions come and go at the same addresses; each sleeps in a line of its own."""
    text = ("import time\nprint('ready', flush=True)\n"
            "for i in range(10**9):\n"
            "    names = {'time': time}\n"
            "    n = i % 90 + 10\n"
            "    exec('\\n' * n + f'def f{n}(): time.sleep(0.002)\\nf{n}()', names)\n"
            "    del names\n")
    with Program(python, text) as program:
        program.ready()
        seen = set()
        for _ in range(40):
            for stack in found(program.pid)[0]["threads"][0]["stacks"]:
                for frame in stack["frames"]:
                    if match := re.fullmatch(r"f(\d+)", frame["function"]):
                        equal("its line", frame["line"], int(match[1]) + 1)
                        seen.add(match[1])
        true(f"several were seen: {seen}", len(seen) > 3)


def a_program_without_python():
    child = subprocess.Popen(["sleep", "1000"])
    try:
        process = wait_for("sleep to sleep", lambda: (
            lambda p: p if p["threads"][0]["waits"] else None)(found(child.pid)[0]))
        equal("python", (process["python"], process["error"]), (None, None))
        thread = process["threads"][0]
        equal("thread", (thread["tid"], thread["name"], thread["state"],
                         thread["stacks"]), (child.pid, "sleep", "asleep", []))
        text = stacks(child.pid).stdout
        true(text, text.startswith(f"process {child.pid}: sleep, no Python found\n"
                                   f"thread {child.pid} (sleep): asleep, waits for a "
                                   "time to pass (clock_nanosleep); CPU time "))
        equal("languages", {f["language"] for f in thread["frames"]}, {"native"})
        true(text, re.search(r"^    \w*nanosleep \(", text, re.M))
    finally:
        child.kill()
        child.wait()


def an_older_python_is_refused_by_name(path, version):
    text = "import time\nprint('ready')\nimport sys; sys.stdout.flush()\ntime.sleep(1000)\n"
    with Program(path, text) as program:
        program.ready()
        done = stacks(program.pid, status=1)
        equal("one line", done.stderr,
              f"sonde: process {program.pid} runs Python {version}: sonde reads the "
              "stacks of CPython 3.8 to 3.14, x86-64, with the GIL\n")
        true("threads all the same", f"thread {program.pid} (" in done.stdout)


NOBODY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups",
          "--bounding-set", "-all"]


def as_nobody(*words):
    """Runs a copy of sonde that anybody can reach."""
    os.chmod(run.dir, 0o755)
    folder = os.path.dirname(run.path("x"))
    os.chmod(folder, 0o755)
    copy = shutil.copy(run.sonde, os.path.join(folder, "sonde"))
    return subprocess.run([*NOBODY, copy, *words], capture_output=True, text=True,
                          timeout=20)


def another_users_process(python):
    if os.geteuid() != 0:
        raise Skip("only root can be another user")
    with Program(python, SLEEPS) as program:
        program.ready()
        done = as_nobody("stacks", str(program.pid))
        equal(f"status {done.stderr}", done.returncode, 1)
        true(done.stderr, re.fullmatch(
            rf"sonde: process {program.pid}: its memory may not be read\n"
            r"  hint: .*\n", done.stderr))
        true("threads all the same", f"thread {program.pid} (" in done.stdout)


def an_ordinary_users_own_process(python):
    """Without the rights by which root opens the very file that is mapped."""
    if os.geteuid() != 0:
        raise Skip("the other cases are those of an ordinary user")
    text = "import time\nprint('ready', flush=True)\ntime.sleep(1000)\n"
    with Program(python, "", prefix=[*NOBODY, python, "-c", text, "--"]) as program:
        program.ready()
        asleep(program.pid)
        done = as_nobody("stacks", "--json", str(program.pid))
        equal("stderr", done.stderr, "")
        thread, = json.loads(done.stdout)["processes"][0]["threads"]
        equal("frames", frames_of(thread), [("<module>", "<string>", 3)])


if not os.uname().machine == "x86_64":
    print(f"ok stacks are not read on {os.uname().machine}")
    sys.exit(0)

ALL = pythons()
for name, path, minor in ALL:
    if minor < 8:
        version = name.split("-")[1].rsplit(".", 1)[0]
        run.case(f"an_older_python_is_refused_by_name_{version}",
                 an_older_python_is_refused_by_name, path, version)
        continue
    run.case(f"sleeping_stacks_are_exact_{name}", sleeping_stacks_are_exact, path, minor)
    run.case(f"a_busy_program_is_left_alone_{name}", a_busy_program_is_left_alone, path)
    run.case(f"the_busy_thread_holds_the_gil_{name}", the_busy_thread_holds_the_gil, path)
    run.case(f"forked_workers_come_with_tree_{name}", forked_workers_come_with_tree, path)
    run.case(f"deep_recursion_is_cut_{name}", deep_recursion_is_cut, path)
    run.case(f"another_pid_namespace_{name}", another_pid_namespace, path, minor)
    run.case(f"code_objects_that_are_made_anew_{name}",
             code_objects_that_are_made_anew_have_their_own_names, path)
SYSTEM = next((path, minor) for _, path, minor in ALL if path == "/usr/bin/python3")
run.case("a_stripped_copy", a_stripped_copy, *SYSTEM)
run.case("no_signal_and_no_ptrace", no_signal_and_no_ptrace, SYSTEM[0])
run.case("a_target_that_ends_meanwhile", a_target_that_ends_meanwhile, SYSTEM[0])
run.case("another_users_process", another_users_process, SYSTEM[0])
run.case("an_ordinary_users_own_process", an_ordinary_users_own_process, SYSTEM[0])
run.case("a_program_without_python", a_program_without_python)
run.done()
