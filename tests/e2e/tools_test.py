#!/usr/bin/env python3
"""The checks catch what they are for, and the runner counts what it is told."""
import contextlib
import importlib.util
import io
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


class Checks(unittest.TestCase):
    """Each check in a small tree of its own, good at first."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = pathlib.Path(scratch.name)
        (self.root / "tools").mkdir()
        for path in (ROOT / "tools").glob("*.py"):
            shutil.copy(path, self.root / "tools")
        self.put("tools/layers.txt", "base:\ntrace: base\n")
        self.put("src/base/a.h", "// Promises nothing.\nstruct A {\n};\n")
        self.put("src/trace/b.h", '#include "base/a.h"\n#include <vector>\n')
        self.put("README.md", "[a](src/base/a.h)\n")
        self.sonde = self.put("bin/sonde", "#!/bin/sh\n"
                              "printf '  sonde run    how\\n\\n  run  records\\n'\n"
                              "[ \"$1\" != bad ]\n")
        os.chmod(self.sonde, 0o755)
        self.put("docs/cli/run.md", "# run\n")

    def put(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def check(self, name, *args):
        done = subprocess.run([sys.executable, f"tools/{name}.py", *args],
                              cwd=self.root, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        self.said = done.stdout
        self.assertNotIn("Traceback", self.said)
        return done.returncode == 0

    def test_a_good_tree_passes(self):
        for name in ("layers", "circles", "sizes", "types", "words", "links"):
            self.assertTrue(self.check(f"check_{name}"), name + self.said)
        self.assertTrue(self.check("check_cli_docs", "bin/sonde"), self.said)
        self.assertTrue(self.check("run_docs", "bin/sonde"), self.said)

    def test_layers_only_downward(self):
        self.put("src/base/c.cc", '#include "trace/b.h"\n')
        self.assertFalse(self.check("check_layers"))
        self.assertIn("src/base/c.cc:1", self.said)

    def test_layers_angle_brackets_are_no_way_round(self):
        self.put("src/base/c.cc", "#include <trace/b.h>\n")
        self.assertFalse(self.check("check_layers"))

    def test_layers_tests_obey_too(self):
        self.put("src/base/c_test.cc", '#include "trace/b.h"\n')
        self.assertFalse(self.check("check_layers"))

    def test_layers_know_every_folder(self):
        self.put("src/utils/c.h", "\n")
        self.assertFalse(self.check("check_layers"))
        self.assertIn("src/utils", self.said)

    def test_layers_have_no_cycle(self):
        self.put("tools/layers.txt", "base: trace\ntrace: base\n")
        self.assertFalse(self.check("check_layers"))

    def test_modules_that_include_each_other(self):
        self.put("src/trace/c.cc", '#include "trace/d.h"\n')
        self.put("src/trace/c.h", "\n")
        self.put("src/trace/d.h", '#include "trace/e.h"\n')
        self.put("src/trace/e.cc", '#include "trace/c.h"\n')
        self.put("src/trace/e_test.cc", '#include "trace/b.h"\n')
        self.assertFalse(self.check("check_circles"))
        self.assertIn("trace/c trace/d trace/e", self.said)
        self.put("tools/circles.txt", "# old\ntrace/e trace/c trace/d\n")
        self.assertTrue(self.check("check_circles"), self.said)

    def test_the_list_of_circles_may_only_shrink(self):
        self.put("tools/circles.txt", "trace/b base/a\n")
        self.assertFalse(self.check("check_circles"))
        self.assertIn("no such circle any more", self.said)

    def test_layers_hold_inside_a_folder_too(self):
        self.put("tools/layers.txt", "base:\ntrace: base\ntrace/low:\n"
                 "trace/high: trace/low\nstore: trace\n")
        self.put("src/trace/low/c.h", '#include "trace/b.h"\n#include "base/a.h"\n')
        self.put("src/trace/high/part/d.h", '#include "trace/low/c.h"\n')
        self.put("src/store/e.h", '#include "trace/high/part/d.h"\n')
        self.assertTrue(self.check("check_layers"), self.said)
        for path, include in [("low/x.h", "trace/high/part/d.h"),
                              ("low/x.h", "store/e.h"), ("x.h", "trace/low/c.h")]:
            wrong = self.put(f"src/trace/{path}", f'#include "{include}"\n')
            self.assertFalse(self.check("check_layers"), (path, include))
            wrong.unlink()
        self.put("src/trace/new/f.h", "\n")
        self.assertFalse(self.check("check_layers"))
        self.assertIn("src/trace/new", self.said)

    def test_a_file_of_1000_lines_is_refused(self):
        self.put("src/base/c.cc", "\n" * 999)
        self.assertTrue(self.check("check_sizes"))
        self.put("src/base/c.cc", "\n" * 1000)
        self.assertFalse(self.check("check_sizes"))

    def test_a_type_without_promise_is_refused(self):
        self.put("src/base/c.h", "// Yes.\ntemplate <typename T>\nclass C {\n};\n"
                 "class D;\n")
        self.assertTrue(self.check("check_types"), self.said)
        self.put("src/base/c.h", "\nstruct E\n    : A {\n};\n")
        self.assertFalse(self.check("check_types"))

    def test_notes_for_later_are_refused(self):
        self.put("docs/x.md", "TO" + "DO: more\n")
        self.assertFalse(self.check("check_words"))

    def test_a_dead_link_is_refused(self):
        self.put("docs/x.md", "[gone](gone.md)\n")
        self.assertFalse(self.check("check_links"))

    def test_commands_and_pages_go_together(self):
        self.put("docs/cli/fly.md", "# fly\n")
        self.assertFalse(self.check("check_cli_docs", "bin/sonde"))
        (self.root / "docs/cli/fly.md").unlink()
        (self.root / "docs/cli/run.md").unlink()
        self.assertFalse(self.check("check_cli_docs", "bin/sonde"))

    def test_a_shown_command_that_fails_is_refused(self):
        self.put("docs/cli/run.md", "```console\n$ sonde good\n```\n")
        self.assertTrue(self.check("run_docs", "bin/sonde"), self.said)
        self.assertIn("1 commands", self.said)
        self.put("docs/cli/run.md", "```console\n$ sonde bad\n```\n")
        self.assertFalse(self.check("run_docs", "bin/sonde"))
        self.put("docs/cli/run.md", "```console exit=1\n$ sonde bad\n```\n")
        self.assertTrue(self.check("run_docs", "bin/sonde"), self.said)

    def test_a_shown_output_that_is_marked_exact_is_compared(self):
        block = "```console exact\n$ sonde x\n  sonde run    how\n\n{}\n```\n"
        self.put("docs/cli/run.md", block.format("  run  records"))
        self.assertTrue(self.check("run_docs", "bin/sonde"), self.said)
        self.put("docs/cli/run.md", block.format("  run  forgets"))
        self.assertFalse(self.check("run_docs", "bin/sonde"))


class Counting(unittest.TestCase):
    def setUp(self):
        spec = importlib.util.spec_from_file_location("run", ROOT / "tests/run.py")
        self.run_py = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.run_py)
        self.ci = mock.patch.dict(os.environ, {"CI": ""})
        self.ci.start()
        self.addCleanup(self.ci.stop)

    def tally(self, script, timeout_s=20):
        tally = self.run_py.Tally()
        with contextlib.redirect_stdout(io.StringIO()):
            self.run_py.run_script(tally, "it", ["bash", "-c", script], timeout_s)
        return tally.passed, len(tally.failed), len(tally.skipped)

    def test_lines_are_counted(self):
        self.assertEqual(self.tally("echo ok a; echo ok b; echo skip c why"),
                         (2, 0, 1))

    def test_lines_with_times_are_counted(self):
        self.assertEqual(self.tally(
            "echo 'ok       12 ms  a'; echo 'skip     3 ms  c: no disk'; "
            "echo 'FAIL   1234 ms  b'; exit 1"), (1, 1, 1))

    def test_fuzzers_are_counted(self):
        self.assertEqual(self.tally(
            "echo 'a_fuzz: ok, 12 runs in 30 s'; "
            "echo 'b_fuzz: FAILED, see log'; exit 1"), (1, 1, 0))

    def test_ctest_is_understood(self):
        self.assertEqual(self.tally(
            "echo '1/3 Test #2: a ......   Passed    0.10 sec'; "
            "echo '2/3 Test #3: b ......***Failed    0.01 sec'; "
            "echo '3/3 Test #4: c ......***Not Run (Disabled)   0.00 sec'; "
            "exit 8"), (1, 1, 1))

    def test_a_fail_line_counts_even_if_the_script_ends_well(self):
        self.assertEqual(self.tally("echo ok a; echo FAIL b why"), (1, 1, 0))

    def test_a_bad_end_is_a_failure_whatever_was_said(self):
        self.assertEqual(self.tally("echo ok a; exit 3"), (1, 1, 0))
        self.assertEqual(self.tally("kill -SEGV $$"), (0, 1, 0))

    def test_a_silent_script_is_one_test(self):
        self.assertEqual(self.tally("true"), (1, 0, 0))

    def test_a_script_that_hangs_is_ended_and_failed(self):
        self.assertEqual(self.tally("echo ok a; sleep 60", 3), (1, 1, 0))

    def test_in_ci_a_skip_is_a_failure(self):
        with mock.patch.dict(os.environ, {"CI": "true"}):
            self.assertEqual(self.tally("echo skip c why"), (0, 1, 0))

    def test_unittest_is_understood(self):
        self.assertEqual(self.tally(
            "echo 'FAIL: test_x (T)'; echo 'Ran 5 tests in 0.1s'; echo; "
            "echo 'FAILED (failures=1, skipped=1)'; exit 1"), (3, 1, 1))


if __name__ == "__main__":
    unittest.main()
