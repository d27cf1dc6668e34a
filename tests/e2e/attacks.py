#!/usr/bin/python3
"""The record side among users' files and hostile targets: nothing of anybody
else's is removed, and nothing that a target leaves in its session hangs us."""

import json
import os
import stat
import subprocess

from common import Failure, Runner, Skip, equal, true, wait_for

run = Runner()
BUILD = os.path.dirname(os.path.dirname(run.sonde))
# A place of its own for sessions: other runs here must not sweep it.
os.environ["XDG_RUNTIME_DIR"] = run.dir
DIGITS = "0123456789abcdef"


def sonde(*words, cwd=None, code=0, seconds=20, env=None):
    try:
        done = subprocess.run([run.sonde, *words], capture_output=True, text=True,
                              timeout=seconds, cwd=cwd, env=env)
    except subprocess.TimeoutExpired:
        raise Failure(f"{words}: hangs") from None
    if code is not None:
        equal(f"status of {words}: {done.stderr}", done.returncode, code)
    return done


def query(trace, sql):
    return json.loads(sonde("query", "--json", trace, sql).stdout)["rows"]


def sessions():
    """What lies where sessions are made."""
    return [name for name in os.listdir(run.dir) if name.startswith("sonde-")]


# --- Files of the user ---------------------------------------------------------


def a_users_directory_is_no_session():
    for name, mode in ((f"sonde-{os.getuid()}-results", 0o700),
                       (f"sonde-{os.getuid()}-{DIGITS}", 0o755),
                       (f"sonde-{os.getuid()}-{DIGITS}", 0o700)):
        here = os.path.dirname(run.path("x"))
        os.mkdir(os.path.join(here, name), mode)
        for file in ("data.txt", "1-a.ring", "control"):
            with open(os.path.join(here, name, file), "w") as out:
                out.write("precious")
            os.utime(os.path.join(here, name, file), (0, 0))
        sonde("run", "--quiet", "-o", "t.sonde", "--", "true", cwd=here)
        equal(f"in {name}", sorted(os.listdir(os.path.join(here, name))),
              ["1-a.ring", "control", "data.txt"])


def a_users_file_in_a_session_stays():
    done = sonde("run", "-o", run.path("t.sonde"), "--", "sh", "-c",
                 "echo said by the command >&2; cd $SONDE_SESSION; echo precious > notes; mkdir 1-a.ring empty; "
                 "echo $SONDE_SESSION")
    session = done.stdout.strip()
    equal("what is left", os.listdir(session), ["notes"])
    equal("said", done.stderr.count(f"{session} stays"), 1)
    true("the command's words come first", done.stderr.startswith("said by the command"))
    done = sonde("run", "-o", run.path("t.sonde"), "--", "true")
    equal("said again", done.stderr.count("stays"), 0)
    equal("what is left", os.listdir(session), ["notes"])
    os.unlink(os.path.join(session, "notes"))
    os.rmdir(session)


def empty_directories_in_a_session_go_with_it():
    sonde("run", "--quiet", "-o", run.path("t.sonde"), "--", "sh", "-c",
          "mkdir $SONDE_SESSION/1-a.ring $SONDE_SESSION/1-a.tails")
    equal("sessions", sessions(), [])


def a_users_journal_is_not_replaced():
    trace = run.path("x.sonde")
    with open(trace + ".journal", "w") as out:
        out.write("precious")
    for options in ((), ("--force",)):
        done = sonde("run", *options, "-o", trace, "--", "true", code=125)
        true(done.stderr, f"{trace}.journal: exists" in done.stderr)
        true("hint", "-o" in done.stderr)
        equal("traces", os.path.exists(trace), False)
        with open(trace + ".journal") as file:
            equal("it", file.read(), "precious")


