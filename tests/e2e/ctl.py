#!/usr/bin/python3
"""`sonde ctl` speaks to a running recording."""

import json
import os
import socket
import subprocess
import time

from common import Runner, Skip, equal, reap, true, wait_for

run = Runner()


class Session:
    """A recording of a command that ends when its stdin does."""

    def __init__(self, *options, command=("cat",)):
        self.trace = run.path("t.sonde")
        self.process = subprocess.Popen(
            [run.sonde, "run", "--quiet", "-o", self.trace, *options, "--", *command],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.name = str(self.process.pid)
        wait_for("the session to answer",
                 lambda: self.ctl("status").returncode == 0)

    def ctl(self, *words):
        return run.ctl(*words, "--session", self.name)

    def ok(self, *words):
        done = self.ctl(*words)
        equal(f"ctl {words}", (done.returncode, done.stderr), (0, ""))
        return done.stdout

    def end(self):
        self.process.stdin.close()
        return reap(self.process)


def status_says_what_is_recorded():
    s = Session()
    found = json.loads(s.ok("status", "--json"))
    equal("state", found["state"], "recording")
    equal("command", found["command"], "cat")
    equal("trace", found["trace"], s.trace)
    equal("pid", found["pid"], s.process.pid)
    true("it grows", found["elapsed_ns"] > 0)
    true("words for people", " since its start: " in s.ok("status"))
    equal("status", s.end(), 0)


def pause_and_resume_leave_a_slice_and_a_gap():
    s = Session("--rate", "100")
    time.sleep(0.3)
    s.ok("pause")
    equal("state", json.loads(s.ok("status", "--json"))["state"], "paused")
    true("twice is an error", s.ctl("pause").returncode == 1)
    time.sleep(0.5)
    s.ok("resume")
    true("twice is an error", s.ctl("resume").returncode == 1)
    time.sleep(0.2)
    equal("status", s.end(), 0)
    found = run.check(s.trace)
    slices = [e for e in found["session"] if e["name"] == "paused"]
    equal("slices", len(slices), 1)
    equal("category", slices[0]["category"], "session")
    true(f"length {slices[0]['dur_ns']}", 0.5e9 <= slices[0]["dur_ns"] < 10.5e9)
    # All but those of a machine that did not let sonde run for a while.
    equal("losses", [one for one in found["losses"] if one["reason"] != "stopped"], [])


def paused_to_the_end_is_in_the_trace():
    s = Session()
    s.ok("pause")
    time.sleep(0.2)
    s.end()
    equal("session", [e["name"] for e in run.check(s.trace)["session"]], ["paused"])


def marks_are_in_the_trace():
    s = Session()
    texts = ["epoch 1", "", "two\nlines", "\u00e9\u4e16", "x" * 60000]
    for text in texts:
        s.ok("mark", text)
    true("too long is refused", s.ctl("mark", "x" * 70000).returncode != 0)
    s.end()
    marks = [e for e in run.check(s.trace)["session"] if e["name"] == "mark"]
    equal("instants", all(m["instant"] for m in marks), True)
    texts[2] = "two lines"
    equal("texts", [m.get("text", "") for m in marks], texts)
    said = subprocess.run([run.sonde, "report", "--json", s.trace],
                          capture_output=True, text=True, timeout=60)
    report = json.loads(said.stdout)
    equal("reported", [m["text"] for m in report["marks"]], texts)
    clock = report["clock"]
    true("within the run", all(clock["started_ns"] <= m["time_ns"] <=
                               clock["ended_ns"] for m in report["marks"]))


def stop_ends_the_recording_and_not_the_command():
    s = Session()
    time.sleep(0.2)
    true("names the trace", s.trace in s.ok("stop"))
    found = run.check(s.trace)  # at once, while the command runs
    true("finished", found["finished"])
    true("no exit yet", "exit" not in found["meta"])
    equal("still running", found["meta"]["still_running"], "1")
    size = os.path.getsize(s.trace)
    time.sleep(0.3)
    true("the command lives", s.process.poll() is None)
    true("nobody answers", s.ctl("status").returncode == 1)
    s.process.stdin.write(b"still here")
    equal("status", s.end(), 0)
    equal("output", s.process.stdout.read(), b"still here")
    equal("size", os.path.getsize(s.trace), size)


def stop_keeps_the_exit_status():
    s = Session(command=("sh", "-c", "cat; exit 9"))
    s.ok("stop")
    equal("status", s.end(), 9)


def two_sessions_need_a_name():
    a, b = Session(), Session()
    done = run.ctl("mark", "for whom?")
    equal("status", done.returncode, 2)
    true(f"lists both: {done.stderr}", a.name in done.stderr and b.name in done.stderr)
    a.ok("mark", "for a")
    b.ok("mark", "for b")
    a.end(), b.end()
    for s, text in ((a, "for a"), (b, "for b")):
        equal("marks", [e.get("text") for e in run.check(s.trace)["session"]], [text])


def status_is_of_all_sessions():
    a, b = Session(), Session()
    done = run.ctl("status")
    equal("status", (done.returncode, done.stderr), (0, ""))
    for s in (a, b):
        true(f"lists both: {done.stdout}", f"--session {s.name}  recording" in
             done.stdout and s.trace in done.stdout)
    found = json.loads(run.ctl("status", "--json").stdout)
    equal("fields", list(found), ["sessions"])
    equal("sessions", {(s["pid"], s["trace"]) for s in found["sessions"]},
          {(s.process.pid, s.trace) for s in (a, b)})
    one = json.loads(b.ok("status", "--json"))
    equal("chosen", [s["pid"] for s in one["sessions"]], [b.process.pid])
    a.end(), b.end()


def size_has_the_journal_in_it():
    s = Session("--rate", "1000")
    journal = s.trace + ".journal"
    wait_for("a journal", lambda: os.path.getsize(journal) > 4096)
    s.ok("pause")  # nothing is written any more but the journal's last
    before = os.path.getsize(s.trace) + os.path.getsize(journal)
    found = json.loads(s.ok("status", "--json"))["trace_bytes"]
    after = os.path.getsize(s.trace) + os.path.getsize(journal)
    true(f"{before} <= {found} <= {after}", before <= found <= after)
    s.end()


def only_session_needs_no_name():
    s = Session()
    done = run.ctl("mark", "hello")
    equal("status", (done.returncode, done.stderr), (0, ""))
    s.end()
    equal("marks", len(run.check(s.trace)["session"]), 1)


def inside_the_command_its_own_session_is_meant():
    other = Session()
    trace = run.path("t.sonde")
    done = subprocess.run([run.sonde, "run", "--quiet", "-o", trace, "--", run.sonde,
                           "ctl", "mark", "inner"], capture_output=True, text=True,
                          timeout=20)
    equal("status", (done.returncode, done.stderr), (0, ""))
    other.end()
    equal("marks", [e["text"] for e in run.check(trace)["session"]], ["inner"])
    equal("other", run.check(other.trace)["session"], [])


def session_by_the_trace_it_writes():
    a, b = Session(), Session()
    relative = os.path.relpath(b.trace)
    found = json.loads(run.ctl("status", "--session", relative, "--json").stdout)
    equal("relative", found["trace"], b.trace)
    link = run.path("link-to-folder")
    os.symlink(os.path.dirname(a.trace), link)
    through = os.path.join(link, os.path.basename(a.trace))
    found = json.loads(run.ctl("status", "--session", through, "--json").stdout)
    equal("through a link", found["pid"], a.process.pid)
    stopped = run.ctl("stop", "--session", a.trace)
    equal("status", stopped.returncode, 0)
    true("says which", a.trace in stopped.stdout)
    b.ok("status")
    again = run.ctl("stop", "--session", a.trace)
    equal("status", again.returncode, 1)
    true(f"says so: {again.stderr}", f"{a.trace} is not being recorded" in again.stderr
         and f"--session {b.process.pid}" in again.stderr)
    for s in (a, b):
        s.end()


def session_by_its_directory():
    s = Session(command=("sh", "-c", "echo $SONDE_SESSION; cat"))
    where = s.process.stdout.readline().decode().strip()
    equal("mode", os.stat(where).st_mode & 0o777, 0o700)
    equal("status", run.ctl("status", "--session", where).returncode, 0)
    s.end()
    true("gone with it", not os.path.exists(where))
    equal("status", run.ctl("status", "--session", where).returncode, 1)


# In a container /dev/shm often has 64 MB, which belong to others.
SMALL = """
mount -t tmpfs -o size=64m none /dev/shm || exit 77
sonde=$1 dir=$2
mkdir "$dir/a" "$dir/b"
"$sonde" run --quiet --rate 0.2 --stop-file "$dir/flag" -o "$dir/a/t.sonde" -- sleep 30 &
first=$!
tries=0
until "$sonde" ctl status --json > "$dir/status" 2> /dev/null; do
  [ $((tries += 1)) -lt 200 ] || exit 3
  sleep 0.05
done
ls /dev/shm > "$dir/shm"
touch "$dir/flag"
"$sonde" run --quiet --stop-file "$dir/flag" -o "$dir/b/t.sonde" -- true
[ -e "$dir/flag" ] || exit 4
kill $first
wait
[ -z "$(ls -A /dev/shm)" ] || exit 5
"""


def a_session_beside_its_trace_is_found_from_elsewhere():
    where = os.path.dirname(run.path("x"))
    env = {key: value for key, value in os.environ.items() if key != "XDG_RUNTIME_DIR"}
    done = subprocess.run(["unshare", "-m", "sh", "-c", SMALL, "sh", run.sonde, where],
                          cwd="/", env=env, capture_output=True, text=True, timeout=60)
    if done.returncode in (1, 77):
        raise Skip("no mounts can be made here")
    with open(f"{where}/status", encoding="utf-8") as file:
        text = file.read()
    equal(f"3 not found, 4 flag taken away, 5 left behind: {done.stderr}",
          done.returncode, 0)
    equal("trace", json.loads(text)["trace"], f"{where}/a/t.sonde")
    equal("sessions", len(json.loads(text)["sessions"]), 1)
    with open(f"{where}/shm", encoding="utf-8") as file:
        true("it lies beside its trace", file.read().strip().endswith(".at"))


def nothing_recorded_is_said():
    done = run.ctl("status")
    equal("status", done.returncode, 1)
    true("names the cure", "sonde run" in done.stderr)


def wrong_words_are_refused():
    for words in (("fly",), (), ("pause", "x"), ("mark",), ("mark", "a", "b")):
        equal(f"ctl {words}", run.ctl(*words).returncode, 2)


def hostile_peers_do_not_hold_the_loop():
    s = Session(command=("sh", "-c", "echo $SONDE_SESSION; cat"))
    where = s.process.stdout.readline().decode().strip()
    peers = []
    for i in range(40):
        peer = socket.socket(socket.AF_UNIX)
        peer.connect(where + "/ctl")
        peers.append(peer)
        try:
            peer.send([b"status", b"\0\xff" * 2000, b"", b"status\n"][i % 4])
        except BrokenPipeError:
            pass
    big = socket.socket(socket.AF_UNIX)
    big.connect(where + "/ctl")
    big.settimeout(5)
    try:
        big.sendall(b"mark " + b"x" * 200000)
    except (BrokenPipeError, ConnectionResetError):
        pass
    equal("state", json.loads(s.ok("status", "--json"))["state"], "recording")
    for peer in peers:
        peer.close()
    s.ok("mark", "after")
    equal("status", s.end(), 0)
    equal("marks", [e["text"] for e in run.check(s.trace)["session"]], ["after"])


for test in (nothing_recorded_is_said, wrong_words_are_refused,
             status_says_what_is_recorded, pause_and_resume_leave_a_slice_and_a_gap,
             paused_to_the_end_is_in_the_trace, marks_are_in_the_trace,
             stop_ends_the_recording_and_not_the_command, stop_keeps_the_exit_status,
             only_session_needs_no_name, two_sessions_need_a_name,
             status_is_of_all_sessions, size_has_the_journal_in_it,
             inside_the_command_its_own_session_is_meant, session_by_its_directory,
             session_by_the_trace_it_writes,
             a_session_beside_its_trace_is_found_from_elsewhere,
             hostile_peers_do_not_hold_the_loop):
    run.case(test.__name__, test)
run.done()
