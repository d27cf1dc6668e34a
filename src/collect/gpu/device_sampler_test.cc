#include "collect/gpu/device_sampler.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>

#include "base/time.h"
#include "tools/trace_contents.h"

namespace sonde {
namespace {

// What a fake maker does, from now on. Makers are asked in processes of their
// own, so this lies in memory that they share with the test.
struct Play {
  std::atomic<double> busy[2];    // of its devices; NaN: nothing to tell
  std::atomic<bool> fails[2];     // they do not answer
  std::atomic<bool> used[2];      // somebody has memory on them
  std::atomic<double> ours;       // bytes that process kOurs has on them
  std::atomic<bool> hangs;        // the library does
  std::atomic<bool> hung;         // it has
  std::atomic<int64_t> start_ns;  // it takes so long to start
  std::atomic<int64_t> burn_ns;   // and so much CPU time
  std::atomic<int> opened;        // so often
  std::atomic<pid_t> pid;         // by the one that opened it last
  std::atomic<int64_t> cpu_ns;    // that all have used then
  std::atomic<int> asked;         // so often was the last device
};
constexpr size_t kPlays = 2;
constexpr pid_t kOurs = 1 << 22;
Play* const plays = static_cast<Play*>(
    ::mmap(nullptr, kPlays * sizeof(Play), PROT_READ | PROT_WRITE,
           MAP_SHARED | MAP_ANONYMOUS, -1, 0));

class FakeSource : public DeviceSource {
 public:
  FakeSource(Play& play, const std::string& name) : play_(play) {
    infos_ = {{"fake", name + " 0"}, {"fake", name + " 1"}};
  }
  bool Read(size_t device, DeviceReading& out) override {
    for (; play_.hangs; ::usleep(5000)) play_.hung = true;
    if (device == 1) ++play_.asked;
    if (play_.fails[device]) return false;
    out.busy_pct = play_.busy[device];
    // Nobody of ours.
    if (play_.used[device]) out.users.push_back({1, 1e6});
    if (play_.ours != 0) out.users.push_back({kOurs, play_.ours});
    return true;
  }

 private:
  Play& play_;
};

template <size_t kPlay>
std::unique_ptr<DeviceSource> OpenFake(const std::string&, std::string&) {
  Play& play = plays[kPlay];
  ::usleep(static_cast<useconds_t>(play.start_ns / kNsPerUs));
  const int64_t until_ns = ClockNs(CLOCK_PROCESS_CPUTIME_ID) + play.burn_ns;
  while (ClockNs(CLOCK_PROCESS_CPUTIME_ID) < until_ns) {
  }
  play.cpu_ns += ClockNs(CLOCK_PROCESS_CPUTIME_ID);
  play.pid = ::getpid();
  ++play.opened;
  return std::make_unique<FakeSource>(play, "maker " + std::to_string(kPlay));
}

bool Present(const std::string&) { return true; }

// A tree of one process, kOurs.
class FakeTree : public ProcessTree {
 public:
  std::optional<TaskState> FindPid(pid_t pid) const override {
    if (pid != kOurs) return {};
    TaskState state;
    state.number = 1;
    state.alive = true;
    return state;
  }
  std::optional<TaskState> FindNumber(uint32_t) const override { return {}; }
  ThreadState FindThread(uint32_t, pid_t) const override { return {}; }
  void Rename(uint32_t, uint32_t, std::string_view) override {}
  const std::map<uint32_t, Live>& live() const override { return live_; }
  std::vector<int> wake_fds() const override { return {}; }
  void Poll(int64_t) override {}
  void Stop(int64_t) override {}
  void RootEnded(int64_t, int, const rusage&) override {}
  void NoteCpu(uint32_t, uint32_t, int64_t, int64_t) override {}
  uint64_t changes() const override { return 0; }
  std::string source() const override { return "fake"; }

