#!/usr/bin/python3
"""Twin runs: a command with and without sonde cannot tell the difference.

Fault 1, a changed behaviour. Fault 15, signals that collide: masks and
dispositions are among what is compared.

Equal must be: stdout, stderr, exit status or signal. What the command sees of
itself (descriptors, signal masks, limits, environment ...) is compared by
commands that print it. A second pass without --quiet: what the command wrote to
stderr is an exact prefix of what appears there.
"""

import os
import select
import signal
import subprocess
import time

from common import Failure, Runner, equal, reap, true, wait_for

PY = "/usr/bin/python3"
run = Runner()


def twin(command, prepare=None, stdin=b"", env=None, cwd=None, close=(),
         keep=(), loud=True, alone_by=()):
    """Runs `command` alone, under sonde --quiet, and under sonde.

    `alone_by` starts it where Python itself could not.
    """

    def once(prefix):
        def before():
            if prepare:
                prepare()
            for fd in close:
                os.close(fd)
        began = time.monotonic()
        process = subprocess.Popen(
            prefix + command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, preexec_fn=before, env=env, cwd=cwd,
            pass_fds=keep, restore_signals=False)
        out, err = process.communicate(stdin, timeout=60)
        return out, err, process.returncode, time.monotonic() - began

    alone = once(list(alone_by))
    trace = run.path("t.sonde")
    quiet = once([run.sonde, "run", "--quiet", "-o", trace, "--"])
    equal("stdout", quiet[0], alone[0])
    equal("stderr", quiet[1], alone[1])
    equal("status", quiet[2], alone[2])
    found = run.check(trace)
    true("the trace is finished", found["finished"])
    wanted = f"exit {alone[2]}" if alone[2] >= 0 else f"signal {-alone[2]}"
    equal("exit in the trace", found["meta"].get("exit"), wanted)
    if not loud:
        return quiet
    trace = run.path("t.sonde")
    spoken = once([run.sonde, "run", "-o", trace, "--"])
    equal("stdout, not quiet", spoken[0], alone[0])
    equal("status, not quiet", spoken[2], alone[2])
    if 2 not in close:
        if not spoken[1].startswith(alone[1]):
            raise Failure(f"stderr is no prefix: {spoken[1][:300]!r}")
        true("a summary follows", b"sonde" in spoken[1][len(alone[1]):])
    return quiet


def case(name, command, **how):
    run.case(name, lambda: twin(command, **how))


def sh(text):
    return ["/bin/sh", "-c", text]


def py(text):
    return [PY, "-c", text]


# Exit statuses and deaths.
for code in (0, 1, 2, 3, 42, 77, 100, 124, 125, 126, 127, 128, 129, 130, 200,
             254, 255):
    case(f"exit_{code}", sh(f"exit {code}"))
for name in ("HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL",
             "USR1", "SEGV", "USR2", "PIPE", "ALRM", "TERM", "STKFLT", "XCPU",
             "XFSZ", "VTALRM", "PROF", "SYS"):
    # Python's own dispositions are put aside: death must be by default action.
    number = 16 if name == "STKFLT" else int(getattr(signal, "SIG" + name))
    case(f"death_by_{name}", py(
        "import os,signal,resource;"
        "resource.setrlimit(resource.RLIMIT_CORE,(0,0));"
        f"n={number};\n"
        "if n!=9: signal.signal(n, signal.SIG_DFL)\n"
        "print('before', flush=True); os.kill(os.getpid(), n)"))
case("death_by_a_realtime_signal", py("import os; os.kill(os.getpid(), 40)"))
case("shell_kills_itself", sh("echo x; kill -9 $$; echo never"))

# Streams.
case("stdout_and_stderr", sh("echo out; echo err >&2; printf partial >&2"))
case("megabyte_to_stdout", py("import sys; sys.stdout.write('x' * (1 << 20))"))
case("megabyte_to_stderr", py("import sys; sys.stderr.write('y' * (1 << 20))"))
case("megabyte_through_stdin", ["cat"], stdin=os.urandom(1 << 20))
case("stdin_line_by_line", sh("while read -r l; do echo \"<$l>\"; done"),
     stdin=b"one\ntwo\n")
case("stdin_not_read", sh("echo done"), stdin=b"unread")
case("binary_output", ["head", "-c", "4096", "/bin/true"])
case("nonblocking_state_of_stdin", py(
    "import fcntl,os;print([fcntl.fcntl(i, fcntl.F_GETFL) for i in (0,1,2)])"))

