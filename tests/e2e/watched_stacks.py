#!/usr/bin/python3
"""Functions of programs that run already, by perf and by BPF.

Fault 17: the memory of a target is read.
"""

import os
import resource
import subprocess
import textwrap
import time

from common import Runner, Skip, equal, reap, true, wait_for
from stack_programs import LIBRARY, PROGRAM, SHARES, check_mixed, check_shares, told

run = Runner()

NOBODY = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups",
          "--inh-caps=-all")

# Four threads that burn as 1 : 2 : 3. What stdin says begins later: t, a thread
# that burns in late_thread(); f, a child that burns in late_child().
THREADS = SHARES.replace("int main(", "int unused(") + textwrap.dedent('''
    #include <sys/wait.h>
    #include <unistd.h>
    #include <thread>
    extern "C" {
    __attribute__((noinline)) void late_thread(double s) { work(s); sink += 1; }
    __attribute__((noinline)) void late_child(double s) { work(s); sink += 1; }
    }
    int main(int, char** argv) {
      const double seconds = atof(argv[1]);
      std::thread all[3];
      for (std::thread& one : all) one = std::thread([=] { work(seconds); });
      puts("ready");
      fflush(stdout);
      std::thread reads([=] {
        char word;
        while (read(0, &word, 1) == 1) {
          if (word == 't') std::thread([=] { late_thread(seconds); }).detach();
          if (word == 'f' && fork() == 0) { late_child(1); _exit(0); }
        }
      });
      work(seconds);
      for (std::thread& one : all) one.join();
      reads.join();
      while (wait(nullptr) > 0) {}
      puts("done");
      return 3;
    }
    ''')


def made(name, text):
    path = run.path(name)
    with open(path, "w") as f:
        f.write(text)
    return path


def build(text, *flags):
    path = run.path("program")
    subprocess.run(["c++", "-O2", "-g", "-pthread", *flags, "-o", path,
                    made("program.cc", text)], check=True)
    return path


def open_to_all(*paths):
    """Another user must reach what lies in the scratch directory."""
    for path in paths:
        while path.startswith(run.dir + "/"):
            path = os.path.dirname(path)
            os.chmod(path, 0o777)