 private:
  std::map<uint32_t, Live> live_;
};

class DeviceSamplerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (size_t i = 0; i < kPlays; ++i) {
      Play& play = plays[i];
      for (size_t device : {0, 1}) {
        play.busy[device] = kNotRead;
        play.fails[device] = play.used[device] = false;
      }
      play.hangs = play.hung = false;
      play.start_ns = play.burn_ns = play.cpu_ns = 0;
      play.opened = play.asked = play.pid = 0;
      play.ours = 0;
    }
  }

  void Start() { sampler_.emplace(*out_, tree_, 10, makers_); }
  void Tick() {
    sampler_->Tick(stands_ns_ ? *stands_ns_ : NowNs() + ahead_ns_);
  }
  // Ticks until `done` says so; false if it does not within 10 s.
  bool TickUntil(const std::function<bool()>& done) {
    for (int i = 0; i < 1000; ++i) {
      Tick();
      if (done()) return true;
      ::usleep(10'000);
    }
    return false;
  }
  void TickFor(int64_t ns) {
    const int64_t until_ns = NowNs() + ns;
    TickUntil([&] { return NowNs() >= until_ns; });
  }
  // Takes so many readings of all devices of the first library, or more.
  void TakeReadings(int count) {
    for (int i = 0; i < count; ++i) {
      const int asked = plays[0].asked;
      // When it is asked once more, what it said before is there to be read.
      ASSERT_TRUE(TickUntil([&] { return plays[0].asked >= asked + 2; }));
      Tick();
    }
  }
  // The first library hangs, and all that it said has been read.
  void Hang() {
    plays[0].hung = false;
    plays[0].hangs = true;
    ASSERT_TRUE(TickUntil([] { return plays[0].hung.load(); }));
    Tick();
  }
  // Puts the clock forward, instead of waiting.
  void Skip(int64_t ns) {
    for (; ns > 0; ns -= kNsPerSec / 2) Freeze(std::min(ns, kNsPerSec / 2));
  }
  // In one step: as if we did not run meanwhile.
  void Freeze(int64_t ns) {
    ahead_ns_ += ns;
    Tick();
  }
  bool TickUntilBusy(double share) {
    return TickUntil([&] { return sampler_->BusyShare() == share; });
  }
  TraceContents End() {
    sampler_->EndHelpers();
    CHECK(out_->Close().ok());
    return TraceContents::OfBytes(bytes_);
  }
  static bool Told(const TraceContents& trace, uint32_t index,
                   std::string_view name) {
    return trace.FindSeries("gpu_busy_pct", Series::Scope::kDevice, index,
                            name) != 0;
  }

  std::shared_ptr<std::string> bytes_ = std::make_shared<std::string>();
  std::unique_ptr<TraceWriter> out_ = TraceWriter::CreateInMemory({}, bytes_);
  FakeTree tree_;
  std::vector<DeviceMaker> makers_ = {{"first", &Present, &OpenFake<0>},
                                      {"second", &Present, &OpenFake<1>}};
  std::optional<DeviceSampler> sampler_;
  int64_t ahead_ns_ = 0;
  std::optional<int64_t> stands_ns_;  // the clock does, there
};

TEST_F(DeviceSamplerTest, ADeviceThatTellsNothingHasNoNumber) {
  plays[1].busy[1] = 50;
  Start();
  ASSERT_TRUE(TickUntilBusy(0.5));
  plays[0].busy[1] = 70;
  ASSERT_TRUE(TickUntilBusy(0.7));
  const TraceContents trace = End();
  EXPECT_TRUE(Told(trace, 0, "maker 1 1"));
  EXPECT_TRUE(Told(trace, 1, "maker 0 1"));
  EXPECT_EQ(trace.series.size(), 2);
}

TEST_F(DeviceSamplerTest, OneThatTellsOnlyStrangersHasNoNumber) {
  plays[0].used[0] = true;
  plays[0].busy[1] = 50;
  Start();
  ASSERT_TRUE(TickUntilBusy(0.5));
  TickFor(300 * kNsPerMs);
  EXPECT_TRUE(Told(End(), 0, "maker 0 1"));
}

TEST_F(DeviceSamplerTest, TellsHowManyUseADeviceIfAnybodyDoes) {
  plays[0].busy[0] = plays[0].busy[1] = 50;
  plays[0].used[1] = true;
  Start();
  ASSERT_TRUE(TickUntilBusy(0.5));
  TakeReadings(1);
  const TraceContents trace = End();
  const auto users = [&](uint32_t index) {
    return trace.FindSeries("gpu_users", Series::Scope::kDevice, index,
                            fmt::format("maker 0 {}", index));
  };
  EXPECT_EQ(users(0), 0u);
  EXPECT_NE(users(1), 0u);
}

TEST_F(DeviceSamplerTest, NumbersAreInTheOrderOfTheMakers) {
  plays[0].busy[0] = 70;
  plays[0].busy[1] = 60;
  plays[0].start_ns = 300 * kNsPerMs;
  plays[1].busy[0] = 90;
  stands_ns_ = NowNs();  // there is time for all of them
  Start();
  ASSERT_TRUE(TickUntilBusy(0.9));
  const TraceContents trace = End();
  EXPECT_TRUE(Told(trace, 0, "maker 0 0"));
  EXPECT_TRUE(Told(trace, 1, "maker 0 1"));
  EXPECT_TRUE(Told(trace, 2, "maker 1 0"));
}

TEST_F(DeviceSamplerTest, NobodyWaitsLongForANumber) {
  plays[0].start_ns = 20 * kNsPerSec;
  plays[1].busy[0] = 50;
  stands_ns_ = NowNs() + 900 * kNsPerMs;
  Start();
  TickFor(500 * kNsPerMs);
  EXPECT_EQ(sampler_->BusyShare(), std::nullopt);
  stands_ns_ = NowNs() + kNsPerSec;
  ASSERT_TRUE(TickUntilBusy(0.5));
  EXPECT_EQ(plays[0].opened, 0);
  EXPECT_TRUE(Told(End(), 0, "maker 1 0"));
}

TEST_F(DeviceSamplerTest, ALibraryThatNeverAnsweredIsToldSoon) {
  plays[0].start_ns = 20 * kNsPerSec;
  Start();
  TickFor(300 * kNsPerMs);
  EXPECT_TRUE(sampler_->missing().empty());
  Skip(kNsPerSec);
  // The other one has answered, though its devices tell nothing.
  const auto missing = sampler_->missing();
  ASSERT_EQ(missing.size(), 1);
  EXPECT_STREQ(missing[0].vendor, "first");
  EXPECT_EQ(missing[0].why, "its library has not answered");
}

TEST_F(DeviceSamplerTest, ALibraryThatAnsweredBeforeItHungIsALossOnly) {
  plays[0].busy[0] = 50;
  makers_.pop_back();
  Start();
  ASSERT_TRUE(TickUntilBusy(0.5));
  Hang();
  Skip(3 * kNsPerSec);
  Skip(kNsPerSec);
  EXPECT_TRUE(sampler_->missing().empty());
}

// All of the trace's losses, in order.
std::vector<Loss> Losses(const TraceContents& trace) {
  std::vector<Loss> losses;
  for (const auto& [ordinal, loss] : trace.losses) losses.push_back(loss);
  return losses;
}

TEST_F(DeviceSamplerTest, ADeviceThatDoesNotAnswerIsALoss) {
  plays[0].busy[0] = plays[0].busy[1] = 50;
  makers_.pop_back();
  Start();
  ASSERT_TRUE(TickUntilBusy(0.5));
  for (int i = 0; i < 2; ++i) {
    plays[0].fails[0] = plays[0].fails[1] = true;
    ASSERT_TRUE(TickUntil([&] { return !sampler_->BusyShare(); }));
    TakeReadings(3);
    plays[0].fails[0] = false;
    ASSERT_TRUE(TickUntilBusy(0.5));
    plays[0].fails[1] = false;
    TakeReadings(3);
  }
  const std::vector<Loss> losses = Losses(End());
  // Two devices, each silent twice.
  ASSERT_EQ(losses.size(), 4);
  std::vector<Loss> first;
  for (const Loss& loss : losses) {
    EXPECT_EQ(loss.reason, "device-silent");
    EXPECT_GE(loss.count, 2);
    EXPECT_GT(loss.to_ns - loss.from_ns, 300 * kNsPerMs);
    if (loss.detail == "times that maker 0 0 did not answer")
      first.push_back(loss);
  }
  ASSERT_EQ(first.size(), 2);
  // The good time between them is of neither.
  EXPECT_GT(first[1].from_ns, first[0].to_ns);
}

TEST_F(DeviceSamplerTest, MemoryThatNobodyCanHaveIsALoss) {
  plays[0].busy[0] = 50;
  plays[0].ours = 1e15;
  makers_.pop_back();
  Start();
  ASSERT_TRUE(TickUntilBusy(0.5));
  const TraceContents trace = End();
  const std::vector<Loss> losses = Losses(trace);
  ASSERT_EQ(losses.size(), 1);
  EXPECT_EQ(losses[0].reason, "device-refused");
  EXPECT_EQ(trace.FindSeries("gpu_mem_used_bytes", Series::Scope::kProcess, 1),
            0);
}

TEST_F(DeviceSamplerTest, ADeviceThatNeverAnswersIsALossFromTheStart) {
  plays[0].fails[0] = true;
  makers_.pop_back();
  const int64_t begin_ns = NowNs();
  Start();
  const int64_t started_ns = NowNs();
  TakeReadings(3);
  const std::vector<Loss> losses = Losses(End());
  ASSERT_EQ(losses.size(), 1);
  EXPECT_GE(losses[0].from_ns, begin_ns);
  EXPECT_LE(losses[0].from_ns, started_ns);
  EXPECT_GT(losses[0].to_ns - begin_ns, 200 * kNsPerMs);
}

TEST_F(DeviceSamplerTest, SilencesWithoutEndAreFewLosses) {
  auto bytes = std::make_shared<std::string>();
  const auto out = TraceWriter::CreateInMemory({}, bytes);
  Silence silence;
  for (int i = 0; i < 1000; ++i) {
    silence.Add(*out, "times", i * 10, i * 10 + 2);
    silence.Add(*out, "times", i * 10, i * 10 + 3);
    silence.End(*out, i * 10 + 4);
  }
  CHECK(out->Close().ok());
  const std::vector<Loss> losses = Losses(TraceContents::OfBytes(bytes));
  ASSERT_EQ(losses.size(), Silence::kMostLosses);
  EXPECT_EQ(losses[1].from_ns, 10);
  EXPECT_EQ(losses[1].to_ns, 14);
  EXPECT_EQ(losses[1].count, 2);
  EXPECT_EQ(losses.back().to_ns, 9994);
  EXPECT_EQ(losses.back().count, 2 * (1000 - Silence::kMostLosses + 1));
}

TEST_F(DeviceSamplerTest, OfALibraryThatHangsNothingIsBelieved) {
  plays[0].busy[0] = 95;
  makers_.pop_back();
  Start();
  ASSERT_TRUE(TickUntilBusy(0.95));
  Hang();
  // Old readings are not of now.
  Skip(3 * kNsPerSec / 2);
  EXPECT_EQ(sampler_->BusyShare(), std::nullopt);
  Skip(5 * kNsPerSec);
  EXPECT_EQ(sampler_->BusyShare(), std::nullopt);
  TickFor(300 * kNsPerMs);
  EXPECT_EQ(sampler_->BusyShare(), std::nullopt);
}

TEST_F(DeviceSamplerTest, TimeInWhichWeDidNotRunIsNotTheLibrarys) {
  plays[0].busy[0] = 50;
  plays[1].start_ns = 500 * kNsPerMs;
  Start();
  ASSERT_TRUE(TickUntilBusy(0.5));
  const auto opened = [] { return plays[0].opened + plays[1].opened; };
  // It has said nothing new since the tick before.
  plays[0].hangs = true;
  TickFor(300 * kNsPerMs);
  for (int i = 0; i < 5; ++i) Freeze(60 * kNsPerSec);
  plays[0].hangs = false;
  ASSERT_TRUE(TickUntil([&] { return opened() == 2; }));
  TickFor(500 * kNsPerMs);
  EXPECT_EQ(opened(), 2);
  EXPECT_TRUE(sampler_->missing().empty());
  EXPECT_TRUE(Losses(End()).empty());
}

TEST_F(DeviceSamplerTest, EachSilenceOfALibraryIsALossOfItsOwn) {
  plays[0].busy[0] = 50;
  makers_.pop_back();
  Start();
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(TickUntilBusy(0.5));
    TakeReadings(2);
    Hang();
    Skip(3 * kNsPerSec);
    plays[0].hangs = false;
  }
  ASSERT_EQ(sampler_->missing().size(), 1);
  EXPECT_EQ(sampler_->missing()[0].why, "its library hung or died 4 times");
  // It was given up: the last silence lasts.
  Skip(60 * kNsPerSec);
  const std::vector<Loss> losses = Losses(End());
  ASSERT_EQ(losses.size(), 4);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(losses[i].count, 1);
    EXPECT_GT(losses[i].to_ns - losses[i].from_ns, 3 * kNsPerSec);
    EXPECT_GT(losses[i + 1].from_ns, losses[i].to_ns);
  }
  EXPECT_GT(losses[3].to_ns - losses[3].from_ns, 60 * kNsPerSec);
}