# What the command sees of itself.
FDS = ("import os;l=sorted(int(x) for x in os.listdir('/proc/self/fd'));"
       "print([(f, os.path.exists(f'/proc/self/fd/{f}')) for f in l])")
case("descriptor_list", py(FDS))
case("descriptor_list_of_ls", sh("ls /proc/self/fd"))
case("closed_stdin", sh("ls /proc/self/fd; cat; echo $?"), close=(0,))
case("closed_stdout", sh("ls /proc/self/fd >&2; echo x; echo $? >&2"), close=(1,))
case("closed_stderr", sh("ls /proc/self/fd; echo x >&2; echo $?"), close=(2,))
# With nowhere to write to, the exit status says which of them are open.
OPEN = py("""
import fcntl, os
code = 64
for fd in (0, 1, 2):
    try:
        fcntl.fcntl(fd, fcntl.F_GETFD)
        code += 1 << fd
    except OSError:
        pass
os._exit(code)
""")
case("closed_all_three", OPEN, close=(0, 1, 2), loud=False)
case("closed_stdin_and_stdout", OPEN, close=(0, 1))
case("closed_none", OPEN)


def inherited_fd_7():
    fd = os.open(os.devnull, os.O_RDONLY)
    os.dup2(fd, 7)
    try:
        twin(sh("ls /proc/self/fd; readlink /proc/self/fd/7"), keep=(7,))
    finally:
        os.close(7)


run.case("inherited_fd_7", inherited_fd_7)
STATUS = "grep -E '^(Sig(Blk|Ign|Cgt)|Groups|NoNewPrivs|Seccomp|Umask|CapEff)' /proc/self/status"
case("signal_state", sh(STATUS))
case("signal_state_of_cat", ["grep", "^Sig[BIC]", "/proc/self/status"])
case("sigint_ignored_by_parent", ["grep", "^Sig[BIC]", "/proc/self/status"],
     prepare=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
case("sighup_ignored_as_by_nohup", sh(STATUS),
     prepare=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
case("sigpipe_default", ["grep", "^Sig[BIC]", "/proc/self/status"],
     prepare=lambda: signal.signal(signal.SIGPIPE, signal.SIG_DFL))
case("sigchld_ignored_by_parent", ["grep", "^Sig[BIC]", "/proc/self/status"],
     prepare=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
case("blocked_signals_inherited", ["grep", "^Sig[BIC]", "/proc/self/status"],
     prepare=lambda: signal.pthread_sigmask(
         signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGUSR1, signal.SIGCHLD}))
case("everything_blocked", ["grep", "^Sig[BIC]", "/proc/self/status"],
     prepare=lambda: signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65)))
case("umask_027", sh("umask; touch f; stat -c %a f; rm f"), cwd=run.dir,
     prepare=lambda: os.umask(0o027))
case("umask_777", sh("umask"), prepare=lambda: os.umask(0o777))
case("working_directory", ["pwd"], cwd="/usr/share")
case("environment", sh("env | grep -v ^SONDE_SESSION= | sort"))
case("environment_almost_empty", ["/usr/bin/env"] + sh("env | grep -v ^SONDE | sort"),
     env={"A": "b"})
case("environment_order_kept", py(
    "print([l.split(b'=')[0] for l in open('/proc/self/environ','rb').read()"
    ".split(b'\\0') if not l.startswith(b'SONDE_SESSION=')])"))
case("limits", ["cat", "/proc/self/limits"])
case("priority_and_affinity", py(
    "import os;print(os.nice(0), os.sched_getaffinity(0), os.sched_getscheduler(0))"))
case("process_group_and_session", py(
    "import os;print(os.getsid(0)==os.getsid(os.getppid()),"
    "os.getpgrp()==os.getpgid(os.getppid()))"))
case("timer_slack_and_dumpable", sh("cat /proc/self/timerslack_ns; cat /proc/self/oom_score_adj"))
case("arguments_kept", py("import sys; print(sys.argv[1:])") +
     ["", "a b", "--quiet", "--", "-o", "*", "$HOME", "\t\n", "\u00e9"])
case("arguments_by_the_thousand", ["echo"] + [str(i) for i in range(20000)])


def limit(which, value):
    import resource
    return lambda: resource.setrlimit(getattr(resource, which), value)


case("few_descriptors_soft", sh("ulimit -n; ulimit -Hn"),
     prepare=limit("RLIMIT_NOFILE", (16, 20000)))
case("few_descriptors_hard", sh("ulimit -n; ulimit -Hn; exit 4"),
     prepare=limit("RLIMIT_NOFILE", (32, 32)))
case("no_locked_memory", sh("ulimit -l"), prepare=limit("RLIMIT_MEMLOCK", (0, 0)))

