#!/usr/bin/python3
"""Signals: the command gets what it would have got without sonde, and once."""

import os
import pty
import select
import signal
import subprocess
import sys
import termios
import time

from common import Runner, children_of, equal, reap, true, wait_for

PY = "/usr/bin/python3"
run = Runner()

# Prints each signal it gets. Waits for as many as it is told, then for some
# seconds, in which one that comes twice is seen.
COUNTER = """
import signal, sys, time, os
seen = []
def take(number, frame):
    os.write(1, b'got %d\\n' % number)
    seen.append(number)
for n in (1, 2, 3, 10, 12, 15, 28, 34, 50):
    signal.signal(n, take)
os.write(1, b'ready\\n')
wanted, rest = int(sys.argv[1]), float(sys.argv[2])
late = time.monotonic() + 20
while len(seen) < wanted and time.monotonic() < late:
    time.sleep(0.02)
end = time.monotonic() + rest
while time.monotonic() < end:
    time.sleep(0.02)
os.write(1, b'end %d\\n' % len(seen))
sys.exit(len(seen))
"""


class Terminal:
    """sonde as the foreground job of a session with a terminal of its own."""

    def __init__(self, command, wrapper=()):
        self.trace = run.path("t.sonde")
        self.text = b""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execvp((wrapper or [run.sonde])[0],
                      [*wrapper, run.sonde, "run", "--quiet", "-o", self.trace,
                       "--", *command])

    def read_until(self, what, seconds=10):
        end = time.monotonic() + seconds
        while what not in self.text:
            left = end - time.monotonic()
            true(f"{what!r} within {seconds} s, not {self.text!r}", left > 0)
            if select.select([self.fd], [], [], left)[0]:
                try:
                    chunk = os.read(self.fd, 4096)
                except OSError:  # the terminal is gone
                    chunk = b""
                if not chunk:
                    true(f"{what!r} before the end of {self.text!r}",
                         what in self.text)
                    return
                self.text += chunk

    def type(self, keys):
        os.write(self.fd, keys)

    def wait(self, seconds=15):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            # What is not read from a terminal blocks the one who writes there.
            if select.select([self.fd], [], [], 0.01)[0]:
                try:
                    self.text += os.read(self.fd, 4096)
                except OSError:
                    pass
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                os.close(self.fd)
                return os.waitstatus_to_exitcode(status)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        true("it ended in time", False)


def ctrl_c_reaches_the_command_once():
    t = Terminal([PY, "-c", COUNTER, "1", "0.6"])
    t.read_until(b"ready")
    t.type(b"\x03")
    t.read_until(b"end")
    equal("exit status", t.wait(), 1)
    equal("times", t.text.count(b"got 2"), 1)
    run.check(t.trace)


def ctrl_backslash_reaches_the_command_once():
    t = Terminal([PY, "-c", COUNTER, "1", "0.6"])
    t.read_until(b"ready")
    t.type(b"\x1c")
    equal("exit status", t.wait(), 1)
    equal("times", t.text.count(b"got 3"), 1)


def ctrl_c_kills_the_command_and_sonde_dies_of_it():
    t = Terminal(["sh", "-c", "echo ready; exec sleep 20"])
    t.read_until(b"ready")
    time.sleep(0.1)
    t.type(b"\x03")
    equal("status", t.wait(), -signal.SIGINT)
    found = run.check(t.trace)
    true("finished", found["finished"])
    equal("exit", found["meta"]["exit"], "signal 2")


def double_ctrl_c_leaves_a_trace():
    t = Terminal([PY, "-c", COUNTER, "2", "0.6"])
    t.read_until(b"ready")
    t.type(b"\x03")
    t.read_until(b"got 2")
    t.type(b"\x03")
    equal("exit status", t.wait(), 2)
    true("finished", run.check(t.trace)["finished"])


def ctrl_c_while_the_trace_is_finished_leaves_a_trace():
    t = Terminal(["sh", "-c", "trap '' INT; echo ready; exec sleep 0.3"])
    t.read_until(b"ready")
    end = time.monotonic() + 0.5
    while time.monotonic() < end:
        try:
            t.type(b"\x03")
        except OSError:
            break
        time.sleep(0.002)
    equal("exit status", t.wait(), 0)
    true("finished", run.check(t.trace)["finished"])


