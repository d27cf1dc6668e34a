#include "collect/unwind/merged_stack.h"

#include <gtest/gtest.h>

#include "base/fd.h"

namespace sonde {
namespace {

constexpr uint64_t kEval = 0x1000, kEvalBytes = 0x100;

// A native stack that grows downward from 0x10000: each frame takes 0x100
// bytes.
class Stacks {
 public:
  Stacks() {
    python_file_ = files_.Add(Fd(), "/usr/bin/python3.12");
    numpy_ = files_.Add(Fd(), "/lib/numpy.so");
    libc_ = files_.Add(Fd(), "/lib/libc.so.6");
  }

  // The innermost first.
  uint32_t Numpy() { return Add(numpy_, 0x9000); }
  uint32_t Libc() { return Add(libc_, 0x8000); }
  uint32_t Own() { return Add(python_file_, 0x2000); }
  uint32_t Collector() { return Add(python_file_, 0x30ff); }
  uint32_t ColdEval() { return Add(python_file_, 0x4010); }
  uint32_t Eval() { return Add(python_file_, kEval + 0x10); }
  void Finish(UnwindEnd end = UnwindEnd::kComplete) {
    native_.end = end;
    if (!native_.frames.empty()) native_.frames.back().top = 0;
  }
  // Of Python, likewise. A shim lies in the frame that was added last.
  void Python(bool entry = false) {
    RawPythonFrame frame;
    frame.address = 0x700000;
    frame.code = 0x800000;
    frame.entry = entry;
    python_.push_back(frame);
  }
  void Shim() {
    RawPythonFrame frame;
    frame.address = native_.frames.back().top - 0x80;
    frame.shim = true;
    python_.push_back(frame);
  }

  // "p0 n1 p1": the innermost first; "!" behind it if it is not complete.
  std::string Merge(int minor, bool is_program = true) {
    Interpreter interpreter;
    interpreter.minor = minor;
    interpreter.eval = {{kEval, kEvalBytes}, {0x4000, 0x20}};
    interpreter.library = interpreter.program = "/usr/bin/python3.12";
    interpreter.is_program = is_program;
    interpreter.notable = {{0x3000, 0x100}, {0x5000, 0x10}};
    MergedStack merged;
    MergeStacks(native_, python_, interpreter, merged);
    std::string out;
    for (const MergedFrame& one : merged.frames)
      out += (out.empty() ? "" : " ") + std::string(one.python ? "p" : "n") +
             std::to_string(one.index);
    part_ = InnermostPart(native_, python_, interpreter);
    return out + (merged.complete ? "" : "!");
  }
  size_t part() const { return part_; }

 private:
  uint32_t Add(CodeFile* file, uint64_t pc) {
    NativeFrame frame;
    frame.file = file;
    frame.pc = frame.address = pc;
    frame.top = 0x10000 + 0x100 * (native_.frames.size() + 1);
    native_.frames.push_back(frame);
    return static_cast<uint32_t>(native_.frames.size() - 1);
  }

  CodeFiles files_;
  CodeFile *python_file_, *numpy_, *libc_;
  NativeStack native_;
  std::vector<RawPythonFrame> python_;
  size_t part_ = 0;
};

// Python calls numpy, which calls Python, which runs itself.
TEST(MergedStack, ByTheirShims) {
  Stacks s;
  s.Own();
  s.Eval();
  s.Python();
  s.Python();
  s.Shim();
  s.Own();
  s.Numpy();
  s.Eval();
  s.Python();
  s.Shim();
  s.Own();
  s.Libc();
  s.Libc();
  s.Finish();
  EXPECT_EQ(s.Merge(12), "p0 p1 n3 p2");
  EXPECT_EQ(s.part(), 2u);
  // A program that holds a Python has callers of its own.
  EXPECT_EQ(s.Merge(13, false), "p0 p1 n3 p2 n6 n7");
}

// The function that runs frames is in pieces that have no name: 3.14.
TEST(MergedStack, WhateverTheFunctionIs) {
  Stacks s;
  s.Numpy();
  s.Own();
  s.Own();
  s.Python();
  s.Shim();
  s.Libc();
  s.Finish();
  EXPECT_EQ(s.Merge(14), "n0 p0");
}

TEST(MergedStack, WhatIsNotableOfTheInterpreterIsShown) {
  Stacks s;
  s.Own();
  s.Collector();
  s.Own();
  s.Eval();
  s.Python();
  s.Shim();
  s.Libc();
  s.Finish();
  EXPECT_EQ(s.Merge(12), "n1 p0");
}

TEST(MergedStack, ByTheFunctionAndEntries) {
  Stacks s;
  s.Numpy();
  s.Eval();
  s.Python();
  s.Python(true);
  s.Numpy();
  s.Eval();
  s.Python(true);
  s.Libc();
  s.Finish();
  EXPECT_EQ(s.Merge(11), "n0 p0 p1 n2 p2");
}

TEST(MergedStack, OneByOneBefore3Dot11) {
  Stacks s;
  s.ColdEval();
  s.Python();
  s.Own();
  s.Eval();
  s.Python();
  s.Numpy();
  s.Eval();
  s.Python();
  s.Finish();
  EXPECT_EQ(s.Merge(8), "p0 p1 n3 p2");
  EXPECT_EQ(s.Merge(10), "p0 p1 n3 p2");
}

TEST(MergedStack, ANativeStackThatIsCut) {
  Stacks s;
  s.Numpy();
  s.Eval();
  s.Python();
  s.Shim();
  s.Numpy();
  s.Python();
  s.Shim();
  s.Finish(UnwindEnd::kEndOfCopy);
  EXPECT_EQ(s.Merge(12), "n0 p0 p1!");
}

TEST(MergedStack, FramesThatHaveNoPlace) {
  Stacks s;
  s.Numpy();
  s.Python();
  s.Finish();
  EXPECT_EQ(s.Merge(11), "n0 p0!");
  EXPECT_EQ(s.part(), 0u);
}

// A thread of a pool, and one that just calls into Python.
TEST(MergedStack, WithoutFramesOfPython) {
  Stacks s;
  s.Numpy();
  s.Libc();
  s.Finish();
  EXPECT_EQ(s.Merge(12), "n0 n1");
  Stacks enters;
  enters.Own();
  enters.Eval();
  enters.Shim();
  enters.Numpy();
  enters.Finish();
  EXPECT_EQ(enters.Merge(12, false), "n2");
}

}  // namespace
}  // namespace sonde
