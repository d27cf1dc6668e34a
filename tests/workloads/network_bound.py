#!/usr/bin/python3
"""Fetches from another network namespace through a link of 80 Mbit/s, for six seconds.

Needs root, `ip` and `tc`; without them it says so and ends with status 77.
"""

import ctypes
import os
import shutil
import socket
import subprocess
import sys
import time

SECONDS = 6
HERE, THERE = f"sonde-a{os.getpid()}", f"sonde-b{os.getpid()}"
NEAR, FAR = "10.213.7.1", "10.213.7.2"


def must(*words):
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        raise OSError(f"{' '.join(words)}: {done.stderr.strip()}")


def link():
    for name in (HERE, THERE):
        must("ip", "netns", "add", name)
    must("ip", "link", "add", "va", "netns", HERE, "type", "veth",
         "peer", "name", "vb", "netns", THERE)
    for name, device, address in ((HERE, "va", NEAR), (THERE, "vb", FAR)):
        must("ip", "-n", name, "addr", "add", f"{address}/24", "dev", device)
        must("ip", "-n", name, "link", "set", device, "up")
    must("ip", "netns", "exec", THERE, "tc", "qdisc", "add", "dev", "vb", "root",
         "tbf", "rate", "80mbit", "burst", "64kb", "latency", "50ms")


def enter(name):
    """Moves this process to a namespace; os.setns is of Python 3.12."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open(f"/run/netns/{name}") as file:
        if libc.setns(file.fileno(), 0) != 0:
            raise OSError(ctypes.get_errno(), "setns")


def serve():
    enter(THERE)
    with socket.create_server((FAR, 5000)) as server:
        one, _ = server.accept()
        block = b"x" * 65536
        try:
            while True:
                one.sendall(block)
        except OSError:
            pass


def fetch():
    enter(HERE)
    for _ in range(100):
        try:
            one = socket.create_connection((FAR, 5000))
            break
        except OSError:
            time.sleep(0.05)
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        one.recv(65536)
    one.close()


if os.geteuid() != 0 or not shutil.which("ip") or not shutil.which("tc"):
    print("skip: needs root, ip and tc")
    sys.exit(77)
try:
    link()
    server = os.fork()
    if server == 0:
        try:
            serve()
        finally:
            os._exit(0)
    fetch()
    os.waitpid(server, 0)
except OSError as error:
    print(f"skip: {error}")
    sys.exit(77)
finally:
    for name in (HERE, THERE):
        subprocess.run(["ip", "netns", "delete", name], capture_output=True)
