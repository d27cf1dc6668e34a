#include "analyze/facts/spin_facts.h"

#include <gtest/gtest.h>

#include "analyze/facts/made_text.h"

namespace sonde {
namespace {

constexpr std::string_view kThreads =
    "process 1 pid=10 name=job start=0 end=1s exit=0\n"
    "thread 1 process=1 tid=10 start=0 end=1s\n"
    "thread 2 process=1 tid=11 start=0 end=1s\n"
    "module 1 path=/usr/lib/libgomp.so.1.0.0\n"
    "module 2 path=/v/onnxruntime/capi/onnxruntime_pybind11_state.so\n"
    "module 3 path=/v/numpy.libs/libscipy_openblas64_-1.so\n"
    "module 4 path=/usr/lib/libc.so.6\n"
    "frame 1 function=start_thread module=4 offset=16\n"
    "frame 2 function=work module=4 offset=32\n"
    "frame 3 module=1 offset=64\n"
    "frame 4 module=2 offset=16\n"
    "frame 5 module=2 offset=32\n"
    "frame 6 module=2 offset=48\n"
    "frame 7 function=sched_yield module=4 offset=64\n"
    "frame 8 module=3 offset=16\n"
    "frame 9 function=main.compute\n"
    "frame 10 function=runtime.procyield\n"
    "frame 11 function=sync.runtime_doSpin\n"
    "stack 1 frame=1\n";

std::vector<SpinFacts> SpinsOf(std::string_view stacks) {
  return FactsOfText(kThreads, stacks).code.spins;
}

TEST(SpinFacts, AThreadThatIsInTheRuntimeOfAPoolWaits) {
  const auto spins = SpinsOf(
      "stack 2 parent=1 frame=3\n"
      "sample 1ms thread=2 stack=2 weight=7ms\n"
      "sample 2ms thread=1 stack=2 weight=2ms\n"
      "sample 3ms thread=1 stack=2 weight=9ms waiting\n");
  ASSERT_EQ(spins.size(), 1u);
  EXPECT_EQ(spins[0].pool->variable, "OMP_NUM_THREADS");
  EXPECT_EQ(spins[0].ns, 9'000'000u) << "who sleeps does not spin";
  EXPECT_EQ(spins[0].process, 1u);
  ASSERT_EQ(spins[0].threads.size(), 2u);
  EXPECT_EQ(spins[0].threads[0].first, 2u) << "the most first";
}

TEST(SpinFacts, WorkThatThePoolCallsIsWork) {
  EXPECT_TRUE(SpinsOf("stack 2 parent=1 frame=3\n"
                      "stack 3 parent=2 frame=2\n"
                      "sample 1ms thread=2 stack=3 weight=7ms\n")
                  .empty());
}

TEST(SpinFacts, APauseCountsForWhoCalledIt) {
  const auto spins = SpinsOf(
      "stack 2 parent=1 frame=8\n"
      "stack 3 parent=2 frame=7\n"
      "stack 4 parent=1 frame=2\n"
      "stack 5 parent=4 frame=7\n"
      "sample 1ms thread=2 stack=3 weight=7ms\n"
      "sample 2ms thread=2 stack=5 weight=5ms\n"
      "sample 3ms thread=2 stack=2 weight=3ms\n");
  ASSERT_EQ(spins.size(), 1u);
  EXPECT_EQ(spins[0].pool->name, "OpenBLAS");
  EXPECT_EQ(spins[0].ns, 7'000'000u) << "not what the program yields itself";
}

TEST(SpinFacts, WithoutNamesTheLoopLiesRightAboveTheStartOfTheThread) {
  const auto spins = SpinsOf(
      "stack 2 parent=1 frame=4\n"
      "stack 3 parent=2 frame=5\n"
      "stack 4 parent=3 frame=6\n"
      "stack 5 parent=4 frame=4\n"
      "stack 6 parent=5 frame=5\n"
      "stack 7 frame=6\n"
      "sample 1ms thread=2 stack=4 weight=7ms\n"
      "sample 2ms thread=2 stack=6 weight=5ms\n"
      "sample 3ms thread=2 stack=7 weight=3ms\n");
  ASSERT_EQ(spins.size(), 1u);
  EXPECT_EQ(spins[0].pool->name, "ONNX Runtime");
  EXPECT_EQ(spins[0].ns, 7'000'000u)
      << "what lies deeper works, and of half a stack nothing is known";
}

TEST(SpinFacts, GoSpinsForItsLocks) {
  const auto spins = SpinsOf(
      "stack 2 frame=9\n"
      "stack 3 parent=2 frame=11\n"
      "stack 4 parent=3 frame=10\n"
      "sample 1ms thread=2 stack=4 weight=7ms\n"
      "sample 2ms thread=2 stack=2 weight=7ms\n");
  ASSERT_EQ(spins.size(), 1u);
  EXPECT_EQ(spins[0].pool->variable, "GOMAXPROCS");
  EXPECT_EQ(spins[0].samples, 1u);
}

}  // namespace
}  // namespace sonde
