#!/usr/bin/env python3
"""Targets that fork, die, lose their files and their rights: whatever they do,
they end as without us, and recorded + lost = produced."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

BUILD = pathlib.Path(os.environ.get("SONDE_BUILD",
                                    pathlib.Path(__file__).parents[2] / "build"))
RUN = BUILD / "tests/ring_run"
LIFE = BUILD / "tests/guest/life"
SUM = re.compile(r"ring_run: status (\d+) rings (\d+) records (\d+) "
                 r"lost (\d+) damaged (\d+) threads (\d+)")

# All that a program can say.
SILENT = """
#include <sonde/sonde.h>
int main(void) {
  const uint32_t name = sonde_name("name") + sonde_name_n("name", 2) +
                        sonde_label("name", "category", 0) +
                        sonde_clock("clock", 1000) + sonde_track("row", 0, 0, 0);
  const uint64_t id = sonde_new_id() + sonde_now();
  const struct sonde_arg args[] = {sonde_arg_int(sonde_name("a"), 1),
                                   sonde_arg_text(sonde_name("b"), "text")};
  static struct sonde_site site = SONDE_SITE("site");
  sonde_clock_pair(name, id);
  SONDE_BEGIN("slice");
  SONDE_INSTANT("moment");
  SONDE_END();
  sonde_begin(name);
  sonde_end();
  sonde_begin_int_inline(&site, name, 1);
  sonde_begin_args(name, args, 2);
  sonde_end_args(args, 2);
  sonde_complete(name, 1, 2, args, 2);
  sonde_counter(name, 1);
  sonde_counter_double(name, 1);
  sonde_flow_begin(name, id);
  sonde_range_begin(name, id);
  sonde_range_end(id);
  sonde_thread_name("thread");
  sonde_process_name("process");
  return name != 0 || id != 0;
}
"""


def run(*command, base=None, before=()):
    """What the target said it made, and what ring_run saw."""
    words = [*before, str(RUN)] + (["--base", base] if base else [])
    done = subprocess.run([*words, *map(str, command)], capture_output=True,
                          text=True, timeout=300)
    match = SUM.search(done.stderr)
    if not match:
        raise AssertionError(f"{command}: {done.stderr}")
    names = ("status", "rings", "records", "lost", "damaged", "threads")
    seen = dict(zip(names, map(int, match.groups())))
    made = re.search(r"produced (\d+)", done.stdout)
    seen["produced"] = int(made[1]) if made else None
    seen["stderr"] = done.stderr
    return seen


class Guest(unittest.TestCase):
    def conserved(self, seen, rings=None):
        self.assertEqual(seen["status"], 0, seen)
        self.assertEqual(seen["damaged"], 0, seen)
        self.assertEqual(seen["records"] + seen["lost"], seen["produced"], seen)
        if rings is not None:
            self.assertEqual(seen["rings"], rings, seen)

    def test_plain(self):
        self.conserved(run(LIFE, "plain", 100000), rings=1)

    def test_fork_while_threads_record(self):
        """Fault 6, fork while threads record."""
        self.conserved(run(LIFE, "fork", 100), rings=101)

    def test_vfork_spawn_and_clone(self):
        """Fault 7, vfork and posix_spawn."""
        self.conserved(run(LIFE, "vfork", 30), rings=31)

    def test_exec_chain(self):
        """Fault 8, exec."""
        self.conserved(run(LIFE, "exec", 50), rings=51)

    def test_exit_under_running_threads(self):
        """Fault 9, records before main() and while the process ends."""
        for _ in range(20):
            seen = run(LIFE, "exit", 8)
            self.assertEqual((seen["status"], seen["damaged"]), (0, 0), seen)

    def test_records_before_main(self):
        """Fault 9."""
        seen = run("env", "LIFE_EARLY=1", LIFE, "plain", 10)
        self.conserved(seen, rings=1)
        self.assertEqual(seen["records"], 13)

    def test_records_at_exit(self):
        """Fault 9."""
        self.conserved(run(LIFE, "atexit", 10))

    def test_records_in_destructors_of_threads(self):
        """Fault 9."""
        seen = run(LIFE, "destructors", 50)
        self.conserved(seen)
        self.assertEqual(seen["produced"], 50 * 7)

    def test_thirty_thousand_threads(self):
        """Fault 19, many threads. Fault 18, tiny stacks: theirs have 16 KiB."""
        seen = run(LIFE, "threads", 30000)
        self.conserved(seen)
        made = int(re.search(r"threads (\d+)", seen["stderr"])[1])
        self.assertEqual(seen["threads"], made)
        self.assertEqual(seen["produced"], 2 * made)

    def test_a_filter_that_kills(self):
        """Fault 21, a seccomp filter that kills."""
        self.conserved(run(LIFE, "seccomp", 500000), rings=1)

    def test_a_filter_that_kills_by_a_way_we_do_not_see(self):
        """Fault 21."""
        # What fits without growing the file.
        self.conserved(run(LIFE, "rawseccomp", 4000), rings=1)

    def test_a_filter_that_is_refused(self):
        """Fault 21."""
        self.conserved(run(LIFE, "refused", 100000), rings=1)

    def test_a_filter_in_a_forked_child(self):
        """Fault 21."""
        self.conserved(run(LIFE, "sandbox", 500000), rings=2)

    def test_chroot(self):
        if os.geteuid() != 0:
            self.skipTest("only root may chroot")
        self.conserved(run(LIFE, "chroot", 200000), rings=1)

    def test_dlclose(self):
        """Fault 10, dlclose."""
        self.conserved(run(LIFE, "dlclose", 100))

    def test_storm_of_signals(self):
        """Fault 14, a record inside a record."""
        self.conserved(run(LIFE, "signals", 1000000), rings=1)

    def test_no_room_for_files(self):
        """Fault 20, limits."""
        # Less than we need: nothing is recorded, and that is all.
        seen = run("prlimit", "--fsize=100000", LIFE, "plain", 1000)
        self.assertEqual((seen["status"], seen["rings"]), (0, 0), seen)
        self.assertEqual(seen["produced"], 1000)

    def test_file_limit_in_the_middle(self):
        """Fault 20."""
        # The file may not grow: the rest is lost and counted, no SIGXFSZ.
        seen = run("prlimit", "--fsize=4400000", LIFE, "plain", 200000)
        self.conserved(seen, rings=1)

    def test_few_files_and_little_memory(self):
        """Fault 20."""
        self.conserved(run("prlimit", "--nofile=8", "--memlock=0",
                           "--as=256000000", LIFE, "plain", 200000), rings=1)

    def test_a_full_disk(self):
        if os.geteuid() != 0:
            self.skipTest("only root may mount")
        where = subprocess.run(["mktemp", "-d"], capture_output=True, text=True,
                               check=True).stdout.strip()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=600k", "none",
                        where], check=True)
        try:
            self.conserved(run(LIFE, "plain", 500000, base=where), rings=1)
        finally:
            subprocess.run(["umount", where], check=True)
            os.rmdir(where)

    def test_without_a_session(self):
        done = subprocess.run(["strace", "-f", "-e", "trace=openat,mmap", LIFE,
                               "plain", "10"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0)
        self.assertNotIn(".ring", done.stderr)

    def test_without_a_session_the_library_is_not_called(self):
        """A library whose every function aborts is good enough."""
        root = pathlib.Path(__file__).parents[2]
        header = (root / "include/sonde/sonde.h").read_text()
        names = set(re.findall(r"^SONDE_GET\(\w+, (\w+)|^SONDE_(?:DO|SAY)\((\w+)|"
                               r"^SONDE_API void sonde_(record|\w+_site\w*)\(",
                               header, re.M))
        names = sorted("".join(name) for name in names)
        self.assertGreater(len(names), 12, names)
        fake = "".join(f"void sonde_{name}(void) {{ abort(); }}\n"
                       for name in names)
        with tempfile.TemporaryDirectory() as scratch:
            source = pathlib.Path(scratch, "silent.c")
            library = pathlib.Path(scratch, "fake.c")
            source.write_text(SILENT)
            library.write_text("#include <stdlib.h>\n#include <stdint.h>\n"
                               "uint32_t sonde_abi_on;\n"
                               "const uint32_t* sonde_abi_session = &sonde_abi_on;\n"
                               "__thread void* sonde_abi_self;\n" + fake)
            for level in "-O0", "-O2":
                subprocess.run(["cc", level, f"-I{root}/include", "-w", source,
                                library, "-o", f"{scratch}/silent"], check=True)
                self.assertEqual(subprocess.run([f"{scratch}/silent"]).returncode,
                                 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
