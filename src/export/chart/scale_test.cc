#include "export/chart/scale.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "base/time.h"

namespace sonde {
namespace {

RegularSeries LineOf(std::vector<double> values) {
  const size_t size = values.size();
  return {"line",
          "",
          {0, static_cast<int64_t>(size), 1},
          std::move(values),
          std::vector<uint8_t>(size, 1)};
}

TEST(Scale, TicksAreRoundAndTakeInTheEnds) {
  const Scale scale = RoundScale(0, 6.3, 4);
  EXPECT_EQ(scale.ticks, (std::vector<double>{0, 2, 4, 6, 8}));
  EXPECT_EQ(scale.low, 0);
  EXPECT_EQ(scale.high, 8);
  EXPECT_EQ(RoundScale(-30, 30, 3).ticks,
            (std::vector<double>{-40, -20, 0, 20, 40}));
}

TEST(Scale, NothingIsNotDividedByNothing) {
  const Scale scale = RoundScale(0, 0, 4);
  EXPECT_GT(scale.high, scale.low);
  EXPECT_EQ(scale.Share(0), 0);
  EXPECT_GE(scale.ticks.size(), 2u);
}

TEST(Scale, ValuesTooSmallOrTooLargeToDivideHaveAnAxis) {
  const double infinite = HUGE_VAL;
  for (const auto& [low, high] :
       std::vector<std::pair<double, double>>{{0, 5e-324},
                                              {0, 2e-323},
                                              {0, 4e-323},
                                              {0, 1e-310},
                                              {0, 1e-300},
                                              {-4e-323, 0},
                                              {0, 1e-299},
                                              {0, 1e300},
                                              {-1.7e308, 1.7e308},
                                              {0, infinite},
                                              {-infinite, 0},
                                              {0, NAN},
                                              {NAN, 0}}) {
    const Scale scale = RoundScale(low, high, 4);
    EXPECT_GE(scale.ticks.size(), 2u) << low << " to " << high;
    EXPECT_LE(scale.ticks.size(), 10u) << low << " to " << high;
    EXPECT_GT(scale.high, scale.low) << low << " to " << high;
    EXPECT_TRUE(std::isfinite(scale.Share(high)) || std::isnan(high));
  }
}

TEST(Scale, TheFullScaleIsShownOnlyWhereItIsNear) {
  ChartPlot plot{"", "cores", 8, {LineOf({1, 3})}};
  EXPECT_EQ(ScaleOf(plot).high, 8);
  plot.full_scale = 2.95;
  EXPECT_EQ(ScaleOf(plot).high, 3) << "a little more than can be";
  plot.full_scale = 128;
  EXPECT_EQ(ScaleOf(plot).high, 3);
}

TEST(Scale, TimesAreSaidInTheUnitThatFits) {
  Scale scale = TimeScale(10 * kNsPerSec, 9);
  EXPECT_EQ(TimeLabel(scale.ticks[1], scale), "2 s");
  scale = TimeScale(20 * 60 * kNsPerSec, 9);
  EXPECT_EQ(TimeLabel(scale.ticks[1], scale), "5 min");
  scale = TimeScale(3 * 3600 * kNsPerSec, 9);
  EXPECT_EQ(TimeLabel(scale.ticks[5], scale), "2:30 h");
  scale = TimeScale(72 * 3600 * kNsPerSec, 9);
  EXPECT_EQ(TimeLabel(scale.ticks[1], scale), "12 h");
  EXPECT_LE(scale.ticks.back(), 72 * 3600);
}

TEST(Scale, ValuesHaveTheirUnits) {
  EXPECT_EQ(ValueLabel(1500, "MHz"), "1500 MHz");
  EXPECT_EQ(ValueLabel(0.4, "share"), "40 %");
  EXPECT_EQ(ValueLabel(2.5e9, "bytes/s"), "2.50 GB/s");
  EXPECT_EQ(ValueLabel(3, ""), "3");
}

TEST(Pixels, AColumnKeepsTheLeastAndTheGreatest) {
  std::vector<double> values(1000, 1);
  values[501] = 9;  // one spike
  values[502] = -4;
  const auto pixels = PixelsOf(LineOf(values), 10);
  ASSERT_EQ(pixels.size(), 10u);
  EXPECT_EQ(pixels[5].high, 9);
  EXPECT_EQ(pixels[5].low, -4);
  EXPECT_EQ(pixels[4].high, 1);
}

TEST(Pixels, WhatIsNotKnownIsAGap) {
  RegularSeries line = LineOf(std::vector<double>(100, 5));
  for (size_t i = 40; i < 60; ++i) line.known[i] = 0;
  const auto pixels = PixelsOf(line, 10);
  EXPECT_TRUE(pixels[3].known);
  EXPECT_FALSE(pixels[4].known);
  EXPECT_FALSE(pixels[5].known);
  EXPECT_TRUE(pixels[6].known);
}

TEST(Pixels, FewWindowsMakeFewColumns) {
  EXPECT_EQ(PixelsOf(LineOf({1, 2, 3}), 800).size(), 3u);
  EXPECT_TRUE(PixelsOf(LineOf({}), 800).empty());
}

}  // namespace
}  // namespace sonde
