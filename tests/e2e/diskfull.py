#!/usr/bin/python3
"""A full disk stops the recording, not the program."""

import contextlib
import os
import resource
import select
import subprocess
import time

from common import Runner, Skip, equal, true

run = Runner()


@contextlib.contextmanager
def small_disk(size):
    if os.geteuid() != 0:
        raise Skip("mounting a tmpfs takes root")
    where = os.path.dirname(run.path("x"))
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs",
                           where], capture_output=True, text=True)
    if done.returncode != 0:
        raise Skip(f"mount: {done.stderr.strip()}")
    try:
        yield where
    finally:
        subprocess.run(["umount", "-l", where], check=False)


# Fills the disk, as a program that writes a checkpoint, then keeps twenty
# processes moving until it is told to end.
TARGET = """
import os, signal, sys, time
fill = open(sys.argv[1], 'wb', buffering=0)
try:
    while True: fill.write(bytes(1 << 16))
except OSError:
    pass
kids = []
for _ in range(20):
    kids.append(os.fork())
    if kids[-1] == 0:
        while True: time.sleep(0.004)
print('begin', flush=True)
sys.stdin.readline()
for kid in kids: os.kill(kid, signal.SIGKILL)
os.remove(sys.argv[1])
print('oops', file=sys.stderr)
sys.exit(7)
"""
TOLD = "the recording stops here"


def start_on(where, *options):
    trace = os.path.join(where, "t.sonde")
    process = subprocess.Popen(
        [run.sonde, "run", "--rate", "500", *options, "-o", trace, "--",
         "/usr/bin/python3", "-c", TARGET, os.path.join(where, "fill")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True)
    return process, trace


def full_disk(size):
    with small_disk(size) as where:
        process, trace = start_on(where)
        # The line comes while the command runs.
        ready = select.select([process.stderr], [], [], 60)[0]
        out, err = process.communicate("end\n", timeout=20)
        true("told within 60 s", bool(ready))
        equal("status", process.returncode, 7)
        equal("stdout", out, "begin\n")
        told = [line for line in err.splitlines() if TOLD in line]
        equal("lines about it", len(told), 1)
        true(f"names path and cause: {told}",
             told[0].startswith(f"sonde: {trace}: No space left"))
        true(f"before the command's own: {err!r}",
             err.startswith(told[0] + "\noops\n"))
        found = run.check(trace)
        true("finished", found["finished"])
        true(f"says so: {found['losses']}",
             any(loss["reason"] == "disk-full" for loss in found["losses"]))
        true("holds what came before", found["ticks"] > 10)


def full_disk_quiet(size):
    with small_disk(size) as where:
        process, trace = start_on(where, "--quiet")
        time.sleep(3)
        out, err = process.communicate("end\n", timeout=20)
        equal("status", process.returncode, 7)
        equal("output", (out, err), ("begin\n", "oops\n"))
        run.check(trace)


def full_from_the_start():
    with small_disk("64k") as where:
        with open(os.path.join(where, "fill"), "wb") as f:
            with contextlib.suppress(OSError):
                f.write(b"x" * (64 << 10))
                f.flush()
        trace = os.path.join(where, "t.sonde")
        done = subprocess.run([run.sonde, "run", "-o", trace, "--", "echo", "never"],
                              capture_output=True, text=True, timeout=20)
        equal("status", done.returncode, 125)
        equal("stdout", done.stdout, "")
        true("says why", "No space left" in done.stderr)
        true("nothing is left", not os.path.exists(trace))


def limit_on_file_sizes():
    trace = run.path("t.sonde")

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (100 << 10, 100 << 10))
    # The command ignores the signal of that limit; ours must not kill us.
    done = subprocess.run([run.sonde, "run", "--quiet", "--rate", "1000", "-o", trace,
                           "--", "sh", "-c", "sleep 1.5; exit 3"], preexec_fn=limit,
                          timeout=30)
    equal("status", done.returncode, 3)
    run.check(trace)


def directory_removed_meanwhile():
    trace = run.path("t.sonde")
    done = subprocess.run([run.sonde, "run", "--quiet", "-o", trace, "--", "sh", "-c",
                           f"rm -rf {os.path.dirname(trace)}; sleep 0.5; exit 5"],
                          timeout=30)
    equal("status", done.returncode, 5)


for size in ("1m", "4m"):
    run.case(f"full_disk_of_{size}_stops_the_recording_not_the_program", full_disk,
             size)
run.case("full_disk_quiet_says_nothing", full_disk_quiet, "1m")
run.case("full_disk_from_the_start_is_said_before_the_start", full_from_the_start)
run.case("limit_on_file_sizes_does_not_kill", limit_on_file_sizes)
run.case("directory_removed_meanwhile_does_not_matter", directory_removed_meanwhile)
run.done()
