"""The programs of this folder, what limits each, and how one is recorded.

A program that cannot run here says "skip: WHY" and ends with status 77.
"""

import dataclasses
import json
import os
import pathlib
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
class Workload:
    name: str
    finds: Optional[str]  # the rule of the first finding; None: no finding
    device_mb: Optional[int] = None  # used of a simulated GPU's 16000; None: no GPU
    limited: bool = False  # to half a core, by a cgroup


SUITE = (
    Workload("cpu_bound", "cpu_bound"),
    Workload("one_core_bound", "one_core_bound"),
    Workload("disk_bound", "disk_bound"),
    Workload("small_files", "small_files"),
    Workload("network_bound", "network_bound"),
    Workload("memory_leak", "memory_leak"),
    Workload("oversubscribed", "oversubscribed"),
    Workload("cpu_throttled", "cpu_throttled", limited=True),
    Workload("alternating", "alternating"),
    Workload("checkpoint_stall", "checkpoint_stall"),
    Workload("swapping", "swapping"),
    Workload("healthy", None),
    Workload("input_bound", "input_bound", device_mb=4000),
    Workload("interpreter_bound", "interpreter_bound", device_mb=4000),
    Workload("device_memory_full", "device_memory_full", device_mb=15200),
    Workload("healthy_gpu", None, device_mb=8000),
)


class Limited:
    """A cgroup that may use half a core, of whichever version there is."""

    def __init__(self):
        name = f"sonde-workload-{os.getpid()}"
        for path, settings in (
                (f"/sys/fs/cgroup/cpu/{name}",
                 (("cpu.cfs_period_us", "100000"), ("cpu.cfs_quota_us", "50000"))),
                (f"/sys/fs/cgroup/{name}", (("cpu.max", "50000 100000"),))):
            try:
                os.mkdir(path)
            except OSError:
                continue
            self.path = path
            try:
                for file, text in settings:
                    self._write(file, text)
                return
            except OSError:
                os.rmdir(path)
        raise NotHere("no cgroup with a CPU limit can be made here")

    def _write(self, file, text):
        with open(f"{self.path}/{file}", "w") as f:
            f.write(text)

    def enter(self):
        self._write("cgroup.procs", str(os.getpid()))

    def remove(self):
        for _ in range(1000):
            try:
                os.rmdir(self.path)
                return
            except OSError:
                time.sleep(0.01)


def _command(workload, folder, meter):
    source = FOLDER / workload.name
    if source.with_suffix(".py").exists():
        words = ["/usr/bin/python3", str(source.with_suffix(".py"))]
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
    with tempfile.TemporaryDirectory(prefix="sonde-workload-") as folder:
        env, meter = None, ""
        if workload.device_mb:
            env, meter = _simulated_gpu(workload, folder, sonde)
        command = _command(workload, folder, meter)
        trace = f"{folder}/t.sonde"
        limited = Limited() if workload.limited else None
        try:
            done = subprocess.run([sonde, "run", "--quiet", "-o", trace, "--", *command],
                                  env=env, capture_output=True, text=True, timeout=120,
                                  preexec_fn=limited.enter if limited else None)
        finally:
            if limited:
                limited.remove()
        if done.returncode == NOT_HERE:
            raise NotHere(done.stdout.strip().removeprefix("skip: "))
        if done.returncode != 0:
            raise OSError(f"{workload.name}: status {done.returncode}: {done.stderr[-500:]}")
        said = subprocess.run([sonde, "report", "--json", trace], check=True,
                              capture_output=True, text=True, timeout=60)
        return json.loads(said.stdout)


def first(report):
    """The rule of the first finding, None without one."""
    return report["findings"][0]["rule"] if report["findings"] else None
