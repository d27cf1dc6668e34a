#!/usr/bin/python3
"""Two programs beside the one that is judged: one uses a core, one a disk.

As a program it is one of them: neighbours.py core|disk [FILE]. It ends with the
process that started it.
"""

import ctypes
import mmap
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

BLOCK, SPAN = 1 << 20, 64 << 20
# /tmp is memory on many machines, and nobody waits for a disk there.
PLACES = ("/var/tmp", os.path.expanduser("~"), ".")


def _use_core():
    while True:
        pass


def _use_disk(path):
    """Writes a file and reads it again, past the page cache."""
    fd = os.open(path, os.O_RDWR | os.O_DIRECT)
    os.unlink(path)  # whatever ends this, nothing stays
    block = mmap.mmap(-1, BLOCK)  # O_DIRECT wants whole pages
    block.write(os.urandom(4096) * (BLOCK // 4096))
    while True:
        for at in range(0, SPAN, BLOCK):
            os.pwrite(fd, block, at)
        for at in range(0, SPAN, BLOCK):
            os.preadv(fd, [block], at)


def _on_disk():
    """A new file that O_DIRECT can open, which memory file systems refuse."""
    for place in PLACES:
        try:
            fd, path = tempfile.mkstemp(dir=place, prefix="sonde-neighbour-")
        except OSError:
            continue
        os.close(fd)
        try:
            os.close(os.open(path, os.O_RDWR | os.O_DIRECT))
            return path
        except OSError:
            os.unlink(path)
    raise OSError(f"no disk to write to in any of {', '.join(PLACES)}")


class Neighbours:
    """`with Neighbours():` has both at work, and ends both."""

    def __enter__(self):
        self.path = _on_disk()
        self.programs = [subprocess.Popen(
            [sys.executable, __file__, *words], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE) for words in (["core"], ["disk", self.path])]
        try:
            for program in self.programs:
                if program.stdout.readline() != b"at work\n":
                    raise OSError(f"{program.args[2]}: the neighbour did not begin")
        except BaseException:
            self.__exit__()
            raise
        return self

    def check(self):
        """Raises if one has ended: then nobody was beside the program."""
        for program in self.programs:
            if program.poll() is not None:
                raise OSError(f"the neighbour {program.args[2]} ended with status "
                              f"{program.returncode}")

    def __exit__(self, *_):
        for program in self.programs:
            program.kill()
            program.wait()
            program.stdout.close()
        pathlib.Path(self.path).unlink(missing_ok=True)


if __name__ == "__main__":
    parent = os.getppid()
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    if os.getppid() != parent:
        sys.exit(1)
    print("at work", flush=True)
    if sys.argv[1] == "core":
        _use_core()
    _use_disk(sys.argv[2])
