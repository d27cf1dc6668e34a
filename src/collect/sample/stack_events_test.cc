#include "collect/sample/stack_events.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>

#include "base/time.h"
#include "collect/perf/stack_record.h"
#include "collect/tree/task_events.h"

namespace sonde {
namespace {

TEST(StackEvents, AQuarterOfTheDescriptorsAnd4096AtMost) {
  EXPECT_EQ(MostStackEvents(0), 0u);
  EXPECT_EQ(MostStackEvents(1024), 256u);
  EXPECT_EQ(MostStackEvents(4 * 4096 - 1), 4095u);
  EXPECT_EQ(MostStackEvents(4 * 4096), 4096u);
  EXPECT_EQ(MostStackEvents(UINT64_MAX), 4096u);
}

// Threads of this process that burn until the end, and those that they start.
class StackEventsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!CheckStackEvents().works)
      GTEST_SKIP() << "perf is not allowed: " << CheckStackEvents().why;
  }
  ~StackEventsTest() override {
    stop_ = true;
    for (std::thread& one : threads_) one.join();
  }

  pid_t Burn() {
    std::atomic<pid_t> tid = 0;
    threads_.emplace_back([&] {
      tid = static_cast<pid_t>(::syscall(SYS_gettid));
      while (!stop_) {
      }
    });
    while (tid == 0) ::usleep(100);
    return tid;
  }
  static std::map<uint32_t, ProcessTree::Live> Live(
      std::initializer_list<pid_t> tids) {
    ProcessTree::Live process = {1, ::getpid(), {}};
    for (const pid_t tid : tids)
      process.threads.emplace_back(process.threads.size() + 1, tid);
    return {{1, process}};
  }
  // How many samples of the thread there are in half a second, hearing all.
  size_t Samples(StackEvents& events, pid_t tid) {
    size_t samples = 0;
    for (int i = 0; i < 50; ++i) {
      ::usleep(10'000);
      for (PerfRing& ring : events.rings())
        ring.Drain([&](std::string_view record) {
          uint64_t lost = 0;
          TaskRecord task;
          if (ParseTaskRecord(record, &task, &lost)) {
            events.Hear(task, NowNs());
          } else if (const auto one = ParseStackRecord(record, lost)) {
            events.HearSample(static_cast<pid_t>(one->tid), NowNs());
            if (static_cast<pid_t>(one->tid) == tid) ++samples;
          }
        });
    }
    return samples;
  }

  const size_t cpus_ = OnlineCpus().size();
  std::atomic<bool> stop_ = false;
  std::vector<std::thread> threads_;
};

TEST_F(StackEventsTest, AThreadThatRunsIsAttachedOnce) {
  StackEvents events(99, 4096);
  ASSERT_TRUE(events.OpenRings(false).ok());
  const pid_t tid = Burn();
  for (int i = 0; i < 3; ++i)
    events.AttachRunning(Live({tid}), NowNs() + i * kNsPerSec, nullptr);
  EXPECT_EQ(events.count(), cpus_);
  EXPECT_GT(Samples(events, tid), 2u);
  events.Detach();
  EXPECT_EQ(events.count(), 0u);
  Samples(events, tid);
  EXPECT_EQ(Samples(events, tid), 0u) << "closed";
}

TEST_F(StackEventsTest, WhatAnAttachedThreadStartsIsNotAttached) {
  StackEvents events(99, 4096);
  ASSERT_TRUE(events.OpenRings(false).ok());
  const auto self = static_cast<pid_t>(::syscall(SYS_gettid));
  events.AttachRunning(Live({self}), NowNs(), nullptr);
  const pid_t child = Burn();
  events.AttachRunning(Live({self, child}), NowNs(), nullptr);
  EXPECT_TRUE(events.waits()) << "nobody has heard of the child yet";
  EXPECT_GT(Samples(events, child), 2u);
  events.AttachRunning(Live({self, child}), NowNs() + kNsPerSec, nullptr);
  EXPECT_EQ(events.count(), cpus_);
  EXPECT_FALSE(events.waits());
}

TEST_F(StackEventsTest, WhoNobodyHearsOfIsAttachedAfterAWhile) {
  StackEvents events(99, 4096);
  ASSERT_TRUE(events.OpenRings(false).ok());
  const pid_t one = Burn(), two = Burn();
  events.AttachRunning(Live({one}), NowNs(), nullptr);
  const int64_t seen_ns = NowNs();
  events.AttachRunning(Live({one, two}), seen_ns, nullptr);
  events.AttachRunning(Live({one, two}), seen_ns + 40 * kNsPerMs, nullptr);
  EXPECT_EQ(events.count(), cpus_);
  events.AttachRunning(Live({one, two}), seen_ns + 60 * kNsPerMs, nullptr);
  EXPECT_EQ(events.count(), 2 * cpus_);
}

TEST_F(StackEventsTest, ThereAreNoMoreEventsThanAllowed) {
  StackEvents events(99, 2 * cpus_ + cpus_ - 1);
  ASSERT_TRUE(events.OpenRings(false).ok());
  events.AttachRunning(Live({Burn(), Burn(), Burn(), Burn()}), NowNs(),
                       nullptr);
  EXPECT_EQ(events.count(), 2 * cpus_);
  EXPECT_EQ(events.left_out(), 2u);
  EXPECT_NE(events.TooMany().what.find("4 threads"), std::string::npos)
      << events.TooMany().what;
  EXPECT_FALSE(events.TooMany().hint.empty());
}

TEST_F(StackEventsTest, EventsOfThoseThatHaveEndedAreClosed) {
  StackEvents events(99, 4096);
  ASSERT_TRUE(events.OpenRings(false).ok());
  const pid_t child = ::fork();
  if (child == 0)
    for (;;) ::pause();
  const std::map<uint32_t, ProcessTree::Live> live = {
      {1, {1, child, {{1, child}}}}};
  events.AttachRunning(live, NowNs(), nullptr);
  EXPECT_EQ(events.count(), cpus_);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  events.AttachRunning({}, NowNs() + 10 * kNsPerSec, nullptr);
  EXPECT_EQ(events.count(), 0u);
}

}  // namespace
}  // namespace sonde
