#!/usr/bin/python3
"""When a recording begins and ends: --for, --delay, --stop-file."""

import json
import os
import select
import signal
import subprocess
import time

from common import Runner, children_of, equal, reap, true, wait_for

run = Runner()

SPIN = ("/usr/bin/python3", "-c", "while True: pass")
# Ends when its input does.
WAIT = ("sh", "-c", "read x; exit 7")
HOLD_UP = 10  # seconds by which a busy machine may be late


def start(*options, command=("sleep", "30"), cwd=None):
    """A recording in the background, once its command runs."""
    process = subprocess.Popen([run.sonde, "run", *options, "--", *command],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, cwd=cwd)
    wait_for("the command", lambda: children_of(process.pid) and run.ctl(
        "status", "--session", str(process.pid)).returncode == 0)
    return process


def first_line(process, seconds=30):
    """What sonde says first, which must come in time."""
    true(f"said within {seconds} s", select.select([process.stderr], [], [], seconds)[0])
    return process.stderr.readline()


def query(trace, sql):
    done = subprocess.run([run.sonde, "query", "--json", trace, sql],
                          capture_output=True, text=True, timeout=60)
    equal(f"query: {done.stderr}", done.returncode, 0)
    return json.loads(done.stdout)["rows"]


def end(process):
    """Ends the command; what sonde said."""
    for pid in children_of(process.pid):
        os.kill(pid, 15)
    reap(process)
    return process.stderr.read()


def refused(words, *options, code=125):
    done = subprocess.run([run.sonde, "run", *options, "--", "touch", run.path("ran")],
                          capture_output=True, text=True, timeout=20, cwd=run.dir)
    equal(f"status of {options}", done.returncode, code)
    true(f"{options}: {done.stderr}", words in done.stderr)
    lines = [line for line in done.stderr.splitlines() if not line.startswith("  hint")]
    equal("lines", len(lines), 1)
    equal("traces", [n for n in os.listdir(run.dir) if n.endswith(".sonde")], [])


def for_ends_the_recording_and_not_the_command():
    trace = run.path("t.sonde")
    process = start("-o", trace, "--for", "3s", command=WAIT)
    began = time.monotonic()
    line = first_line(process)
    took = time.monotonic() - began
    true(f"in time: {took}", took < 3 + HOLD_UP)
    true(line, "ended: after 3.00 s. The command goes on" in line and trace in line)
    found = run.check(trace)  # at once
    true("finished", found["finished"])
    equal("by", found["meta"]["ended_by"], "time")
    lasted = int(found["meta"]["ended_ns"]) - int(found["meta"]["started_ns"])
    true(f"length {lasted}", 3e9 <= lasted < (3 + HOLD_UP) * 1e9)
    true("the command lives", process.poll() is None)
    process.stdin.close()
    equal("status", reap(process), 7)
    said = process.stderr.read()
    true(said, "by its time limit while the command went on" in " ".join(said.split()))


def a_plain_number_is_minutes():
    process = subprocess.Popen([run.sonde, "run", "-o", run.path("t.sonde"), "-t", "0.005",
                                "--", *WAIT], stdin=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True)
    line = first_line(process)
    true(line, "after 300 ms" in line)
    process.stdin.close()
    equal("status", reap(process), 7)


def a_command_that_ends_first_ends_it():
    trace = run.path("t.sonde")
    done = subprocess.run([run.sonde, "run", "-o", trace, "--for", "1h", "--stop-file",
                           run.path("f"), "--", "sleep", "0.3"],
                          capture_output=True, text=True, timeout=20)
    equal("status", done.returncode, 0)
    equal("by", run.check(trace)["meta"]["ended_by"], "command")


def a_command_that_ends_at_the_same_moment_has_ended():
    def state(pid):
        with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
            return f.read().rsplit(")", 1)[1].split()[0]
    for options in (("--for", "3s"), ("--stop-file", run.path("stop.flag"))):
        trace = run.path("t.sonde")
        process = start("-o", trace, *options, command=("sh", "-c", "sleep 3; exit 7"))
        # It learns of both at once.
        os.kill(process.pid, signal.SIGSTOP)
        command = children_of(process.pid)[0]
        wait_for("the command's end", lambda pid=command: state(pid) == "Z")
        time.sleep(0.5)
        if options[0] == "--stop-file":
            open(options[1], "w").close()
        os.kill(process.pid, signal.SIGCONT)
        equal("status", reap(process), 7)
        said = process.stderr.read()
        true(said, "goes on" not in said and "went on" not in said)
        meta = run.check(trace)["meta"]
        equal(f"{options}", (meta.get("exit"), meta["ended_by"]), ("exit 7", "command"))


