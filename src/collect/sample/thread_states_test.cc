#include "collect/sample/thread_states.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/time.h"

namespace sonde {
namespace {

// Long, so that there is credit for a look in each, also on a slow machine.
constexpr int64_t kTick = 1 * kNsPerSec;

// A /proc of our own, with processes of one or more threads.
class ThreadStatesTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/sonde_states_XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    root_ = name;
    states_.emplace(root_);
  }
  void TearDown() override {
    states_.reset();
    std::filesystem::remove_all(root_);
  }

  ProcessState& Add(uint32_t number, std::vector<pid_t> tids) {
    ProcessState& process = processes_[number];
    process.number = number;
    process.pid = tids[0];
    process.cpu_ns = process.files_cpu_ns = 0;
    for (const pid_t tid : tids) {
      ThreadState thread;
      thread.number = static_cast<uint32_t>(tid);
      thread.tid = tid;
      process.threads.push_back(std::move(thread));
      std::filesystem::create_directories(Folder(process.pid, tid));
    }
    return process;
  }

  std::string Folder(pid_t pid, pid_t tid) const {
    return fmt::format("{}/{}/task/{}", root_, pid, tid);
  }

  void Put(pid_t pid, pid_t tid, char state, int64_t call,
           uint64_t major_faults = 0) {
    std::ofstream(Folder(pid, tid) + "/stat") << fmt::format(
        "{} (a) D) {} 1 7 7 0 -1 0 5 0 {} 0 8 9 0 0 20 0 3 0 11 0 12 0 0 0 13",
        tid, state, major_faults);
    std::ofstream(Folder(pid, tid) + "/syscall")
        << fmt::format("{} 0x1 0x2\n", call);
  }

  // One look, at which the processes have run since the last one.
  void Tick(bool ran = true) {
    now_ns_ += kTick;
    if (ran)
      for (auto& [number, process] : processes_)
        process.files_cpu_ns = process.cpu_ns += kNsPerMs;
    for (const StateChange& one :
         states_->Tick(now_ns_, 0, now_ns_, processes_, budget_))
      told_[{one.process->number, one.thread ? one.thread->number : 0,
             one.counter}]
          .push_back(one.value);
  }

  // The last value told of a process, or of a thread of it; -1 if none was.
  int64_t Last(uint32_t process, uint32_t thread, size_t counter) const {
    const auto at = told_.find({process, thread, counter});
    return at == told_.end() ? -1 : static_cast<int64_t>(at->second.back());
  }

  std::string root_;
  std::optional<ThreadStates> states_;
  FdBudget budget_{100};
  int64_t now_ns_ = 1000 * kNsPerSec;
  std::map<uint32_t, ProcessState> processes_;
  std::map<std::tuple<uint32_t, uint32_t, size_t>, std::vector<uint64_t>> told_;
};

TEST_F(ThreadStatesTest, ALookStandsForTheTimeSinceTheLast) {
  Add(1, {10});
  Put(10, 10, 'S', SYS_read);
  Tick();
  Put(10, 10, 'D', SYS_read);
  for (int i = 0; i < 4; ++i) Tick();
  Put(10, 10, 'R', SYS_read);
  Tick();
  EXPECT_EQ(Last(1, 10, kThreadBlocked), 4 * kTick);
  EXPECT_EQ(Last(1, 0, kBlocked), 4 * kTick);
  EXPECT_EQ(Last(1, 0, kSync), 0) << "it reads";
  const auto& values = told_[{1, 10, kThreadBlocked}];
  EXPECT_EQ(values.front(), 0u) << "a total's growth is seen from its begin";
}

TEST_F(ThreadStatesTest, TimeOnACoreOrWaitingForOneIsNotTimeBlocked) {
  ThreadState& thread = Add(1, {10}).threads[0];
  thread.run_ns = 0;
  Put(10, 10, 'D', SYS_read);
  for (int i = 0; i < 6; ++i) {
    Tick();
    thread.run_ns += kTick / 2;
    thread.wait_ns += kTick / 4;
  }
  EXPECT_EQ(Last(1, 10, kThreadBlocked), 5 * kTick / 4);
  EXPECT_EQ(Last(1, 0, kBlocked), 5 * kTick / 4);
}

TEST_F(ThreadStatesTest, TimeOffTheCoresIsDecidedByTheNextLookThatTells) {
  ThreadState& thread = Add(1, {10}).threads[0];
  thread.run_ns = 0;
  Put(10, 10, 'R', SYS_read);
  Tick();
  const auto run = [&](char state, int times) {
    Put(10, 10, state, SYS_read);
    for (int i = 0; i < times; ++i) {
      thread.run_ns += kTick * 3 / 4;
      Tick();
    }
  };
  run('R', 3);
  run('D', 1);
  run('R', 1);
  run('S', 1);
  run('D', 2);
  EXPECT_EQ(Last(1, 10, kThreadBlocked), (4 + 2) * kTick / 4);
}