# Kinds of commands.
script = run.path("no_interpreter")
with open(script, "w") as f:
    f.write("echo plain $0 $#\nexit 9\n")
os.chmod(script, 0o755)
case("script_without_interpreter_line", [script, "a"], alone_by=["env"])
script2 = run.path("with_interpreter")
with open(script2, "w") as f:
    f.write("#!/bin/sh\necho \"$0 $1\"; exit 8\n")
os.chmod(script2, 0o755)
case("script_with_interpreter_line", [script2, "b c"])
case("found_by_path", ["seq", "3"])
case("found_by_relative_path", ["./with_interpreter", "x"],
     cwd=os.path.dirname(script2))
case("bash_traps", ["bash", "-c", "trap 'echo bye; exit 11' EXIT; trap 'echo usr' USR1;"
                    "kill -USR1 $$; echo end"])
case("kill_0_of_a_group_of_its_own", ["setsid", "-w", "sh", "-c",
                                      "trap 'echo term; exit 3' TERM; kill 0; echo x"])
case("kill_0_by_children_that_are_gone", ["setsid", "-w", *py(
    "import signal,subprocess,time\nn=[]\n"
    "signal.signal(signal.SIGUSR1, lambda *a: n.append(1))\n"
    "for i in range(20): subprocess.run(['/bin/kill','-USR1','0'])\n"
    "time.sleep(.2); print(len(n))")])
case("pipeline", sh("seq 100000 | sort -rn | tail -3; false | cat; true | false"))
case("deep_tree", sh("f() { [ $1 -eq 0 ] && exit 7; sh -c \"$2\" x $(($1-1)) \"$2\"; };"
                     "n='[ $1 -eq 0 ] && exit 7; sh -c \"$2\" x $(($1-1)) \"$2\"'; f 25 \"$n\""))
case("hundred_children", sh("i=0; while [ $i -lt 100 ]; do /bin/true; i=$((i+1)); done; echo $i"))
case("threads", py("import threading as t\nl=[t.Thread(target=sum,args=(range(9999),)) for _ in range(50)]\n"
                   "[x.start() for x in l];[x.join() for x in l];print(len(l))"))
case("python_subprocess", py("import subprocess as s;print(s.run(['sh','-c','echo in; exit 5'],"
                             "capture_output=True))"))
case("python_multiprocessing", py("import multiprocessing as m\n"
                                  "with m.Pool(3) as p: print(p.map(abs, range(-5, 5)))"))
case("python_exception", py("1/0"))
if os.path.exists(os.path.expanduser("~/.pyenv/shims/python3")):
    case("python_by_a_pyenv_shim",
         [os.path.expanduser("~/.pyenv/shims/python3"), "-c", "import sys; print(sys.argv)"])
case("exec_of_another_program", sh("exec /bin/echo replaced"))
case("git", ["git", "--version"])
case("compiler", ["gcc", "-x", "c", "-", "-o", "/dev/null"], stdin=b"int main(){return 0;}")
case("compiler_error", ["gcc", "-x", "c", "-", "-o", "/dev/null"], stdin=b"int main({")
case("waits_for_its_children", py(
    "import os,time\np=os.fork()\n"
    "if p==0: time.sleep(.05); os._exit(6)\nprint(os.waitstatus_to_exitcode(os.wait()[1]))"))
case("children_only_its_own", sh("wait; echo $?; ps --ppid $$ -o comm= | sort"))
case("alarm_set_before_the_exec", ["sleep", "5"],
     prepare=lambda: signal.setitimer(signal.ITIMER_REAL, 1.2), loud=False)


def background_child_lives_on():
    marker, go = run.path("marker"), run.path("go")
    # The child ends when it is told that sonde has returned.
    child = (f"i=0; until [ -e {go} ] || [ $i -gt 600 ]; do sleep 0.05; i=$((i+1)); done;"
             f"echo x > {marker}")
    done = subprocess.run(
        [run.sonde, "run", "--quiet", "-o", run.path("t.sonde"), "--", "sh", "-c",
         f"({child}) >/dev/null 2>&1 & echo started"],
        capture_output=True, timeout=20)
    equal("stdout", done.stdout, b"started\n")
    true("returned without the child", not os.path.exists(marker))
    open(go, "w").close()
    wait_for("the child that lives on", lambda: os.path.exists(marker), 20)