def the_journal_of_a_killed_recording_needs_force():
    trace = run.path("x.sonde")
    sonde("run", "--quiet", "-o", trace, "--", "sh", "-c", "kill -9 $PPID", code=-9)
    true("a journal", os.path.exists(trace + ".journal"))
    os.unlink(trace)
    done = sonde("run", "-o", trace, "--", "true", code=125)
    true(done.stderr, "--force" in done.stderr and "sonde recover" in done.stderr)
    # Nothing is gone as long as no command has run.
    sonde("run", "--force", "-o", trace, "--", "./no-such-command", code=127)
    true("the journal is back", os.path.exists(trace + ".journal"))
    sonde("run", "--quiet", "--force", "-o", trace, "--", "true")
    equal("beside the trace", os.listdir(os.path.dirname(trace)), ["x.sonde"])


def a_stop_file_is_no_file_of_the_recording():
    here = os.path.dirname(run.path("x"))
    os.symlink(here, os.path.join(here, "link"))
    os.symlink("t.sonde", os.path.join(here, "flag"))
    os.symlink("link/t.sonde.journal", os.path.join(here, "flag2"))
    links = ["flag", "flag2", "link"]
    for name in ("t.sonde", "./t.sonde", "link/t.sonde", "link/./t.sonde.journal",
                 os.path.join(here, "t.sonde.journal"), "flag", "link/flag2"):
        done = sonde("run", "-o", "t.sonde", "--stop-file", name, "--", "true",
                     cwd=here, code=125)
        true(f"{name}: {done.stderr}", "of the recording itself" in done.stderr)
        equal("lines", len(done.stderr.splitlines()), 2)
        equal("made", sorted(os.listdir(here)), links)
    done = sonde("watch", "--pid", str(os.getpid()), "--background", "-o", "t.sonde",
                 "--stop-file", "t.sonde.txt", cwd=here, code=None)
    true(done.stderr, "of the recording itself" in done.stderr)
    equal("made", sorted(os.listdir(here)), links)


def recover_replaces_nothing_but_its_trace():
    trace = run.path("x.sonde")
    sonde("run", "--quiet", "-o", trace, "--", "sh", "-c", "kill -9 $PPID", code=-9)
    with open(trace + ".recovered", "w") as out:
        out.write("precious")
    done = sonde("recover", trace, "-o", os.path.dirname(trace), "--force", code=2)
    true(done.stderr, "is not a file" in done.stderr)
    sonde("recover", "--quiet", trace)
    equal("left", sorted(os.listdir(os.path.dirname(trace))),
          ["x.sonde", "x.sonde.recovered"])
    with open(trace + ".recovered") as file:
        equal("it", file.read(), "precious")


def an_export_replaces_files_only():
    trace = run.path("x.sonde")
    sonde("run", "--quiet", "-o", trace, "--", "true")
    fifo = trace + ".fifo"
    os.mkfifo(fifo)
    sonde("export", trace, "--to", "sqlite", "-o", fifo, "--force", code=2)
    true("it is still there", stat.S_ISFIFO(os.lstat(fifo).st_mode))
    for words in (("export", trace, "--to", "text", "-o", trace),
                  ("export", trace, "--to", "sqlite", "-o", trace),
                  ("report", trace, "--html", trace)):
        done = sonde(*words, "--force", code=2)
        true(done.stderr, "is a trace" in done.stderr)
    run.check(trace)


# --- What a target puts in the place of its session's files --------------------

STEADY = os.path.join(BUILD, "tests", "guest", "steady")


def fifos_and_links_in_place_of_the_states_do_not_hang_a_run():
    victim = run.path("victim")
    with open(victim, "w") as out:
        out.write("precious")
    for make in ("mkfifo $f", "mkdir $f", f"ln -s {victim} $f"):
        trace, witness = run.path("t.sonde"), run.path("witness")
        sonde("run", "--quiet", "-o", trace, "--", "sh", "-c",
              f"cd $SONDE_SESSION; for k in 1 2 3; do for f in state.0 state.1; do "
              f"rm -rf $f; {make}; done; {STEADY} 0.3 {witness} >/dev/null; done; exit 4",
              code=4)
        run.check(trace)
        with open(victim) as file:
            equal("behind the link", file.read(), "precious")
    equal("sessions", sessions(), [])


