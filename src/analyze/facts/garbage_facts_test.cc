#include "analyze/facts/garbage_facts.h"

#include <gtest/gtest.h>

#include "analyze/facts/made_text.h"

namespace sonde {
namespace {

constexpr std::string_view kFrames =
    "process 1 pid=10 name=job start=0 end=1s exit=0\n"
    "thread 1 process=1 tid=10 start=0 end=1s\n"
    "frame 1 function=main.grow file=/src/main.go line=9\n"
    "frame 2 function=runtime.mallocgc\n"
    "frame 3 function=runtime.gcAssistAlloc\n"
    "frame 4 function=runtime.scanobject\n"
    "frame 5 function=make file=/src/make.py line=4\n"
    "frame 6 function=gc_collect_main\n"
    "frame 7 function=gc_collect_main file=/src/make.py line=8\n"
    "stack 1 frame=1\n"
    "stack 2 parent=1 frame=2\n"
    "stack 3 parent=2 frame=3\n"
    "stack 4 parent=3 frame=4\n"
    "stack 5 frame=4\n"
    "stack 6 frame=5\n"
    "stack 7 parent=6 frame=6\n"
    "stack 8 parent=6 frame=7\n";

std::vector<GarbageFacts> GarbageOf(std::string_view samples) {
  return FactsOfText(kFrames, samples).code.garbage;
}

TEST(GarbageFacts, ASampleCountsOnceAndForTheFunctionThatAllocates) {
  const auto garbage = GarbageOf(
      "sample 1ms thread=1 stack=4 weight=7ms\n"
      "sample 2ms thread=1 stack=5 weight=2ms\n"
      "sample 3ms thread=1 stack=2 weight=5ms\n");
  ASSERT_EQ(garbage.size(), 1u);
  EXPECT_EQ(garbage[0].runtime, GarbageRuntime::kGo);
  EXPECT_EQ(garbage[0].ns, 9'000'000u) << "to allocate is not to collect";
  EXPECT_EQ(garbage[0].samples, 2u);
  EXPECT_EQ(garbage[0].in.function, "main.grow");
  EXPECT_EQ(garbage[0].in.line, 9u);
}

TEST(GarbageFacts, PythonCollectsBelowALine) {
  const auto garbage = GarbageOf(
      "sample 1ms thread=1 stack=7 weight=7ms\n"
      "sample 2ms thread=1 stack=8 weight=5ms\n");
  ASSERT_EQ(garbage.size(), 1u);
  EXPECT_EQ(garbage[0].runtime, GarbageRuntime::kPython);
  EXPECT_EQ(garbage[0].ns, 7'000'000u)
      << "a function of Python is no collector";
  EXPECT_EQ(garbage[0].in.function, "make");
}

}  // namespace
}  // namespace sonde
