#!/usr/bin/python3
"""What a cgroup does to a run is in its report: real cgroups, if there may be any."""

import json
import os
import subprocess

from common import Runner, Skip, equal, true, wait_for

run = Runner()


class Cgroup:
    """A cgroup of our own with one controller, in whichever version has it."""

    def __init__(self, controller, below=""):
        name = f"sonde-e2e-{os.getpid()}"
        for base in (f"/sys/fs/cgroup/{controller}", "/sys/fs/cgroup"):
            path = f"{base}/{name}"
            try:
                os.mkdir(path)
            except OSError:
                continue
            self.path, self.version2 = path, base == "/sys/fs/cgroup"
            if self.file_exists(controller):
                self.name = "/" + name + below
                self.own = path + below
                if below:
                    os.mkdir(self.own)
                return
            os.rmdir(path)
        raise Skip(f"no cgroup with {controller} can be made here")

    def file_exists(self, controller):
        return any(name.startswith(controller + ".") and name != "cpu.pressure"
                   and name not in ("cpu.stat", "memory.pressure")
                   for name in os.listdir(self.path))

    def limit(self, one, two, text1, text2):
        name, text = (two, text2) if self.version2 else (one, text1)
        with open(f"{self.path}/{name}", "w") as f:
            f.write(text)

    def forbid_swap(self):
        """What is above the limit of memory is not put elsewhere. Without swap there
        is nothing to forbid."""
        with open("/proc/swaps") as f:
            if len(f.read().splitlines()) <= 1:
                return
        name, text = (("memory.swap.max", "0") if self.version2 else
                      ("memory.swappiness", "0"))
        try:
            with open(f"{self.path}/{name}", "w") as f:
                f.write(text)
        except OSError as error:
            raise Skip(f"swap cannot be forbidden: {error}") from None

    def record(self, *command, inside=True):
        """`sonde run` inside of it, unless told otherwise; its report."""
        def enter():
            with open(self.own + "/cgroup.procs", "w") as f:
                f.write(str(os.getpid()))
        trace = run.path("t.sonde")
        done = subprocess.run([run.sonde, "run", "-o", trace, "--", *command],
                              capture_output=True, text=True, timeout=60,
                              preexec_fn=enter if inside else None)
        said = subprocess.run([run.sonde, "report", "--json", trace],
                              capture_output=True, text=True, timeout=60)
        return done, json.loads(said.stdout)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        def removed():
            for path in dict.fromkeys((self.own, self.path)):  # the inner one first
                try:
                    os.rmdir(path)
                except FileNotFoundError:
                    pass
                except OSError:
                    return False
            return not os.path.exists(self.path)
        wait_for("the cgroup to be empty", removed)


def memory_is_held_against_the_limit():
    with Cgroup("memory") as cgroup:
        cgroup.limit("memory.limit_in_bytes", "memory.max", "268435456", "268435456")
        done, found = cgroup.record(
            "/usr/bin/python3", "-c",
            "import time; x = bytearray(100 << 20); x[::4096] = b'x' * len(x[::4096]);"
            "time.sleep(1)")
    equal("status", done.returncode, 0)
    equal("limit", found["run"]["memory_limit_bytes"], 268435456)
    one = next(c for c in found["cgroups"] if c["path"] == cgroup.name)
    equal("limit", one["memory_limit_bytes"], 268435456)
    true(f"peak {one['memory_peak_bytes']}", 100 << 20 < one["memory_peak_bytes"] <= 256 << 20)
    equal("kills", one["oom_kills"], 0)
    text = " ".join(done.stderr.split())
    true(text, f"Cgroup {cgroup.name}: memory at most" in text and "of its limit 268 MB" in text)


def a_limit_above_holds_below():
    with Cgroup("memory", below="/below") as cgroup:
        cgroup.limit("memory.limit_in_bytes", "memory.max", "268435456", "268435456")
        done, found = cgroup.record("sleep", "0.3")
    equal("status", done.returncode, 0)
    equal("limit", found["run"]["memory_limit_bytes"], 268435456)
    limits = {c["path"]: c["memory_limit_bytes"] for c in found["cgroups"]}
    equal("own", limits[cgroup.name], None)
    equal("above", limits[os.path.dirname(cgroup.name)], 268435456)


def a_kill_for_lack_of_memory_is_told():
    with Cgroup("memory") as cgroup:
        cgroup.limit("memory.limit_in_bytes", "memory.max", "67108864", "67108864")
        cgroup.forbid_swap()
        done, found = cgroup.record(
            "/usr/bin/python3", "-c",
            "import time; time.sleep(0.3); x = bytearray(500 << 20)\n"
            "for i in range(0, len(x), 4096): x[i] = 1")
    equal("status", done.returncode, -9)
    one = next(c for c in found["cgroups"] if c["path"] == cgroup.name)
    equal("kills", one["oom_kills"], 1)
    true("limit reached", one["limit_hits"] > 0)
    true(done.stderr, "1 killed for lack of memory" in " ".join(done.stderr.split()))


def throttling_is_told():
    with Cgroup("cpu") as cgroup:
        cgroup.limit("cpu.cfs_quota_us", "cpu.max", "20000", "20000 100000")
        done, found = cgroup.record(
            "/usr/bin/python3", "-c", "import time; t = time.time()\n"
            "while time.time() < t + 2: pass")
    equal("status", done.returncode, 0)
    equal("limit", found["run"]["cpu_limit_cores"], 0.2)
    one = next(c for c in found["cgroups"] if c["path"] == cgroup.name)
    true(f"periods {one['periods']}", one["periods"] >= 10)
    true(f"throttled {one['throttled_periods']}",
         0.5 * one["periods"] <= one["throttled_periods"] <= one["periods"])
    true(f"for {one['throttled_ns']}", one["throttled_ns"] > 0.5e9)
    true(done.stderr, "CPU throttled in" in " ".join(done.stderr.split()))


def a_child_that_goes_to_a_cgroup_is_followed():
    with Cgroup("cpu") as cgroup:
        # Less than it gets on a busy machine.
        cgroup.limit("cpu.cfs_quota_us", "cpu.max", "10000", "10000 100000")
        done, found = cgroup.record(
            "/bin/sh", "-c", "sleep 0.5; (sh -c 'echo $PPID' > "
            f"{cgroup.own}/cgroup.procs; exec /usr/bin/python3 -c '\n"
            "import time; t = time.time()\nwhile time.time() < t + 3: pass'); true",
            inside=False)
    equal("status", done.returncode, 0)
    equal("limit at the start", found["run"]["cpu_limit_cores"], None)
    one = next(c for c in found["cgroups"] if c["path"] == cgroup.name)
    equal("its own limit", one["cpu_limit_cores"], 0.1)
    true(f"throttled for {one['throttled_ns']}", one["throttled_ns"] > 0.5e9)
    equal("first", found["findings"][0]["rule"], "cpu_throttled")


for test in (memory_is_held_against_the_limit, a_limit_above_holds_below,
             a_kill_for_lack_of_memory_is_told, throttling_is_told,
             a_child_that_goes_to_a_cgroup_is_followed):
    run.case(test.__name__, test)
run.done()
