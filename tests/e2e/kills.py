#!/usr/bin/python3
"""SIGKILL of sonde at random moments: the command goes on and ends as if nothing
had happened, and the trace opens with all but its last moments (Fault 27)."""

import json
import os
import random
import re
import signal
import subprocess
import time

from common import Runner, equal, true, wait_for

MOMENTS = 50
late = []  # ms that were lost where it was more than allowed
run = Runner()
seed = int(os.environ.get("SEED", time.time_ns() % 1000000))
print(f"SEED={seed}")
random.seed(seed)
# A place of its own for sessions: other runs here must not sweep it.
os.environ["XDG_RUNTIME_DIR"] = run.dir

# Says that it began, works for a while, and leaves a witness of its good end.
TARGET = "echo $$; i=0; while [ $i -lt 14 ]; do sleep 0.05; i=$((i+1)); done; echo end; : > \"$1\""


def kill_after(delay_s, rate):
    trace, witness = run.path("t.sonde"), run.path("witness")
    process = subprocess.Popen(
        [run.sonde, "run", "--quiet", "--rate", rate, "-o", trace, "--",
         "sh", "-c", TARGET, "sh", witness], stdout=subprocess.PIPE)
    first = b""
    if delay_s >= 0:
        first = process.stdout.readline()  # the command has begun
        time.sleep(delay_s)
    else:
        time.sleep(-delay_s)  # it may not have been forked yet
    killed_ns = time.monotonic_ns()
    process.send_signal(signal.SIGKILL)
    equal("status", process.wait(), -signal.SIGKILL)
    rest = process.stdout.read()  # until the command has ended
    if delay_s < 0 and not rest:
        return  # killed before the fork: there is no command to wait for
    true(f"the command ended well: {first + rest!r}", rest.endswith(b"end\n"))
    wait_for("the witness", lambda: os.path.exists(witness))
    if delay_s < 0:
        return
    found = run.check(trace)
    equal("damage in the file",
          [d for d in found["damages"] if not d["journal"]], [])
    equal("command", "sh" in found["meta"]["command"], True)
    true("the command is in it",
         any(p["number"] == 1 for p in found["processes"]))
    lost_ms = (killed_ns - found["last_ns"]) / 1e6
    allowed_ms = 300 if float(rate) > 5 else 300 + 1000 / float(rate)
    # Before the first tick is flushed there is nothing to lose.
    if lost_ms > allowed_ms and not (found["last_ns"] < 0 and delay_s < 0.3):
        late.append(round(lost_ms) if found["last_ns"] >= 0 else "all")


def only_the_last_moments_are_lost():
    """A collector that got no core had nothing to keep, but that is seldom."""
    true(f"lost too much {len(late)} times: {late} ms", len(late) <= MOMENTS / 10)


def while_the_trace_is_finished():
    trace = run.path("t.sonde")
    process = subprocess.Popen([run.sonde, "run", "--quiet", "--rate", "1000", "-o",
                                trace, "--", "sh", "-c", "echo; exec sleep 0.5"],
                               stdout=subprocess.PIPE)
    process.stdout.readline()  # the command has begun
    time.sleep(0.5 + random.uniform(0.003, 0.03))
    process.kill()
    process.wait()
    found = run.check(trace)
    true(f"ticks {found['ticks']}", found["ticks"] > 10)


def dead_session_is_swept():
    def leftovers():
        return {name for name in os.listdir(run.dir)
                if re.fullmatch(f"sonde-{os.getuid()}-[0-9a-f]+", name)}
    subprocess.run([run.sonde, "run", "--quiet", "-o", run.path("t.sonde"), "--",
                    "true"], check=True)
    before = leftovers()
    process = subprocess.Popen([run.sonde, "run", "--quiet", "-o",
                                run.path("t.sonde"), "--", "sleep", "0.5"],
                               stdout=subprocess.PIPE)
    left = wait_for("a session", lambda: leftovers() - before)
    process.kill()
    process.wait()
    process.stdout.read()  # until the command has ended
    true("it is there", left <= leftovers())
    subprocess.run([run.sonde, "run", "--quiet", "-o", run.path("t.sonde"), "--",
                    "true"], check=True)
    equal("left behind", left & leftovers(), set())


def missing_journal_is_said():
    def killed():
        trace = run.path("t.sonde")
        process = subprocess.Popen([run.sonde, "run", "--quiet", "-o", trace, "--",
                                    "sleep", "5"], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        wait_for("a tick", lambda: os.path.exists(trace + ".journal")
                 and os.path.getsize(trace + ".journal") > 2000)
        process.kill()
        process.wait()
        return trace

    def losses(trace):
        done = subprocess.run([run.sonde, "report", "--json", trace],
                              capture_output=True, text=True, timeout=20)
        equal("status", (done.returncode, done.stderr), (0, ""))
        return [(loss["reason"], loss["detail"]) for loss in
                json.loads(done.stdout)["losses"] if loss["reason"] == "journal"]

    trace, other = killed(), killed()
    equal("with its journal", losses(trace), [])
    os.rename(trace + ".journal", trace + ".moved")
    found = losses(trace)
    true(f"missing: {found}", len(found) == 1 and
         found[0][1].endswith(f"put it back as {trace}.journal"))
    for words in (["query", trace, "SELECT reason, detail FROM loss", "--csv"],
                  ["export", trace, "--to", "chrome", "-o", "-"],
                  ["export", trace, "--to", "csv", "--table", "loss", "-o", "-"],
                  ["export", trace, "--to", "text", "-o", "-"]):
        said = subprocess.run([run.sonde, *words], capture_output=True, text=True,
                              timeout=20)
        true(f"the same loss by {words}: {said}",
             said.returncode == 0 and found[0][1] in said.stdout)
    whole = run.path("whole.sonde")
    said = subprocess.run([run.sonde, "recover", trace, "-o", whole],
                          capture_output=True, text=True, timeout=60)
    true(f"recovered: {said.stderr}", said.returncode == 0 and losses(whole))
    text = subprocess.run([run.sonde, "report", trace], capture_output=True,
                          text=True, timeout=20).stdout
    true(f"said first: {text}", text.startswith("Lost: ") and
         text.index("Lost: journal: ") < text.index("Nothing was recorded"))
    os.rename(other + ".journal", trace + ".journal")
    found = losses(trace)
    true(f"another's: {found}", len(found) == 1 and
         "is not the journal of this trace" in found[0][1])
    os.rename(trace + ".moved", trace + ".journal")
    equal("put back", losses(trace), [])


for moment in range(MOMENTS):
    delay = random.uniform(0, 0.6)
    rate = random.choice(["10", "10", "100", "1000", "2"])
    run.case(f"kill_{moment}_after_{delay * 1000:.0f}_ms_at_{rate}_hz",
             kill_after, delay, rate)
run.case("only_the_last_moments_are_lost", only_the_last_moments_are_lost)
for moment in range(10):
    delay = random.uniform(0, 0.02)
    run.case(f"kill_{moment}_at_the_start_after_{delay * 1e6:.0f}_us",
             kill_after, -delay, "10")
for moment in range(10):
    run.case(f"kill_{moment}_while_the_trace_is_finished",
             while_the_trace_is_finished)
run.case("dead_session_is_swept", dead_session_is_swept)
run.case("missing_journal_is_said", missing_journal_is_said)
run.done()
