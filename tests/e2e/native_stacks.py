#!/usr/bin/python3
"""Functions and lines of native programs, by perf: C, C++, stripped, in trees.

Fault 17: the memory of a target is read.
"""

import json
import os
import shutil
import subprocess
import textwrap

from common import Runner, Skip, equal, true, wait_for
from stack_programs import SHARES, check_shares

run = Runner()


def build(name, *flags):
    source = run.path("shares.cc")
    with open(source, "w") as f:
        f.write(SHARES)
    path = name if os.path.isabs(name) else run.path(name)
    subprocess.run(["c++", "-O2", *flags, "-o", path, source], check=True)
    return path


def record(*words, options=(), status=3, before=()):
    trace = run.path("t.sonde")
    if before:
        # Another user must reach it.
        for folder in {os.path.dirname(path) for path in (trace, words[0])}:
            while os.path.basename(folder).startswith(("tmp", "sonde-e2e")) and \
                    folder != "/tmp":
                os.chmod(folder, 0o777)
                folder = os.path.dirname(folder)
    done = subprocess.run([*before, run.sonde, "run", "--force", "--quiet", *options,
                           "-o", trace, "--", *words],
                          stdout=subprocess.PIPE, text=True, timeout=120)
    equal("status", done.returncode, status)
    told = json.loads(subprocess.run([run.sonde, "report", "--json", trace],
                                     stdout=subprocess.PIPE, check=True).stdout)
    return told, done.stdout


def lines_and_inlined_functions():
    told, output = record(build("debug", "-g"), "2")
    equal("output", output, "done\n")
    total = check_shares(told)
    lines = SHARES.splitlines()
    for name in ("one", "two"):
        equal("file", os.path.basename(total[name]["file"]), "shares.cc")
        true(f"{name} at {total[name]['line']}",
             name + "()" in lines[total[name]["line"] - 1])
    # What the compiler put into others has a name of its own, and the time.
    equal("hottest", told["functions"][0]["function"], "burn")
    true("work has nearly all", total["work"]["total_share"] > 0.9)
    true("work's own", total["work"]["self_share"] < 0.05)
    sampling = told["sampling"]
    equal("sum of the parts", sum(f["self_ns"] for f in told["functions"]) +
          sampling["unknown_ns"], sampling["sampled_ns"])
    true("unwound to the end", sampling["approximate"] <= 0.05 * sampling["samples"])


def symbols_are_enough():
    told, _ = record(build("symbols"), "2")
    check_shares(told)


def stripped_code_is_a_place():
    told, _ = record(build("stripped", "-s"), "1")
    top = told["functions"][0]
    true(top["function"], top["function"].startswith("stripped+0x") or
         top["function"] == "clock_gettime")
    equal("language", top["language"], "native")


def children_and_other_programs():
    program = build("debug", "-g")
    told, _ = record("sh", "-c", f"{program} 1.5 & {program} 1.5; wait; exec {program} 1")
    by = {}
    for f in told["functions"]:
        if f["function"] == "three":
            by[f["process"]] = f["total_share"]
    equal("processes", len(by), 3)
    true(f"each has its half: {by}", all(share > 0.08 for share in by.values()))


def threads_of_python_that_run_none():
    """What C threads of a Python program do is sampled by perf."""
    library = run.path("lib.so")
    source = run.path("lib.cc")
    with open(source, "w") as f:
        f.write(SHARES.replace("int main(", "extern \"C\" int unused(") + textwrap.dedent('''
            #include <thread>
            extern "C" void start(double seconds) {
              static std::thread one([=] { work(seconds); });
              one.detach();
            }
            '''))
    subprocess.run(["c++", "-O2", "-g", "-shared", "-fPIC", "-pthread", "-o", library,
                    source], check=True)
    told, _ = record("/usr/bin/python3", "-c",
                     "import ctypes, time\n"
                     f"lib = ctypes.CDLL({library!r})\n"
                     "lib.start(ctypes.c_double(2))\n"
                     "def spin():\n"
                     "  end = time.process_time() + 3\n"
                     "  while time.process_time() < end: pass\n"
                     "spin()\n", status=0)
    by = {f["function"]: f for f in told["functions"]}
    true("work of the C thread", by["work"]["total_share"] > 0.2)
    true("spin of the Python thread", by["spin"]["total_share"] > 0.2)
    true("not twice", told["sampling"]["sampled_ns"] <= told["run"]["cpu_ns"] * 1.05)


