#!/usr/bin/python3
"""The neighbours that workloads are tried beside work, and leave nothing."""

import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest

WORKLOADS = pathlib.Path(__file__).resolve().parent.parent / "workloads"
sys.path.insert(0, str(WORKLOADS))
import neighbours

LONGEST_S = 60


def cpu_ticks(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def disk_bytes(pid):
    lines = pathlib.Path(f"/proc/{pid}/io").read_text().splitlines()
    values = dict(line.split(": ") for line in lines)
    return int(values["read_bytes"]), int(values["write_bytes"])


def has_ended(pid):
    try:
        return ") Z " in pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return True


class Neighbours(unittest.TestCase):
    def wait(self, what, is_so):
        end = time.monotonic() + LONGEST_S
        while not is_so():
            self.assertLess(time.monotonic(), end, what)
            time.sleep(0.02)

    def test_one_uses_a_core_and_one_a_disk(self):
        with neighbours.Neighbours() as both:
            core, disk = both.programs
            self.wait("the core", lambda: cpu_ticks(core.pid) >= 20)
            self.wait("reads", lambda: disk_bytes(disk.pid)[0] > 0)
            self.wait("writes", lambda: disk_bytes(disk.pid)[1] > 0)
            self.assertFalse(os.path.exists(both.path), "its name is gone while it works")
            both.check()
            core.kill()
            core.wait()
            self.assertRaises(OSError, both.check)
        self.assertIsNotNone(disk.poll())

    def test_they_end_with_whoever_started_them(self):
        code = ("import neighbours, time\n"
                "with neighbours.Neighbours() as both:\n"
                "    print(*(p.pid for p in both.programs), flush=True)\n"
                "    time.sleep(600)\n")
        parent = subprocess.Popen([sys.executable, "-c", code], cwd=WORKLOADS,
                                  stdout=subprocess.PIPE, text=True)
        pids = [int(word) for word in parent.stdout.readline().split()]
        self.assertEqual(len(pids), 2)
        parent.send_signal(signal.SIGKILL)
        parent.wait()
        parent.stdout.close()
        for pid in pids:
            self.wait("the end", lambda pid=pid: has_ended(pid))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