def killed():
    """A trace whose recorder was killed, and its session."""
    trace, witness = run.path("t.sonde"), run.path("witness")
    process = subprocess.Popen([run.sonde, "run", "--quiet", "-o", trace, "--", STEADY,
                                "0.5", witness], stdout=subprocess.PIPE)
    process.stdout.readline()
    rows = []

    def recorded():
        found = [name for name in sessions()
                 if any(file.endswith(".ring")
                        for file in os.listdir(os.path.join(run.dir, name)))]
        rows[:] = found
        return found

    wait_for("its ring", recorded)
    process.kill()
    process.wait()
    process.stdout.read()  # its program has ended
    return trace, os.path.join(run.dir, rows[0])


def replace(session, name, make):
    for file in os.listdir(session):
        if file.endswith(name):
            os.unlink(os.path.join(session, file))
            make(os.path.join(session, file))


def fifos_in_a_dead_session_do_not_hang_anybody():
    for name in ("control", "state.0", "state.1", ".ring", ".tails", "lock", "ctl"):
        trace, session = killed()
        replace(session, name, os.mkfifo)
        sonde("recover", "--list")
        sonde("ctl", "status", code=None)
        sonde("run", "--quiet", "-o", run.path("t.sonde"), "--", "true")
        sonde("recover", "--quiet", trace)
        run.check(trace)
        if name == "lock":  # it is no session any more
            equal("sessions", len(sessions()), 1)
            subprocess.run(["rm", "-rf", session], check=True)
        equal(f"sessions after {name}", sessions(), [])


def a_journal_that_is_a_fifo_does_not_hang_recover():
    trace, session = killed()
    os.unlink(trace + ".journal")
    os.mkfifo(trace + ".journal")
    sonde("recover", "--quiet", trace)
    true("it is still there", stat.S_ISFIFO(os.lstat(trace + ".journal").st_mode))
    equal("sessions", sessions(), [])


# --- Places where things are otherwise -----------------------------------------


def unshared(*options):
    """The words that run something so; a Skip where that is not allowed."""
    words = ["unshare", *options]
    if subprocess.run([*words, "true"], capture_output=True, timeout=20).returncode != 0:
        raise Skip(f"{' '.join(words)} is not allowed here")
    return words


def times_are_right_in_a_time_namespace():
    for offset in ("1000000", "-100"):
        words = unshared("-T", "--monotonic", offset, "--boottime", offset, "-f")
        for options in ((), ("--no-perf",)):
            trace = run.path("t.sonde")
            done = subprocess.run(
                [*words, run.sonde, "run", "--quiet", *options, "-o", trace, "--",
                 "sh", "-c", "sleep 0.4; sh -c 'sleep 0.3; exit 3'; exit 4"], timeout=60)
            equal("status", done.returncode, 4)
            meta = run.check(trace)["meta"]
            began, ended = int(meta["started_ns"]), int(meta["ended_ns"])
            true(f"{ended - began} ns long", 7e8 < ended - began < 30e9)
            rows = query(trace, "SELECT start_ts, end_ts FROM process ORDER BY id")
            true(f"{offset} {options}: {rows} of {began}..{ended}", all(
                began - 1e8 <= first <= last <= ended + 1e8 for first, last in rows))
            true(f"{rows}: the command's time", rows[0][1] - rows[0][0] > 6e8)
            found = json.loads(sonde("report", "--json", trace).stdout)
            true(f"wall {found['run']['wall_ns']}", 6e8 < found["run"]["wall_ns"] < 30e9)
        said = subprocess.run([*words, run.sonde, "doctor"], capture_output=True,
                              text=True, timeout=60).stdout
        true(said, "time namespace" in said)


def losses(trace, reason):
    return query(trace, f"SELECT coalesce(sum(count), 0), count(*) FROM loss "
                        f"WHERE reason = '{reason}'")[0]


def a_stop_before_the_first_sample_is_a_loss():
    trace = run.path("t.sonde")
    sonde("run", "--quiet", "-o", trace, "--", "sh", "-c",
          "kill -STOP $PPID; sleep 1.5; kill -CONT $PPID")
    true("a loss", losses(trace, "stopped")[0] >= 1)


