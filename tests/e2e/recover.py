#!/usr/bin/python3
"""SIGKILL of sonde, then `sonde recover`: every step that the target took is in
the trace once, or counted as lost, whatever moment it was."""

import json
import os
import random
import signal
import struct
import subprocess
import time

from common import Runner, equal, true, wait_for

MOMENTS = int(os.environ.get("MOMENTS", 50))
run = Runner()
seed = int(os.environ.get("SEED", time.time_ns() % 1000000))
print(f"SEED={seed}")
random.seed(seed)
BUILD = os.path.dirname(os.path.dirname(run.sonde))
# A place of its own for sessions: other runs here must not sweep it.
os.environ["XDG_RUNTIME_DIR"] = run.dir
STEADY = os.path.join(BUILD, "tests", "guest", "steady")


def sonde(*words, code=0):
    done = subprocess.run([run.sonde, *words], capture_output=True, text=True,
                          timeout=60)
    equal(f"status of {words}: {done.stderr}", done.returncode, code)
    return done


def query(trace, sql):
    return json.loads(sonde("query", "--json", trace, sql).stdout)["rows"]


class Killed:
    """A recording whose collector was killed after `delay_s`."""

    def __init__(self, delay_s, seconds, *options):
        # On a busy machine the moment may come when all is over: then once more.
        for _ in range(5):
            self.trace, self.witness = run.path("t.sonde"), run.path("witness")
            self.process = subprocess.Popen(
                [run.sonde, "run", "--quiet", "-o", self.trace, *options, "--",
                 STEADY, str(seconds), self.witness], stdout=subprocess.PIPE)
            self.process.stdout.readline()  # the command has begun
            time.sleep(delay_s)
            self.process.send_signal(signal.SIGKILL)
            if self.process.wait() != 0:
                break
        equal("status", self.process.returncode, -signal.SIGKILL)

    def wait(self):
        """Until the command has ended."""
        true("it ended well", self.process.stdout.read() == b"end\n")

    def steps(self):
        with open(self.witness, "rb") as file:
            return struct.unpack("QQQ", file.read(24))


def judge(killed, taken):
    """`taken`: steps of each thread that must be there or lost."""
    trace = killed.trace
    true("no journal", not os.path.exists(trace + ".journal"))
    found = run.check(trace)
    equal("damages", found["damages"], [])
    lost = query(trace, "SELECT coalesce(sum(count), 0) FROM loss "
                        "WHERE reason LIKE 'ring-%'")[0][0]
    rows = query(trace, "SELECT s.track_id, a.value FROM slice s JOIN arg a "
                        "ON a.set_id = s.arg_set_id WHERE s.name = 'step' ORDER BY 1, s.ts")
    tracks = {}
    for track, number in rows:
        tracks.setdefault(track, []).append(int(number))
    whole = sum(taken)
    for numbers in tracks.values():
        true(f"each once, in order: {numbers[:5]}...",
             all(a < b for a, b in zip(numbers, numbers[1:])))
        if lost == 0:
            equal("from the first", numbers[0], 1)
            equal("no hole", len(numbers), numbers[-1])
    equal(f"threads, {lost} lost", len(tracks), sum(1 for t in taken if t > 0))
    if lost == 0:
        equal("steps", sorted(len(n) for n in tracks.values()),
              sorted(t for t in taken if t > 0))
        counter = query(trace, "SELECT sum(m) FROM (SELECT max(value) AS m FROM counter "
                               "WHERE series_id IN (SELECT id FROM series "
                               "WHERE name = 'steps') GROUP BY series_id)")[0][0]
        equal("counted", counter, whole)
    # Of the five or six records of a step, those of some are lost.
    true(f"{len(rows)} of {whole}, {lost} lost", len(rows) + lost >= whole)
    return lost


def an_ended_command(delay_s):
    killed = Killed(delay_s, 0.5)
    killed.wait()
    result = json.loads(sonde("recover", "--json", killed.trace).stdout)
    equal("why nothing came of the rings", result["rings_missing"], None)
    lost = judge(killed, killed.steps())
    if lost == 0:
        rows = query(killed.trace, "SELECT unfinished, count(*) FROM slice "
                                   "WHERE name = 'whole' GROUP BY 1")
        equal("long slices, all with their end", rows, [[0, 3]])
        equal("requests that never ended", query(
            killed.trace, "SELECT count(*) FROM slice WHERE name = 'request' "
                          "AND unfinished"), [[0]])


