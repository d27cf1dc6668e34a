#include <fmt/format.h>
#include <gtest/gtest.h>

#include "analyze/facts/made_text.h"
#include "analyze/rules/made_case.h"
#include "analyze/verdict/judge.h"

namespace sonde {
namespace {

// Four threads of Python for ten seconds, one of which runs at a time in line
// `runs` while the others wait in line `waits` of the same function.
Facts PythonThreads(int waits, int runs) {
  std::string text = fmt::format(R"(
meta started_ns 0
meta ended_ns 10000000000
meta rate_hz 10
meta cores 2
meta allowed_cores 2
process 1 pid=100 name=python3 cmdline="python3 store.py" start=0 end=10s exit=0
series 100 scope=process:1 name=cpu_ns
ramp 100 to=10s slope=1s/s
frame 1 function=store file=/home/u/store.py line={}
frame 2 function=store file=/home/u/store.py line={}
frame 3 function=futex file=[kernel]
stack 1 frame=1
stack 2 parent=1 frame=3
stack 3 frame=2
)",
                                 waits, runs);
  for (int i = 1; i <= 4; ++i)
    text += fmt::format(
        "thread {0} process=1 tid={1} name=python3 start=0 end=10s\n"
        "series {0} scope=thread:{0} name=cpu_ns\n"
        "ramp {0} to=10s slope=250ms/s\n"
        "sample 9s thread={0} stack=2 weight=7s waiting\n"
        "sample 9500ms thread={0} stack=3 weight=2500ms\n",
        i, 100 + i);
  return FactsOfText(text);
}

TEST(LockBound, SaysWhoWaitsAndWhoHolds) {
  const Finding f = Judge(PythonThreads(12, 13)).findings.at(0);
  EXPECT_EQ(f.rule, "lock_bound");
  EXPECT_EQ(f.summary,
            "Limited by a lock: 4 threads of python3 store.py wait 70.0 % of "
            "the time for it, in store (store.py:12), while one holds it in "
            "store (store.py:13).");
  EXPECT_EQ(f.where.line, 13u);
}

TEST(LockBound, TheInterpretersLockIsNotTheProgramsOwn) {
  EXPECT_TRUE(Ask(LockBound, PythonThreads(12, 12)).findings.empty())
      << "they wait where they run";
}

// Three threads of a native program that wait for a mutex, each so long.
Facts NativeThreads(const char* library, const char* waited,
                    const char* cores = "1.2s") {
  std::string text = fmt::format(R"(
meta started_ns 0
meta ended_ns 10000000000
meta rate_hz 10
meta cores 4
meta allowed_cores 4
process 1 pid=100 name=table cmdline=./table start=0 end=10s exit=0
series 100 scope=process:1 name=cpu_ns
ramp 100 to=10s slope={}/s
module 1 path=/usr/lib/x86_64-linux-gnu/libc.so.6
module 2 path=/home/u/table
frame 1 function=update module=2
frame 2 function={} module=1
frame 3 function=futex file=[kernel]
stack 1 frame=1
stack 2 parent=1 frame=2
stack 3 parent=2 frame=3
)",
                                 cores, library);
  for (int i = 1; i <= 3; ++i)
    text += fmt::format(
        "thread {0} process=1 tid={1} name=table start=0 end=10s\n"
        "sample 9s thread={0} stack=3 weight={2} waiting\n"
        "sample 9500ms thread={0} stack=1 weight=4s\n",
        i, 100 + i, waited);
  return FactsOfText(text);
}

TEST(LockBound, AMutexThatSeveralWaitForIsOne) {
  const Facts facts = NativeThreads("___pthread_mutex_lock", "2s");
  const auto found = Ask(LockBound, facts).findings;
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].summary,
            "Limited by a lock: 3 threads of table wait for it 20.0 % of the "
            "time each, in update, and together use 1.20 cores.");
  EXPECT_EQ(found[0].where.function, "update");
}

TEST(LockBound, OtherWaitsOfThreadsAreNoMutex) {
  const auto silent = [](const Facts& facts) {
    return Ask(LockBound, facts).findings.empty();
  };
  EXPECT_TRUE(silent(NativeThreads("___pthread_cond_wait", "8s")));
  EXPECT_TRUE(silent(NativeThreads("___pthread_mutex_lock", "500ms")))
      << "seldom";
  EXPECT_TRUE(silent(NativeThreads("___pthread_mutex_lock", "2s", "2500ms")))
      << "they work at the same time all the same";
}

}  // namespace
}  // namespace sonde
