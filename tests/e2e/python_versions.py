"""The Pythons that tests of stacks run."""

import glob
import os
import subprocess


def pythons():
    """[(name, path, minor)] of every Python that is here."""
    found = []
    more = os.environ.get("SONDE_PYTHONS", "")
    for path in ["/usr/bin/python3",
                 *glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3")),
                 *filter(None, more.split(":"))]:
        if not os.path.exists(path):
            continue
        said = subprocess.run([path, "-c", "import sys; print(*sys.version_info[:3])"],
                              capture_output=True, text=True)
        if said.returncode == 0:
            version = [int(word) for word in said.stdout.split()]
            place = ("pyenv" if "/.pyenv/" in path else
                     "system" if path.startswith("/usr") else "other")
            found.append((f"{place}-{'.'.join(map(str, version))}", path, version[1]))
    return sorted(found, key=lambda one: (one[2], one[0]))