def not_started(name, command, code, words):
    def test():
        trace = run.path("t.sonde")
        done = subprocess.run([run.sonde, "run", "--quiet", "-o", trace, "--"] + command,
                              capture_output=True, text=True, timeout=20)
        equal("status", done.returncode, code)
        equal("stdout", done.stdout, "")
        true(f"says why: {done.stderr!r}", words in done.stderr)
        true("no trace is left", not os.path.exists(trace))
        true("no journal is left", not os.path.exists(trace + ".journal"))
    run.case(name, test)


run.case("background_child_lives_on", background_child_lives_on)
plain = run.path("plain")
open(plain, "w").close()
not_started("not_found_in_path", ["no-such-command-here"], 127, "not found")
not_started("not_found_as_file", ["/no/such/file"], 127, "No such file")
not_started("not_executable", [plain], 126, "Permission denied")
not_started("a_directory", ["/tmp"], 126, "/tmp: is a directory")
not_started("below_a_file", [plain + "/x"], 126, "Not a directory")
not_started("empty_word", [""], 127, "empty word")
not_started("all_words_in_quotes", ["python3 train.py"], 127,
            "hint: the quotes make it one word; without them: "
            "sonde run -- python3 train.py\n")
not_started("shell_words_in_quotes", ["cd /tmp && ls"], 127,
            "takes it apart: sonde run -- sh -c 'cd /tmp && ls'\n")
not_started("a_variable_before_it", ["OMP_NUM_THREADS=1", "cmd", "a b"], 127,
            "hint: sonde run -- env OMP_NUM_THREADS=1 cmd 'a b'\n")
script = run.path("train.py")
open(script, "w").close()
not_started("a_script_that_is_not_executable", [script], 126,
            f"hint: sonde run -- python3 {script}\n")
lost = run.path("lost.sh")
with open(lost, "w") as f:
    f.write("#!/no/such/interpreter\n")
os.chmod(lost, 0o700)
not_started("an_interpreter_that_is_not_there", [lost], 127,
            "the interpreter its first line names is not")


def wrong_words_before_the_start():
    base = os.path.dirname(run.path("x"))
    os.mkdir(os.path.join(base, "here"))
    open(os.path.join(base, "job.py"), "w").close()
    for words, code, cure in (
            (["--epochs", "3", "./train"], 125,
             "sonde run -- COMMAND --epochs;"),
            (["--epochs=3", "./train"], 125, "sonde run -- COMMAND --epochs;"),
            (["--rate", "5", "-n4", "true"], 125, "sonde run -- COMMAND -n;"),
            (["-o", "-", "--", "true"], 125, "sonde run -o run.sonde"),
            (["-o", "here", "--", "true"], 125, "-o here/run.sonde"),
            (["-o", "t.sonde", "here"], 127, "sonde run -- here/PROGRAM"),
            (["-o", "t.sonde", "job.py"], 127, "sonde run -- python3 job.py")):
        done = subprocess.run([run.sonde, "run", *words], capture_output=True,
                              text=True, timeout=20, cwd=base)
        equal(f"status of {words}", done.returncode, code)
        true(f"{words}: {done.stderr!r}", cure in done.stderr)
        equal("left", sorted(os.listdir(base)), ["here", "job.py"])


def nested_run_joins():
    trace, inner = run.path("t.sonde"), run.path("inner.sonde")
    done = subprocess.run(
        [run.sonde, "run", "--quiet", "-o", trace, "--",
         run.sonde, "run", "-o", inner, "--", "sh", "-c", "echo in; exit 5"],
        capture_output=True, text=True, timeout=20)
    equal("stdout", done.stdout, "in\n")
    equal("status", done.returncode, 5)
    true(f"says so: {done.stderr!r}",
         done.stderr.startswith("sonde: already recorded, into "))
    equal("lines", done.stderr.count("\n"), 1)
    true("no trace of its own", not os.path.exists(inner))


def refuses_to_overwrite():
    trace = run.path("t.sonde")
    with open(trace, "w") as f:
        f.write("precious")
    base = [run.sonde, "run", "-o", trace]
    done = subprocess.run(base + ["--", "echo", "x"], capture_output=True, text=True)
    equal("status", done.returncode, 125)
    equal("stdout", done.stdout, "")
    true("names the cure", "--force" in done.stderr)
    equal("the file", open(trace).read(), "precious")
    with open(trace + ".replaced", "w") as f:
        f.write("precious too")
    done = subprocess.run(base + ["--force", "--", "echo", "x"], capture_output=True)
    equal("status with --force", done.returncode, 0)
    run.check(trace)
    equal("what else is there", sorted(os.listdir(os.path.dirname(trace))),
          ["t.sonde", "t.sonde.replaced"])
    equal("another file", open(trace + ".replaced").read(), "precious too")
    equal("mode", os.stat(trace).st_mode & 0o777, 0o600)


