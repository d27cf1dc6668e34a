#include "export/flame_boxes.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "analyze/facts/made_text.h"

namespace sonde {
namespace {

constexpr char kThread[] =
    "process 1 pid=7 name=p start=0\nthread 1 process=1 tid=7 name=t start=0\n";

struct FlameBoxesTest : testing::Test {
  // Function i of `weights_ms` ran so long, called by nobody.
  std::vector<FlameBox> Boxes(const std::vector<int>& weights_ms, size_t most,
                              uint64_t least_ns) {
    std::string text = kThread;
    for (size_t i = 1; i <= weights_ms.size(); ++i)
      text += fmt::format(
          "frame {0} function=f{0} file=a.py line=1\nstack {0} frame={0}\n"
          "sample 1ms thread=1 stack={0} weight={1}ms\n",
          i, weights_ms[i - 1]);
    store = StoreOfText(text);
    const StackTree tree(*store, RunningStacks(*store).Take());
    return FlameBoxesOf(tree, most, least_ns);
  }

  std::shared_ptr<const Store> store;
};

TEST_F(FlameBoxesTest, ChildrenFillTheirParentTheLargestFirst) {
  const auto boxes = Boxes({10, 30, 20}, 1000, 0);
  ASSERT_EQ(boxes.size(), 6u);
  EXPECT_EQ(boxes[0].name, "all");
  EXPECT_EQ(boxes[2].name, "t (tid 7)");
  uint64_t from = 0;
  for (size_t i = 3; i < 6; ++i) {
    EXPECT_EQ(boxes[i].parent, 2u);
    EXPECT_EQ(boxes[i].depth, 3u);
    EXPECT_EQ(boxes[i].from_ns, from);
    EXPECT_EQ(boxes[i].look, FlameBox::Look::kPython);
    from += boxes[i].ns;
  }
  EXPECT_EQ(from, boxes[0].ns);
  EXPECT_EQ(boxes[3].name, "f2 (a.py:1)");
  EXPECT_EQ(boxes[5].ns, 10'000'000u);
}

TEST_F(FlameBoxesTest, WhatIsTooSmallIsOneBox) {
  const auto boxes = Boxes({100, 3, 2, 4}, 1000, 5'000'000);
  ASSERT_EQ(boxes.size(), 5u);
  EXPECT_EQ(boxes[4].name, "3 more");
  EXPECT_EQ(boxes[4].ns, 9'000'000u);
  EXPECT_EQ(boxes[4].from_ns, 100'000'000u);
  EXPECT_EQ(boxes[4].samples, 3u);
  EXPECT_EQ(boxes[4].look, FlameBox::Look::kFrame);
}

TEST_F(FlameBoxesTest, TooFewTogetherAreNotDrawn) {
  EXPECT_EQ(Boxes({100, 3}, 1000, 5'000'000).size(), 4u);
}

TEST_F(FlameBoxesTest, ThereAreAtMostSoManyNodes) {
  std::vector<int> many;
  for (int i = 1; i <= 500; ++i) many.push_back(i);
  const auto boxes = Boxes(many, 100, 0);
  EXPECT_LE(boxes.size(), 101u);
  EXPECT_GT(boxes.size(), 90u);
  EXPECT_EQ(boxes.back().name, "403 more");
}

TEST_F(FlameBoxesTest, TimesThatCannotBeDoNotLeaveTheirParent) {
  std::string text = std::string(kThread) +
                     "frame 1 function=f\nstack 1 frame=1\nframe 2 function=g\n"
                     "stack 2 frame=2\n";
  // Together more than 2^64 ns.
  for (const int stack : {1, 1, 1, 1, 2, 2})
    text +=
        fmt::format("sample 1ms thread=1 stack={} weight=4000000000s\n", stack);
  store = StoreOfText(text);
  const StackTree tree(*store, RunningStacks(*store).Take());
  for (const FlameBox& box : FlameBoxesOf(tree, 1000, 0)) {
    EXPECT_LE(box.ns, tree.nodes()[0].total_ns);
    EXPECT_LE(box.from_ns, tree.nodes()[0].total_ns - box.ns);
  }
}

TEST_F(FlameBoxesTest, ABoxIsToldInTimeShareAndSamples) {
  const auto boxes = Boxes({300, 900}, 1000, 0);
  EXPECT_EQ(FlameBoxText(boxes[4], boxes[0]),
            "300 ms, 25.0 % of 1.20 s, 1 sample");
}

}  // namespace
}  // namespace sonde