def delay_samples_nothing_before():
    trace = run.path("t.sonde")
    process = start("-o", trace, "--delay", "3s", "--for", "5s", command=SPIN)
    state = json.loads(run.ctl("status", "--json", "--session", str(process.pid)).stdout)
    equal("state", state["state"], "waiting")
    first_line(process)
    end(process)
    paused = query(trace, "SELECT ts, dur FROM slice WHERE name = 'paused'")
    equal("slices", len(paused), 1)
    began, lasted = paused[0]
    true(f"length {lasted}", 3e9 <= lasted < (3 + HOLD_UP) * 1e9)
    sampled = query(trace, "SELECT min(ts), count(DISTINCT ts) FROM counter")[0]
    true(f"from {sampled[0] - began} of {lasted} on", sampled[0] >= began + lasted)
    true(f"moments {sampled[1]}", sampled[1] >= 3)


def a_command_that_ends_in_the_delay_is_told():
    trace = run.path("t.sonde")
    done = subprocess.run([run.sonde, "run", "-o", trace, "--delay", "90s", "--",
                           "sh", "-c", "exit 3"], capture_output=True, text=True, timeout=20)
    equal("status", done.returncode, 3)
    said = " ".join(done.stderr.split())
    true(said, "Nothing was sampled: the command ended in the delay of 90.0 s, after " in said)
    true(said, "sonde run -- sh -c 'exit 3'" in said)
    true("trace", run.check(trace)["finished"])


def resume_ends_the_delay():
    trace = run.path("t.sonde")
    process = start("-o", trace, "--delay", "1h")
    name = str(process.pid)
    equal("resume", run.ctl("resume", "--session", name).returncode, 0)
    state = json.loads(run.ctl("status", "--json", "--session", name).stdout)["state"]
    equal("state", state, "recording")
    said = end(process)
    true(said, "in the delay" not in said and "Nothing was sampled" not in said)


def stop_file_ends_the_recording_and_not_the_command():
    trace = run.path("t.sonde")
    where = os.path.dirname(trace)
    flag = os.path.join(where, "stop.flag")
    open(flag, "w").close()  # left over
    process = start("-o", trace, "--stop-file", "./stop.flag", cwd=where)
    wait_for("its removal", lambda: not os.path.exists(flag))
    time.sleep(0.5)
    equal("recorded", run.ctl("status", "--session", str(process.pid)).returncode, 0)
    open(flag, "w").close()
    line = first_line(process)
    true(line, "stop.flag appeared. The command goes on" in line)
    equal("by", run.check(trace)["meta"]["ended_by"], "stop file")
    true("the flag stays", os.path.exists(flag))
    true("the command lives", process.poll() is None)
    end(process)


def two_recorders_of_one_flag_do_not_collide():
    where = os.path.dirname(run.path("x"))
    flag = os.path.join(where, "stop.flag")
    os.symlink(".", os.path.join(where, "link"))
    first = start("--stop-file", "stop.flag", "--rate", "0.5", cwd=where)
    # It has not seen this one yet when the second starts.
    first.send_signal(signal.SIGSTOP)
    open(flag, "w").close()
    second = start("--stop-file", "link/stop.flag", "--rate", "0.5", cwd=where)
    true("not taken away", os.path.exists(flag))
    first.send_signal(signal.SIGCONT)
    true("the first ends", "appeared" in first_line(first))
    equal("the second goes on",
          run.ctl("status", "--session", str(second.pid)).returncode, 0)
    os.remove(flag)
    open(flag, "w").close()
    true("the second ends", "appeared" in first_line(second))
    end(first), end(second)
    traces = [n for n in os.listdir(where) if n.endswith(".sonde")]
    equal("traces", len(traces), 2)
    for name in traces:
        true(name, run.check(os.path.join(where, name))["finished"])


# Idle for two seconds, then 0.2 cores; where others want them, it makes up for
# what it did not get.
WARM_UP = """
import time
time.sleep(2)
begin, used = time.monotonic(), time.process_time()
while (since := time.monotonic() - begin) < %s:
    while time.process_time() - used < 0.2 * since: pass
    time.sleep(0.05)
"""


