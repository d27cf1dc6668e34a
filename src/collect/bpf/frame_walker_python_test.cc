// The walker in the kernel, on each real Python that is here. Wants rights.

#include <fcntl.h>
#include <fmt/format.h>
#include <glob.h>
#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/time.h"
#include "collect/bpf/frame_walker.h"
#include "collect/perf/perf_ring.h"
#include "collect/perf/stack_record.h"
#include "collect/stacks/python_code.h"
#include "collect/stacks/python_process.h"
#include "collect/unwind/registers.h"

namespace sonde {
namespace {

// Two chains of calls: a stack that has parts of both was never there. max()
// calls its key from C.
constexpr char kChains[] = R"(
import os, sys
def work(n):
    for i in range(n):
        pass
def a3(value):
    work(60)
    return value
def a2():
    return max((1,), key=a3)
def a1():
    a2()
def b3(value):
    work(60)
    return value
def b2():
    return max((1,), key=b3)
def b1():
    b2()
def main():
    print('ready', flush=True)
    while True:
        a1()
        b1()
def deep(n):
    if n == 0:
        main()
    deep(n - 1)
if sys.argv[2] == 'fork':
    os.fork()
deep(int(sys.argv[1]))
)";
// The lines of the calls in these functions.
const std::map<std::string, int> kCallLines = {
    {"a2", 10}, {"a1", 12}, {"b2", 17}, {"b1", 19}};

constexpr char kPython[] = "/usr/bin/python3";

// Those whose layout is known.
std::vector<std::string> Pythons() {
  std::vector<std::string> out = {kPython};
  const char* const home = std::getenv("HOME");
  for (int minor = kFirstPythonMinor; minor <= kLastPythonMinor; ++minor) {
    glob_t found = {};
    const std::string pattern =
        fmt::format("{}/.pyenv/versions/3.{}.*/bin/python3",
                    home == nullptr ? "" : home, minor);
    if (::glob(pattern.c_str(), 0, nullptr, &found) == 0)
      out.insert(out.end(), found.gl_pathv, found.gl_pathv + found.gl_pathc);
    ::globfree(&found);
  }
  return out;
}

// A Python that runs the chains, with events on it from before its exec.
class Target {
 public:
  Target(const std::string& python, int depth, const char* fork = "") {
    int gate[2], said[2];
    if (::pipe2(gate, O_CLOEXEC) != 0 || ::pipe2(said, O_CLOEXEC) != 0) return;
    gate_ = Fd(gate[1]);
    said_ = Fd(said[0]);
    const Fd gate_end(gate[0]), said_end(said[1]);
    const std::string text = std::to_string(depth);
    pid_ = ::fork();
    if (pid_ != 0) return;
    char byte;
    ::dup2(said_end.get(), 1);
    if (::read(gate_end.get(), &byte, 1) == 1)
      ::execl(python.c_str(), python.c_str(), "-c", kChains, text.c_str(), fork,
              nullptr);
    ::_exit(127);
  }
  ~Target() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

  pid_t pid() const { return pid_; }
  bool Open() {
    perf_event_attr attr = StackAttr(499, kPerfRegisters, true, 16 << 10);
    attr.sample_stack_user = 512;  // so that the rings hold a slow start
    for (const int cpu : cpus) {
      auto ring = PerfRing::Open(attr, pid_, cpu, 64);
      if (!ring.ok()) return false;
      rings.push_back(ring.Take());
      fds.push_back(rings.back().fd());
    }
    return true;
  }
  // Until the script says that it is ready.
  bool Start() {
    char byte;
    return ::write(gate_.get(), "", 1) == 1 &&
           ::read(said_.get(), &byte, 1) == 1;
  }

  const std::vector<int> cpus = OnlineCpus();
  std::vector<PerfRing> rings;
  std::vector<int> fds;

 private:
  pid_t pid_ = -1;
  Fd gate_, said_;
};

// What the rings of a target hold, from one call to the next.
class Gatherings {
 public:
  explicit Gatherings(Target& target)
      : target_(target), last_(target.rings.size()) {}

