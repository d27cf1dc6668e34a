#!/usr/bin/env python3
"""Runs a program with LTTng-UST tracepoints in a session that records to disk.

    lttng_peer.py PROGRAM

The daemon is ours alone: it has a home of its own, is started here and ended
here. Root becomes nobody for that, as root's daemon would be everybody's. The
buffers are per user, of the default kind (full: events are discarded) and so
large that none is. The program has our stdin and stdout. At its end one line
follows: `discarded EVENTS recorded BYTES`.
"""

import os
import pathlib
import pwd
import re
import shutil
import subprocess
import sys
import tempfile
import time

SESSION = "peer"
CHANNEL = ["--userspace", "--session", SESSION]


def lttng(*words):
    return subprocess.run(["lttng", "--no-sessiond", *words], check=True,
                          stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=30).stdout


def become_nobody(home):
    """Nobody's uid has a daemon of its own; ours stays inside `home`."""
    nobody = pwd.getpwnam("nobody")
    os.chown(home, nobody.pw_uid, nobody.pw_gid)
    os.setgroups([])
    os.setgid(nobody.pw_gid)
    os.setuid(nobody.pw_uid)


def wait_for_daemon(daemon):
    for _ in range(200):
        if daemon.poll() is not None:
            sys.exit("lttng-sessiond ended")
        try:
            lttng("list")
            return
        except subprocess.CalledProcessError:
            time.sleep(0.05)
    sys.exit("lttng-sessiond does not answer")


def record(program, home):
    trace = home / "trace"
    lttng("create", SESSION, f"--output={trace}")
    lttng("enable-channel", *CHANNEL, "--subbuf-size=8M", "--num-subbuf=4",
          "--buffers-uid", "all")
    lttng("enable-event", *CHANNEL, "--channel=all", "sonde_peer:*")
    lttng("start", SESSION)
    status = subprocess.run([program]).returncode
    lttng("stop", SESSION)
    discarded = sum(map(int, re.findall(r"Discarded events: (\d+)",
                                        lttng("list", SESSION))))
    lttng("destroy", SESSION)
    size = sum(p.stat().st_size for p in trace.rglob("*") if p.is_file())
    print(f"discarded {discarded} recorded {size}", flush=True)
    return status


def main():
    if not shutil.which("lttng-sessiond"):
        sys.exit("lttng-sessiond is not installed")
    home = pathlib.Path(tempfile.mkdtemp(prefix="sonde-lttng-"))
    program = shutil.copy(sys.argv[1], home)
    os.chmod(home, 0o755)
    if os.getuid() == 0:
        become_nobody(home)
    os.environ["LTTNG_HOME"] = os.environ["HOME"] = str(home)
    # The program makes them to wait for daemons, and leaves them.
    left = [path for path in
            (pathlib.Path("/dev/shm/lttng-ust-wait-8"),
             pathlib.Path(f"/dev/shm/lttng-ust-wait-8-{os.getuid()}"))
            if not path.exists()]
    with open(home / "log", "w") as log:
        daemon = subprocess.Popen(["lttng-sessiond", "--no-kernel"], stdout=log,
                                  stderr=log, stdin=subprocess.DEVNULL)
    try:
        wait_for_daemon(daemon)
        return record(program, home)
    finally:
        daemon.terminate()
        daemon.wait()
        for path in left:
            path.unlink(missing_ok=True)
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