def force_spares_a_trace_that_is_being_recorded():
    trace = run.path("t.sonde")
    first = subprocess.Popen([run.sonde, "run", "--quiet", "-o", trace, "--", "cat"],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        # What cat gives back shows that the recording has begun.
        first.stdin.write(b"x")
        first.stdin.flush()
        equal("echo", first.stdout.read(1), b"x")
        inode = os.stat(trace).st_ino
        done = subprocess.run([run.sonde, "run", "--force", "-o", trace, "--", "echo", "y"],
                              capture_output=True, text=True, timeout=20)
        equal("status", done.returncode, 125)
        equal("stdout", done.stdout, "")
        true(f"says why: {done.stderr!r}", "still being recorded" in done.stderr)
        equal("lines", done.stderr.count("\n"), 1)
        equal("the file", os.stat(trace).st_ino, inode)
    finally:
        first.communicate()
    equal("status of the first", first.returncode, 0)
    run.check(trace)


def a_start_that_fails_leaves_the_old_trace():
    trace = run.path("t.sonde")
    subprocess.run([run.sonde, "run", "--quiet", "-o", trace, "--", "sh", "-c",
                    "kill -9 $PPID"], capture_output=True)
    old = {}
    for name in (trace, trace + ".journal"):
        with open(name, "rb") as f:
            old[name] = f.read()
    done = subprocess.run([run.sonde, "run", "--force", "-o", trace, "--", "/no/such"],
                          capture_output=True)
    equal("status", done.returncode, 127)
    equal("beside it", sorted(os.listdir(os.path.dirname(trace))),
          ["t.sonde", "t.sonde.journal"])
    for name, content in old.items():
        with open(name, "rb") as f:
            true(f"{name} is as it was", f.read() == content)
    done = subprocess.run([run.sonde, "run", "--quiet", "--force", "-o", trace, "--", "true"],
                          capture_output=True)
    equal("status", done.returncode, 0)
    equal("both are replaced", os.listdir(os.path.dirname(trace)), ["t.sonde"])


def a_closed_stream_ends_for_its_reader():
    """The command closes its stdout and an inherited pipe, and lives on."""
    out_read, out_write = os.pipe()
    extra_read, extra_write = os.pipe()
    child = subprocess.Popen(
        [run.sonde, "run", "--quiet", "-o", run.path("t.sonde"), "--", "sh", "-c",
         f"exec >&- {extra_write}>&-; read x; exit 3"],
        stdin=subprocess.PIPE, stdout=out_write, pass_fds=[extra_write])
    os.close(out_write)
    os.close(extra_write)
    for name, fd in (("stdout", out_read), ("inherited pipe", extra_read)):
        true(f"{name} before the command ended", select.select([fd], [], [], 20)[0])
        equal(name, os.read(fd, 1), b"")
        os.close(fd)
    child.stdin.close()
    equal("status", reap(child), 3)


def never_replaces_a_device():
    done = subprocess.run([run.sonde, "run", "--force", "-o", "/dev/null", "--", "true"],
                          capture_output=True, text=True)
    equal("status", done.returncode, 125)
    true("still a device", not os.path.isfile("/dev/null"))


def default_names_do_not_collide():
    where = os.path.dirname(run.path("x"))
    for _ in range(4):
        subprocess.run([run.sonde, "run", "--quiet", "--", "true"], cwd=where, check=True)
    names = os.listdir(where)
    equal("traces", len([n for n in names if n.startswith("sonde-true-2")
                         and n.endswith(".sonde")]), 4)


def unwritable_directory_is_said_before_the_start():
    done = subprocess.run([run.sonde, "run", "--", "echo", "x"], cwd="/proc",
                          capture_output=True, text=True)
    equal("status", done.returncode, 125)
    equal("stdout", done.stdout, "")
    true(f"names the cure: {done.stderr!r}", "-o" in done.stderr)


def leaves_nothing_behind():
    before = set(os.listdir("/dev/shm"))
    twin(["true"])
    equal("in /dev/shm", set(os.listdir("/dev/shm")) - before, set())


for test in (nested_run_joins, wrong_words_before_the_start, refuses_to_overwrite,
             force_spares_a_trace_that_is_being_recorded,
             a_start_that_fails_leaves_the_old_trace,
             a_closed_stream_ends_for_its_reader, never_replaces_a_device,
             default_names_do_not_collide, leaves_nothing_behind,
             unwritable_directory_is_said_before_the_start):
    run.case(test.__name__, test)
run.done()
