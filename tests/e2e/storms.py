#!/usr/bin/python3
"""Targets with libsonde.so in them, in trouble: they are killed, fork and spawn
without end, meet hostile neighbours, and lose their collector.

What arrived is read by the independent reader of tests/oracle.
"""

import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import time

from common import Failure, Runner, Skip, children_of, equal, true, wait_for

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "oracle"))
import sonde_trace as st  # noqa: E402

run = Runner()
BUILD = os.path.dirname(os.path.dirname(run.sonde))
LIFE, TALK, TOLL = (os.path.join(BUILD, "tests", "guest", name)
                    for name in ("life", "talk", "toll"))
LIBRARY = os.path.join(BUILD, "src", "libsonde.so.1")
PY = "/usr/bin/python3"
KILLS = 50
AS_NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]

seed = int(os.environ.get("SEED", time.time_ns() % 1000000))
print(f"SEED={seed}")
random.seed(seed)


def record(command, trace, timeout=60):
    return subprocess.run([run.sonde, "run", "--quiet", "-o", trace, "--", *command],
                          capture_output=True, text=True, timeout=timeout)


def events(trace):
    """(row, name, arguments) of every event, by the oracle."""
    for track, frames in trace.chunks(st.EVENTS).items():
        for event in (event for frame in frames for event in frame.chunk.events()):
            row = trace.tables[st.ARGS].get(event["args"], {"args": []})
            yield (track, trace.strings[event["name"]].decode(),
                   {trace.strings[key].decode(): value
                    for key, _, value in row["args"]})


def count(path, name):
    """Events of a name, by row."""
    found = {}
    for track, its_name, _ in events(st.Trace(path)):
        if its_name == name:
            found[track] = found.get(track, 0) + 1
    return found


def made(done):
    equal("status", (done.returncode, done.stderr), (0, ""))
    return int(re.search(r"produced (\d+)", done.stdout)[1])


def all_that_returned_is_there(path, witness):
    """The numbers of each thread: 1, 2, 3 ... to the last that returned, and at
    most the one that was being written."""
    trace = st.Trace(path)
    true("the trace is finished and whole", trace.finished and not trace.damages)
    seen = {}
    for _, name, args in events(trace):
        if name.startswith("toll "):
            seen.setdefault(int(name[5:]), []).append(args["number"])
    returned = []
    if os.path.exists(witness) and os.path.getsize(witness) > 0:
        with open(witness, "rb") as file:
            returned = struct.unpack("<4Q", file.read())
    for thread, last in enumerate(returned):
        numbers = sorted(seen.get(thread, []))
        true(f"thread {thread}: {last} returned, {len(numbers)} seen",
             numbers == list(range(1, len(numbers) + 1))
             and last <= len(numbers) <= last + 1)
    return sum(returned)


def sudden_deaths():
    """Fault 26, SIGKILL of the target: at random moments, again and again."""
    total = 0
    for _ in range(KILLS):
        trace, witness = run.path("t.sonde"), run.path("returned")
        process = subprocess.Popen([run.sonde, "run", "--quiet", "-o", trace, "--",
                                    TOLL, witness, "4"])
        target = wait_for("the target", lambda p=process: children_of(p.pid))[0]
        time.sleep(random.uniform(0, 0.1))
        os.kill(target, signal.SIGKILL)
        equal("status", process.wait(timeout=20), -signal.SIGKILL)
        total += all_that_returned_is_there(trace, witness)
    true(f"{total} records returned", total > 1000 * KILLS / 10)


def death_by_its_own_fault(how, number):
    """Fault 26 again: abort() and a null pointer, while threads record."""
    def test():
        trace, witness = run.path("t.sonde"), run.path("returned")
        equal("status", record([TOLL, witness, "4", how], trace).returncode, -number)
        true("records", all_that_returned_is_there(trace, witness) > 100)
    return test


def forks_take_at_most_twice_as_long():
    """Fault 6, fork while 64 threads record: every child ends, and a hundred of
    them take at most twice the time they take alone."""
    ratios = []
    for _ in range(4):
        began = time.monotonic()
        subprocess.run([LIFE, "fork64", "100"], check=True, capture_output=True)
        alone = time.monotonic() - began
        trace = run.path("t.sonde")
        began = time.monotonic()
        equal("status", record([LIFE, "fork64", "100"], trace).returncode, 0)
        ratios.append((time.monotonic() - began) / alone)
        if ratios[-1] <= 2:
            return
    raise Failure(f"times as long: {ratios}")


# Threads record by ctypes while one spawns; says what the children said.
SPAWN = f"""
import ctypes, os, subprocess, sys, threading, time
sonde = ctypes.CDLL({LIBRARY!r})
name = sonde.sonde_name(b"in python")
stop = False
def work():
    while not stop:
        for _ in range(100):
            sonde.sonde_begin(name)
            sonde.sonde_end()
        time.sleep(0.0005)
threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads: thread.start()
for i in range(150):
    done = subprocess.run(["sh", "-c", f"echo out {{i}}; echo err >&2; exit {{i % 7}}"],
                          capture_output=True)
    print(i, done)
    if i % 10 == 0:
        pid = os.posix_spawn("/bin/true", ["true"], os.environ)
        print(os.waitpid(pid, 0)[1])
stop = True
for thread in threads: thread.join()
sys.exit(5)
"""


def python_that_spawns_sees_no_difference():
    """Fault 7, vfork, posix_spawn and CPython's subprocess."""
    trace = run.path("t.sonde")
    alone = subprocess.run([PY, "-c", SPAWN], capture_output=True, text=True)
    under = record([PY, "-c", SPAWN], trace)
    equal("twins", (under.returncode, under.stderr, under.stdout),
          (alone.returncode, alone.stderr, alone.stdout))
    equal("status", under.returncode, 5)
    true("it was recorded", count(trace, "in python"))