TEST_F(ThreadStatesTest, TimeInSyncIsToldApart) {
  Add(1, {10});
  Put(10, 10, 'D', SYS_write);
  for (int i = 0; i < 3; ++i) Tick();
  Put(10, 10, 'D', SYS_fsync);
  for (int i = 0; i < 5; ++i) Tick();
  EXPECT_EQ(Last(1, 0, kBlocked), 7 * kTick);
  EXPECT_EQ(Last(1, 0, kSync), 5 * kTick);
}

TEST_F(ThreadStatesTest, AProcessIsBlockedOnceHoweverManyOfItsThreadsAre) {
  Add(1, {10, 11, 12});
  for (const pid_t tid : {10, 11, 12}) Put(10, tid, 'D', SYS_pread64);
  for (int i = 0; i < 6; ++i) Tick();
  EXPECT_EQ(Last(1, 11, kThreadBlocked), 5 * kTick);
  EXPECT_EQ(Last(1, 0, kBlocked), 5 * kTick);
}

TEST_F(ThreadStatesTest, OneThatIsNeverBlockedSaysSoOfItsProcessOnly) {
  Add(1, {10});
  Put(10, 10, 'R', 0);
  for (int i = 0; i < 6; ++i) Tick();
  EXPECT_EQ(Last(1, 0, kBlocked), 0);
  EXPECT_EQ((told_[{1, 0, kBlocked}].size()), 1u);
  EXPECT_EQ(Last(1, 10, kThreadBlocked), -1);
  EXPECT_EQ(Last(1, 0, kSync), -1);
}

TEST_F(ThreadStatesTest, WaitingForAChildOrAnAddressSpaceIsNotForADisk) {
  Add(1, {10});
  for (const int64_t call :
       {int64_t{SYS_clone}, int64_t{SYS_clone3}, int64_t{SYS_munmap},
#ifdef SYS_vfork
        int64_t{SYS_vfork},
#endif
        int64_t{SYS_mmap}}) {
    Put(10, 10, 'D', call);
    for (int i = 0; i < 3; ++i) Tick();
  }
  EXPECT_EQ(Last(1, 0, kBlocked), 0);
}

TEST_F(ThreadStatesTest, APageFaultIsForADiskIfThereAreMajorOnes) {
  Add(1, {10});
  Put(10, 10, 'D', -1, 5);
  for (int i = 0; i < 4; ++i) Tick();
  EXPECT_EQ(Last(1, 0, kBlocked), 0);
  for (uint64_t i = 0; i < 4; ++i) {
    Put(10, 10, 'D', -1, 6 + i);
    Tick();
  }
  EXPECT_EQ(Last(1, 0, kBlocked), 4 * kTick);
  EXPECT_EQ(Last(1, 10, kThreadSleepsIn), -1) << "it is in no system call";
}

TEST_F(ThreadStatesTest, WithoutRightsEachDCountsAndSyncIsAbsent) {
  Add(1, {10});
  Put(10, 10, 'D', SYS_fsync);
  std::filesystem::remove(Folder(10, 10) + "/syscall");
  // What cannot be opened, whoever asks: O_NOFOLLOW does not take a link.
  ASSERT_EQ(::symlink("stat", (Folder(10, 10) + "/syscall").c_str()), 0);
  for (int i = 0; i < 5; ++i) Tick();
  EXPECT_EQ(Last(1, 0, kBlocked), 4 * kTick);
  EXPECT_EQ(Last(1, 0, kSync), -1);
}

TEST_F(ThreadStatesTest, WhereASleeperSleepsIsReadOnceUntilItRuns) {
  ProcessState& process = Add(1, {10});
  process.threads[0].run_ns = 1;
  Put(10, 10, 'S', SYS_futex);
  Tick();
  EXPECT_EQ(Last(1, 10, kThreadSleepsIn), -1) << "it may wake at once";
  Tick(false);
  EXPECT_EQ(Last(1, 10, kThreadSleepsIn), SYS_futex);
  Put(10, 10, 'S', SYS_read);
  for (int i = 0; i < 40; ++i) Tick(false);
  EXPECT_EQ(Last(1, 10, kThreadSleepsIn), SYS_futex) << "it has not run";
  process.threads[0].run_ns = 2;
  for (int i = 0; i < 3; ++i) Tick();
  EXPECT_EQ(Last(1, 10, kThreadSleepsIn), SYS_read);
}

