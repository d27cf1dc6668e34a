#include "collect/stacks/python_process.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <thread>

#include "base/time.h"

namespace sonde {
namespace {

// An interpreter made of bytes in our own memory, laid out as of one version.
class FakePython {
 public:
  explicit FakePython(int minor) : at_(*TabledLayout(minor)) {
    python_.layout = at_;
    python_.runtime = New(2048);
    python_.code_type = New(64);
    interpreter_ = New(512);
    Put(python_.runtime + at_.interpreters, interpreter_);
  }

  uint64_t New(size_t bytes) {
    used_ = (used_ + 15) & ~size_t{15};
    const uint64_t address = reinterpret_cast<uint64_t>(memory_.get()) + used_;
    used_ += bytes;
    EXPECT_LE(used_, kBytes);
    return address;
  }
  template <typename T>
  void Put(uint64_t address, T value) {
    std::memcpy(reinterpret_cast<void*>(address), &value, sizeof(value));
  }
  uint64_t Text(const std::string& text) {
    const uint64_t out = New(at_.ascii_data + text.size());
    Put<uint64_t>(out + 16, text.size());
    Put<uint32_t>(out + 32, 1 << 2 | 1 << 5 | 1 << 6);
    std::memcpy(reinterpret_cast<void*>(out + at_.ascii_data), text.data(),
                text.size());
    return out;
  }
  uint64_t WideText(const std::u32string& text, uint32_t width) {
    const uint64_t out = New(at_.other_data + text.size() * width);
    Put<uint64_t>(out + 16, text.size());
    Put<uint32_t>(out + 32, width << 2 | 1 << 5);
    for (size_t i = 0; i < text.size(); ++i)
      std::memcpy(reinterpret_cast<void*>(out + at_.other_data + i * width),
                  &text[i], width);
    return out;
  }
  // Every instruction is of line 7.
  uint64_t Code(uint64_t name) {
    const uint64_t table = New(64);
    Put<uint64_t>(table + 16, 2);
    // One range of 16 bytes, whichever way it is read.
    Put<uint16_t>(table + 32, at_.minor >= 11   ? 0x0187
                              : at_.minor == 10 ? 0x0010
                                                : 0x0000);
    const uint64_t out = New(at_.code_bytes + 64);
    Put<uint64_t>(out, 1);
    Put(out + 8, python_.code_type);
    if (at_.bytecode != 0) Put<uint64_t>(out + 16, 8);
    Put<int32_t>(out + at_.first_line, 7);
    Put(out + at_.file, Text("loader.py"));
    Put(out + at_.name, name);
    Put(out + at_.line_table, table);
    return out;
  }
  uint64_t Code(const std::string& name) { return Code(Text(name)); }
  uint64_t Frame(uint64_t code, uint64_t previous, uint8_t owner = 0) {
    const uint64_t out = New(at_.frame_bytes);
    Put(out + at_.code, code);
    if (at_.bytecode != 0) {
      Put(out + at_.instruction, code + at_.bytecode);
      Put(out + at_.owner, owner);
    }
    Put(out + at_.previous, previous);
    return out;
  }
  // The new thread comes first, as in an interpreter.
  uint64_t Thread(uint64_t frame, uint64_t native_id = 5) {
    const uint64_t out = New(at_.thread_bytes);
    uint64_t first = frame;
    if (at_.has_cframe) {
      first = New(32);
      Put(first + at_.cframe_frame, frame);
    }
    Put(out + at_.frame, first);
    if (at_.native_id != 0) Put(out + at_.native_id, native_id);
    Put(out + at_.thread_next, newest_);
    if (newest_ != 0) Put(newest_ + at_.thread_previous, out);
    Put(interpreter_ + at_.threads, out);
    newest_ = out;
    return out;
  }

  PythonProcess Process() const { return {ProcessMemory(::getpid()), python_}; }
  std::vector<PythonThread> Threads() const {
    auto stacks = Process().ReadStacks();
    EXPECT_TRUE(stacks.ok());
    return stacks.ok() ? stacks.Take().threads : std::vector<PythonThread>();
  }

  const PythonLayout& at() const { return at_; }
  const FoundPython& python() const { return python_; }
  uint64_t interpreter() const { return interpreter_; }

 private:
  static constexpr size_t kBytes = 1 << 20;