def images_one_after_the_other():
    """Fault 8, exec: a chain of different programs in one process, and two hundred
    times the same. Each image has records of its own."""
    trace = run.path("t.sonde")
    chain = (f"exec {PY} -c 'import os; os.execv(\"/bin/bash\", [\"bash\", \"-c\", "
             f"\"{LIFE} plain 20; exec {LIFE} plain 10\"])'")
    done = record(["sh", "-c", chain], trace)
    equal("output", (done.returncode, done.stdout, done.stderr),
          (0, "produced 20\nproduced 10\n", ""))
    equal("records", sorted(count(trace, "one").values()), [10, 20])
    trace = run.path("t.sonde")
    equal("records of 201 images", made(record([LIFE, "exec", "200"], trace)), 3 * 201)
    equal("in the trace", sum(count(trace, "one").values()), 3 * 201)


def waits_are_not_cut_short():
    """Fault 16, EINTR: poll() waits to its end, as no signal of ours exists."""
    made(record([LIFE, "poll", "100"], run.path("t.sonde")))


def nobody(path):
    """A copy of `life` that everybody can run, or a reason why not."""
    if os.geteuid() != 0:
        raise Skip("only root can be somebody else")
    os.chmod(run.dir, 0o711)
    os.chmod(os.path.dirname(path), 0o711)
    shutil.copy(LIFE, path)
    os.chmod(path, 0o755)
    done = subprocess.run([*AS_NOBODY, path, "plain", "1"], capture_output=True)
    if done.returncode != 0:
        raise Skip("nobody cannot read the build")
    return path


def who_drops_its_rights_runs_on():
    """Fault 5, a child under another uid: it cannot make files in the session and
    records nothing. Fault 32, another user: the session is closed to it."""
    life, trace = nobody(run.path("life")), run.path("t.sonde")
    equal("made", made(record([*AS_NOBODY, life, "plain", "1000"], trace)), 1000)
    equal("recorded", count(trace, "one"), {})
    done = record(["sh", "-c", " ".join(AS_NOBODY) + " ls $SONDE_SESSION"], trace + "2")
    true(f"closed: {done}", done.returncode != 0 and done.stdout == ""
         and "ermission denied" in done.stderr)


def who_has_more_rights_than_its_user_is_left_alone():
    """Fault 4, setuid: the environment of a user is nothing to such a program."""
    life, trace = nobody(run.path("life")), run.path("t.sonde")
    os.chmod(life, 0o4755)
    equal("made", made(record([*AS_NOBODY, life, "plain", "1000"], trace)), 1000)
    equal("recorded", count(trace, "one"), {})


# What a neighbour could put where rings are expected.
HOSTILE = r"""
cd "$SONDE_SESSION" || exit 1
mkfifo 1-a.ring; mkdir 2-b.ring; ln -s /etc/passwd 3-c.ring; : > 4-d.ring
head -c 100000 /dev/urandom > 5-e.ring
printf 'sond-rng\143\0\0\0' > 6-f.ring; head -c 5000000 /dev/zero >> 6-f.ring
for i in 1 2 3 4 5 6; do for f in $i-?.ring; do : > "${f%.ring}.tails"; done; done
i=0; while [ $i -lt 300 ]; do : > "9-$i.ring"; : > "9-$i.tails"; i=$((i+1)); done
"""


def hostile_files_hurt_nobody_else():
    """Fault 30, a file that shrinks or is none. Fault 31, a wrong version. The
    collector lives, and other processes lose nothing."""
    trace = run.path("t.sonde")
    script = f"""
        {TALK} 1 > {trace}.good & {TALK} 1 > {trace}.bad 2>&1 & bad=$!
        ({HOSTILE})
        sleep 0.3
        for ring in $SONDE_SESSION/$bad-*.ring; do : > $ring; done
        wait"""
    done = record(["sh", "-c", script], trace)
    equal("status", (done.returncode, done.stderr), (0, ""))
    with open(trace + ".good") as file:
        steps = int(re.search(r"produced (\d+)", file.read())[1])
    seen = count(trace, "step")
    true(f"{steps} steps in {seen}", steps in seen.values())
    report = subprocess.run([run.sonde, "report", "--json", trace],
                            capture_output=True, text=True, check=True).stdout
    true("another version is said", "libsonde.so of another version" in report)


def a_target_outlives_its_collector():
    """Fault 27, SIGKILL of the collector: the target ends as without it."""
    process = subprocess.Popen([run.sonde, "run", "--quiet", "-o", run.path("t.sonde"),
                                "--", TALK, "0.8"], stdout=subprocess.PIPE)
    wait_for("the target", lambda: children_of(process.pid))
    time.sleep(0.3)
    process.kill()
    process.wait()
    out = process.stdout.read()  # until the target has ended
    true(f"it ended well: {out}", re.fullmatch(rb"produced \d\d+\n", out))


for test in (sudden_deaths, forks_take_at_most_twice_as_long,
             python_that_spawns_sees_no_difference, images_one_after_the_other,
             waits_are_not_cut_short, who_drops_its_rights_runs_on,
             who_has_more_rights_than_its_user_is_left_alone,
             hostile_files_hurt_nobody_else, a_target_outlives_its_collector):
    run.case(test.__name__, test)
for how, number in ("abort", signal.SIGABRT), ("fault", signal.SIGSEGV):
    run.case(f"death_by_{how}", death_by_its_own_fault(how, number))
run.done()
