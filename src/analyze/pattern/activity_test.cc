#include "analyze/pattern/activity.h"

#include <gtest/gtest.h>

#include "analyze/series/made_series.h"

namespace sonde {
namespace {

TEST(ActivityTest, TellsTheTwoLevelsAndTheirShare) {
  for (uint32_t seed = 0; seed < 10; ++seed) {
    const Activity a =
        ActivityOf(MadeSeries(500, Square(50, 50, 350, 0, 0.3), 20, seed));
    EXPECT_NEAR(a.low, 50, 5);
    EXPECT_NEAR(a.high, 350, 5);
    EXPECT_NEAR(a.share, 0.3, 0.02);
    EXPECT_EQ(a.episodes, 10u);
    EXPECT_NEAR(a.median_windows, 15, 1);
    EXPECT_GT(a.explained, 0.95);
  }
}

TEST(ActivityTest, ASpikeIsNoLevel) {
  RegularSeries s = MadeSeries(500, Square(50, 50, 350, 0, 0.3), 20);
  s.values[40] = s.values[300] = 1e5;
  const Activity a = ActivityOf(s);
  EXPECT_NEAR(a.high, 350, 10);
  EXPECT_NEAR(a.share, 0.3, 0.02);
}

TEST(ActivityTest, ATrendIsNoActivity) {
  const Activity a = ActivityOf(MadeSeries(
      500, [](double t) { return 2 * t + Square(50, 0, 100)(t); }, 5));
  EXPECT_EQ(a.episodes, 10u);
}

TEST(ActivityTest, AConstantHasNoTwoLevels) {
  EXPECT_EQ(ActivityOf(MadeSeries(100, Flat(0.1))).explained, 0);
  EXPECT_EQ(ActivityOf(RegularSeries{}).episodes, 0u);
}

}  // namespace
}  // namespace sonde
