#!/usr/bin/python3
"""The process tree: every child is seen or counted, none mixed with another."""

import os
import subprocess
import time

from common import Runner, Skip, equal, reap, true

CHILDREN = 2000
run = Runner()

# Starts /bin/true again and again, and says how often.
STORM = f"""
import os
for i in range({CHILDREN}):
    pid = os.posix_spawn("/bin/true", ["/bin/true"], os.environ)
    os.waitpid(pid, 0)
"""


def record(*options, command, **how):
    trace = run.path("t.sonde")
    done = subprocess.run([run.sonde, "run", "--quiet", *options, "-o", trace, "--",
                           *command], timeout=120, **how)
    return done, run.check(trace)


def lost(found):
    return sum(loss["count"] for loss in found["losses"]
               if loss["reason"] == "perf-lost")


def short_children_are_seen_or_counted():
    done, found = record(command=["/usr/bin/python3", "-c", STORM])
    equal("status", done.returncode, 0)
    if found["meta"]["tree_source"] != "perf":
        raise Skip("processes are followed by /proc, which misses short ones")
    seen = [p for p in found["processes"] if p["name"] == "true"]
    true(f"seen {len(seen)}, lost {lost(found)} records",
         len(seen) == CHILDREN or len(seen) < CHILDREN and lost(found) > 0)
    if lost(found) == 0:
        ended = [p for p in seen if p["end_ns"] > p["start_ns"]]
        equal("ended", len(ended), CHILDREN)
        equal("parents", {p["parent"] for p in seen}, {1})


def numbers_are_unique_and_parents_known():
    _, found = record(command=["sh", "-c", "for i in 1 2 3; do sh -c '/bin/true; :' & done; wait"])
    numbers = [p["number"] for p in found["processes"]]
    equal("numbers", len(set(numbers)), len(numbers))
    equal("the command", [p["number"] for p in found["processes"] if p["parent"] == 0],
          [1])
    true("parents are in the trace",
         all(p["parent"] in numbers for p in found["processes"] if p["number"] != 1))
    for p in found["processes"]:
        true(f"times of {p}", p["end_ns"] < 0 or p["end_ns"] >= p["start_ns"])


def exit_of_the_command_is_recorded():
    _, found = record(command=["sh", "-c", "exit 37"])
    root = found["processes"][0]
    equal("exit", (root["exit"], root["exit_code"]), (1, 37))
    _, found = record(command=["sh", "-c", "kill -9 $$"])
    root = found["processes"][0]
    equal("exit", (root["exit"], root["exit_code"]), (2, 9))


def by_proc_alone():
    _, found = record("--no-perf", "--rate", "100",
                      command=["sh", "-c", "sleep 1.1 & sleep 1; wait"])
    equal("source", found["meta"]["tree_source"], "proc")
    equal("sleeps", len([p for p in found["processes"] if p["name"] == "sleep"]), 2)


def descendants_that_live_on_are_marked():
    _, found = record(command=["sh", "-c", "sleep 3 & sleep 0.3"])
    equal("still running", found["meta"]["still_running"], "1")
    equal("running", [p["name"] for p in found["processes"] if p["exit"] == 3],
          ["sleep"])


def pids_used_again_are_not_mixed():
    if os.geteuid() != 0:
        raise Skip("a pid namespace takes root")
    trace = run.path("t.sonde")
    # 400 pids for 1000 children: each pid is used more than once.
    script = ("echo 400 > /proc/sys/kernel/pid_max && exec "
              f"{run.sonde} run --quiet -o {trace} -- sh -c "
              "'i=0; while [ $i -lt 1000 ]; do /bin/true; i=$((i+1)); done'")
    done = subprocess.run(["unshare", "-fp", "--mount-proc", "sh", "-c", script],
                          capture_output=True, text=True, timeout=120)
    if "unshare" in done.stderr or "pid_max" in done.stderr:
        raise Skip(done.stderr.strip())
    equal("status", (done.returncode, done.stderr), (0, ""))
    found = run.check(trace)
    if found["meta"]["tree_source"] != "perf":
        raise Skip("processes are followed by /proc, which misses short ones")
    seen = [p for p in found["processes"] if p["name"] == "true"]
    if lost(found) == 0:
        equal("children", len(seen), 1000)
    true("pids were used again", len({p["pid"] for p in seen}) < len(seen))
    true("each ran once", all(p["execs"] == 1 for p in seen))
    by_pid = {}
    for p in sorted(seen, key=lambda p: p["start_ns"]):
        before = by_pid.get(p["pid"])
        true(f"{before} ended before {p}", not before or before["end_ns"] <= p["start_ns"])
        by_pid[p["pid"]] = p


def nested_pid_namespaces_are_told_apart():
    if os.geteuid() != 0:
        raise Skip("a pid namespace takes root")
    # Each shell is pid 1 of its own namespace; /proc is still the outer one's.
    inner = ("unshare -fp sh -c 'read pid rest < /proc/self/stat; echo $$ $pid; "
             "sleep 0.2' & ")
    command = ["sh", "-c", 3 * inner + "wait"]
    done, found = record(command=command, capture_output=True, text=True)
    if "unshare" in done.stderr:
        raise Skip(done.stderr.strip())
    said = [line.split() for line in done.stdout.splitlines()]
    equal("pid in its namespace", [words[0] for words in said], ["1"] * 3)
    pids = {int(words[1]) for words in said}
    equal("pids outside", len(pids), 3)
    ours = [p for p in found["processes"] if p["pid"] in pids and p["name"] == "sh"]
    equal("processes", len({p["number"] for p in ours}), 3)
    true("none is pid 1", all(p["pid"] != 1 for p in found["processes"]))


for test in (exit_of_the_command_is_recorded, numbers_are_unique_and_parents_known,
             descendants_that_live_on_are_marked, by_proc_alone,
             short_children_are_seen_or_counted, pids_used_again_are_not_mixed,
             nested_pid_namespaces_are_told_apart):
    run.case(test.__name__, test)
run.done()
