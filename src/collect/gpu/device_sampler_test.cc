#include "collect/gpu/device_sampler.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
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
  std::atomic<bool> hangs;        // the library does
  std::atomic<int64_t> start_ns;  // it takes so long to start
  std::atomic<int64_t> burn_ns;   // and so much CPU time
  std::atomic<int64_t> user_pid;  // of the first; 0: nobody uses it
};
constexpr size_t kPlays = 2;
Play* const plays = static_cast<Play*>(
    ::mmap(nullptr, kPlays * sizeof(Play), PROT_READ | PROT_WRITE,
           MAP_SHARED | MAP_ANONYMOUS, -1, 0));

class FakeSource : public DeviceSource {
 public:
  FakeSource(Play& play, const std::string& name) : play_(play) {
    infos_ = {{"fake", name + " 0"}, {"fake", name + " 1"}};
  }
  const std::vector<DeviceInfo>& devices() const override { return infos_; }
  bool Read(size_t device, DeviceReading& out) override {
    while (play_.hangs) ::usleep(1000);
    if (play_.fails[device]) return false;
    out.busy_pct = play_.busy[device];
    if (device == 0 && play_.user_pid != 0)
      out.users.push_back({static_cast<pid_t>(play_.user_pid), 1000});
    return true;
  }

 private:
  Play& play_;
  std::vector<DeviceInfo> infos_;
};

template <size_t kPlay>
std::unique_ptr<DeviceSource> OpenFake(const std::string&, std::string&) {
  Play& play = plays[kPlay];
  ::usleep(static_cast<useconds_t>(play.start_ns / kNsPerUs));
  const int64_t until_ns = ClockNs(CLOCK_PROCESS_CPUTIME_ID) + play.burn_ns;
  while (ClockNs(CLOCK_PROCESS_CPUTIME_ID) < until_ns) {
  }
  return std::make_unique<FakeSource>(play, "maker " + std::to_string(kPlay));
}

bool Present(const std::string&) { return true; }

// Processes that are said to be of the tree: numbers by pid.
class FakeTree : public ProcessTree {
 public:
  void Add(uint32_t number, pid_t pid) { live_[number] = {number, pid, {}}; }
  std::optional<TaskState> FindPid(pid_t pid) const override {
    for (const auto& [number, live] : live_)
      if (live.pid == pid) return TaskState{.number = number};
    return std::nullopt;
  }
  std::optional<TaskState> FindNumber(uint32_t) const override { return {}; }
  ThreadState FindThread(uint32_t, pid_t) const override { return {}; }
  void Rename(uint32_t, uint32_t, std::string_view) override {}
  const std::map<uint32_t, Live>& live() const override { return live_; }
  std::vector<int> wake_fds() const override { return {}; }
  void Poll(int64_t) override {}
  void RootEnded(int64_t, int, const rusage&) override {}
  void NoteCpu(uint32_t, uint32_t, int64_t, int64_t) override {}
  void Finish(int64_t) override {}
  uint64_t changes() const override { return 0; }
  std::string source() const override { return "fake"; }
  std::vector<NotCollected> not_collected() const override { return {}; }

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
        play.fails[device] = false;
      }
      play.hangs = false;
      play.start_ns = play.burn_ns = play.user_pid = 0;
    }
  }

  void Start() { sampler_.emplace(*out_, tree_, 10, makers_); }
  // Ticks until `done` says so; false if it does not within 10 s.
  bool TickUntil(const std::function<bool()>& done) {
    for (int i = 0; i < 1000; ++i) {
      sampler_->Tick(NowNs());
      if (done()) return true;
      ::usleep(10'000);
    }
    return false;
  }
  void TickFor(int64_t ns) {
    const int64_t until_ns = NowNs() + ns;
    TickUntil([&] { return NowNs() >= until_ns; });
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

TEST_F(DeviceSamplerTest, NumbersAreInTheOrderOfTheMakers) {
  plays[0].busy[0] = 70;
  plays[0].busy[1] = 60;
  plays[0].start_ns = 300 * kNsPerMs;
  plays[1].busy[0] = 50;
  Start();
  ASSERT_TRUE(TickUntilBusy(0.7));
  TickFor(200 * kNsPerMs);
  const TraceContents trace = End();
  EXPECT_TRUE(Told(trace, 0, "maker 0 0"));
  EXPECT_TRUE(Told(trace, 1, "maker 0 1"));
  EXPECT_TRUE(Told(trace, 2, "maker 1 0"));
}

TEST_F(DeviceSamplerTest, NobodyWaitsLongForANumber) {
  plays[0].start_ns = 20 * kNsPerSec;
  plays[1].busy[0] = 50;
  Start();
  const int64_t begin_ns = NowNs();
  ASSERT_TRUE(TickUntilBusy(0.5));
  EXPECT_LT(NowNs() - begin_ns, 3 * kNsPerSec);
  EXPECT_TRUE(Told(End(), 0, "maker 1 0"));
}

}  // namespace
}  // namespace sonde
