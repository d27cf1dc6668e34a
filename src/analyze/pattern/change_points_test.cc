#include "analyze/pattern/change_points.h"

#include <gtest/gtest.h>

#include "analyze/series/made_series.h"

namespace sonde {
namespace {

Shape Levels(std::vector<double> levels, double each) {
  return [=](double t) {
    return levels[std::min(levels.size() - 1, static_cast<size_t>(t / each))];
  };
}

TEST(ChangePointsTest, FindsEveryStepWhereItIs) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    const auto parts =
        SegmentsOf(MadeSeries(600, Levels({10, 60, 40, 90}, 150), 10, seed));
    ASSERT_EQ(parts.size(), 4u) << "seed " << seed;
    for (size_t i = 1; i < 4; ++i)
      EXPECT_NEAR(static_cast<double>(parts[i].from), 150.0 * i, 3);
    EXPECT_EQ(parts[0].from, 0u);
    EXPECT_EQ(parts[3].to, 600u);
    EXPECT_NEAR(parts[1].level, 60, 3);
  }
}

TEST(ChangePointsTest, AShortDipInALongCalmIsFound) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    const auto parts = SegmentsOf(MadeSeries(
        4096, [](double t) { return t >= 2000 && t < 2012 ? 20 : 95; }, 5,
        seed));
    ASSERT_EQ(parts.size(), 3u) << "seed " << seed;
    EXPECT_NEAR(static_cast<double>(parts[1].from), 2000, 2);
    EXPECT_NEAR(static_cast<double>(parts[1].to), 2012, 2);
  }
}

TEST(ChangePointsTest, NoiseAndSpikesAreNoChange) {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    RegularSeries s = MadeSeries(1000, Flat(50), 20, seed);
    EXPECT_EQ(SegmentsOf(s).size(), 1u) << "seed " << seed;
    for (size_t i = 90; i < 1000; i += 100) s.values[i] = 5000;
    EXPECT_EQ(SegmentsOf(s).size(), 1u) << "spikes, seed " << seed;
  }
  EXPECT_EQ(SegmentsOf(MadeSeries(1000, Flat(0.1))).size(), 1u);
  EXPECT_EQ(SegmentsOf(MadeSeries(3, Flat(7))).size(), 1u);
  EXPECT_TRUE(SegmentsOf(RegularSeries{}).empty());
}

TEST(ChangePointsTest, SmallChangesCanBeLeftOut) {
  const RegularSeries s = MadeSeries(300, Levels({10, 14, 50}, 100), 0.5);
  EXPECT_EQ(SegmentsOf(s).size(), 3u);
  EXPECT_EQ(SegmentsOf(s, {.min_windows = 5, .min_change = 10}).size(), 2u);
}

TEST(ChangePointsTest, GapsAreNoChange) {
  RegularSeries s = MadeSeries(300, Levels({10, 50}, 150), 1);
  for (size_t i = 30; i < 90; ++i) s.known[i] = s.values[i] = 0;
  const auto parts = SegmentsOf(s);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_NEAR(static_cast<double>(parts[1].from), 150, 2);
}

}  // namespace
}  // namespace sonde
