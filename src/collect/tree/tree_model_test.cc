#include "collect/tree/tree_model.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <cstring>

#include "base/time.h"
#include "tools/trace_contents.h"

namespace sonde {
namespace {

using Kind = TaskRecord::Kind;

// A world in which nothing is known but what the test says.
struct FakeWorld : TaskWorld {
  std::map<pid_t, State> states;
  std::map<pid_t, std::string> cmdlines;
  std::map<uint32_t, int> statuses;
  std::vector<uint32_t> begun, done;

  std::optional<State> Look(pid_t pid) override {
    const auto at = states.find(pid);
    return at == states.end() ? std::nullopt : std::optional(at->second);
  }
  std::string Cmdline(pid_t pid) override { return cmdlines[pid]; }
  std::optional<int> WaitStatus(uint32_t number) override {
    const auto at = statuses.find(number);
    return at == statuses.end() ? std::nullopt : std::optional(at->second);
  }
  void Begun(uint32_t number, pid_t) override { begun.push_back(number); }
  void Done(uint32_t number) override { done.push_back(number); }
};

// A script of records, times in milliseconds; the root is pid 100.
struct TreeModelTest : testing::Test {
  static constexpr int64_t kMs = kNsPerMs;

  TreeModelTest() { model.AddRoot(0, 100); }

  static TaskRecord Make(Kind kind, int64_t ms, pid_t pid, pid_t tid) {
    TaskRecord record;
    record.kind = kind;
    record.time_ns = ms * kMs;
    record.pid = pid;
    record.tid = tid;
    return record;
  }
  void Fork(int64_t ms, pid_t parent, pid_t pid) {
    TaskRecord record = Make(Kind::kFork, ms, pid, pid);
    record.ppid = record.ptid = parent;
    model.Apply(record);
  }
  void Spawn(int64_t ms, pid_t pid, pid_t tid) {
    TaskRecord record = Make(Kind::kFork, ms, pid, tid);
    record.ppid = record.ptid = pid;
    model.Apply(record);
  }
  void Named(Kind kind, int64_t ms, pid_t pid, pid_t tid, const char* comm) {
    TaskRecord record = Make(kind, ms, pid, tid);
    std::strncpy(record.comm, comm, sizeof(record.comm) - 1);
    model.Apply(record);
  }
  void Exec(int64_t ms, pid_t pid, const char* comm) {
    Named(Kind::kExec, ms, pid, pid, comm);
  }
  void Exit(int64_t ms, pid_t pid, pid_t tid) {
    model.Apply(Make(Kind::kExit, ms, pid, tid));
  }
  void Exit(int64_t ms, pid_t pid) { Exit(ms, pid, pid); }
  void Cpu(int64_t ms, pid_t pid, pid_t tid, uint64_t ns) {
    TaskRecord record = Make(Kind::kCpu, ms, pid, tid);
    record.value = ns;
    model.Apply(record);
  }

  TraceContents Close(int64_t ms) {
    model.Finish(ms * kMs);
    CHECK(out->Close().ok());
    return TraceContents::OfBytes(bytes);
  }

