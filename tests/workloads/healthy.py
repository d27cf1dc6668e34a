#!/usr/bin/python3
"""A service with little to do: twenty short requests a second, for six seconds."""

import hashlib
import time

end = time.monotonic() + 6
while time.monotonic() < end:
    hashlib.sha256(b"x" * 200000).digest()
    time.sleep(0.05)
