#!/usr/bin/python3
"""A service that answers little and keeps 3 MB more with each answer."""

import time

kept = []
end = time.monotonic() + 7
while time.monotonic() < end:
    kept.append(b"x" * (3 << 20))
    time.sleep(0.1)
