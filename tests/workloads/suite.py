"""The programs of this folder, what limits each, and how one is recorded.

A program that cannot run here says "skip: WHY" and ends with status 77.
"""

import dataclasses
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time
from typing import Optional

FOLDER = pathlib.Path(__file__).resolve().parent
NOT_HERE = 77
SECONDS = 6


class NotHere(Exception):
    """This machine lacks what the workload needs."""


@dataclasses.dataclass(frozen=True)
class Limit:
    """What a cgroup leaves to the program; None: as much as there is."""
    cores: Optional[float] = None
    memory_bytes: Optional[int] = None


@dataclasses.dataclass(frozen=True)
class Workload:
    name: str
    finds: Optional[str]  # the rule of the first finding; None: no finding
    instead: tuple[str, ...] = ()  # rules that may say the same, more exactly
    also: tuple[str, ...] = ()  # rules that are true of it too
    words: str = ""  # that the verdict has, in any case of letters
    device_mb: Optional[int] = None  # used of a simulated GPU's 16000; None: no GPU
    limited: Optional[Limit] = None  # by a cgroup
    status: int = 0  # that it ends with; -9: killed by signal 9
    needs: tuple[str, ...] = ()  # programs, such as java


# Those of `also` are no causes of their own: they say the same from another side
# (every core is busy where there are too many threads), or what else holds (one
# thread reads the small files, and it uses all of a core).
_GPU_WAITS = ("gpu_underused", "gpu_fluctuating", "gpu_and_memory_free",
              "problem_too_small")
SUITE = (
    Workload("cpu_bound", "cpu_bound"),
    Workload("one_core_bound", "one_core_bound"),
    Workload("disk_bound", "disk_bound"),
    Workload("small_files", "small_files", also=("one_core_bound",)),
    Workload("network_bound", "network_bound"),
    Workload("memory_leak", "memory_leak"),
    Workload("out_of_memory", "out_of_memory", words="out_of_memory.py (pid",
             limited=Limit(memory_bytes=300 << 20)),
    Workload("shm_full", "shm_full", words="died of SIGBUS"),
    Workload("page_cache_thrash", "page_cache_thrash",
             limited=Limit(memory_bytes=128 << 20)),
    Workload("heap_too_small", "heap_too_small",
             also=("cpu_bound", "oversubscribed"), needs=("java",)),
    Workload("spawn_storm", "spawn_storm", also=("cpu_bound", "one_core_bound")),
    Workload("oversubscribed", "oversubscribed", also=("cpu_bound",)),
    Workload("cpu_throttled", "cpu_throttled", also=("cpu_bound",),
             limited=Limit(cores=0.5)),
    Workload("alternating", "alternating",
             also=("disk_bound", "one_core_bound", "checkpoint_stall")),
    Workload("checkpoint_stall", "checkpoint_stall", also=("cpu_bound",)),
    Workload("checkpoint_fsync", "checkpoint_stall",
             also=("alternating", "disk_bound", "one_core_bound")),
    Workload("threads_4x16", "oversubscribed", also=("cpu_bound",),
             words="4 processes x 16 threads"),
    Workload("quota_threads", "cpu_throttled", also=("cpu_bound", "oversubscribed"),
             limited=Limit(cores=0.5)),
    Workload("swapping", "swapping", also=("disk_bound",)),
    Workload("hang", "hung", also=("one_core_bound",), words="from 3"),
    Workload("gil_threads", "one_core_bound", words="the 4 threads of"),
    # One of the threads may take the lock again and again: then only its core is seen.
    Workload("lock_convoy", "one_core_bound", instead=("lock_bound",)),
    Workload("idle", "waiting", words="idle.py:15"),
    Workload("healthy", None, also=("waiting",)),
    Workload("input_bound", "input_bound", also=("one_core_bound", *_GPU_WAITS),
             device_mb=4000),
    Workload("interpreter_bound", "interpreter_bound",
             also=("one_core_bound", *_GPU_WAITS), device_mb=4000),
    Workload("device_memory_full", "device_memory_full", device_mb=15200),
    Workload("healthy_gpu", None, device_mb=8000),
)