  PythonLayout at_;
  FoundPython python_;
  std::unique_ptr<uint8_t[]> memory_{new uint8_t[kBytes]()};
  size_t used_ = 0;
  uint64_t interpreter_ = 0;
  uint64_t newest_ = 0;
};

std::string Functions(const PythonThread& thread) {
  std::string out;
  for (const PythonFrame& frame : thread.frames) out += frame.function + " ";
  return out;
}

class OfVersion : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(PythonProcess, OfVersion,
                         testing::Values(8, 9, 10, 11, 12));

TEST_P(OfVersion, TheStatesOfThreadsAreTold) {
  FakePython fake(GetParam());
  const uint64_t one = fake.Thread(0, 101), other = fake.Thread(0, 102);
  std::map<pid_t, uint64_t> told;
  for (const auto& [own_tid, state] : fake.Process().ThreadAddresses())
    told[own_tid] = state;
  // Before 3.11 the tid is glibc's to tell, which is not there.
  if (GetParam() < 11)
    EXPECT_TRUE(told.empty());
  else
    EXPECT_EQ(told, (std::map<pid_t, uint64_t>{{101, one}, {102, other}}));
}

TEST_P(OfVersion, ThreadsAndFramesAreReadInnermostFirst) {
  FakePython fake(GetParam());
  const uint64_t outer = fake.Frame(fake.Code("outer"), 0);
  fake.Thread(fake.Frame(fake.Code("inner"), outer), 101);
  fake.Thread(0, 102);
  const auto threads = fake.Threads();
  ASSERT_EQ(threads.size(), 2u);
  EXPECT_TRUE(threads[0].frames.empty());
  EXPECT_FALSE(threads[0].approximate);
  ASSERT_EQ(Functions(threads[1]), "inner outer ");
  EXPECT_EQ(threads[1].frames[0].file, "loader.py");
  EXPECT_EQ(threads[1].frames[0].line, 7);
  EXPECT_FALSE(threads[1].approximate);
  EXPECT_FALSE(threads[1].cut);
  EXPECT_EQ(threads[1].own_tid, GetParam() >= 11 ? 101 : 0);
}

TEST_P(OfVersion, AListOfFramesThatIsARingEnds) {
  FakePython fake(GetParam());
  const uint64_t frame = fake.Frame(fake.Code("again"), 0);
  fake.Put(frame + fake.at().previous, frame);
  fake.Thread(frame);
  const auto threads = fake.Threads();
  ASSERT_EQ(threads.size(), 1u);
  EXPECT_EQ(threads[0].frames.size(), PythonProcess::kMostDepth);
  EXPECT_TRUE(threads[0].cut);
}

TEST_P(OfVersion, AListOfThreadsThatIsARingEnds) {
  FakePython fake(GetParam());
  const uint64_t thread = fake.Thread(fake.Frame(fake.Code("f"), 0));
  fake.Put(thread + fake.at().thread_next, thread);
  auto stacks = fake.Process().ReadStacks();
  ASSERT_TRUE(stacks.ok());
  EXPECT_FALSE(stacks.value().complete);
  EXPECT_EQ(stacks.value().threads.size(), PythonProcess::kMostThreads);
}

TEST_P(OfVersion, InterpretersThatAreARingEndAndFramesAreLimited) {
  FakePython fake(GetParam());
  const uint64_t frame = fake.Frame(fake.Code("again"), 0);
  fake.Put(frame + fake.at().previous, frame);
  const uint64_t thread = fake.Thread(frame);
  fake.Put(thread + fake.at().thread_next, thread);
  fake.Put(fake.interpreter() + fake.at().interpreter_next, fake.interpreter());
  auto stacks = fake.Process().ReadStacks();
  ASSERT_TRUE(stacks.ok());
  EXPECT_FALSE(stacks.value().complete);
  size_t frames = 0;
  for (const auto& one : stacks.value().threads) frames += one.frames.size();
  EXPECT_LE(frames, PythonProcess::kMostFrames);
}

TEST_P(OfVersion, WhatIsNoCodeEndsAStackThatIsApproximate) {
  FakePython fake(GetParam());
  const uint64_t no_code = fake.New(512);
  const uint64_t outer = fake.Frame(fake.Code("outer"), 0);
  const uint64_t middle = fake.Frame(no_code, outer);
  fake.Thread(fake.Frame(fake.Code("inner"), middle));
  fake.Thread(fake.Frame(fake.Code("inner"), 0x10));  // not mapped
  const auto threads = fake.Threads();
  ASSERT_EQ(threads.size(), 2u);
  for (const PythonThread& thread : threads) {
    EXPECT_EQ(Functions(thread), "inner ");
    EXPECT_TRUE(thread.approximate);
  }
}

TEST_P(OfVersion, ACodeObjectThatIsMadeAtTheAddressOfAnotherHasItsOwnName) {
  FakePython fake(GetParam());
  const uint64_t name = fake.Text("before");
  fake.Thread(fake.Frame(fake.Code(name), 0));
  PythonProcess process = fake.Process();
  EXPECT_EQ(Functions(process.ReadStacks().Take().threads.at(0)), "before ");
  fake.Put(name + fake.at().ascii_data, 'B');
  EXPECT_EQ(Functions(process.ReadStacks().Take().threads.at(0)), "Before ");
}

TEST_P(OfVersion, NamesAreCutAndPrintable) {
  FakePython fake(GetParam());
  uint64_t frame = fake.Frame(fake.Code(fake.WideText(U"\u00e9\u4e16", 2)), 0);
  frame = fake.Frame(fake.Code(fake.WideText(U"\U0001f600", 4)), frame);
  frame = fake.Frame(fake.Code("a\x1b[2J\n"), frame);
  frame = fake.Frame(fake.Code(fake.WideText(U"\xffffffff", 4)), frame);
  fake.Thread(fake.Frame(fake.Code(std::string(5000, 'x')), frame));
  const auto threads = fake.Threads();
  ASSERT_EQ(threads.at(0).frames.size(), 5u);
  EXPECT_EQ(threads[0].frames[0].function, std::string(200, 'x') + "...");
  EXPECT_EQ(threads[0].frames[1].function, "");
  EXPECT_EQ(threads[0].frames[2].function, "a\\x1b[2J\\x0a");
  EXPECT_EQ(threads[0].frames[3].function, "\U0001f600");
  EXPECT_EQ(threads[0].frames[4].function, "\u00e9\u4e16");
}

TEST_P(OfVersion, LengthsAtTheirMaximumGiveNoNameAndNoLine) {
  FakePython fake(GetParam());
  const uint64_t name = fake.Text("f");
  const uint64_t code = fake.Code(name);
  fake.Thread(fake.Frame(code, 0));
  uint64_t table = 0;
  std::memcpy(&table,
              reinterpret_cast<const void*>(code + fake.at().line_table), 8);
  fake.Put(table + 16, ~uint64_t{0});
  EXPECT_EQ(fake.Threads().at(0).frames.at(0).line, 0);
  fake.Put(name + 16, ~uint64_t{0});
  EXPECT_TRUE(fake.Threads().at(0).frames.empty());
}

TEST_P(OfVersion, TheHolderOfTheGilIsMarked) {
  FakePython fake(GetParam());
  fake.Thread(0);
  const uint64_t holds = fake.Thread(0);
  uint64_t gil = fake.python().runtime;
  if (fake.at().gil != 0) {
    gil = fake.New(64);
    fake.Put(fake.interpreter() + fake.at().gil, gil);
  }
  fake.Put(gil + fake.at().gil_holder, holds);
  EXPECT_FALSE(fake.Threads().at(0).holds_gil) << "the last one, not now";
  fake.Put<int32_t>(gil + fake.at().gil_locked, 1);
  EXPECT_TRUE(fake.Threads().at(0).holds_gil);
  EXPECT_FALSE(fake.Threads().at(1).holds_gil);
}

// A thread that goes from one chain of calls to another and back, as fast as it
// can. On one core it hardly ever does so while it is read.
TEST_P(OfVersion, AThreadThatRunsIsCalledApproximateAndElseIsWhole) {
  FakePython fake(GetParam());
  const uint64_t a1 = fake.Frame(fake.Code("a1"), 0);
  const uint64_t b1 = fake.Frame(fake.Code("b1"), 0);
  const uint64_t a = fake.Frame(fake.Code("a2"), a1);
  const uint64_t b = fake.Frame(fake.Code("b2"), b1);
  const uint64_t thread = fake.Thread(a);
  uint64_t* place = reinterpret_cast<uint64_t*>(thread + fake.at().frame);
  if (fake.at().has_cframe)
    place = reinterpret_cast<uint64_t*>(*place + fake.at().cframe_frame);
  std::atomic<bool> stop = false;
  std::thread runs([&] {
    while (!stop) {
      __atomic_store_n(place, b, __ATOMIC_RELAXED);
      __atomic_store_n(place, a, __ATOMIC_RELAXED);
    }
  });
  PythonProcess process = fake.Process();
  for (int i = 0; i < 1000; ++i) {
    auto stacks = process.ReadStacks();
    if (!stacks.ok()) continue;
    const PythonThread one = stacks.Take().threads.at(0);
    EXPECT_TRUE(one.approximate || Functions(one) == "a2 a1 " ||
                Functions(one) == "b2 b1 ");
  }
  stop = true;
  runs.join();
}

std::string Sampled(PythonProcess& process, pid_t own_tid) {
  const auto threads = process.Sample({own_tid});
  EXPECT_TRUE(threads.ok());
  return threads.ok() && threads.value().size() == 1
             ? Functions(threads.value()[0])
             : "none";
}

TEST(PythonProcess, ASampleFollowsWhatThreadsDo) {
  FakePython fake(11);
  const uint64_t code = fake.Code("first");
  const uint64_t thread = fake.Thread(fake.Frame(code, 0), 101);
  fake.Thread(fake.Frame(fake.Code("second"), 0), 102);
  PythonProcess process = fake.Process();
  EXPECT_EQ(Sampled(process, 101), "first ");
  EXPECT_EQ(Sampled(process, 102), "second ");
  EXPECT_EQ(Sampled(process, 103), "none");
  // Another function at the same address, with names elsewhere.
  fake.Put(code + fake.at().name, fake.Text("third"));
  EXPECT_EQ(Sampled(process, 101), "third ");
  // The state is another thread's now.
  fake.Put<uint64_t>(thread + fake.at().native_id, 104);
  EXPECT_EQ(Sampled(process, 101), "none");
}

TEST(PythonProcess, AStateThatWasGivenUpIsNotBelieved) {
  FakePython fake(12);
  fake.Thread(fake.Frame(fake.Code("old"), 0), 101);
  const uint64_t first = fake.Thread(0, 102);
  PythonProcess process = fake.Process();
  EXPECT_EQ(Sampled(process, 101), "old ");
  fake.Put<uint64_t>(first + fake.at().thread_next, 0);
  EXPECT_EQ(Sampled(process, 101), "none") << "taken out of the list";
}

TEST(PythonProcess, NamesAreToldApartByTheirCharacters) {
  FakePython fake(11);
  const uint64_t name = fake.Text("left");
  fake.Put<int64_t>(name + 24, -1);  // no hash yet
  fake.Thread(fake.Frame(fake.Code(name), 0), 101);
  PythonProcess process = fake.Process();
  EXPECT_EQ(Sampled(process, 101), "left ");
  std::memcpy(reinterpret_cast<void*>(name + fake.at().ascii_data), "rest", 4);
  EXPECT_EQ(Sampled(process, 101), "rest ");
}

TEST(PythonProcess, FramesOfTheInterpreterItselfAreNotShown) {
  FakePython fake(12);
  constexpr uint8_t kShim = 3;
  const uint64_t outer = fake.Frame(fake.Code("outer"), 0);
  const uint64_t shim = fake.Frame(fake.New(8), outer, kShim);
  fake.Thread(fake.Frame(fake.Code("inner"), shim));
  EXPECT_EQ(Functions(fake.Threads().at(0)), "inner outer ");
  EXPECT_FALSE(fake.Threads().at(0).approximate);
}

TEST(PythonProcess, OurselvesWeAreNoPython) {
  const auto found = PythonProcess::Find(::getpid());
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().kind, Error::Kind::kNotFound);
}

TEST(PythonOfName, TheVersionIsInTheName) {
  const auto text = [](std::string_view path) {
    const NamedPython named = PythonOfName(path);
    return std::to_string(named.major) + "." + std::to_string(named.minor) +
           named.flags;
  };
  EXPECT_EQ(text("/usr/bin/python3.11"), "3.11");
  EXPECT_EQ(text("/opt/lib/libpython3.8.so.1.0"), "3.8");
  EXPECT_EQ(text("/opt/bin/python2.7"), "2.7");
  EXPECT_EQ(text("/opt/lib/libpython3.13t.so"), "3.13t");
  EXPECT_EQ(text("/opt/lib/libpython3.9d.so.1.0 (deleted)"), "3.9d");
  EXPECT_EQ(text("/usr/bin/python3"), "0.0");
  EXPECT_EQ(text("/lib/foo.cpython-311-x86_64-linux-gnu.so"), "0.0");
  EXPECT_EQ(text("/python3.11/bin/uwsgi"), "0.0");
  EXPECT_EQ(text("python99999999999999999999.1"), "0.0");
  EXPECT_EQ(text(""), "0.0");
}

// A stack that was read a moment late is put right by the words of the moment.
class InnermostTest : public ::testing::Test {
 protected:
  InnermostTest() {
    thread_ = fake_.Thread(fake_.Frame(parse_, load_frame_));
    Become(fake_.Frame(fit_, main_frame_));
    EXPECT_TRUE(Check({0, Inside(fit_)}));
    EXPECT_EQ(names_, "fit main");
    Become(fake_.Frame(parse_, load_frame_));
  }

