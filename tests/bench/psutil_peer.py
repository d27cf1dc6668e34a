#!/usr/bin/env python3
"""Samples the same quantities as the sampler, by psutil, for the benchmark.

    psutil_peer.py ROOT_PID RATE_HZ SECONDS

Prints the CPU used, in percent of one core. The processes are looked up once,
as the benchmark's never change; every tick reads each of them and, at most ten
times a second, the machine.
"""

import sys
import time

import psutil


def sample_process(process):
    with process.oneshot():
        process.cpu_times()
        process.memory_info()
        process.num_threads()
        process.threads()
        process.io_counters()
        process.num_ctx_switches()


def sample_machine():
    psutil.cpu_times(percpu=True)
    psutil.cpu_stats()
    psutil.virtual_memory()
    psutil.swap_memory()
    psutil.disk_io_counters(perdisk=True)
    psutil.net_io_counters(pernic=True)
    psutil.getloadavg()


def main():
    root, rate_hz, seconds = int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3])
    parent = psutil.Process(root)
    processes = [parent] + parent.children(recursive=True)
    begin = time.monotonic()
    cpu = time.process_time()
    tick, next_machine = 0, begin
    while True:
        now = time.monotonic()
        if now - begin >= seconds:
            break
        if now >= next_machine:
            sample_machine()
            next_machine = now + 0.095
        for process in processes:
            sample_process(process)
        tick += 1
        wait = begin + tick / rate_hz - time.monotonic()
        if wait > 0:
            time.sleep(wait)
        else:
            tick = int((time.monotonic() - begin) * rate_hz)
    used = time.process_time() - cpu
    print(f"{100 * used / (time.monotonic() - begin):.3f}")


if __name__ == "__main__":
    main()