class Cgroups:
    """One for each controller that a limit needs, of whichever version there is."""

    def __init__(self, limit):
        self.paths = []
        try:
            if limit.cores is not None:
                quota = str(int(limit.cores * 100000))
                self._make(("cpu", (("cpu.cfs_period_us", "100000"),
                                    ("cpu.cfs_quota_us", quota))),
                           ("", (("cpu.max", f"{quota} 100000"),)))
            if limit.memory_bytes is not None:
                size = str(limit.memory_bytes)
                self._make(("memory", (("memory.limit_in_bytes", size),)),
                           ("", (("memory.max", size),)))
        except NotHere:
            self.remove()
            raise

    def _make(self, *versions):
        name = f"sonde-workload-{os.getpid()}"
        for controller, settings in versions:
            path = os.path.join("/sys/fs/cgroup", controller, name)
            try:
                if path not in self.paths:
                    os.mkdir(path)
                    self.paths.append(path)
                for file, text in settings:
                    self._write(path, file, text)
                return
            except OSError:
                continue
        raise NotHere(f"no cgroup with a limit on {versions[0][0]} can be made here")

    @staticmethod
    def _write(path, file, text):
        with open(f"{path}/{file}", "w") as f:
            f.write(text)

    def enter(self):
        for path in self.paths:
            self._write(path, "cgroup.procs", str(os.getpid()))

    def remove(self):
        for path in self.paths:
            for _ in range(1000):
                try:
                    os.rmdir(path)
                    break
                except OSError:
                    time.sleep(0.01)


def _command(workload, folder, meter):
    source = FOLDER / workload.name
    if source.with_suffix(".py").exists():
        words = ["/usr/bin/python3", str(source.with_suffix(".py"))]
    elif source.with_suffix(".java").exists():
        words = ["java", "-Xmx64m", str(source.with_suffix(".java"))]
    else:
        binary = f"{folder}/{workload.name}"
        subprocess.run(["cc", "-O2", "-pthread", "-o", binary,
                        str(source.with_suffix(".c"))], check=True)
        words = [binary]
    return words + ([meter, str(SECONDS)] if workload.device_mb else [])


def _simulated_gpu(workload, folder, sonde):
    """The environment that has it, and the file that says how much it worked."""
    meter, script, root = (f"{folder}/{name}" for name in ("meter", "script", "root"))
    os.makedirs(root + "/dev")
    pathlib.Path(root + "/dev/nvidiactl").touch()
    pathlib.Path(meter).write_bytes(bytes(8))
    pathlib.Path(script).write_text(
        f"devices 1\nat 0 gpu 0 meter {meter} used {workload.device_mb} total 16000\n")
    build = pathlib.Path(sonde).resolve().parent.parent
    return dict(os.environ, SONDE_DEVICE_ROOT=root, SONDE_SIM_NVML=script,
                LD_LIBRARY_PATH=str(build / "tests/sim")), meter


def record(sonde, workload):
    """Runs it once as a user would; what `sonde report --json` says of it."""
    for program in workload.needs:
        if not shutil.which(program):
            raise NotHere(f"needs {program}")
    with tempfile.TemporaryDirectory(prefix="sonde-workload-") as folder:
        env, meter = None, ""
        if workload.device_mb:
            env, meter = _simulated_gpu(workload, folder, sonde)
        command = _command(workload, folder, meter)
        trace = f"{folder}/t.sonde"
        cgroups = Cgroups(workload.limited) if workload.limited else None
        try:
            done = subprocess.run([sonde, "run", "--quiet", "-o", trace, "--", *command],
                                  env=env, capture_output=True, text=True, timeout=120,
                                  preexec_fn=cgroups.enter if cgroups else None)
        finally:
            if cgroups:
                cgroups.remove()
        if done.returncode == NOT_HERE:
            raise NotHere(done.stdout.strip().removeprefix("skip: "))
        if done.returncode != workload.status:
            raise OSError(f"{workload.name}: status {done.returncode}: {done.stderr[-500:]}")
        said = subprocess.run([sonde, "report", "--json", trace], check=True,
                              capture_output=True, text=True, timeout=60)
        return json.loads(said.stdout)


def found(report):
    """The rules of the findings about the program, the first one first."""
    return [f["rule"] for f in report["findings"]]


def is_right(workload, report):
    """Whether the first finding is the workload's, in the right words."""
    rules = found(report)
    # To know that a healthy program sleeps does no harm.
    if workload.finds is None:
        rules = [rule for rule in rules if rule not in workload.also]
    first = next(iter(rules), None)
    return (first in (workload.finds, *workload.instead)
            and workload.words.lower() in report["verdict"].lower())


def wrong(workload, report):
    """The rules of findings that are not true of it."""
    return [rule for rule in found(report)
            if rule not in (workload.finds, *workload.instead, *workload.also)]