def a_stop_after_the_last_sample_is_a_loss():
    trace = run.path("t.sonde")
    sonde("run", "--quiet", "-o", trace, "--", "sh", "-c",
          "sleep 0.3; kill -STOP $PPID; sleep 1.5; kill -CONT $PPID")
    true("a loss", losses(trace, "stopped")[0] >= 1)


def a_ring_that_is_cut_off_is_a_loss():
    trace, witness = run.path("t.sonde"), run.path("witness")
    sonde("run", "--quiet", "-o", trace, "--", "sh", "-c",
          f"{STEADY} 3 {witness} >/dev/null & sleep 0.5; "
          "truncate -s 0 $SONDE_SESSION/*.ring; sleep 0.5; exit 0")
    true("a loss", losses(trace, "ring-damaged")[0] > 0)


def slices_nested_too_deep_are_a_loss():
    source, program = run.path("deep.c"), run.path("deep")
    with open(source, "w") as out:
        out.write("#include <sonde/sonde.h>\n"
                  "int main(void) {\n"
                  "  for (int i = 0; i < 70000; i++) SONDE_BEGIN(\"deep\");\n"
                  "  for (int i = 0; i < 70000; i++) SONDE_END();\n"
                  "  return 0;\n}\n")
    library = os.path.join(BUILD, "src")
    include = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../include")
    subprocess.run(["cc", "-I", include, "-o", program, source, "-L", library, "-lsonde",
                    f"-Wl,-rpath,{library}"], check=True, timeout=60)
    trace = run.path("t.sonde")
    sonde("run", "--quiet", "-o", trace, "--", program)
    equal("ends that are lost", losses(trace, "ring-too-deep")[0], 65536)


def a_place_without_its_proc_is_named():
    trace = run.path("t.sonde")
    for words, said in ((["unshare", "-pf"], "--mount-proc"),
                        (["unshare", "-m", "sh", "-c", "umount -l /proc; exec \"$@\"", "-"],
                         "/proc is not mounted")):
        if words[1] == "-m":
            unshared("-m")
        else:
            unshared("-pf")
        done = subprocess.run([*words, run.sonde, "run", "-o", trace, "--", "true"],
                              capture_output=True, text=True, timeout=60)
        equal(f"status: {done.stderr}", done.returncode, 125)
        true(done.stderr, said in done.stderr and "-o FILE" not in done.stderr)
        equal("traces", os.path.exists(trace), False)


def a_full_disk_is_named():
    here = os.path.dirname(run.path("x"))
    unshared("-m")
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c",
         "mount -t tmpfs -o size=64k none /dev/shm && "
         f"mount -t tmpfs -o size=1m,nr_inodes=4 none {here} && cd {here} && "
         "XDG_RUNTIME_DIR= exec \"$@\"", "-", run.sonde, "run", "-o", "t.sonde", "--",
         "true"], capture_output=True, text=True, timeout=60)
    equal(f"status: {done.stderr}", done.returncode, 125)
    true(done.stderr, "No space left on device" in done.stderr and
         "make room" in done.stderr)


for test in (a_users_directory_is_no_session, a_users_file_in_a_session_stays,
             empty_directories_in_a_session_go_with_it,
             a_users_journal_is_not_replaced,
             the_journal_of_a_killed_recording_needs_force,
             a_stop_file_is_no_file_of_the_recording,
             recover_replaces_nothing_but_its_trace, an_export_replaces_files_only,
             fifos_and_links_in_place_of_the_states_do_not_hang_a_run,
             fifos_in_a_dead_session_do_not_hang_anybody,
             a_journal_that_is_a_fifo_does_not_hang_recover,
             times_are_right_in_a_time_namespace, a_stop_before_the_first_sample_is_a_loss,
             a_stop_after_the_last_sample_is_a_loss,
             a_ring_that_is_cut_off_is_a_loss, slices_nested_too_deep_are_a_loss,
             a_place_without_its_proc_is_named, a_full_disk_is_named):
    run.case(test.__name__, test)
run.done()