def ctrl_z_stops_the_job_and_fg_continues_it():
    # A shell with job control stands between the terminal and sonde.
    trace = run.path("t.sonde")
    pid, fd = pty.fork()
    if pid == 0:
        os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])
    t = Terminal.__new__(Terminal)
    t.pid, t.fd, t.text, t.trace = pid, fd, b"", trace
    attributes = termios.tcgetattr(fd)
    attributes[3] &= ~termios.ECHO
    termios.tcsetattr(fd, termios.TCSANOW, attributes)
    t.type(b"PS1='$ '; set +o emacs\n")
    counter = run.path("counter.py")
    with open(counter, "w") as f:
        f.write(COUNTER)
    t.type(f"{run.sonde} run --quiet -o {trace} -- {PY} {counter} 0 3\n".encode())
    t.read_until(b"ready")
    began = time.monotonic()
    time.sleep(0.2)
    t.type(b"\x1a")
    t.read_until(b"Stopped")
    job = children_of(pid)
    equal("jobs", len(job), 1)
    stopped = [job[0]] + children_of(job[0])
    equal("stopped processes",
          [open(f"/proc/{p}/stat").read().rsplit(")", 1)[1].split()[0]
           for p in stopped], ["T", "T"])
    time.sleep(1.3)
    t.type(b"fg\n")
    t.read_until(b"end 0")
    took = time.monotonic() - began
    t.type(b"echo status=$?\n")
    t.read_until(b"status=0")
    t.type(b"exit\n")
    t.wait()
    found = run.check(trace)
    # A busy machine may add shorter ones.
    longest = max(stalls(found), key=lambda loss: loss["to_ns"] - loss["from_ns"])
    true(f"of the right length: {longest}, {took} s",
         1.0e9 < longest["to_ns"] - longest["from_ns"] < took * 1e9)


def stalls(found):
    """The losses for times in which sonde did not run."""
    losses = [loss for loss in found["losses"] if loss["reason"] == "stopped"]
    true(f"told: {found['losses']}", losses)
    return losses


def hangup_of_the_terminal_reaches_the_command():
    marker = run.path("marker")
    t = Terminal(["sh", "-c",
                  f"trap 'echo hup > {marker}; exit 4' HUP; echo ready;"
                  "while :; do sleep 0.02; done"])
    t.read_until(b"ready")
    os.close(t.fd)
    _, status = os.waitpid(t.pid, 0)
    equal("status", os.waitstatus_to_exitcode(status), 4)
    equal("marker", open(marker).read(), "hup\n")


def start(command, **how):
    trace = run.path("t.sonde")
    process = subprocess.Popen(
        [run.sonde, "run", "--quiet", "-o", trace, "--", *command],
        stdout=subprocess.PIPE, **how)
    return process, trace


def forwarded(number):
    def test():
        process, trace = start([PY, "-c", COUNTER, "1", "0.6"])
        equal("first line", process.stdout.readline(), b"ready\n")
        process.send_signal(number)
        equal("status", reap(process), 1)
        out = process.stdout.read()
        equal("output", out, b"got %d\nend 1\n" % number)
        true("finished", run.check(trace)["finished"])
    return test


def sigterm_to_sonde_alone_ends_both():
    process, trace = start(["sh", "-c", "echo ready; exec sleep 20"])
    process.stdout.readline()
    process.terminate()
    equal("status", reap(process), -signal.SIGTERM)
    equal("exit", run.check(trace)["meta"]["exit"], "signal 15")


def sigterm_right_at_the_start_is_not_lost():
    for delay_ms in range(0, 30, 3):
        process, _ = start(["sleep", "20"])
        time.sleep(delay_ms / 1000)
        process.terminate()
        equal(f"status after {delay_ms} ms", reap(process), -signal.SIGTERM)


def kill_0_in_the_command_does_not_come_back():
    text = ("import os,signal,time\nn=[]\n"
            "signal.signal(15, lambda *a: n.append(1))\n"
            "os.kill(0, 15)\ntime.sleep(0.4)\nraise SystemExit(len(n))")
    process, _ = start([PY, "-c", text], start_new_session=True)
    equal("times it got its own signal", reap(process), 1)


def signal_from_the_command_to_its_parent_does_not_come_back():
    text = ("import os,signal,time\nn=[]\n"
            "signal.signal(10, lambda *a: n.append(1))\n"
            "os.kill(os.getppid(), 10)\ntime.sleep(0.3)\nraise SystemExit(len(n))")
    process, _ = start([PY, "-c", text])
    equal("times", reap(process), 0)