def a_command_that_still_runs():
    killed = Killed(0.3, 30)
    time.sleep(0.5)
    before = killed.steps()
    result = json.loads(sonde("recover", "--json", killed.trace).stdout)
    after = killed.steps()
    equal("running", result["running"], 1)
    true(f"records {result}", result["records"] > 100)
    got = {row[0]: row[1] for row in query(
        killed.trace, "SELECT track_id, count(*) FROM slice WHERE name = 'step' "
                      "GROUP BY 1")}
    counts = sorted(got.values())
    lost = query(killed.trace, "SELECT coalesce(sum(count), 0) FROM loss "
                               "WHERE reason LIKE 'ring-%'")[0][0]
    if lost == 0:
        for low, have, high in zip(sorted(before[:2]), counts, sorted(after[:2])):
            true(f"{low} <= {have} <= {high}", low <= have <= high)
    equal("open slices", query(
        killed.trace, "SELECT count(*) FROM slice WHERE name = 'whole' AND unfinished"),
          [[2]])
    equal("the command", query(
        killed.trace, "SELECT exit_kind FROM process WHERE id = 1"), [["running"]])
    subprocess.run(["pkill", "-9", "-f", killed.witness], check=False)


def a_killed_command():
    """Both are killed, the collector first."""
    killed = Killed(0.4, 30)
    subprocess.run(["pkill", "-9", "-f", killed.witness], check=False)
    killed.process.stdout.read()
    sonde("recover", "--quiet", killed.trace)
    taken = killed.steps()
    lost = query(killed.trace, "SELECT coalesce(sum(count), 0) FROM loss "
                               "WHERE reason LIKE 'ring-%'")[0][0]
    if lost == 0:
        for number, steps in zip((0, 1), sorted(
                row[0] for row in query(
                    killed.trace, "SELECT count(*) FROM slice WHERE name = 'step' "
                                  "GROUP BY track_id"))):
            true(f"at most one is missing: {steps}, {taken}",
                 0 <= steps - sorted(taken[:2])[number] <= 1)
    rows = query(killed.trace, "SELECT ts + dur FROM slice WHERE name = 'whole' "
                               "AND unfinished")
    equal("long slices", len(rows), 2)
    ended = query(killed.trace, "SELECT end_ts, exit_kind FROM process WHERE id = 1")[0]
    equal("how it ended", ended[1], None)
    true("slices end with it", all(row[0] <= ended[0] for row in rows))


def in_a_limit():
    killed = Killed(0.6, 0.8, "--max-size", "256k")
    killed.wait()
    sonde("recover", "--quiet", killed.trace)
    total = query(killed.trace, "SELECT count FROM top_ops() WHERE name = 'step'")[0][0]
    lost = query(killed.trace, "SELECT coalesce(sum(count), 0) FROM loss "
                               "WHERE reason LIKE 'ring-%'")[0][0]
    true(f"{total} + {lost}", total + lost >= sum(killed.steps()))


def what_the_user_sees():
    killed = Killed(0.3, 0.6)
    killed.wait()
    report = sonde("report", killed.trace)
    true(f"the report tells how: {report.stdout[:800]}",
         f"sonde recover {killed.trace}" in " ".join(report.stdout.split()))
    true("it is listed", killed.trace in sonde("recover", "--list").stdout)
    other = run.path("other.sonde")
    sonde("recover", "-o", other, killed.trace)
    true("the trace is as it was", os.path.exists(killed.trace + ".journal"))
    done = sonde("recover", killed.trace)
    true(f"says so: {done.stderr}", f"recovered {killed.trace}" in done.stderr)
    report = sonde("report", killed.trace).stdout
    true(f"the loss is told: {report[:400]}",
         "sonde was killed" in " ".join(report.split()))
    true("it is no longer listed", killed.trace not in sonde("recover", "--list").stdout)
    done = sonde("recover", killed.trace, code=2)
    true(f"one line: {done.stderr}", "is whole" in done.stderr)
    equal("the same in both", *(
        query(trace, "SELECT count(*) FROM slice WHERE name = 'step'")
        for trace in (other, killed.trace)))


def recorded(trace):
    """A recording that lives."""
    process = subprocess.Popen([run.sonde, "run", "--quiet", "-o", trace, "--",
                                "sleep", "30"])
    wait_for("the session to answer", lambda: run.ctl(
        "status", "--session", str(process.pid)).returncode == 0)
    return process


def one_that_lives():
    trace = run.path("t.sonde")
    process = recorded(trace)
    done = sonde("recover", trace, code=2)
    true(f"refused: {done.stderr}", "still being recorded" in done.stderr)
    process.terminate()
    process.wait()


def one_that_lives_elsewhere():
    """Its session is not to be found: the trace itself is locked."""
    trace = run.path("t.sonde")
    process = recorded(trace)
    done = subprocess.run([run.sonde, "recover", trace], capture_output=True, text=True,
                          cwd="/", timeout=60,
                          env=dict(os.environ, XDG_RUNTIME_DIR=run.path("")))
    equal("status", done.returncode, 2)
    true(f"refused: {done.stderr}", "still being recorded" in done.stderr)
    process.terminate()
    process.wait()