  // For so long, or until there are so many walks. The machine may be busy.
  void Gather(size_t enough, int64_t most_ns = 20 * kNsPerSec) {
    const int64_t until_ns = NowNs() + most_ns;
    while (NowNs() < until_ns && walks.size() < enough) {
      ::usleep(10'000);
      for (size_t i = 0; i < target_.rings.size(); ++i)
        target_.rings[i].Drain(
            [&](std::string_view record) { Take(record, last_[i]); });
    }
    EXPECT_EQ(lost, 0u);
  }
  // Until what the walker has begun by now is in the rings, and then for a
  // while. How many walks came in that while: none are expected.
  size_t WalksFromNow() {
    Gather(SIZE_MAX, 100 * kNsPerMs);
    const size_t before = walks.size(), samples_before = samples;
    Gather(SIZE_MAX, 300 * kNsPerMs);
    EXPECT_GT(samples, samples_before) << "samples go on without walks";
    return walks.size() - before;
  }

  std::vector<FrameWalker::Walk> walks;
  std::map<pid_t, size_t> walks_of;
  size_t samples = 0;
  size_t paired = 0;  // that came directly behind a walk of their thread
  uint64_t lost = 0;

 private:
  void Take(std::string_view record, pid_t& last) {
    FrameWalker::Walk walk;
    if (FrameWalker::Parse(record, walk)) {
      last = walk.tid;
      ++walks_of[walk.tid];
      walks.push_back(std::move(walk));
    } else if (const auto sample = ParseStackRecord(record, lost)) {
      ++samples;
      paired += static_cast<pid_t>(sample->tid) == last ? 1 : 0;
      last = 0;
    }
  }

  Target& target_;
  std::vector<pid_t> last_;  // of the walk that waits for its sample
};

// The functions of a walk, innermost first; "|" where C called the one before.
class Namer {
 public:
  Namer(pid_t pid, const FoundPython& python) : memory_(pid), python_(python) {}

  std::string Names(const FrameWalker::Walk& walk) {
    std::string out;
    for (const RawPythonFrame& frame : walk.frames) {
      if (frame.shim) {
        out += "| ";
        continue;
      }
      const PythonCode code = CodeAt(frame.code);
      const int line =
          code.LineOf(python_.layout, frame.code, frame.instruction);
      const auto call = kCallLines.find(code.function);
      if (!out.empty() && call != kCallLines.end()) {
        EXPECT_EQ(line, call->second) << code.function;
      }
      out += code.function + (frame.entry ? " | " : " ");
    }
    return out;
  }

 private:
  const PythonCode& CodeAt(uint64_t address) {
    const auto [at, fresh] = known_.try_emplace(address);
    if (fresh)
      if (const PythonCode* const found =
              codes_.Find(memory_, python_, std::span(&address, 1))[0])
        at->second = *found;
    return at->second;
  }

  ProcessMemory memory_;
  const FoundPython& python_;
  PythonCodes codes_;
  std::map<uint64_t, PythonCode> known_;
};

// All that the script can be seen in.
std::set<std::string> Expected(int minor, int depth) {
  std::set<std::string> out;
  for (const char* const chain : {"a", "b"}) {
    const char* const from_c = minor >= 11 ? "| " : "";
    std::string whole =
        fmt::format("work {0}3 {1}{0}2 {0}1 main ", chain, from_c);
    for (int i = 0; i <= depth; ++i) whole += "deep ";
    whole += std::string("<module> ") + from_c;
    for (size_t at = 0; at < whole.size(); at = whole.find(' ', at) + 1)
      out.insert(whole.substr(at));
  }
  return out;
}

// With the walker on a target that is at work.
class FrameWalkerTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const SourceState state = FrameWalker::Check(); !state.works)
      GTEST_SKIP() << state.why << "; " << state.cure;
  }

  void Start(const std::string& python, int depth, const char* fork = "") {
    target_.emplace(python, depth, fork);
    ASSERT_TRUE(target_->Open());
    auto made = FrameWalker::Make();
    ASSERT_TRUE(made.ok()) << made.error().what;
    walker_.emplace(made.Take());
    const Status attached = walker_->Attach(target_->fds);
    ASSERT_TRUE(attached.ok()) << attached.error().what;
    EXPECT_FALSE(walker_->loaded());
    ASSERT_TRUE(target_->Start());
    const Status loaded = walker_->Load(target_->fds, target_->cpus);
    ASSERT_TRUE(loaded.ok()) << loaded.error().what;
    got_.emplace(*target_);
  }
  // Of all its threads. Nothing if it cannot be read.
  std::optional<FoundPython> Put(pid_t pid) {
    auto process = PythonProcess::Find(pid);
    EXPECT_TRUE(process.ok()) << process.error().what;
    if (!process.ok()) return std::nullopt;
    const FoundPython python = process.value().python();
    const auto threads = process.Take().ThreadAddresses();
    EXPECT_EQ(threads.size(), 1u);
    for (const auto& [own_tid, state] : threads) {
      // The main thread, by whichever number.
      const Status put = walker_->Put(pid, state, python.layout);
      EXPECT_TRUE(put.ok()) << put.error().what;
    }
    return python;
  }

  std::optional<Target> target_;
  std::optional<FrameWalker> walker_;
  std::optional<Gatherings> got_;
};

class FrameWalkerOf : public FrameWalkerTest,
                      public testing::WithParamInterface<std::string> {};
std::string TestName(const testing::TestParamInfo<std::string>& info) {
  std::string out;
  for (const char c : info.param) out += std::isalnum(c) != 0 ? c : '_';
  return out;
}
INSTANTIATE_TEST_SUITE_P(Python, FrameWalkerOf, testing::ValuesIn(Pythons()),
                         TestName);

