"""The Python that has the libraries of the jobs, made when it is first needed.

$SONDE_JOBS_VENV names one that is there; without it one is made in the user's
cache, which takes several gigabytes and minutes, once.
"""

import os
import pathlib
import subprocess
import sys

from suite import NotHere

# As they are imported, and as they are installed.
PACKAGES = {"numpy": "numpy", "torch": "torch", "onnxruntime": "onnxruntime",
            "onnx": "onnx", "sklearn": "scikit-learn", "lightgbm": "lightgbm",
            "pandas": "pandas", "PIL": "pillow"}


class PythonEnv:
    def __init__(self):
        cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        self.folder = pathlib.Path(os.environ.get("SONDE_JOBS_VENV")
                                   or f"{cache}/sonde/jobs-venv")
        self.known = {}

    def path(self, needs):
        """Of the interpreter; raises NotHere if a package is not to be had."""
        python = self.folder / "bin/python"
        if not python.exists():
            made = subprocess.run([sys.executable, "-m", "venv", str(self.folder)],
                                  capture_output=True, text=True)
            if made.returncode != 0:
                raise NotHere(f"no environment of Python: {made.stdout[-200:]}")
        for name in needs:
            why = self._missing(str(python), name)
            if why:
                raise NotHere(f"needs {PACKAGES[name]}: {why}")
        return str(python)

    def _missing(self, python, name):
        if name not in self.known:
            self.known[name] = "" if self._imports(python, name) else (
                self._install(python, name))
        return self.known[name]

    @staticmethod
    def _imports(python, name):
        return subprocess.run([python, "-c", f"import {name}"],
                              capture_output=True).returncode == 0

    def _install(self, python, name):
        print(f"jobs: installing {PACKAGES[name]}", file=sys.stderr, flush=True)
        done = subprocess.run([python, "-m", "pip", "install", "-q", PACKAGES[name]],
                              capture_output=True, text=True)
        if done.returncode != 0:
            return (done.stderr.strip().splitlines() or ["pip failed"])[-1][:200]
        return "" if self._imports(python, name) else "installed, but not imported"
