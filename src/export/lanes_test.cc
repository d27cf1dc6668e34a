#include "export/lanes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace sonde {
namespace {

TEST(Lane, SlicesThatNestAreTaken) {
  Lane::Budget budget;
  Lane lane(budget);
  EXPECT_TRUE(lane.Take(10, 20, 1));
  EXPECT_TRUE(lane.Take(20, 30, 1));
  EXPECT_TRUE(lane.Take(10, 30, 0));
  EXPECT_TRUE(lane.Take(10, 30, 0));
  EXPECT_TRUE(lane.Take(30, 30, 0));
  EXPECT_TRUE(lane.Take(0, 40, 0));
}

TEST(Lane, ASliceThatCrossesIsRefusedAndLeavesNoTrace) {
  Lane::Budget budget;
  Lane lane(budget);
  EXPECT_TRUE(lane.Take(10, 20, 0));
  EXPECT_FALSE(lane.Take(15, 25, 0));
  EXPECT_TRUE(lane.Take(20, 22, 0));
}

TEST(Lane, WhatComesOutOfOrderIsRefused) {
  Lane::Budget budget;
  Lane lane(budget);
  EXPECT_TRUE(lane.Take(10, 20, 0));
  EXPECT_FALSE(lane.Take(0, 5, 0));
}

TEST(Lane, AParentOfManyChildrenIsStillTaken) {
  Lane::Budget budget;
  Lane lane(budget);
  for (int64_t i = 0; i < 100'000; ++i)
    ASSERT_TRUE(lane.Take(i * 10 + 5, i * 10 + 10, 1));
  EXPECT_TRUE(lane.Take(0, 1'000'005, 0));
  EXPECT_EQ(budget.spans, 1u);
}

TEST(Lane, MemoryIsBounded) {
  Lane::Budget budget;
  budget.max_spans = 5000;
  Lane lane(budget);
  for (int64_t i = 0; i < 100'000; ++i) {
    ASSERT_TRUE(lane.Take(i * 10 + 5, i * 10 + 10, 1));
    ASSERT_LE(budget.spans, 5000u);
  }
  // What was forgotten may not be crossed by mistake.
  EXPECT_FALSE(lane.Take(7, 1'000'005, 0));
}

TEST(Lane, RowsOfRoughSlicesDoNotPileUp) {
  Lane::Budget budget;
  Lane lane(budget);
  for (int64_t i = 0; i < 100'000; ++i)
    ASSERT_TRUE(lane.Take(i * 10, i * 10 + 10, 0));
  EXPECT_LE(budget.spans, 1100u);
}

TEST(Lane, TheSelfMomentLiesOutsideTheInnerSlices) {
  Lane::Budget budget;
  Lane lane(budget);
  lane.Take(10, 20, 1);
  EXPECT_EQ(lane.self_moment_ns(), 10);
  lane.Take(20, 25, 1);
  lane.Take(30, 35, 1);
  lane.Take(10, 40, 0);
  EXPECT_EQ(lane.self_moment_ns(), 25);
  lane.Take(5, 50, 0);
  EXPECT_EQ(lane.self_moment_ns(), 5);
  lane.Take(5, 50, 0);
  EXPECT_EQ(lane.self_moment_ns(), 5) << "no moment of its own: the begin";
}

// Against the definition, slice by slice.
TEST(Lane, TakesExactlyWhatNests) {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    std::vector<Lane::Span> all(12);
    for (Lane::Span& span : all) {
      span.begin_ns = static_cast<int64_t>(random() % 20);
      span.end_ns = span.begin_ns + static_cast<int64_t>(random() % 8);
    }
    std::sort(all.begin(), all.end(),
              [](const Lane::Span& a, const Lane::Span& b) {
                return a.end_ns < b.end_ns;
              });
    Lane::Budget budget;
    Lane lane(budget);
    std::vector<Lane::Span> taken;
    for (const Lane::Span& span : all) {
      const bool crosses =
          std::any_of(taken.begin(), taken.end(), [&](const Lane::Span& t) {
            return t.begin_ns < span.begin_ns && span.begin_ns < t.end_ns &&
                   t.end_ns < span.end_ns;
          });
      // Of two that end together either may be the outer one, but the lane
      // knows only outermost slices and may not be let down by an inner one.
      const bool fits = lane.Take(span.begin_ns, span.end_ns, 1);
      if (crosses) {
        ASSERT_FALSE(fits);
      }
      if (fits) taken.push_back(span);
      const bool touches_end =
          std::any_of(taken.begin(), taken.end(), [&](const Lane::Span& t) {
            return t.end_ns == span.end_ns && t.begin_ns < span.begin_ns;
          });
      if (!crosses && !touches_end) {
        ASSERT_TRUE(fits);
      }
    }
  }
}

}  // namespace
}  // namespace sonde