TEST_P(FrameWalkerOf, FramesAreOfOneMomentAndInOrder) {
  ASSERT_NO_FATAL_FAILURE(Start(GetParam(), 6));
  const auto python = Put(target_->pid());
  ASSERT_TRUE(python.has_value());
  got_->Gather(400);
  EXPECT_GE(got_->walks.size(), 100u);
  EXPECT_GE(got_->paired + target_->rings.size(), got_->walks.size())
      << "a walk lies directly before its sample";
  const int minor = python->layout.minor;
  const auto expected = Expected(minor, 6);
  Namer namer(target_->pid(), *python);
  size_t at_work = 0, unknown = 0;
  for (const FrameWalker::Walk& walk : got_->walks) {
    if (minor >= 11 && minor <= 12 && walk.frames.empty() && !walk.whole) {
      ++unknown;
      continue;
    }
    const std::string names = namer.Names(walk);
    EXPECT_TRUE(expected.contains(names)) << names;
    EXPECT_TRUE(walk.whole);
    EXPECT_EQ(walk.cframe != 0, minor >= 10 && minor <= 12);
    at_work += names.starts_with("work ") ? 1 : 0;
  }
  EXPECT_LE(unknown, got_->walks.size() / 50);
  EXPECT_GE(at_work, 20u);
}

TEST_P(FrameWalkerOf, TooManyFramesAreCut) {
  ASSERT_NO_FATAL_FAILURE(Start(GetParam(), 400));
  ASSERT_TRUE(Put(target_->pid()).has_value());
  got_->Gather(20);
  EXPECT_GE(got_->walks.size(), 20u);
  size_t cut = 0;
  for (const FrameWalker::Walk& walk : got_->walks) {
    EXPECT_FALSE(walk.whole);
    cut += walk.frames.size() == FrameWalker::kMostFrames ? 1 : 0;
  }
  EXPECT_GE(cut + 1, got_->walks.size()) << "one may just have been called";
}

TEST_F(FrameWalkerTest, OnlyThreadsThatArePutAreWalked) {
  ASSERT_NO_FATAL_FAILURE(Start(kPython, 1));
  EXPECT_EQ(got_->WalksFromNow(), 0u);
  ASSERT_TRUE(Put(target_->pid()).has_value());
  got_->Gather(got_->walks.size() + 20);
  EXPECT_GE(got_->walks.size(), 20u);
  walker_->Remove(target_->pid());
  EXPECT_EQ(got_->WalksFromNow(), 0u);
}

TEST_F(FrameWalkerTest, ChildrenThatWereThereBeforeItWasLoadedAreWalked) {
  ASSERT_NO_FATAL_FAILURE(Start(kPython, 1, "fork"));
  const std::string children =
      ReadFile(fmt::format("/proc/{0}/task/{0}/children", target_->pid()))
          .Take();
  const pid_t child = static_cast<pid_t>(std::atoi(children.c_str()));
  ASSERT_GT(child, 0);
  EXPECT_TRUE(Put(target_->pid()).has_value());
  EXPECT_TRUE(Put(child).has_value());
  got_->Gather(200);
  ::kill(child, SIGKILL);
  EXPECT_GE(got_->walks_of[target_->pid()], 20u);
  EXPECT_GE(got_->walks_of[child], 20u);
}

TEST_F(FrameWalkerTest, WhenItGoesNothingIsLeft) {
  const auto open_files = [] {
    size_t out = 0;
    ForEachName(AT_FDCWD, "/proc/self/fd", [&](const char*) { ++out; });
    return out;
  };
  const size_t before = open_files();
  ASSERT_NO_FATAL_FAILURE(Start(kPython, 1));
  ASSERT_TRUE(Put(target_->pid()).has_value());
  got_->Gather(got_->walks.size() + 20);
  EXPECT_GE(got_->walks.size(), 20u);
  walker_.reset();
  EXPECT_EQ(got_->WalksFromNow(), 0u);
  got_.reset();
  target_.reset();
  EXPECT_EQ(open_files(), before);
}

TEST_F(FrameWalkerTest, ALayoutThatItCannotWalkIsRefused) {
  ASSERT_NO_FATAL_FAILURE(Start(kPython, 1));
  const PythonLayout good = *TabledLayout(12);
  EXPECT_TRUE(walker_->Put(1, 1, good).ok());
  PythonLayout odd = good;
  odd.previous = 12;
  EXPECT_FALSE(walker_->Put(1, 1, odd).ok());
  PythonLayout far = good;
  far.instruction = PythonLayout::kMostBytes;
  EXPECT_FALSE(walker_->Put(1, 1, far).ok());
  // An address of nobody's: a walk without frames.
  EXPECT_TRUE(walker_->Put(target_->pid(), 8, good).ok());
  got_->Gather(5);
  ASSERT_GE(got_->walks.size(), 5u) << got_->samples << " samples";
  EXPECT_TRUE(got_->walks[0].frames.empty());
  EXPECT_FALSE(got_->walks[0].whole);
}

}  // namespace
}  // namespace sonde