  void Become(uint64_t frame) {
    uint64_t cframe = 0;
    std::memcpy(&cframe, reinterpret_cast<void*>(thread_ + fake_.at().frame),
                8);
    fake_.Put(cframe + fake_.at().cframe_frame, frame);
  }
  uint64_t Inside(uint64_t code) const {
    return code + fake_.at().bytecode + 6;
  }
  bool Check(const std::vector<uint64_t>& words) {
    auto threads = process_.Sample({5});
    EXPECT_TRUE(threads.ok());
    PythonThread thread = threads.Take().at(0);
    const bool proved = process_.CheckInnermost(words, thread);
    EXPECT_EQ(thread.approximate, !proved);
    names_.clear();
    for (const PythonFrame& one : thread.frames)
      names_ += (names_.empty() ? "" : " ") + one.function;
    return proved;
  }

  FakePython fake_{12};
  uint64_t parse_ = fake_.Code("parse"), load_ = fake_.Code("load"),
           main_ = fake_.Code("main"), fit_ = fake_.Code("fit");
  uint64_t main_frame_ = fake_.Frame(main_, 0),
           load_frame_ = fake_.Frame(load_, main_frame_);
  uint64_t thread_ = 0;
  PythonProcess process_ = fake_.Process();
  std::string names_;
};

TEST_F(InnermostTest, AWordProvesIt) {
  EXPECT_TRUE(Check({1, Inside(fit_), Inside(parse_)}));
  EXPECT_EQ(names_, "parse load main");
}

TEST_F(InnermostTest, ItWasCalledLater) {
  EXPECT_FALSE(Check({Inside(load_), 7}));
  EXPECT_EQ(names_, "load main");
}

TEST_F(InnermostTest, AnotherRanAndHasItsCallersBack) {
  EXPECT_FALSE(Check({Inside(fit_)}));
  EXPECT_EQ(names_, "fit main");
}

TEST_F(InnermostTest, NothingIsKnownOfTheMoment) {
  EXPECT_FALSE(Check({}));
  EXPECT_EQ(names_, "parse load main");
}

// Frames that were found a while ago: the innermost function may be gone.
TEST(PythonProcess, FramesAreNamedUnlessTheInnermostIsAnother) {
  FakePython fake(12);
  const uint64_t parse = fake.Code("parse"), main = fake.Code("main");
  const uint64_t name = fake.Text("parse");
  fake.Put<int64_t>(name + 24, 0x5eed);
  fake.Put(parse + fake.at().plain_name, name);
  std::vector<RawPythonFrame> raw(3);
  raw[0].code = parse;
  raw[1].shim = true;
  raw[2].code = main;
  PythonProcess process = fake.Process();
  PythonThread thread = process.NameFrames(raw, true, 0x5eed);
  EXPECT_EQ(Functions(thread), "parse main ");
  EXPECT_FALSE(thread.approximate);
  EXPECT_EQ(thread.raw, raw);
  EXPECT_TRUE(process.NameFrames(raw, false, 0x5eed).approximate);

  thread = process.NameFrames(raw, true, 0xbad);
  EXPECT_EQ(Functions(thread), "main ");
  EXPECT_TRUE(thread.approximate);
  EXPECT_EQ(thread.raw.size(), 2u);
  EXPECT_TRUE(process.NameFrames({}, true, 0).frames.empty());
}

}  // namespace
}  // namespace sonde