  std::shared_ptr<std::string> bytes = std::make_shared<std::string>();
  std::unique_ptr<TraceWriter> out = TraceWriter::CreateInMemory({}, bytes);
  FakeWorld world;
  TreeModel model{*out, world, {.cpu_parts = 2, .cores = 1}};
};

TEST_F(TreeModelTest, AProcessIsFollowedFromForkThroughExecsToExit) {
  Exec(1, 100, "make");
  Fork(10, 100, 200);
  Exec(11, 200, "sh");
  Exec(20, 200, "cc1");
  world.statuses[2] = 3 << 8;
  Exit(50, 200);
  const TraceContents trace = Close(60);
  const Process& child = trace.processes.at(2);
  EXPECT_EQ(child.parent, 1u);
  EXPECT_EQ(child.pid, 200);
  EXPECT_EQ(child.start_ns, 10 * kMs);
  EXPECT_EQ(child.end_ns, 50 * kMs);
  EXPECT_EQ(child.execs, 2u);
  EXPECT_EQ(trace.strings.at(child.name), "cc1");
  EXPECT_EQ(child.exit, Process::Exit::kExited);
  EXPECT_EQ(child.exit_code, 3);
  const auto images = trace.Images(2);
  ASSERT_EQ(images.size(), 2u);
  EXPECT_EQ(trace.strings.at(images[0].name), "sh");
  EXPECT_EQ(images[0].begin_ns, 11 * kMs);
  EXPECT_EQ(images[0].dur_ns, 9 * kMs);
  EXPECT_EQ(trace.strings.at(images[1].name), "cc1");
  EXPECT_EQ(images[1].dur_ns, 30 * kMs);
  EXPECT_EQ(trace.strings.at(images[1].category), "process");
}

TEST_F(TreeModelTest, AForkThatNeverExecsIsAnImageOfItsParentsName) {
  Exec(1, 100, "python3");
  Fork(10, 100, 200);
  Fork(10, 100, 201);
  Exec(40, 201, "late");  // a worker for 30 ms before its exec
  Exit(50, 200);
  Exit(60, 201);
  const TraceContents trace = Close(70);
  ASSERT_EQ(trace.Images(2).size(), 1u);
  EXPECT_EQ(trace.strings.at(trace.Images(2)[0].name), "python3");
  EXPECT_EQ(trace.Images(2)[0].dur_ns, 40 * kMs);
  ASSERT_EQ(trace.Images(3).size(), 2u);
  EXPECT_EQ(trace.strings.at(trace.Images(3)[0].name), "python3");
}

TEST_F(TreeModelTest, AForkIsACopyOfItsParentUntilItExecs) {
  const uint32_t root = model.FindPid(100)->row.number;
  EXPECT_EQ(model.StateOf(root)->copy_of, 0u);
  Fork(5, 100, 101);
  const uint32_t child = model.FindPid(101)->row.number;
  EXPECT_EQ(model.StateOf(child)->copy_of, root);
  Exec(6, 101, "make");
  EXPECT_EQ(model.StateOf(child)->copy_of, 0u);
  Fork(7, 101, 102);
  const uint32_t late = model.FindPid(102)->row.number;
  Exit(8, 102);
  EXPECT_EQ(model.StateOf(late)->copy_of, child);
}

TEST_F(TreeModelTest, ThreadsAreNotProcessesAndTheirCpuSumsToTheProcess) {
  Fork(10, 100, 200);
  Spawn(11, 200, 201);
  EXPECT_EQ(model.live().at(2).threads.size(), 2u);
  Exit(20, 200, 201);
  Cpu(20, 200, 201, 5);
  Cpu(20, 200, 201, 7);
  Exit(30, 200);
  Cpu(30, 200, 200, 100);
  EXPECT_FALSE(model.live().contains(2));
  Cpu(30, 200, 200, 0);
  const TraceContents trace = Close(40);
  EXPECT_EQ(trace.processes.size(), 2u);
  EXPECT_EQ(trace.processes.at(2).cpu_ns, 112);
  EXPECT_EQ(trace.threads.at(2).cpu_ns, 100);
  EXPECT_EQ(trace.threads.at(3).cpu_ns, 12);
  EXPECT_EQ(trace.threads.at(3).end_ns, 20 * kMs);
}

TEST_F(TreeModelTest, AThreadThatHasEndedIsStillNamed) {
  const auto end = [&](pid_t tid) {
    Cpu(21, 100, tid, 5);
    Cpu(21, 100, tid, 7);
  };
  Spawn(10, 100, 101);
  Spawn(10, 100, 102);
  Exit(20, 100, 101);
  Exit(20, 100, 102);
  end(102);
  model.Rename(1, model.FindThread(1, 101).number, "worker");
  model.Rename(1, model.FindThread(1, 102).number, "worker");
  end(101);
  model.Rename(1, 77, "nobody");
  const TraceContents trace = Close(40);
  for (const uint32_t number : {2u, 3u}) {
    const Thread& row = trace.threads.at(number);
    EXPECT_EQ(trace.strings.at(row.name), "worker");
    EXPECT_EQ(row.cpu_ns, 12);
    EXPECT_EQ(row.end_ns, 20 * kMs);
  }
}

TEST_F(TreeModelTest, ALostPartOfTheCpuTimeMakesItUnknownNotSmaller) {
  Fork(10, 100, 200);
  Exit(30, 200);
  Cpu(30, 200, 200, 100);
  model.Settle(5000 * kMs);
  const TraceContents trace = Close(6000);
  EXPECT_EQ(trace.processes.at(2).cpu_ns, -1);
  EXPECT_EQ(trace.threads.at(2).cpu_ns, -1);
}

TEST_F(TreeModelTest, ALeaderThatEndsFirstDoesNotEndTheProcess) {
  Fork(10, 100, 200);
  Spawn(11, 200, 201);
  Exit(20, 200, 200);
  EXPECT_TRUE(model.live().contains(2));
  Exit(30, 200, 201);
  EXPECT_FALSE(model.live().contains(2));
  EXPECT_EQ(Close(40).processes.at(2).end_ns, 30 * kMs);
}

TEST_F(TreeModelTest, AThreadThatExecsBecomesTheLeader) {
  Fork(10, 100, 200);
  Spawn(11, 200, 201);
  Exit(20, 200, 200);
  Cpu(20, 200, 200, 1);
  Cpu(20, 200, 200, 1);
  Exec(20, 200, "new");
  ASSERT_EQ(model.live().at(2).threads.size(), 1u);
  EXPECT_EQ(model.live().at(2).threads[0], (std::pair{3u, pid_t{200}}));
  Exit(30, 200, 200);
  Cpu(30, 200, 200, 40);
  Cpu(30, 200, 200, 50);
  const TraceContents trace = Close(40);
  EXPECT_EQ(trace.processes.at(2).cpu_ns, 92);
  EXPECT_EQ(trace.threads.at(2).cpu_ns, 2);
  EXPECT_EQ(trace.threads.at(3).cpu_ns, 90);
}

TEST_F(TreeModelTest, APidThatIsUsedAgainIsAnotherProcess) {
  Fork(10, 100, 200);
  Exec(11, 200, "old");
  Exit(20, 200);
  Fork(30, 100, 200);
  Exec(31, 200, "new");
  Exit(40, 200);
  Cpu(20, 200, 200, 1);  // late, and not of the second
  const TraceContents trace = Close(50);
  ASSERT_EQ(trace.processes.size(), 3u);
  EXPECT_EQ(trace.strings.at(trace.processes.at(2).name), "old");
  EXPECT_EQ(trace.processes.at(2).end_ns, 20 * kMs);
  EXPECT_EQ(trace.strings.at(trace.processes.at(3).name), "new");
}

TEST_F(TreeModelTest, APidThatIsUsedAgainUnseenEndsTheOneBefore) {
  Fork(10, 100, 200);
  Fork(500, 100, 200);  // the exit between was lost
  const TraceContents trace = Close(600);
  EXPECT_EQ(trace.processes.at(2).end_ns, 500 * kMs);
  EXPECT_EQ(trace.processes.at(2).exit, Process::Exit::kUnknown);
  EXPECT_EQ(trace.processes.at(3).exit, Process::Exit::kRunning);
}

TEST_F(TreeModelTest, RecordsBeforeTheirForkWaitForIt) {
  Exec(11, 200, "quick");
  Exit(12, 200);
  Fork(11, 200, 300);
  EXPECT_EQ(model.processes(), 1u);
  Fork(10, 100, 200);
  EXPECT_EQ(model.processes(), 3u);
  EXPECT_FALSE(model.live().contains(2));
  const TraceContents trace = Close(50);
  EXPECT_EQ(trace.strings.at(trace.processes.at(2).name), "quick");
  EXPECT_EQ(trace.processes.at(2).end_ns, 12 * kMs);
  EXPECT_EQ(trace.processes.at(3).parent, 2u);
}

TEST_F(TreeModelTest, AChildWhoseParentsForkWasLostIsKept) {
  Fork(10, 900, 200);
  Exit(20, 200);
  model.Settle(5000 * kMs);
  EXPECT_EQ(model.processes(), 2u);
  const Process child = Close(6000).processes.at(2);
  EXPECT_EQ(child.parent, 0u);
  EXPECT_EQ(child.pid, 200);
}

TEST_F(TreeModelTest, AnExitThatIsNoneDetachesTheProcess) {
  Fork(10, 100, 200);
  Exec(20, 200, "sudo");
  world.states[200] = {.ended = false, .start_ns = 10 * kMs, .wait_status = {}};
  Exit(20, 200);
  EXPECT_TRUE(model.live().contains(2));
  EXPECT_TRUE(model.tasks().at(2).detached);
  EXPECT_EQ(model.detached_execs(), 1u);
  Fork(30, 200, 300);  // found in /proc
  EXPECT_TRUE(model.tasks().at(3).detached);
  world.states.clear();
  model.Vanished(2, 40 * kMs);
  const TraceContents trace = Close(50);
  EXPECT_EQ(trace.processes.at(2).end_ns, 40 * kMs);
  EXPECT_EQ(trace.processes.at(2).cpu_ns, -1);
}

TEST_F(TreeModelTest, AnotherProcessUnderThePidDoesNotHideAnExit) {
  Fork(10, 100, 200);
  Exec(20, 200, "ls");
  world.states[200] = {.ended = false, .start_ns = 90 * kMs, .wait_status = {}};
  Exit(80, 200);
  EXPECT_FALSE(model.live().contains(2));
}

TEST_F(TreeModelTest, AZombiesStatusIsTakenWhenItIsKnown) {
  Fork(10, 100, 200);
  world.states[200] = {.ended = true, .start_ns = 10 * kMs, .wait_status = {}};
  Exit(20, 200);
  world.states[200].wait_status = 9;
  model.Settle(21 * kMs);
  const TraceContents trace = Close(30);
  EXPECT_EQ(trace.processes.at(2).exit, Process::Exit::kSignaled);
  EXPECT_EQ(trace.processes.at(2).exit_code, 9);
  EXPECT_EQ(world.done, std::vector<uint32_t>{2});
}

TEST_F(TreeModelTest, CommandLinesAreShortButForTheCommandItself) {
  world.cmdlines[100] = std::string("run\0--key\0s3cret\0", 17);
  world.cmdlines[200] = std::string("python3\0x.py\0s3cret\0", 20);
  Exec(1, 100, "run");
  Fork(10, 100, 200);
  Exec(11, 200, "python3");
  model.Settle(12 * kMs);
  const TraceContents trace = Close(20);
  EXPECT_EQ(trace.strings.at(trace.processes.at(1).cmdline),
            "run --key s3cret");
  EXPECT_EQ(trace.strings.at(trace.processes.at(2).cmdline), "python3 x.py");
}

TEST_F(TreeModelTest, TheRootsEndComesFromItsParent) {
  Exec(1, 100, "true");
  Exit(20, 100);
  model.RootEnded(21 * kMs, 7 << 8, 1234);
  const TraceContents trace = Close(30);
  const Process& root = trace.processes.at(1);
  EXPECT_EQ(root.exit_code, 7);
  EXPECT_EQ(root.end_ns, 20 * kMs);
  EXPECT_EQ(root.cpu_ns, 1234);
  EXPECT_EQ(trace.threads.at(1).cpu_ns, 1234);
}

TEST_F(TreeModelTest, WhatStillRunsAtTheEndIsMarkedSo) {
  Exec(1, 100, "sh");
  Fork(10, 100, 200);
  model.RootEnded(20 * kMs, 0, -1);
  const TraceContents trace = Close(30);
  EXPECT_EQ(trace.processes.at(2).exit, Process::Exit::kRunning);
  EXPECT_EQ(trace.processes.at(2).end_ns, kNoTime);
  ASSERT_EQ(trace.Images(2).size(), 1u);
  EXPECT_EQ(trace.Images(2)[0].flags, Event::kUnfinished);
  EXPECT_EQ(trace.processes.at(1).cpu_ns, -1);
}

TEST(TreeModel, WhatIsFoundKeepsItsStartAndIsShownFromTheFirstLook) {
  constexpr int64_t kMs = kNsPerMs;
  const auto bytes = std::make_shared<std::string>();
  const auto out = TraceWriter::CreateInMemory({}, bytes);
  FakeWorld world;
  world.cmdlines[300] = std::string("python3\0old.py\0--x\0", 19);
  TreeModel model(*out, world, {.detached = true, .launched = false});
  model.AddFound(-5000 * kMs, 0, 300, 1, "old");
  model.AddFound(-4000 * kMs, 0, 301, 300, "child");
  model.AddFound(20 * kMs, 0, 302, 300, "young");
  model.AddFound(30 * kMs, 0, 302, 300, "known already");
  model.Settle(40 * kMs);
  world.statuses[1] = 2 << 8;
  model.Vanished(1, 50 * kMs);
  model.Finish(60 * kMs);
  ASSERT_TRUE(out->Close().ok());
  const TraceContents trace = TraceContents::OfBytes(bytes);
  ASSERT_EQ(trace.processes.size(), 3u);
  const Process& old = trace.processes.at(1);
  EXPECT_EQ(old.start_ns, -5000 * kMs);
  EXPECT_EQ(old.parent, 0u);
  EXPECT_EQ(trace.strings.at(old.cmdline), "python3 old.py");
  // No command of ours: the end of process 1 is told as any other's.
  EXPECT_EQ(old.exit, Process::Exit::kExited);
  EXPECT_EQ(old.exit_code, 2);
  EXPECT_EQ(trace.processes.at(2).parent, 1u);
  EXPECT_EQ(trace.processes.at(3).start_ns, 20 * kMs);
  EXPECT_EQ(trace.Images(1).at(0).begin_ns, 0);
  EXPECT_EQ(trace.Images(3).at(0).begin_ns, 20 * kMs);
}

TEST_F(TreeModelTest, WhatPerfChargedToTheWrongTaskIsHeldToWhatWasRead) {
  Fork(10, 100, 200);
  Fork(10, 100, 300);
  // Read 1 ms before the end: 50 ms. perf says 5 ms, and 500 ms.
  model.NoteCpu(2, 0, 99 * kMs, 50 * kMs);
  model.NoteCpu(3, 0, 99 * kMs, 50 * kMs);
  Exit(100, 200);
  Cpu(100, 200, 200, 5 * kMs);
  Cpu(100, 200, 200, 0);
  Exit(100, 300);
  Cpu(100, 300, 300, 500 * kMs);
  Cpu(100, 300, 300, 0);
  const TraceContents trace = Close(110);
  EXPECT_EQ(trace.processes.at(2).cpu_ns, 50 * kMs);
  EXPECT_EQ(trace.processes.at(3).cpu_ns, 51 * kMs);
}

TEST_F(TreeModelTest, NobodyUsesMoreThanTheTimeThereWas) {
  Fork(10, 100, 200);
  Exit(14, 200);
  Cpu(14, 200, 200, 500 * kMs);
  Cpu(14, 200, 200, 0);
  EXPECT_EQ(Close(20).processes.at(2).cpu_ns, 4 * kMs);
}

// What is in use of the heap, as far as this can be known.
int64_t HeapBytes() {
  const struct mallinfo2 heap = ::mallinfo2();
  return static_cast<int64_t>(heap.uordblks + heap.hblkhd);
}

TEST_F(TreeModelTest, ShortChildrenCostNothingOnceTheyAreInTheTrace) {
  int64_t ms = 1;
  const auto children = [&](int count) {
    for (int i = 0; i < count; ++i, ++ms) {
      const pid_t pid = 1000 + static_cast<pid_t>(ms % 30'000);
      Fork(ms, 100, pid);
      Exec(ms, pid, "true");
      Exit(ms, pid);
      Cpu(ms, pid, pid, 1000);
      Cpu(ms, pid, pid, 1000);
      if (ms % 100 == 0) {
        model.Settle(ms * kMs);
        world.begun.clear();
        world.done.clear();
      }
      if (ms % 5000 == 0) out->Seal();
    }
    for (int i = 0; i < 3; ++i, ms += 5000) {
      model.Settle(ms * kMs);
      out->Seal();
    }
  };
  children(6000);
  // Without the trace itself, which is in memory here.
  const auto held = [&] {
    return HeapBytes() - static_cast<int64_t>(bytes->capacity());
  };
  const int64_t before = held();
  children(20'000);
  EXPECT_LT(held() - before, 300 << 10);
  const TraceContents trace = Close(ms);
  EXPECT_EQ(trace.processes.size(), 26'001u) << "their rows are all there";
}

}  // namespace
}  // namespace sonde