def delay_auto_finds_the_end_of_the_start_up():
    trace = run.path("t.sonde")
    done = subprocess.run([run.sonde, "run", "-o", trace, "--delay", "auto", "--",
                           "/usr/bin/python3", "-c", WARM_UP % 9],
                          capture_output=True, text=True, timeout=60)
    equal("status", done.returncode, 0)
    report = json.loads(subprocess.run([run.sonde, "report", "--json", trace],
                                       capture_output=True, timeout=60).stdout)
    found = report["run"]
    true(f"why {found['steady_why']}", "the CPU has kept 0." in found["steady_why"])
    after = (found["steady_ns"] - report["clock"]["started_ns"]) / 1e9
    true(f"after {after}", 1.5 <= after < 8)
    # What came before is kept, and told apart.
    true(f"ticks {found['ticks']}", found["ticks"] >= 30)
    before = query(trace, "SELECT count(DISTINCT ts) FROM counter "
                          f"WHERE ts < {found['steady_ns']}")[0][0]
    true(f"moments before {before}", before >= 3)
    names = [e["name"] for e in run.check(trace)["session"]]
    equal("slices", names, ["start-up"])
    text = " ".join(done.stderr.split())
    true(text, "s on (the CPU has kept 0." in text)


def delay_auto_waits_for_the_accelerator():
    root = run.path("machine")
    card = root + "/sys/class/drm/card1/device"
    os.makedirs(card)
    os.symlink("../../../bus/pci/drivers/amdgpu", card + "/driver")

    def busy(percent):
        with open(card + "/gpu_busy_percent.new", "w") as f:
            f.write(f"{percent}\n")
        os.rename(card + "/gpu_busy_percent.new", card + "/gpu_busy_percent")
    busy(0)
    trace = run.path("t.sonde")
    process = subprocess.Popen([run.sonde, "run", "-o", trace, "--delay", "auto", "--",
                                "/usr/bin/python3", "-c", WARM_UP % 10],
                               stderr=subprocess.PIPE, text=True,
                               env=dict(os.environ, SONDE_DEVICE_ROOT=root))
    time.sleep(5)  # the CPU alone is steady by then
    busy(90)
    equal("status", reap(process), 0)
    meta = run.check(trace)["meta"]
    true(meta["steady_why"], meta["steady_why"].startswith("the accelerator has kept 90"))


def delay_auto_without_such_a_moment_judges_all():
    trace = run.path("t.sonde")
    done = subprocess.run([run.sonde, "run", "-o", trace, "--delay", "auto", "--",
                           "sleep", "1"], capture_output=True, text=True, timeout=60)
    meta = run.check(trace)["meta"]
    equal("why", meta["steady_why"], "no steady work was seen before the end")
    true("no moment", "steady_ns" not in meta)
    text = " ".join(done.stderr.split())
    true(text, "judged as a whole (no steady work was seen before the end)" in text)


def senseless_lives_are_refused():
    refused("--for 0 would record nothing", "--for", "0")
    refused("--for is a time, not '-5m'", "--for=-5m")
    refused("--for is a time, not 'soon'", "-t", "soon")
    refused("--delay is a time with its unit, not '90'", "--delay", "90")
    refused("--delay 0s is no delay", "--delay", "0s")
    refused("--delay 2m is not shorter than --for 90s", "--delay", "2m", "--for", "90s")
    refused("--delay 60s is not shorter than --for 1", "--delay", "60s", "--for", "1")
    refused(": is a directory", "--stop-file", ".")
    refused("there is no directory for it", "--stop-file", "no/where")


for test in (for_ends_the_recording_and_not_the_command, a_plain_number_is_minutes,
             a_command_that_ends_first_ends_it,
             a_command_that_ends_at_the_same_moment_has_ended, delay_samples_nothing_before,
             a_command_that_ends_in_the_delay_is_told, resume_ends_the_delay,
             stop_file_ends_the_recording_and_not_the_command,
             two_recorders_of_one_flag_do_not_collide,
             delay_auto_finds_the_end_of_the_start_up,
             delay_auto_waits_for_the_accelerator,
             delay_auto_without_such_a_moment_judges_all, senseless_lives_are_refused):
    run.case(test.__name__, test)
run.done()
