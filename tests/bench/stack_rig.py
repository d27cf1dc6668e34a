"""What the bars of stack_bench.py are measured with: programs, recordings, peers."""
import contextlib
import json
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS / "jobs"))
import python_env
from suite import NotHere

SOURCES = TESTS / "bench/stack"
NOBODY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups",
          "--inh-caps=-all"]
WAYS = ("bpf", "perf", "proc")
HZ = 999  # sonde takes 1000 at most


def skip(name, why):
    """Says what is not measured. A short run only asks whether the rest works."""
    word = "left out:" if "--quick" in sys.argv else "skip"
    print(f"{word} {name} {why}", file=sys.stderr, flush=True)


def spent(command, **more):
    """(what the command printed, CPU time of it and of all that it waited for)."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          text=True, **{"stdout": subprocess.PIPE, **more})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise OSError(f"{' '.join(map(str, command))}: status {done.returncode}: "
                      f"{done.stderr.strip()[-300:]}")
    return done.stdout, (after.ru_utime + after.ru_stime
                         - before.ru_utime - before.ru_stime)


def cpu(output):
    told = re.search(r"^cpu (\S+)$", output, re.M)
    if not told:
        raise OSError(f"no CPU time in what the program printed: {output[-200:]!r}")
    return float(told.group(1))


def parts(output):
    """Name -> share, as the program knows it."""
    return shares({name: float(value) for name, value
                   in re.findall(r"^part (\S+) (\S+)$", output, re.M)})


def shares(weights):
    whole = sum(weights.values())
    return {name: value / whole if whole else 0 for name, value in weights.items()}


def lost(report):
    return sum(loss["count"] or 0 for loss in report["losses"]
               if loss["reason"] == "stack-samples")


def sampling(report):
    """Of a program that did nothing, there is none."""
    return report["sampling"] or {"by": None, "samples": 0, "approximate": 0}


def samples(report):
    """Those that were lost were taken too."""
    return sampling(report)["samples"] + lost(report)


class Recording:
    """What one `sonde run` gave: its report, what the program printed, and the CPU
    time of sonde itself."""

    def __init__(self, sonde, trace, command, by, hz, before):
        if os.path.exists(trace):
            os.unlink(trace)
        way = ["--stacks-by", by] if by else []
        self.output, used = spent([*before, sonde, "run", "--quiet", *way, "--stacks",
                                   str(hz), "-o", trace, "--", *command])
        self.report = json.loads(spent([sonde, "report", "--json", trace])[0])
        self.collector_s = used - cpu(self.output)
        self.overhead_s = self.report["overhead"]["cpu_ns"] / 1e9


class Bench:
    """The programs, built in `folder`, and what records them."""

    def __init__(self, sonde, quick, folder):
        self.sonde, self.quick, self.folder = sonde, quick, folder
        self.python = "/usr/bin/python3"  # another user may run it, too
        if not os.path.exists(self.python):
            self.python = sys.executable
        self.env = python_env.PythonEnv()
        self.good = None
        self.work = self.built("work.c")
        self.calls = self.built("calls.cc")
        self.parts = self.built("parts.c")
        self.library = self.built("parts.c", "parts.so", "-shared", "-fPIC")

    def built(self, source, name=None, *options):
        made = self.path(name or pathlib.Path(source).stem)
        compiler = ["c++", "-std=c++20"] if source.endswith(".cc") else ["cc"]
        spent([*compiler, "-O2", *options, "-o", made, str(SOURCES / source)])
        return made

    def path(self, name):
        return os.path.join(self.folder, name)

    def script(self, name, *words):
        """The command that runs a program of Python."""
        copied = self.path(name)  # where another user can read it
        if not os.path.exists(copied):
            shutil.copy(SOURCES / name, copied)
        return [self.python, copied, *map(str, words)]

    def record(self, command, by=None, hz=HZ, before=()):
        return Recording(self.sonde, self.path("t.sonde"), command, by, hz, before)

    def need(self, by, before=()):
        """Raises NotHere if the way does not work."""
        try:
            self.record([self.work, "1"], by, before=before)
        except OSError as why:
            said = str(why).partition("status ")[2] or str(why)
            raise NotHere(said.splitlines()[0])

    def ways(self):
        """Those that work; says why the others do not."""
        if self.good is None:
            self.good = []
            for by in WAYS:
                try:
                    self.need(by)
                    self.good.append(by)
                except NotHere as why:
                    skip(f"--stacks-by {by}", why)
        if not self.good:
            raise NotHere("no way to take stacks works here")
        return self.good

    def importing(self, module, before):
        """The words that start a Python with the module, for this user."""
        env = self.env.folder / "bin/python"
        packages = sorted(self.env.folder.glob("lib/python*/site-packages"))
        # A Python of the same version may be where another user reaches it.
        borrowed = ["env", f"PYTHONPATH={packages[-1]}"] if packages else []
        for words in ([str(env)], [*borrowed, self.python], [sys.executable]):
            with contextlib.suppress(OSError):
                # `env`, for setpriv itself may still open everything.
                spent([*before, "env", *words, "-c", f"import {module}"])
                return words
        raise NotHere(f"no Python with {module} here that this user may run")

    def rounds(self, seconds):
        """How much of work.c takes so long."""
        return str(int(seconds * 1000 / cpu(spent([self.work, "1000"])[0])))

    def bar(self, name, value, unit, limit, met, **more):
        if self.quick:
            met, more = True, {"judged": False, **more}
        print(json.dumps({"bar": name, "value": round(value, 4), "unit": unit,
                          "limit": limit, "ok": bool(met), **more,
                          "load": round(os.getloadavg()[0], 2)}), flush=True)


def perf(*words, **more):
    if not shutil.which("perf"):
        raise NotHere("no perf here")
    try:
        return spent(["perf", *words], **more)
    except OSError as why:
        raise NotHere(str(why))