TEST_F(ThreadStatesTest, ManySleepersAreAskedAFewAtATime) {
  std::vector<pid_t> tids;
  for (pid_t tid = 10; tid < 70; ++tid) tids.push_back(tid);
  Add(1, tids);
  for (const pid_t tid : tids) Put(10, tid, 'S', SYS_futex);
  const auto told = [&] {
    return std::count_if(told_.begin(), told_.end(), [](const auto& one) {
      return std::get<2>(one.first) == kThreadSleepsIn &&
             std::get<1>(one.first) != 0;
    });
  };
  for (int i = 0; i < 100 && told() == 0; ++i) Tick(false);
  EXPECT_LT(told(), 60);
  for (int i = 0; i < 100 && told() < 60; ++i) Tick(false);
  EXPECT_EQ(told(), 60);
}

TEST_F(ThreadStatesTest, TimeAsleepIsNotTimeBlocked) {
  Add(1, {10});
  Put(10, 10, 'S', SYS_futex);
  Tick();
  for (int i = 0; i < 50; ++i) Tick(false);
  Put(10, 10, 'D', SYS_read);
  for (int i = 0; i < 2; ++i) Tick();
  EXPECT_EQ(Last(1, 10, kThreadBlocked), 2 * kTick);
}

TEST_F(ThreadStatesTest, ALookStandsForTwoSecondsAtMost) {
  Add(1, {10});
  Put(10, 10, 'R', SYS_read);
  Tick();
  Put(10, 10, 'D', SYS_read);
  now_ns_ += 60 * kNsPerSec;
  for (int i = 0; i < 2; ++i) Tick();
  EXPECT_EQ(Last(1, 0, kBlocked), 2 * kNsPerSec + kTick);
}

TEST_F(ThreadStatesTest, AnIdleTreeIsNotLookedAt) {
  Add(1, {10});
  Put(10, 10, 'S', SYS_futex);
  Tick();
  for (int i = 0; i < 3; ++i) Tick(false);
  Put(10, 10, 'D', SYS_read);
  for (int i = 0; i < 5; ++i) Tick(false);
  EXPECT_EQ(processes_[1].threads[0].state, 'S');
}

// A thread that wakes for a moment and sleeps elsewhere, as in a deadlock: its
// files are read only when all sleep again.
TEST_F(ThreadStatesTest, WhoSleepsElsewhereIsAskedThoughAllSleep) {
  ProcessState& process = Add(1, {10});
  ThreadState& thread = process.threads[0];
  thread.run_ns = 1000;
  Put(10, 10, 'S', SYS_clock_nanosleep);
  for (int i = 0; i < 3; ++i) Tick();
  EXPECT_EQ(thread.sleeps_in, SYS_clock_nanosleep);
  Put(10, 10, 'S', SYS_futex);
  process.cpu_ns += 1000;
  for (int i = 0; i < 2; ++i) Tick(false);
  process.files_cpu_ns = process.cpu_ns;
  thread.run_ns += 1000;
  for (int i = 0; i < 30; ++i) Tick(false);
  EXPECT_EQ(thread.sleeps_in, SYS_futex);
  EXPECT_TRUE(process.looks.at_rest);
}

TEST_F(ThreadStatesTest, LooksComeTenTimesASecondAtMost) {
  Add(1, {10});
  Put(10, 10, 'R', 0);
  for (int i = 0; i < 100; ++i) {
    processes_[1].cpu_ns += 1000;
    now_ns_ += 10 * kNsPerMs;
    states_->Tick(now_ns_, 0, now_ns_, processes_, budget_);
  }
  EXPECT_LE(processes_[1].looks.count, 10u);
  EXPECT_GE(processes_[1].looks.count, 9u);
}

TEST_F(ThreadStatesTest, ManyTakeTurns) {
  constexpr uint32_t kProcesses = 200;
  for (uint32_t i = 1; i <= kProcesses; ++i) {
    const pid_t pid = static_cast<pid_t>(1000 + i);
    Add(i, {pid});
    Put(pid, pid, 'R', 0);
  }
  budget_.left = 0;
  uint32_t least = 0, most = 0;
  for (int i = 0; i < 10'000 && least < 2; ++i) {
    Tick();
    now_ns_ -= kTick * 9 / 10;  // ten ticks a second
    least = UINT32_MAX, most = 0;
    for (const auto& [number, process] : processes_) {
      least = std::min(least, process.looks.count);
      most = std::max(most, process.looks.count);
    }
  }
  EXPECT_EQ(least, 2u);
  EXPECT_LE(most, 3u);
}

}  // namespace
}  // namespace sonde