class Job:
    """A program that says a line when it is ready."""

    def __init__(self, *command, before=(), ready="ready\n"):
        if before:
            open_to_all(*command)
        self.process = subprocess.Popen([*before, *command], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        equal("first line", self.process.stdout.readline(), ready)
        self.pid = str(self.process.pid)

    def say(self, words):
        self.process.stdin.write(words)
        self.process.stdin.flush()

    def end(self, status, output):
        self.process.stdin.close()
        equal("status", reap(self.process, 60), status)
        equal("output", self.process.stdout.read(), output)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


class Watch:
    """Records already."""

    def __init__(self, *options, before=()):
        self.trace = run.path("w.sonde")
        if before:
            open_to_all(self.trace)
        self.process = subprocess.Popen(
            [*before, run.sonde, "watch", "--quiet", "-o", self.trace, *options],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        name = str(self.process.pid)
        wait_for("the session to answer", lambda: self.process.poll() is not None or
                 run.ctl("status", "--session", name).returncode == 0)

    def end(self, status=0):
        done = reap(self.process, 60)
        true(f"status {done}: {self.process.stderr.read()}", done == status)
        return told(run, self.trace)


def missing(found, source):
    return [one for one in found["not_collected"] if one["source"] == source]


def may_use_bpf():
    done = subprocess.run([run.sonde, "run", "--quiet", "--force", "--stacks-by", "bpf",
                           "-o", run.path("b.sonde"), "--", "true"],
                          stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise Skip(done.stderr.strip())


def threads_that_burn(before):
    with Job(build(THREADS), "3", before=before) as job:
        found = Watch("--pid", job.pid, "--for", "3s", before=before).end()
        job.end(3, "done\n")
    true(f"by {found['sampling']}", found["sampling"]["by"] in ("perf", "bpf"))
    if before:
        equal("by", found["sampling"]["by"], "perf")
    check_shares(found, within=0.06)
    equal("threads that were sampled", len([t for t in found["processes"][0]["threads"]
                                            if (t["cpu_ns"] or 0) > 0.1e9]), 4)
    true("not twice", found["sampling"]["sampled_ns"] < 1.1 * found["run"]["cpu_ns"])
    equal("missing", missing(found, "native stacks"), [])


def as_another_user():
    if os.getuid() != 0:
        raise Skip("this is an ordinary user already")
    threads_that_burn(NOBODY)


def what_begins_later_is_seen_once():
    with Job(build(THREADS), "4") as job:
        watch = Watch("--pid", job.pid, "--for", "4s")
        time.sleep(0.5)
        job.say("tf")
        found = watch.end()
        job.end(3, "done\n")
    by = {}
    for f in found["functions"]:
        by.setdefault(f["function"], set()).add(f["process"])
    true(f"a thread: {sorted(by)}", "late_thread" in by)
    true(f"a child: {sorted(by)}", "late_child" in by)
    equal("processes", len(found["processes"]), 2)
    equal("the child's own", by["late_child"] & by["late_thread"], set())
    true("not twice", found["sampling"]["sampled_ns"] < 1.05 * found["run"]["cpu_ns"])


def threads_that_come_and_go():
    """Hundreds a second, also while nobody knows yet who is attached."""
    program = build(textwrap.dedent('''\
        #include <stdio.h>
        #include <time.h>
        #include <thread>
        static volatile unsigned sink;
        extern "C" __attribute__((noinline)) void brief() {
          for (unsigned i = 0; i < 2000000; ++i) sink += i;
        }
        int main() {
          puts("ready");
          fflush(stdout);
          for (;;) std::thread(brief).join();
        }
        '''))
    with Job(program) as job:
        found = Watch("--pid", job.pid, "--for", "3s").end()
    # Perf may see none that lives for so short a time.
    sampled = (found["sampling"] or {"sampled_ns": 0})["sampled_ns"]
    cpu = found["run"]["cpu_ns"]
    true(f"sampled {sampled} of {cpu}", sampled < 1.15 * max(cpu, found["run"]["wall_ns"]))


def mixed(by, before=()):
    library = run.path("mixed.so")
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", library,
                    made("mixed.c", LIBRARY)], check=True)
    script = PROGRAM.replace("main()\nprint", "print('ready', flush=True)\nmain()\nprint") \
                    .replace("process_time() + 2", "process_time() + 4")
    with Job("/usr/bin/python3", made("mixed.py", script), library, before=before) as job:
        options = ["--stacks-by", by] if by else []
        watch = Watch("--pid", job.pid, "--for", "3s", *options, before=before)
        watch.end()
        job.end(0, "done\n")
    sampling = check_mixed(run, watch.trace, by or "perf")
    if by == "bpf":
        true(f"approximate: {sampling}",
             sampling["approximate"] <= 0.05 * sampling["samples"])


def mixed_by_bpf():
    may_use_bpf()
    mixed("bpf")


def mixed_as_another_user():
    if os.getuid() != 0:
        raise Skip("this is an ordinary user already")
    mixed("", NOBODY)


def by_proc_there_is_no_native_code():
    with Job("/usr/bin/python3", "-c",
             "print('ready', flush=True)\nwhile True: sum(range(1000))") as job:
        found = Watch("--pid", job.pid, "--for", "2s", "--stacks-by", "proc").end()
    equal("by", found["sampling"]["by"], "proc")
    true("functions", found["functions"] and
         all(f["language"] != "native" for f in found["functions"]))


def off_is_off():
    with Job(build(THREADS), "2") as job:
        found = Watch("--pid", job.pid, "--for", "1s", "--stacks", "off").end()
    equal("sampling", found["sampling"], None)


def wrong_words_are_refused():
    for words, wanted in ((("--stacks-by", "magic"), "proc, perf or bpf"),
                          (("--stacks-by", "perf", "--stacks", "off"), "they are off"),
                          (("--stacks-by", "perf"), "they are off")):
        target = () if len(words) == 2 and words[1] == "perf" else ("--pid", str(os.getpid()))
        done = subprocess.run([run.sonde, "watch", *target, *words], capture_output=True,
                              text=True, timeout=20, cwd=run.dir)
        equal("status", done.returncode, 2)
        true(done.stderr, wanted in done.stderr)


def other_programs_by_exec():
    """Each image is named by its own code, though /proc tells of an exec late."""
    program = build(SHARES)
    again = build(textwrap.dedent('''\
        #include <stdio.h>
        #include <stdlib.h>
        #include <time.h>
        #include <unistd.h>
        static double used() {
          struct timespec t;
          clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
          return t.tv_sec + t.tv_nsec / 1e9;
        }
        static volatile unsigned sink;
        extern "C" __attribute__((noinline)) void spin_here() {
          for (double end = used() + 0.2; used() < end;)
            for (unsigned i = 0; i < 20000; ++i) sink += i;
        }
        int main(int argc, char** argv) {
          if (argv[1][0] == '9') { puts("ready"); fflush(stdout); }
          spin_here();
          char left[] = {static_cast<char>(argv[1][0] - 1), 0};
          if (left[0] >= '1') execl(argv[0], argv[0], left, argv[2], (char*)0);
          execl(argv[2], argv[2], "1.5", (char*)0);
        }
        '''))
    with Job(again, "9", program) as job:
        watch = Watch("--pid", job.pid, "--for", "60s")
        job.end(3, "done\n")
        found = watch.end()
    equal("ended by", found["run"]["ended_by"], "target gone")
    by = {f["function"]: f for f in found["functions"]}
    true(f"spin_here: {by.keys()}", by["spin_here"]["total_share"] > 0.3)
    check_shares(found, least=0.25)
    # Code of one program by the names of another would be anything.
    wrong = sum(f["self_ns"] for f in found["functions"]
                if "0x" in f["function"] and "vdso" not in f["function"])
    true(f"without a name: {wrong}", wrong < 0.02 * found["sampling"]["sampled_ns"])
    equal("one process", len(found["processes"]), 1)


def pauses_are_not_sampled():
    with Job(build(THREADS), "5") as job:
        watch = Watch("--pid", job.pid, "--for", "4s", "--delay", "2s")
        time.sleep(1)
        job.say("t")  # begins while nobody listens
        found = watch.end()
    sampling, run_told = found["sampling"], found["run"]
    cores = min(os.cpu_count(), 5)
    true(f"sampled in the delay: {sampling}",
         sampling["sampled_ns"] < 1.1 * cores * 2e9)
    true("the thread of the delay",
         any(f["function"] == "late_thread" for f in found["functions"]))
    check_shares(found)
    true("events are closed", run_told["ended_by"] == "time")


def another_users_process_is_told_of():
    if os.getuid() != 0:
        raise Skip("wants two users")
    with Job(build(THREADS), "3") as job:
        watch = Watch("--pid", job.pid, "--for", "1s", before=NOBODY)
        found = watch.end()
    equal("by", (found["sampling"] or {"by": "proc"})["by"], "proc")
    # Beside a hundred threads that burn, names of where they sleep come late.
    told_of = [one for one in missing(found, "native stacks")
               if not one["why"].startswith("names are missing")]
    equal(f"lines {told_of}", len(told_of), 1)
    true(told_of, f"process {job.pid}" in told_of[0]["why"] and
         "as root" in told_of[0]["cure"])


def cgroup():
    for base in ("/sys/fs/cgroup", "/sys/fs/cgroup/memory", "/sys/fs/cgroup/unified"):
        path = f"{base}/sonde-e2e-stacks-{os.getpid()}"
        try:
            os.mkdir(path)
        except OSError:
            continue
        if os.path.exists(path + "/cgroup.procs"):
            return path
        os.rmdir(path)
    raise Skip("no cgroup can be made here")


def who_is_put_into_a_cgroup_later():
    path = cgroup()
    program = build(SHARES)
    try:
        watch = Watch("--cgroup", path, "--for", "4s")
        late = subprocess.Popen([program, "2"], stdout=subprocess.DEVNULL)
        with open(path + "/cgroup.procs", "w") as f:
            f.write(str(late.pid))
        found = watch.end()
        equal("status", reap(late), 3)
    finally:
        wait_for("the cgroup to be empty", lambda: os.rmdir(path) is None)
    true(found["sampling"], found["sampling"]["by"] in ("perf", "bpf"))
    check_shares(found, least=0.6)


def with_descriptors(soft):
    def limit():
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, soft))
    return limit


