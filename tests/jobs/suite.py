"""Real programs on real libraries, what limits each, and where.

A job is right if the first finding is its rule and the place is said: one of its
words is in the verdict, or is the function or thread to look at.
"""

import dataclasses
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
from typing import Optional

FOLDER = pathlib.Path(__file__).resolve().parent


class NotHere(Exception):
    """This machine lacks what the job needs."""


@dataclasses.dataclass(frozen=True)
class Job:
    file: str
    finds: tuple[str, ...]  # rules that name the cause: one is enough
    places: tuple[str, ...]  # words for where: one is enough
    also: tuple[str, ...] = ()  # rules that are true of it too
    needs: tuple[str, ...] = ()  # packages of Python
    env: tuple[tuple[str, str], ...] = ()

    @property
    def name(self):
        return pathlib.Path(self.file).stem


_EIGHT = (("OMP_NUM_THREADS", "8"),)
_CPU = ("cpu_bound", "oversubscribed", "one_core_bound")
SUITE = (
    Job("omp_threads.c", ("spinning_threads",), ("OpenMP",), also=_CPU, env=_EIGHT),
    Job("torch_threads.py", ("spinning_threads",), ("OpenMP",), also=_CPU,
        needs=("torch",)),
    Job("ort_threads.py", ("spinning_threads",), ("ONNX Runtime",), also=_CPU,
        needs=("onnxruntime", "onnx")),
    Job("sklearn_threads.py", ("spinning_threads",), ("OpenMP",), also=_CPU,
        needs=("sklearn",), env=_EIGHT),
    Job("lightgbm_threads.py", ("spinning_threads",), ("OpenMP",), also=_CPU,
        needs=("lightgbm",)),
    Job("torch_matmul.py", ("cpu_bound",), ("multiply", "gemm"), needs=("torch",)),
    Job("torch_input.py", ("input_on_main_thread",), ("augment",),
        also=("one_core_bound",), needs=("torch",)),
    Job("torch_checkpoint.py", ("checkpoint_stall",), ("save",),
        also=("alternating", "disk_bound", "one_core_bound"), needs=("torch",)),
    Job("ort_large.py", ("cpu_bound",), ("Session.run", "onnxruntime"),
        needs=("onnxruntime", "onnx")),
    Job("sklearn_tree.py", ("one_core_bound",),
        ("grow", "fit", "_build", "sklearn", "DecisionTree"), needs=("sklearn",)),
    Job("lightgbm_large.py", ("cpu_bound",), ("lightgbm", "LightGBM", "Booster.update"),
        needs=("lightgbm",)),
    Job("numpy_loop.py", ("one_core_bound",), ("add_up",), needs=("numpy",)),
    Job("numpy_blas.py", ("cpu_bound",), ("multiply", "gemm"), needs=("numpy",)),
    Job("pandas_apply.py", ("one_core_bound",), ("score", "apply", "pandas", "Series"),
        needs=("pandas",)),
    Job("pillow_resize.py", ("one_core_bound",),
        ("thumbnail", "PIL", "Image", "load", "decode", "jpeg"), needs=("PIL", "numpy")),
    Job("json_parse.py", ("one_core_bound",), ("decode", "parse", "json")),
    Job("python_threads.py", ("one_core_bound", "interpreter_bound"),
        ("4 threads", "tokenize")),
    Job("python_lock.py", ("lock_bound",), ("store",), also=("one_core_bound",)),
    Job("python_gc.py", ("garbage_collection",), ("python_gc", "Python"),
        also=("one_core_bound",)),
    Job("python_queue.py", ("waiting",), ("consume",)),
    Job("python_fetch.py", ("waiting", "network_bound"), ("fetch",)),
    Job("python_pool.py", ("oversubscribed",), ("16 processes", "python"),
        also=("cpu_bound",)),
    Job("python_spawn.py", ("spawn_storm",), ("true", "python"),
        also=("cpu_bound", "one_core_bound")),
    Job("numpy_small_files.py", ("small_files",), ("load",),
        also=("one_core_bound",), needs=("numpy",)),
    Job("node_loop.js", ("one_core_bound",), ("JavaScript", "node_loop")),
    Job("node_garbage.js", ("garbage_collection",), ("JavaScript",),
        also=("cpu_bound", "one_core_bound")),
    Job("go_garbage.go", ("garbage_collection",), ("Go",),
        also=("cpu_bound", "one_core_bound")),
    Job("go_cpu.go", ("cpu_bound",), ("main.compute",)),
    Job("JavaLock.java", ("lock_bound",), ("Java",), also=("one_core_bound",)),
    Job("JavaLoop.java", ("cpu_bound",), ("Java",)),
    Job("JavaHeap.java", ("heap_too_small",), ("java",),
        also=("cpu_bound", "oversubscribed", "one_core_bound", "memory_leak")),
)


