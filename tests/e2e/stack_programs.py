"""Programs whose times in functions are known, and whether a trace says so."""

import json
import subprocess
import textwrap

from common import equal, true

# Three functions that use CPU time as 1 : 2 : 3, whoever else uses the core.
SHARES = textwrap.dedent('''\
    #include <stdio.h>
    #include <stdlib.h>
    #include <time.h>

    static double used() {
      struct timespec t;
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
      return t.tv_sec + t.tv_nsec / 1e9;
    }
    static volatile unsigned sink;
    static inline __attribute__((always_inline)) void burn(double seconds) {
      for (double end = used() + seconds; used() < end;)
        for (unsigned i = 0; i < 20000; ++i) sink += i;
    }
    extern "C" {
    __attribute__((noinline)) void one() { burn(0.010); sink += 1; }
    __attribute__((noinline)) void two() { burn(0.020); sink += 1; }
    __attribute__((noinline)) void three(int deep) {
      if (deep == 0) burn(0.030); else three(deep - 1);
      sink += 1;
    }
    __attribute__((noinline)) void work(double seconds) {
      for (double end = used() + seconds; used() < end;) { one(); two(); three(5); }
    }
    }
    int main(int argc, char** argv) {
      work(atof(argv[1]));
      puts("done");
      return 3;
    }
    ''')
# Python calls C, which calls Python, which calls C, which burns. outer and
# inner burn as 1 : 2; plain burns without C. No turn lasts as long as another:
# with a rhythm near that of the samples, all of them fall on the same moment.
LIBRARY = textwrap.dedent('''\
    #include <time.h>
    static volatile unsigned sink;
    static double used() {
      struct timespec t;
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
      return t.tv_sec + t.tv_nsec / 1e9;
    }
    __attribute__((noinline)) void burner(double seconds) {
      for (double end = used() + seconds; used() < end;)
        for (unsigned i = 0; i < 20000; ++i) sink += i;
      sink += 1;
    }
    __attribute__((noinline)) void calls_back(void (*back)(void)) {
      back();
      sink += 1;
    }
    ''')
PROGRAM = textwrap.dedent('''\
    import ctypes, sys, time
    lib = ctypes.CDLL(sys.argv[1])
    lib.burner.argtypes = [ctypes.c_double]
    CALL = ctypes.CFUNCTYPE(None)
    part = 0.010

    @CALL
    def inner():
        lib.burner(2 * part)

    def outer():
        lib.burner(part)
        lib.calls_back(inner)

    def plain():
        end = time.process_time() + part
        x = 0
        while time.process_time() < end:
            for i in range(100): x += i

    def main():
        global part
        end = time.process_time() + 2
        turn = 0
        while time.process_time() < end:
            turn = (turn + 0.618034) % 1
            part = 0.007 + 0.006 * turn
            outer()
            plain()

    main()
    print("done")
    ''')


def told(run, trace):
    return json.loads(subprocess.run([run.sonde, "report", "--json", trace],
                                     stdout=subprocess.PIPE, check=True).stdout)


def check_shares(found, least=0.7, names=("one", "two", "three"),
                 within=0.08):
    total = {f["function"]: f for f in found["functions"]}
    own = [total.get(name, {}).get("total_share", 0) for name in names]
    true(f"hardly anything was sampled: {own}", sum(own) > least)
    for name, share, part in zip(names, own, (1 / 6, 2 / 6, 3 / 6)):
        got = share / sum(own)
        true(f"{name} has {got:.3f}, not {part:.3f}", abs(got - part) < within)
    return total


def folded(run, trace):
    """[([function ...] from the outermost on, weight)], threads left out"""
    text = subprocess.run([run.sonde, "export", trace, "--to", "folded", "-o", "-"],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True, check=True).stdout
    out = []
    for line in text.splitlines():
        stack, _, weight = line.rpartition(" ")
        names = [part.partition(" (")[0] for part in stack.split(";")[2:]]
        out.append((names, int(weight)))
    return out


def in_order(names, wanted):
    """Whether `wanted` stand in `names` in this order."""
    rest = iter(names)
    return all(one in rest for one in wanted)


def approximate_us(run, trace):
    """The CPU time of samples that say of themselves that they may be wrong."""
    out = subprocess.run(
        [run.sonde, "query", "--json", trace,
         "select sum(weight_ns) as ns from sample where approximate and not waiting"],
        stdout=subprocess.PIPE, check=True).stdout
    return (json.loads(out)["rows"][0][0] or 0) / 1000


def check_mixed(run, trace, by):
    # By perf, Python is read a moment later: who is late says so.
    least_right = 0.97 if by == "bpf" else 0.9
    json_told = told(run, trace)
    sampling = json_told["sampling"]
    equal("by", sampling["by"], by)
    burns = wrong = 0
    weight = {"outer": 0, "inner": 0, "plain": 0}
    for names, ns in folded(run, trace):
        names = [name.split(".")[-1] for name in names]
        python = [n for n in names if n in weight]
        if python:
            weight[python[-1]] += ns
        if "burner" not in names:
            continue
        burns += ns
        deep = in_order(names, ["main", "outer", "calls_back", "inner", "burner"])
        flat = in_order(names, ["main", "outer", "burner"]) and "inner" not in names
        wrong += 0 if deep or flat else ns
    true(f"hardly any sample in C: {burns}", burns > 0.9e6)
    true(f"{wrong} of {burns} us in wrong order", wrong <= (1 - least_right) * burns)
    told_of = approximate_us(run, trace)
    true(f"{wrong} of {burns} us are wrong, {told_of} us approximate",
         wrong <= told_of + 0.01 * burns)
    whole = sum(weight.values())
    for name, part in (("outer", 1 / 4), ("inner", 2 / 4), ("plain", 1 / 4)):
        got = weight[name] / whole
        true(f"{name} has {got:.3f}, not {part:.3f}", abs(got - part) < 0.08)
    own = {f["function"].split(".")[-1]: f["own_ns"] for f in json_told["functions"]}
    # A thread that ran on before it was read has a stack without Python.
    left = own.get("burner", 0) / 1000
    true(f"C has {left} of {burns} us of its own", left <= (1 - least_right) * burns)
    return sampling
