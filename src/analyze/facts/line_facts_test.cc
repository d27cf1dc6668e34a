#include "analyze/facts/line_facts.h"

#include <gtest/gtest.h>

#include "analyze/facts/made_text.h"

namespace sonde {
namespace {

constexpr char kTwoFiles[] = R"(
process 1 pid=7 name=p start=0
thread 1 process=1 tid=7 name=t start=0
frame 1 function=main file=/a.py line=1
frame 2 function=f file=/b.py line=5
frame 3 function=g file=/b.py line=9
frame 4 function=h
stack 1 frame=1
stack 2 parent=1 frame=2
stack 3 parent=2 frame=2
stack 4 parent=1 frame=3
stack 5 parent=1 frame=4
sample 1ms thread=1 stack=3 weight=10ms
sample 2ms thread=1 stack=4 weight=20ms
sample 3ms thread=1 stack=1 weight=5ms
sample 4ms thread=1 stack=5 weight=40ms
sample 5ms thread=1 stack=4 weight=99ms waiting
sample 6ms thread=1 weight=1ms
)";

TEST(LineFacts, LinesHaveTheirOwnTimeAndThatOfWhatTheyCalled) {
  const auto store = StoreOfText(kTwoFiles);
  const auto files = HottestFiles(*store, RunningStacks(*store).Take(), 5);
  ASSERT_EQ(files.size(), 2u) << "a function without a file is in none";
  EXPECT_EQ(files[0].file, "/a.py");
  EXPECT_EQ(files[0].self_ns, 45'000'000u);
  EXPECT_EQ(files[0].lines.at(1).self_ns, 45'000'000u)
      << "with the native code that it called";
  EXPECT_EQ(files[0].lines.at(1).total_ns, 75'000'000u);
  EXPECT_EQ(files[1].file, "/b.py");
  EXPECT_EQ(files[1].self_ns, 30'000'000u);
  EXPECT_EQ(files[1].lines.at(9).self_ns, 20'000'000u);
  EXPECT_EQ(files[1].lines.at(5).self_ns, 10'000'000u);
  EXPECT_EQ(files[1].lines.at(5).total_ns, 10'000'000u) << "it called itself";
}

TEST(LineFacts, OnlyTheHottestFilesAreThere) {
  const auto store = StoreOfText(kTwoFiles);
  const auto files = HottestFiles(*store, RunningStacks(*store).Take(), 1);
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(files[0].file, "/a.py");
}

}  // namespace
}  // namespace sonde