def a_python_that_becomes_another_program():
    program = build("debug", "-g")
    told, _ = record("/usr/bin/python3", "-c",
                     "import os, sys, time\n"
                     "end = time.monotonic() + 1\n"
                     "while time.monotonic() < end: pass\n"
                     "os.execv(sys.argv[1], sys.argv[1:])", program, "2")
    check_shares(told, least=0.5)


JAVA = textwrap.dedent('''\
    public class Spin {
      static long burn(long n) {
        long s = 0;
        for (long i = 0; i < n; i++) s += i * i % 7;
        return s;
      }
      public static void main(String[] args) {
        long end = System.currentTimeMillis() + 3000, s = 0;
        while (System.currentTimeMillis() < end) s += burn(1000000);
        System.exit(s == 1 ? 1 : 3);
      }
    }
    ''')


def code_that_java_made():
    if shutil.which("java") is None:
        raise Skip("there is no java (default-jdk-headless)")
    source = run.path("Spin.java")
    with open(source, "w") as f:
        f.write(JAVA)
    told, _ = record("java", source)
    by = {f["function"]: f["total_share"] for f in told["functions"]}
    true(f"compiled Java: {by.get('compiled Java')}", by.get("compiled Java", 0) > 0.4)
    told, _ = record("java", "-XX:+UnlockDiagnosticVMOptions", "-XX:+DumpPerfMapAtExit",
                     source)
    by = {f["function"]: f["total_share"] for f in told["functions"]}
    for process in told["processes"]:
        if os.path.exists(f"/tmp/perf-{process['pid']}.map"):
            os.unlink(f"/tmp/perf-{process['pid']}.map")
    true(f"burn: {by}", any("Spin.burn" in name and share > 0.4
                            for name, share in by.items()))


def an_ordinary_user():
    if os.getuid() != 0:
        return
    program = build("debug", "-g")
    told, _ = record(program, "2", before=("setpriv", "--reuid", "65534", "--regid",
                                           "65534", "--clear-groups",
                                           "--inh-caps=-all"))
    check_shares(told)


def names_after_a_kill():
    """`recover` names what is still there, and only if it is the same file."""
    program = build("debug", "-g", "-Wl,--build-id")
    trace = run.path("k.sonde")
    sonde = subprocess.Popen([run.sonde, "run", "--force", "--quiet", "-o", trace,
                              "--", program, "60"], stdout=subprocess.DEVNULL,
                             start_new_session=True)

    def samples():
        if not os.path.exists(trace):
            return 0
        told = json.loads(subprocess.run([run.sonde, "report", "--json", trace],
                                         stdout=subprocess.PIPE, check=True).stdout)
        return (told["sampling"] or {}).get("samples", 0)

    try:
        wait_for("samples", lambda: samples() > 50)
    finally:
        sonde.kill()
        sonde.wait()
    subprocess.run(["pkill", "-f", program], check=False)
    other = run.path("other.sonde")
    shutil.copy(trace, other)
    shutil.copy(trace + ".journal", other + ".journal")

    def names(path):
        subprocess.run([run.sonde, "recover", path, "--quiet"], check=True)
        told = json.loads(subprocess.run([run.sonde, "report", "--json", path],
                                         stdout=subprocess.PIPE, check=True).stdout)
        return {f["function"] for f in told["functions"]}

    got = names(trace)
    true(f"named: {got}", {"burn", "two", "three"} <= got)
    build(program, "-O1", "-g", "-Wl,--build-id")
    got = names(other)
    true(f"not named by another file: {got}", not {"burn", "two", "three"} & got)


def paused_and_off():
    program = build("debug", "-g")
    told, _ = record(program, "2", options=("--stacks", "off"))
    equal("off", told["sampling"], None)
    told, _ = record(program, "2", options=("--delay", "1s"))
    true("sampled in the delay",
         told["sampling"]["sampled_ns"] < told["run"]["cpu_ns"] - 0.3e9)


run.case("lines_and_inlined_functions", lines_and_inlined_functions)
run.case("symbols_are_enough", symbols_are_enough)
run.case("stripped_code_is_a_place", stripped_code_is_a_place)
run.case("children_and_other_programs", children_and_other_programs)
run.case("threads_of_python_that_run_none", threads_of_python_that_run_none)
run.case("a_python_that_becomes_another_program",
         a_python_that_becomes_another_program)
run.case("code_that_java_made", code_that_java_made)
run.case("an_ordinary_user", an_ordinary_user)
run.case("names_after_a_kill", names_after_a_kill)
run.case("paused_and_off", paused_and_off)
run.done()