def more_threads_than_events():
    """An ordinary user gets Python only, root samples the CPUs."""
    program = build(THREADS.replace("std::thread all[3]", "std::thread all[100]"))
    cpus = os.sysconf("SC_NPROCESSORS_ONLN")
    limit = with_descriptors(max(160, 100 * cpus))

    def watch(pid, before):
        trace = run.path("w.sonde")
        if before:
            open_to_all(trace)
        subprocess.run([*before, run.sonde, "watch", "--quiet", "-o", trace, "--pid", pid,
                        "--for", "3s"], check=True, timeout=60, preexec_fn=limit)
        return told(run, trace)

    if os.getuid() == 0:
        with Job(program, "1") as job:
            found = watch(job.pid, ())
        true(found["sampling"], found["sampling"]["by"] in ("perf", "bpf"))
        # Beside a hundred threads that burn, names may come too late.
        true("one", "one" in {f["function"] for f in found["functions"]} or
             any("names are missing" in m["why"] for m in missing(found, "native stacks")))
        equal("processes", {f["process"] for f in found["functions"]}, {1})
        true(f"sampled {found['sampling']} of {found['run']['cpu_ns']}",
             0.7 < found["sampling"]["sampled_ns"] / found["run"]["cpu_ns"] < 1.1)
    before = NOBODY if os.getuid() == 0 else ()
    with Job(program, "1", before=before) as job:
        found = watch(job.pid, before)
    equal("sampling", found["sampling"], None)
    # Beside a hundred threads that burn, names of where they sleep come late.
    told_of = [one for one in missing(found, "native stacks")
               if not one["why"].startswith("names are missing")]
    equal(f"lines {told_of}", len(told_of), 1)
    true(told_of, "perf events" in told_of[0]["why"] and "ulimit" in told_of[0]["cure"])