// In a process that may start none, where the library's seems to have ended.
TEST_F(DeviceSamplerTest, ARestartThatFailsIsTold) {
  plays[0].busy[0] = 50;
  makers_.pop_back();
  Start();
  ASSERT_TRUE(TickUntilBusy(0.5));
  const pid_t pid = ::fork();
  ASSERT_GE(pid, 0);
  if (pid == 0) {
    const rlimit none = {0, 0};
    if (::getuid() == 0 && ::setuid(65534) != 0) ::_exit(2);
    if (::setrlimit(RLIMIT_NPROC, &none) != 0) ::_exit(3);
    sampler_->Tick(NowNs());
    const auto missing = sampler_->missing();
    ::_exit(missing.size() == 1 &&
                    missing[0].why ==
                        "its library hung or died, and no process could be "
                        "started for it"
                ? 0
                : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_TRUE(WIFEXITED(status));
}

TEST_F(DeviceSamplerTest, ChildrenAreCountedOnce) {
  // So much that what a process itself costs, more so with a sanitizer, is
  // little beside it.
  plays[0].burn_ns = 300 * kNsPerMs;
  plays[0].hangs = true;
  makers_.pop_back();
  Start();
  std::vector<pid_t> pids;
  for (int i = 1; i <= 4; ++i) {
    ASSERT_TRUE(TickUntil([&] { return plays[0].opened == i; }));
    pids.push_back(plays[0].pid);
    Skip(11 * kNsPerSec);
  }
  ASSERT_EQ(sampler_->missing().size(), 1);
  // All have been killed. One that takes long to die is not waited for, so that
  // is done here; it stays to be counted.
  siginfo_t info;
  for (const pid_t pid : pids)
    ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT);
  const int64_t cpu_ns = sampler_->EndHelpers();
  EXPECT_GE(plays[0].cpu_ns, 1200 * kNsPerMs);
  // They end after they have told.
  EXPECT_GT(cpu_ns, plays[0].cpu_ns - 100 * kNsPerMs);
  EXPECT_LT(cpu_ns, plays[0].cpu_ns + 200 * kNsPerMs)
      << "the last one is counted twice";
}

}  // namespace
}  // namespace sonde
