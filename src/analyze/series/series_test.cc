#include "analyze/series/series.h"

#include <gtest/gtest.h>

#include "analyze/series/made_series.h"

namespace sonde {
namespace {

constexpr int64_t kSec = kNsPerSec;

TEST(GridTest, NeverHasMoreWindowsThanAsked) {
  EXPECT_EQ(Grid::Over(0, 10 * kSec, kSec).size(), 10u);
  EXPECT_EQ(Grid::Over(0, 10 * kSec + 1, kSec).size(), 11u);
  EXPECT_EQ(Grid::Over(5, 5, kSec).size(), 0u);
  EXPECT_EQ(Grid::Over(5, 4, kSec).size(), 0u);
  EXPECT_EQ(Grid::Over(INT64_MAX - 100, INT64_MAX, 50).size(), 0u)
      << "no time is left behind it";
  for (const int64_t length : {19'999, 20'000, 20'001, 40'000'003})
    EXPECT_LE(Grid::Over(7, 7 + length, 1).size(), Grid::kMaxWindows);
}

TEST(RegularSeriesTest, ACoarseOneHasTheMeansOfWhatIsKnown) {
  RegularSeries fine;
  fine.name = "x";
  fine.grid = Grid::Over(0, 7 * kSec, kSec);
  fine.values = {1, 3, 5, 0, 0, 0, 8};
  fine.known = {1, 1, 1, 0, 0, 0, 1};
  const RegularSeries coarse = fine.Coarse(4);
  EXPECT_EQ(coarse.name, "x");
  EXPECT_EQ(coarse.grid.size(), coarse.size());
  EXPECT_EQ(coarse.values, (std::vector<double>{2, 5, 0, 8}));
  EXPECT_EQ(coarse.known, (std::vector<uint8_t>{1, 1, 0, 1}));
  EXPECT_EQ(fine.Coarse(7).values, fine.values);
}

TEST(SeriesBuilderTest, AGaugeHoldsUntilTheNextSample) {
  SeriesBuilder gauge(Grid::Over(0, 4 * kSec, kSec), Series::Kind::kGauge,
                      5 * kSec);
  gauge.Add(0, 2);
  gauge.Add(3 * kSec / 2, -4);
  gauge.Add(4 * kSec, 100);
  const RegularSeries s = gauge.Take("g", "");
  EXPECT_EQ(s.KnownCount(), 4u);
  EXPECT_DOUBLE_EQ(s.values[0], 2);
  EXPECT_DOUBLE_EQ(s.values[1], -1) << "half of the time 2, half of it -4";
  EXPECT_DOUBLE_EQ(s.values[3], -4);
}

TEST(SeriesBuilderTest, ATotalBecomesARateOfTheTimeThatPassed) {
  SeriesBuilder total(Grid::Over(10 * kSec, 14 * kSec, kSec),
                      Series::Kind::kTotal, 3 * kSec);
  total.Add(9 * kSec, 1000);
  total.Add(11 * kSec, 1020);  // 10 a second, half of it before the grid
  total.Add(13 * kSec, 1080);  // 30 a second
  total.Add(14 * kSec, 1080);
  const RegularSeries s = total.Take("t", "");
  EXPECT_EQ(s.KnownCount(), 4u);
  EXPECT_DOUBLE_EQ(s.values[0], 10);
  EXPECT_DOUBLE_EQ(s.values[1], 30);
  EXPECT_DOUBLE_EQ(s.values[2], 30);
  EXPECT_DOUBLE_EQ(s.values[3], 0) << "known to be 0";
}

TEST(SeriesBuilderTest, AGapIsNotKnown) {
  SeriesBuilder total(Grid::Over(0, 8 * kSec, kSec), Series::Kind::kTotal,
                      2 * kSec);
  total.Add(0, 5);
  total.Add(2 * kSec, 25);
  total.Add(5 * kSec, 26);  // too late
  total.Add(6 * kSec, 27);
  total.Add(7 * kSec, 3);        // began anew
  total.Add(13 * kSec / 2, 99);  // back in time
  total.Add(15 * kSec / 2, std::nan(""));
  total.Add(8 * kSec, 4);
  const RegularSeries s = total.Take("t", "");
  const std::vector<uint8_t> known = {1, 1, 0, 0, 0, 1, 0, 1};
  EXPECT_EQ(s.known, known);
  EXPECT_DOUBLE_EQ(s.values[7], 1);
}

TEST(RegularSeriesTest, APartKeepsItsTimes) {
  const RegularSeries s = MadeSeries(10, Line(0, 1)).Part(3, 7);
  EXPECT_EQ(s.grid.begin_ns, 300 * kNsPerMs);
  EXPECT_EQ(s.grid.size(), 4u);
  EXPECT_EQ(s.values, (std::vector<double>{3, 4, 5, 6}));
}

TEST(RegularSeriesTest, TheKnownRangeLeavesOutOnlyGapsAtTheEnds) {
  using Range = std::pair<size_t, size_t>;
  RegularSeries s = MadeSeries(10, Flat(1));
  EXPECT_EQ(s.KnownRange(), Range(0, 10));
  s.known = {0, 0, 1, 0, 0, 1, 1, 0, 0, 0};
  EXPECT_EQ(s.KnownRange(), Range(2, 7));
  s.known.assign(10, 0);
  const auto [from, to] = s.KnownRange();
  EXPECT_EQ(from, to) << "none is known";
}

TEST(NoiseTest, JumpsAndTrendsAreNoNoise) {
  const double plain = NoiseOf(MadeSeries(1000, Flat(5), 1, 3).values);
  EXPECT_NEAR(plain, 0.58, 0.1) << "of a uniform distribution";
  EXPECT_NEAR(NoiseOf(MadeSeries(1000, Line(0, 0.1), 1, 3).values), plain, 0.1);
  EXPECT_NEAR(NoiseOf(MadeSeries(1000, Square(100, 0, 90), 1, 3).values), plain,
              0.1);
  EXPECT_EQ(NoiseOf(MadeSeries(1000, Flat(5)).values), 0);
}

}  // namespace
}  // namespace sonde