def _program(name):
    found = shutil.which(name) or shutil.which(name, path="/usr/local/go/bin")
    if found is None:
        raise NotHere(f"needs {name}")
    return found


def _command(job, folder, python):
    """What runs the job; what can be compiled is compiled before."""
    source, binary = str(FOLDER / job.file), f"{folder}/{job.name}"
    kind = pathlib.Path(job.file).suffix
    if kind == ".py":
        return [python.path(job.needs), source]
    if kind == ".js":
        return [_program("node"), source]
    if kind == ".java":
        compiler, java = _program("javac"), _program("java")
        subprocess.run([compiler, "-d", folder, source], check=True)
        heap = ["-Xmx64m"] if job.name == "JavaHeap" else []
        return [java, *heap, "-cp", folder, job.name]
    if kind == ".go":
        env = dict(os.environ, GOCACHE=f"{folder}/cache", GOFLAGS="-mod=mod")
        subprocess.run([_program("go"), "build", "-o", binary, source], check=True,
                       env=env, cwd=folder)
        shutil.rmtree(f"{folder}/cache", ignore_errors=True)
        return [binary]
    subprocess.run([_program("cc"), "-O2", "-g", "-fopenmp", "-o", binary, source],
                   check=True)
    return [binary]


class Prepared:
    """`with Prepared(job, python) as it:` can be recorded several times."""

    def __init__(self, job, python):
        self.job, self.python = job, python

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="sonde-job-")
        try:
            self.command = _command(self.job, self.folder.name, self.python)
        except subprocess.CalledProcessError as error:
            self.folder.cleanup()
            raise NotHere(f"cannot be compiled here: {error}") from error
        except BaseException:
            self.folder.cleanup()
            raise
        return self

    def __exit__(self, *_):
        self.folder.cleanup()

    def record(self, sonde):
        """Runs it once as a user would; what `sonde report --json` says of it."""
        trace = f"{self.folder.name}/t.sonde"
        done = subprocess.run(
            [sonde, "run", "--quiet", "--force", "-o", trace, "--", *self.command],
            env=dict(os.environ, **dict(self.job.env)), capture_output=True, text=True,
            timeout=180, cwd=self.folder.name)
        if done.returncode != 0:
            raise OSError(f"status {done.returncode}: {done.stderr[-500:]}")
        said = subprocess.run([sonde, "report", "--json", trace], check=True,
                              capture_output=True, text=True, timeout=120)
        return json.loads(said.stdout)


def _says_place(job, finding):
    where = finding["where"] or {}
    # The name of the job's own file says nothing.
    texts = [finding["summary"].replace(job.file, "").replace(job.name, ""),
             *(where.get(key) or "" for key in ("function", "thread_name"))]
    return any(word.lower() in text.lower() for word in job.places for text in texts)


def is_right(job, report):
    """Whether the first finding names the cause, and the place."""
    first: Optional[dict] = next(iter(report["findings"]), None)
    return (first is not None and first["rule"] in job.finds
            and _says_place(job, first))


def wrong(job, report):
    """The rules of findings that are not true of it."""
    return [f["rule"] for f in report["findings"]
            if f["rule"] not in job.finds and f["rule"] not in job.also]
