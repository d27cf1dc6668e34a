#!/usr/bin/python3
"""As healthy_gpu.py: what is full is the memory, by the simulation's script.

usage: device_memory_full.py METER SECONDS
"""

from healthy_gpu import main

if __name__ == "__main__":
    main()