def by_another_path():
    """Links lead to the same trace, and to its journal and session."""
    killed = Killed(0.3, 0.5)
    killed.wait()
    link = os.path.join(run.dir, f"link{os.getpid()}")
    os.symlink(os.path.dirname(killed.trace), link)
    other = os.path.join(link, os.path.basename(killed.trace))
    result = json.loads(sonde("recover", "--json", "--force", "-o", other,
                              killed.trace).stdout)
    equal("why nothing came of the rings", result["rings_missing"], None)
    judge(killed, killed.steps())
    os.unlink(link)


def too_few_descriptors():
    killed = Killed(0.3, 0.5)
    killed.wait()
    before = os.path.getsize(killed.trace)
    done = subprocess.run(["prlimit", "--nofile=9:9", run.sonde, "recover", killed.trace],
                          capture_output=True, text=True, timeout=60)
    true(f"refused: {done.returncode} {done.stderr}", done.returncode in (1, 2))
    equal("nothing was touched", (os.path.getsize(killed.trace),
                                  os.path.exists(killed.trace + ".journal")),
          (before, True))
    sonde("recover", "--quiet", killed.trace)
    judge(killed, killed.steps())


def without_its_session():
    killed = Killed(1, 1.5)
    killed.wait()
    for session in json.loads(sonde("recover", "--list", "--json").stdout):
        if session["trace"] == killed.trace:
            subprocess.run(["rm", "-r", session["session"]], check=True)
    done = sonde("recover", killed.trace)
    true(f"why: {done.stderr}", "directory is gone" in done.stderr)
    true("what was safe is there", query(
        killed.trace, "SELECT count(*) FROM slice WHERE name = 'step'")[0][0] > 0)


def in_the_delay():
    killed = Killed(0.3, 0.5, "--delay", "90s")
    said = sonde("report", killed.trace).stdout
    true(said, "Nothing was sampled so far: the delay of 90.0 s is not over" in said)
    killed.wait()
    said = sonde("recover", killed.trace).stderr
    true(said, "Nothing was sampled: sonde was killed in its delay of 90.0 s." in said)
    true(said, "Run      known only into its delay" in said)


def bytes_anybody_wrote():
    """The state and the rings lie where the target can write."""
    killed = Killed(0.4, 0.6)
    killed.wait()
    session = next(s["session"] for s in json.loads(
        sonde("recover", "--list", "--json").stdout) if s["trace"] == killed.trace)
    for name in os.listdir(session):
        if name.startswith("state."):
            with open(os.path.join(session, name), "r+b") as file:
                file.seek(random.randrange(20, os.path.getsize(file.name)))
                file.write(b"\xff\x00\x7f")
    done = sonde("recover", killed.trace)
    true(f"why: {done.stderr}", "could not save" in done.stderr)


def a_finished_trace_that_was_cut():
    whole, cut = run.path("whole.sonde"), run.path("cut.sonde")
    sonde("run", "--quiet", "--rate", "100", "-o", whole, "--", STEADY, "1",
          run.path("witness"))
    with open(whole, "rb") as file:
        content = file.read()
    for share in (0.2, 0.5, 0.9):
        half = content[:int(len(content) * share)]
        with open(cut, "wb") as file:
            file.write(half)
        done = sonde("recover", cut, code=1)
        true(f"why: {done.stderr}", "nothing to recover from" in done.stderr)
        with open(cut, "rb") as file:
            equal("untouched", file.read(), half)
        for words in (["report", cut], ["report", "--brief", cut]):
            told = sonde(*words).stdout
            true(told, "the end of the file is missing" in " ".join(told.split()))
            true(told, "journal" not in told and "recover" not in told)
            if '"not enough data"' in sonde("report", "--json", cut, "--rule",
                                            "cpu_bound").stdout:
                true(told, "No single limit" not in told)


for moment in range(MOMENTS):
    delay = random.uniform(0, 0.45)
    run.case(f"killed {delay * 1000:.0f} ms after the start", an_ended_command, delay)
run.case("a command that still runs", a_command_that_still_runs)
run.case("a command that was killed as well", a_killed_command)
run.case("within a limit on the size", in_a_limit)
run.case("what the user sees", what_the_user_sees)
run.case("one that lives is refused", one_that_lives)
run.case("one that lives elsewhere is refused", one_that_lives_elsewhere)
run.case("by another path", by_another_path)
run.case("too few descriptors", too_few_descriptors)
run.case("its session is gone", without_its_session)
run.case("a finished trace that was cut", a_finished_trace_that_was_cut)
run.case("in the delay", in_the_delay)
run.case("bytes that anybody wrote", bytes_anybody_wrote)
run.done()
