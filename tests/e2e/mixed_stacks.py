#!/usr/bin/python3
"""Python and native functions on one stack, in the order of their calls.

The Pythons are those of stacks.py, each by perf and by BPF. Fault 17: the memory
of a target is read.
"""

import os
import subprocess
import textwrap

from common import Runner, Skip, equal, true
from python_versions import pythons
from stack_programs import LIBRARY, PROGRAM, check_mixed, folded, told

run = Runner()


def made(name, text):
    path = run.path(name)
    with open(path, "w") as f:
        f.write(text)
    return path


def library():
    path = run.path("mixed.so")
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", path,
                    made("mixed.c", LIBRARY)], check=True)
    return path


def record(python, by, *words, before=(), status=0):
    trace = run.path("t.sonde")
    if before:  # another user must reach them
        for path in (trace, *words):
            while os.path.isabs(path) and (path := os.path.dirname(path)) != "/tmp":
                os.chmod(path, 0o777)
    options = ["--stacks-by", by] if by else []
    done = subprocess.run([*before, run.sonde, "run", "--force", "--quiet", *options,
                           "-o", trace, "--", python, *words],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=120)
    equal("status", done.returncode, status)
    return trace, done


def mixed(python, by):
    trace, done = record(python, by, made("mixed.py", PROGRAM), library())
    equal("output", done.stdout, "done\n")
    sampling = check_mixed(run, trace, by)
    if by == "bpf":
        true(f"approximate: {sampling}",
             sampling["approximate"] <= 0.05 * sampling["samples"])


def may_use_bpf():
    done = subprocess.run([run.sonde, "run", "--quiet", "--force", "--stacks-by", "bpf",
                           "-o", run.path("b.sonde"), "--", "true"],
                          stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise Skip(done.stderr.strip())


def by_bpf(python):
    may_use_bpf()
    mixed(python, "bpf")


def by_proc():
    trace, _ = record("/usr/bin/python3", "proc", made("mixed.py", PROGRAM), library())
    sampling = told(run, trace)["sampling"]
    equal("by", sampling["by"], "proc")
    true("no native functions",
         all(f["language"] != "native" for f in told(run, trace)["functions"]))
    true("inner", any("inner" in names for names, _ in folded(run, trace)))


def forked_workers():
    text = textwrap.dedent('''\
        import multiprocessing, time
        def burn():
            end = time.process_time() + 1.5
            while time.process_time() < end: sum(range(1000))
        if __name__ == "__main__":
            for method in ("fork", "spawn"):
                context = multiprocessing.get_context(method)
                all = [context.Process(target=burn) for _ in range(2)]
                for p in all: p.start()
                for p in all: p.join()
        ''')
    trace, _ = record("/usr/bin/python3", "", made("workers.py", text))
    by = {}
    for f in told(run, trace)["functions"]:
        if f["function"] == "burn":
            by[f["process"]] = f["own_ns"]
    equal("workers", len(by), 4)
    true(f"each burns for 1.5 s: {by}", all(ns > 1.0e9 for ns in by.values()))


def a_python_that_becomes_itself_again(by):
    text = textwrap.dedent('''\
        import os, sys, time
        def burn():
            end = time.process_time() + 0.7
            while time.process_time() < end: sum(range(1000))
        burn()
        left = int(sys.argv[1])
        if left: os.execv(sys.executable, [sys.executable, __file__, str(left - 1)])
        ''')
    trace, _ = record("/usr/bin/python3", by, made("again.py", text), "4")
    json_told = told(run, trace)
    own = sum(f["own_ns"] for f in json_told["functions"] if f["function"] == "burn")
    true(f"burn has {own} of 3.5 s", own > 0.6 * 3.5e9)
    sampling = json_told["sampling"]
    true(f"approximate: {sampling}",
         sampling["approximate"] <= 0.2 * sampling["samples"])


def seldom_ticks():
    trace = run.path("t.sonde")
    subprocess.run([run.sonde, "run", "--force", "--quiet", "--rate", "0.1", "-o", trace,
                    "--", "/usr/bin/python3", made("mixed.py", PROGRAM), library()],
                   check=True, stdout=subprocess.DEVNULL, timeout=120)
    sampling = told(run, trace)["sampling"]
    true(f"sampled {sampling}", sampling and sampling["sampled_ns"] > 1.2e9)


def what_does_not_work_here_is_refused():
    _, done = record("/usr/bin/python3", "magic", "-c", "print(1)", status=125)
    true(done.stderr, "proc, perf or bpf" in done.stderr and done.stdout == "")
    if os.getuid() != 0:
        return
    nobody = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups",
              "--inh-caps=-all")
    _, done = record("/usr/bin/python3", "bpf", "-c", "print(1)", before=nobody,
                     status=125)
    true(done.stderr, "does not work here" in done.stderr and done.stdout == "")
    trace, done = record("/usr/bin/python3", "", made("mixed.py", PROGRAM), library(),
                         before=nobody)
    check_mixed(run, trace, "perf")


def every_python_is_here():
    missing = set(range(8, 15)) - {minor for _, _, minor in pythons()}
    if missing:
        raise Skip("no Python 3." + ", 3.".join(map(str, sorted(missing))))


run.case("every_python_is_here", every_python_is_here)
for name, python, minor in pythons():
    if minor < 8:
        continue
    run.case(f"by_perf_{name}", mixed, python, "perf")
    run.case(f"by_bpf_{name}", by_bpf, python)
run.case("by_proc", by_proc)
run.case("exec_by_perf", a_python_that_becomes_itself_again, "perf")
run.case("exec_by_the_best", a_python_that_becomes_itself_again, "")
run.case("seldom_ticks", seldom_ticks)
run.case("forked_workers", forked_workers)
run.case("what_does_not_work_here_is_refused", what_does_not_work_here_is_refused)
run.done()
