#!/usr/bin/python3
"""Two processes compute for six seconds.

They are throttled if they run in a cgroup with a CPU limit below two cores, which
tests/e2e/workloads.py makes for them.
"""

import os
import time

end = time.monotonic() + 6
child = os.fork()
while time.monotonic() < end:
    pass
if child == 0:
    os._exit(0)
os.wait()