def the_whole_machine_when_asked():
    with Job(build(THREADS), "3") as job:
        found = Watch("--for", "2s").end()
        equal("not asked", found["sampling"], None)
        found = Watch("--for", "2s", "--stacks", "99").end()
    if os.getuid() != 0:
        return
    true(found["sampling"], found["sampling"]["by"] in ("perf", "bpf"))
    number = next(p["number"] for p in found["processes"] if p["pid"] == int(job.pid))
    true("the job's functions", {"one", "two", "three"} <= {
        f["function"] for f in found["functions"] if f["process"] == number})


def the_whole_machine_as_another_user():
    if os.getuid() != 0:
        raise Skip("wants two users")
    with Job("/usr/bin/python3", "-c",
             "print('ready', flush=True)\nwhile True: sum(range(1000))", before=NOBODY):
        found = Watch("--for", "2s", "--stacks", "99", before=NOBODY).end()
    equal("by", found["sampling"]["by"], "proc")
    true(missing(found, "native stacks"),
         "as root" in missing(found, "native stacks")[0]["cure"])


for test in (what_begins_later_is_seen_once, threads_that_come_and_go, mixed_by_bpf,
             mixed_as_another_user, by_proc_there_is_no_native_code, off_is_off,
             wrong_words_are_refused, other_programs_by_exec, pauses_are_not_sampled,
             another_users_process_is_told_of, who_is_put_into_a_cgroup_later,
             more_threads_than_events, the_whole_machine_when_asked,
             the_whole_machine_as_another_user, as_another_user):
    run.case(test.__name__, test)
run.case("threads_that_burn", threads_that_burn, ())
run.case("mixed_by_perf", mixed, "perf")
run.done()
