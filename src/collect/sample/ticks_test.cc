#include "collect/sample/ticks.h"

#include <gtest/gtest.h>

namespace sonde {
namespace {

TEST(TicksTest, ALateTickDoesNotMoveTheLaterOnes) {
  Ticks ticks(1000, 100);
  EXPECT_FALSE(ticks.Due(999));
  EXPECT_TRUE(ticks.Due(1000));
  EXPECT_EQ(ticks.Take(1060), 0);
  EXPECT_EQ(ticks.next_ns(), 1100);
}

TEST(TicksTest, MissedTicksAreSkippedAndCounted) {
  Ticks ticks(1000, 100);
  EXPECT_EQ(ticks.Take(1350), 3);
  EXPECT_EQ(ticks.next_ns(), 1400);
  EXPECT_FALSE(ticks.Due(1399));
}

TEST(TicksTest, ATickExactlyOnTimeIsNotMissed) {
  Ticks ticks(1000, 100);
  EXPECT_EQ(ticks.Take(1000), 0);
  EXPECT_EQ(ticks.Take(1200), 1);
  EXPECT_EQ(ticks.next_ns(), 1300);
}

TEST(Ticks, ARestKeepsToTheScheduleAndMissesNone) {
  Ticks ticks(100, 10);
  EXPECT_EQ(ticks.Take(100), 0);
  ticks.RestUntil(105);
  EXPECT_EQ(ticks.next_ns(), 110);
  ticks.RestUntil(131);
  EXPECT_EQ(ticks.next_ns(), 140);
  EXPECT_EQ(ticks.Take(140), 0);
}

}  // namespace
}  // namespace sonde
