#!/usr/bin/python3
"""`sonde watch` records what runs already."""

import json
import os
import shutil
import signal
import subprocess
import threading
import time

from common import Runner, Skip, equal, reap, true, wait_for

run = Runner()

SPIN = "import time\nwhile True:\n  for i in range(100000): pass\n  time.sleep(0.001)"


class Job:
    """Something that runs before anybody watches it."""

    def __init__(self, *command):
        self.process = subprocess.Popen(
            command or ("/usr/bin/python3", "-c", SPIN), start_new_session=True,
            stdout=subprocess.DEVNULL)
        self.pid = str(self.process.pid)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()


class Watch:
    def __init__(self, *options, cwd=None):
        self.trace = run.path("w.sonde")
        self.process = subprocess.Popen(
            [run.sonde, "watch", "-o", self.trace, *options], cwd=cwd,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.name = str(self.process.pid)
        wait_for("the session to answer", lambda: self.process.poll() is not None or
                 run.ctl("status", "--session", self.name).returncode == 0)

    def end(self, code=0):
        equal("status", reap(self.process), code)
        self.said = self.process.stderr.read()
        return report(self.trace)


def report(trace):
    done = subprocess.run([run.sonde, "report", "--json", trace], capture_output=True,
                          text=True, timeout=60)
    equal("report", (done.returncode, done.stderr), (0, ""))
    return json.loads(done.stdout)


def a_process_with_its_past_left_out():
    with Job() as job:
        time.sleep(1.5)  # CPU time that is not the recording's
        watch = Watch("--pid", job.pid, "--for", "2s")
        found = watch.end()
    equal("ended by", found["run"]["ended_by"], "time")
    true(found["run"]["watched"], found["run"]["watched"].startswith(f"process {job.pid} ("))
    equal("processes", [p["pid"] for p in found["processes"]], [int(job.pid)])
    cores = found["run"]["cores_used"]
    true(f"cores {cores}", 0.05 < cores < 1.15)
    thread = found["processes"][0]["threads"][0]
    true(f"thread {thread['cpu_ns']} in {found['run']['wall_ns']}",
         thread["cpu_ns"] < 1.15 * found["run"]["wall_ns"])
    true(watch.said, "the recording ended: after 2.00 s" in watch.said)
    true(watch.said, f"Watched  process {job.pid}" in watch.said)


def its_threads_past_is_left_out_too():
    code = ("import threading,time\ndef f():\n  while True: sum(range(1000))\n"
            "for i in range(2): threading.Thread(target=f, daemon=True).start()\n"
            "time.sleep(60)")
    with Job("/usr/bin/python3", "-c", code) as job:
        time.sleep(2)
        found = Watch("--pid", job.pid, "--for", "1s").end()
    threads = found["processes"][0]["threads"]
    equal("threads", len(threads), 3)
    spent = sum(t["cpu_ns"] or 0 for t in threads)
    # They have one lock, so all of them together can use one core.
    true(f"threads {spent} in {found['run']['wall_ns']}",
         spent < 1.15 * found["run"]["wall_ns"])


def descendants_old_and_new():
    with Job("sh", "-c", "sleep 60 & (sleep 61 & sleep 62) & sleep 1; sleep 63 & wait") as job:
        time.sleep(0.4)
        found = Watch("--pid", job.pid, "--for", "3s", "--args").end()
    lines = sorted(p["cmdline"] for p in found["processes"] if "sleep 6" in p["cmdline"])
    equal("commands", [line for line in lines if not line.startswith("sh")],
          ["sleep 60", "sleep 61", "sleep 62", "sleep 63"])
    numbers = {p["number"]: p for p in found["processes"]}
    for p in found["processes"]:
        if p["pid"] != int(job.pid):
            true(f"parent of {p['cmdline']}", p["parent"] in numbers)


def ends_with_its_target():
    with Job() as job:
        watch = Watch("--pid", job.pid)
        time.sleep(0.5)
    found = watch.end()
    equal("ended by", found["run"]["ended_by"], "target gone")
    true(watch.said, "is gone" in watch.said)
    equal("exit", found["processes"][0]["exit"] is not None, True)


def signals_end_it_and_all_is_analysed():
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        with Job() as job:
            watch = Watch("--pid", job.pid)
            time.sleep(1.2)
            watch.process.send_signal(number)
            found = watch.end()
            true("the job lives", job.process.poll() is None)
        equal("ended by", found["run"]["ended_by"], "signal")
        true("finished", found["trace"]["finished"])
        true(f"ticks {found['run']['ticks']}", found["run"]["ticks"] >= 2)


def killed_and_still_analysed():
    with Job() as job:
        watch = Watch("--pid", job.pid)
        time.sleep(1.5)
        watch.process.kill()
        watch.process.wait()
    found = report(watch.trace)
    equal("finished", found["trace"]["finished"], False)
    true(f"ticks {found['run']['ticks']}", found["run"]["ticks"] >= 2)


def ctl_and_stop_file_end_it():
    with Job() as job:
        watch = Watch("--pid", job.pid)
        equal("mark", run.ctl("mark", "here", "--session", watch.name).returncode, 0)
        equal("stop", run.ctl("stop", "--session", watch.name).returncode, 0)
        equal("ended by", watch.end()["run"]["ended_by"], "request")
        flag = run.path("stop.flag")
        watch = Watch("--pid", job.pid, "--stop-file", flag)
        open(flag, "w").close()
        equal("ended by", watch.end()["run"]["ended_by"], "stop file")


def everything_but_itself():
    with Job() as job:
        watch = Watch("--for", "2s")
        found = watch.end()
    pids = [p["pid"] for p in found["processes"]]
    true("the job", int(job.pid) in pids)
    true("this script", os.getpid() in pids)
    true("not itself", watch.process.pid not in pids)
    true(found["run"]["watched"], found["run"]["watched"] in ("this machine", "this container"))
    # All of it is known to be ours: nothing is left for "other programs".
    true("the kernel's threads are none", not any(p["name"] == "kthreadd"
                                                  for p in found["processes"]))


def in_the_background():
    where = os.path.dirname(run.path("x"))
    with Job() as job:
        done = subprocess.run([run.sonde, "watch", "--background", "--pid", job.pid,
                               "--stop-file", "stop.flag", "-o", "b.sonde"],
                              capture_output=True, text=True, timeout=20, cwd=where)
        equal("status", (done.returncode, done.stderr), (0, ""))
        trace = os.path.join(where, "b.sonde")
        true(done.stdout, trace in done.stdout and "sonde ctl stop --session" in done.stdout)
        pid = int(done.stdout.split("--session ")[1].split()[0])
        equal("own session", os.getsid(pid) != os.getsid(0), True)
        time.sleep(1.5)
        open(os.path.join(where, "stop.flag"), "w").close()
        wait_for("its end", lambda: not os.path.exists(f"/proc/{pid}") or
                 open(f"/proc/{pid}/stat").read().split()[2] == "Z")
    true("finished", report(trace)["trace"]["finished"])
    with open(trace + ".txt") as f:
        said = f.read()
    true(said, "Watched  process" in said and "Next: sonde report" in said)


def in_the_background_errors_come_back():
    where = os.path.dirname(run.path("x"))
    done = subprocess.run([run.sonde, "watch", "--background", "--stop-file", "."],
                          capture_output=True, text=True, timeout=20, cwd=where)
    equal("status", (done.returncode, done.stdout), (2, ""))
    true(done.stderr, ": is a directory" in done.stderr and "hint:" in done.stderr)
    equal("left behind", os.listdir(where), [])


def in_the_background_no_other_file_is_touched():
    where = os.path.dirname(run.path("x"))
    notes = os.path.join(where, "b.sonde.txt")
    with open(notes, "w") as f:
        f.write("mine")
    words = [run.sonde, "watch", "--background", "-o", "b.sonde"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=20, cwd=where)
    equal("status", done.returncode, 1)
    true(done.stderr, "b.sonde.txt: exists already" in done.stderr)
    # Neither one that fails after it was allowed to.
    done = subprocess.run([*words, "--force", "--stop-file", "no/where"],
                          capture_output=True, text=True, timeout=20, cwd=where)
    equal("status", done.returncode, 2)
    equal("left", os.listdir(where), ["b.sonde.txt"])
    with open(notes) as f:
        equal("notes", f.read(), "mine")


def an_engine_that_does_not_answer_is_not_waited_for():
    tools = os.path.dirname(run.path("x"))
    for name in ("podman", "docker"):
        with open(f"{tools}/{name}", "w") as f:
            f.write("#!/bin/sh\nexec sleep 100\n")
        os.chmod(f"{tools}/{name}", 0o700)
    done = subprocess.run([run.sonde, "watch", "--container", "nobody-has-this"],
                          capture_output=True, text=True, timeout=30, cwd=run.dir,
                          env=dict(os.environ, PATH=tools + ":" + os.environ["PATH"]))
    equal("status", done.returncode, 1)
    true(done.stderr, "there is no container nobody-has-this" in done.stderr)


def bad_targets_are_refused_in_one_line():
    with Job("true") as job:
        job.process.wait()
    over = threading.Event()
    thread = threading.Thread(target=over.wait, daemon=True)
    thread.start()
    dead = subprocess.Popen(["true"])
    os.waitid(os.P_PID, dead.pid, os.WEXITED | os.WNOWAIT)
    kernel = []
    if os.path.exists("/proc/2/comm"):  # not in a container
        with open("/proc/2/comm", encoding="utf-8") as file:
            if file.read() == "kthreadd\n":
                kernel = [("2 is a thread of the kernel", ("--pid", "2"))]
    for words, options in (
            *kernel,
            (f"process {dead.pid} has ended", ("--pid", str(dead.pid))),
            (f"{thread.native_id} is a thread of process {os.getpid()}",
             ("--pid", str(thread.native_id))),
            ("--pid is the number of a process, not '0'", ("--pid", "0")),
            ("--pid is the number of a process, not 'x'", ("--pid", "x")),
            (f"there is no process {job.pid}", ("--pid", job.pid)),
            ("there is no container nobody-has-this", ("--container", "nobody-has-this")),
            ("there is no container 0123456789ab", ("--container", "0123456789ab")),
            ("there is no cgroup /no/such", ("--cgroup", "/no/such")),
            ("not several", ("--cgroup", "/", "--pid", "1")),
            ("not shorter than --for 1h", ("--delay", "2h")),
            ("it does not start './job'", ("--rate", "5", "./job", "--epochs", "3")),
            ("--for 0 would record nothing", ("-t", "0"))):
        done = subprocess.run([run.sonde, "watch", *options], capture_output=True,
                              text=True, timeout=20, cwd=run.dir)
        true(f"{options}: {done.stderr}", done.returncode in (1, 2) and words in done.stderr)
        lines = [s for s in done.stderr.splitlines() if not s.startswith("  hint")]
        equal("lines", len(lines), 1)
    over.set()
    dead.wait()
    equal("traces", [n for n in os.listdir(run.dir) if n.endswith(".sonde")], [])


def make_cgroup():
    """A cgroup of our own, of whichever version can be made here."""
    for base in ("/sys/fs/cgroup", "/sys/fs/cgroup/memory", "/sys/fs/cgroup/unified"):
        path = f"{base}/sonde-e2e-{os.getpid()}"
        try:
            os.mkdir(path)
        except OSError:
            continue
        if os.path.exists(path + "/cgroup.procs"):
            return path
        os.rmdir(path)
    raise Skip("no cgroup can be made here")


def a_cgroup_and_those_below_it():
    path = make_cgroup()
    below = path + "/below"
    os.mkdir(below)
    try:
        with Job() as one, Job() as two, Job():
            for where, job in ((path, one), (below, two)):
                with open(where + "/cgroup.procs", "w") as f:
                    f.write(job.pid)
            watch = Watch("--cgroup", path)
            time.sleep(1)
        time.sleep(0.2)
        true("an empty one is not gone", watch.process.poll() is None)
    finally:
        wait_for("the cgroup to be empty", lambda: _gone(below) and _gone(path))
    found = watch.end()
    equal("ended by", found["run"]["ended_by"], "target gone")
    equal("processes", sorted(p["pid"] for p in found["processes"]),
          sorted([int(one.pid), int(two.pid)]))
    # All but those of a machine that did not let sonde run for a while.
    equal("losses", [one for one in found["losses"] if one["reason"] != "stopped"], [])


def _gone(path):
    try:
        os.rmdir(path)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def a_container_by_name_and_id():
    podman = shutil.which("podman")
    if podman is None:
        raise Skip("podman is not installed")
    name = f"sonde-e2e-{os.getpid()}"
    try:
        limits = ("--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024")
        for runtime, limits in (((), ()), ((), limits), (("--runtime", "runc"), limits)):
            made = subprocess.run(
                [podman, *runtime, "run", "-d", "--rm", "--name", name, "--network", "none", *limits,
                 "--rootfs", "/:O", "/bin/sh", "-c", "while :; do :; done"],
                capture_output=True, text=True, timeout=60)
            if made.returncode == 0:
                break
            subprocess.run([podman, "rm", "-f", name], capture_output=True, timeout=60)
        if made.returncode != 0:
            raise Skip(f"podman runs nothing here: {made.stderr.strip()[-120:]}")
        identity = made.stdout.strip()
        for word in (name, identity[:12], identity):
            found = Watch("--container", word, "--for", "1s").end()
            true(f"{word}: {found['processes']}",
                 any(p["name"] == "sh" for p in found["processes"]))
        watch = Watch("--container", name)
        subprocess.run([podman, "kill", name], capture_output=True, timeout=60)
        equal("ended by", watch.end()["run"]["ended_by"], "target gone")
    finally:
        subprocess.run([podman, "rm", "-f", name], capture_output=True, timeout=60)


for test in (a_process_with_its_past_left_out, its_threads_past_is_left_out_too,
             descendants_old_and_new, ends_with_its_target,
             signals_end_it_and_all_is_analysed, killed_and_still_analysed,
             ctl_and_stop_file_end_it, everything_but_itself, in_the_background,
             in_the_background_errors_come_back,
             in_the_background_no_other_file_is_touched,
             an_engine_that_does_not_answer_is_not_waited_for, bad_targets_are_refused_in_one_line,
             a_cgroup_and_those_below_it, a_container_by_name_and_id):
    run.case(test.__name__, test)
run.done()