def stop_and_continue_of_sonde_alone():
    process, trace = start(["sh", "-c", "echo ready; read x; exit 0"],
                           stdin=subprocess.PIPE)
    began = time.monotonic()
    process.stdout.readline()
    time.sleep(0.2)
    process.send_signal(signal.SIGSTOP)
    time.sleep(1.4)
    process.send_signal(signal.SIGCONT)
    time.sleep(0.3)
    process.stdin.close()
    took = time.monotonic() - began
    equal("status", reap(process), 0)
    found = run.check(trace)
    equal("losses", {loss["reason"] for loss in found["losses"]}, {"stopped"})
    counts = [loss["count"] for loss in stalls(found)]
    true(f"of the right count: {counts}, {took} s",
         9 <= max(counts) and sum(counts) <= 10 * took)


def closed_pipe_on_our_stderr_does_not_kill_us():
    trace = run.path("t.sonde")
    read, write = os.pipe()
    process = subprocess.Popen([run.sonde, "run", "-o", trace, "--", "sh", "-c",
                                "exit 3"], stderr=write)
    os.close(read)
    os.close(write)
    equal("status", reap(process), 3)


def wait_tree_waits_for_descendants():
    trace = run.path("t.sonde")
    began = time.monotonic()
    done = subprocess.run([run.sonde, "run", "--quiet", "--wait-tree", "-o", trace,
                           "--", "sh", "-c", "sleep 1 & exit 6"], timeout=20)
    equal("status", done.returncode, 6)
    took = time.monotonic() - began
    true(f"waited {took:.2f} s", 0.9 < took < 10)


def wait_tree_ends_at_a_signal():
    marker = run.path("marker")
    process = subprocess.Popen(
        [run.sonde, "run", "--quiet", "--wait-tree", "-o", run.path("t.sonde"),
         "--", "sh", "-c", f"sleep 20 >/dev/null 2>&1 & : > {marker}; exit 6"])
    wait_for("the command's end", lambda: os.path.exists(marker)
             and not children_of(process.pid))
    time.sleep(0.3)
    true("it still waits", process.poll() is None)
    process.terminate()
    equal("status", reap(process, 10), 6)


def a_signal_ends_a_summary_nobody_reads():
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    try:
        while True:
            os.write(writer, b"x" * 4096)
    except BlockingIOError:
        os.set_blocking(writer, True)
    for number in (signal.SIGINT, signal.SIGTERM):
        trace = run.path("t.sonde")
        process = subprocess.Popen([run.sonde, "run", "-o", trace, "--", "sh",
                                    "-c", "exit 6"], stderr=writer)
        wait_for("the trace is closed", lambda: os.path.exists(trace)
                 and not os.path.exists(trace + ".journal"))
        time.sleep(0.3)
        true("it waits for its reader", process.poll() is None)
        process.send_signal(number)
        equal("status", reap(process, 10), 6)
        os.unlink(trace)
    os.close(reader)
    os.close(writer)


for test in (ctrl_c_reaches_the_command_once,
             ctrl_backslash_reaches_the_command_once,
             ctrl_c_kills_the_command_and_sonde_dies_of_it,
             double_ctrl_c_leaves_a_trace,
             ctrl_c_while_the_trace_is_finished_leaves_a_trace,
             ctrl_z_stops_the_job_and_fg_continues_it,
             hangup_of_the_terminal_reaches_the_command):
    run.case(test.__name__, test)
for name in ("HUP", "INT", "QUIT", "USR1", "USR2", "TERM", "WINCH"):
    run.case(f"sig{name.lower()}_to_sonde_alone_is_forwarded_once",
             forwarded(int(getattr(signal, "SIG" + name))))
run.case("realtime_signal_is_forwarded_once", forwarded(50))
for test in (sigterm_to_sonde_alone_ends_both,
             sigterm_right_at_the_start_is_not_lost,
             kill_0_in_the_command_does_not_come_back,
             signal_from_the_command_to_its_parent_does_not_come_back,
             stop_and_continue_of_sonde_alone,
             closed_pipe_on_our_stderr_does_not_kill_us,
             wait_tree_waits_for_descendants, wait_tree_ends_at_a_signal,
             a_signal_ends_a_summary_nobody_reads):
    run.case(test.__name__, test)
run.done()
