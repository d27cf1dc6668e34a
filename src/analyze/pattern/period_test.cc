#include "analyze/pattern/period.h"

#include <gtest/gtest.h>

#include "analyze/pattern/autocorrelation.h"
#include "analyze/series/made_series.h"

namespace sonde {
namespace {

// Of ten seeds: how often the period was found within 2 %.
int FoundOf(const Shape& shape, double period, double noise, size_t windows) {
  int found = 0;
  for (uint32_t seed = 0; seed < 10; ++seed) {
    const auto p = PeriodOf(MadeSeries(windows, shape, noise, seed));
    found += p && std::abs(p->windows - period) <= 0.02 * period;
  }
  return found;
}

TEST(AutocorrelationTest, IsUnbiasedAndLeavesGapsOut) {
  RegularSeries s = MadeSeries(300, Sine(30, -1e12, 1e12));
  for (size_t i = 40; i < 75; ++i) {
    s.known[i] = 0;
    s.values[i] = 5e13;
  }
  const Autocorrelation like = AutocorrelationOf(s.values, s.known, 200);
  EXPECT_DOUBLE_EQ(like.pairs[0], 265);
  EXPECT_DOUBLE_EQ(like.pairs[200], 65);
  EXPECT_NEAR(like.at[0], 1, 1e-9);
  EXPECT_NEAR(like.at[30], 1, 0.02);
  EXPECT_NEAR(like.at[195], -1, 0.15);
}

TEST(PeriodTest, FindsWhatTheCyclicDetectorsMissed) {
  // 240 samples of period 20, as the detectors before this one were tried.
  EXPECT_EQ(FoundOf(Sine(20, 0, 100), 20, 0, 240), 10);
  EXPECT_EQ(FoundOf(Square(20, 0, 100), 20, 0, 240), 10);
  EXPECT_EQ(FoundOf(Square(20, 0, 100, 0, 0.1), 20, 0, 240), 10);
  EXPECT_EQ(FoundOf(Square(20, 0, 100, 0, 0.05), 20, 0, 240), 10);
}

TEST(PeriodTest, FindsEveryShapeInNoise) {
  for (const double period : {12.0, 20.0, 40.7, 97.3, 100.0}) {
    for (const size_t windows : {500, 2048}) {
      EXPECT_EQ(FoundOf(Sine(period, 50, 350), period, 20, windows), 10);
      EXPECT_EQ(FoundOf(Square(period, 5, 95), period, 5, windows), 10);
      EXPECT_EQ(FoundOf(Square(period, 5, 95, 0, 0.9), period, 5, windows), 10);
      EXPECT_EQ(FoundOf(Square(period, 5, 95, 0, 0.1), period, 5, windows), 10);
      EXPECT_EQ(FoundOf(SawTooth(period, 5, 95), period, 5, windows), 10);
    }
  }
}

TEST(PeriodTest, NamesTheFundamentalNotAMultiple) {
  // The second half of each period is a weaker copy of the first.
  const auto uneven = [](double t) {
    return Square(25, 0, 1)(t) * (std::fmod(t, 50) < 25 ? 100 : 40);
  };
  EXPECT_EQ(FoundOf(uneven, 50, 5, 500), 10);
}

TEST(PeriodTest, TrendSpikeAndGapDoNotHideIt) {
  RegularSeries s = MadeSeries(
      600, [](double t) { return 3 * t + Sine(40, 0, 100)(t); }, 5);
  s.values[100] = 1e6;
  for (size_t i = 300; i < 350; ++i) s.known[i] = s.values[i] = 0;
  const auto p = PeriodOf(s);
  ASSERT_TRUE(p);
  EXPECT_NEAR(p->windows, 40, 0.5);
  EXPECT_NEAR(p->seconds, 4, 0.05);
  EXPECT_NEAR(p->cycles, 15, 0.2);
  EXPECT_GT(p->strength, 0.9);
}

TEST(PeriodTest, ThreeCyclesAreNeeded) {
  EXPECT_TRUE(PeriodOf(MadeSeries(160, Sine(50, 0, 1))));
  EXPECT_FALSE(PeriodOf(MadeSeries(120, Sine(50, 0, 1))));
}

TEST(PeriodTest, WhatDoesNotRepeatHasNone) {
  for (const size_t windows : {24, 60, 240, 500, 4096}) {
    const double n = static_cast<double>(windows);
    EXPECT_FALSE(PeriodOf(MadeSeries(windows, Flat(3.3))));
    EXPECT_FALSE(PeriodOf(MadeSeries(windows, Line(1, 0.1))));
    for (uint32_t seed = 0; seed < 20; ++seed) {
      const auto periodic = [&](const Shape& shape, double noise) {
        return PeriodOf(MadeSeries(windows, shape, noise, seed)).has_value();
      };
      EXPECT_FALSE(periodic(Flat(50), 5));
      EXPECT_FALSE(periodic(Line(0, 0.1), 1));
      EXPECT_FALSE(periodic([=](double t) { return t < n / 3; }, 0.1))
          << "step";
      EXPECT_FALSE(
          periodic([=](double t) { return t > n / 3 && t < n / 2; }, 0.1))
          << "pulse";
    }
  }
  EXPECT_FALSE(PeriodOf(RegularSeries{}));
}

TEST(PeriodTest, NoiseWithAMemoryHasNone) {
  int found = 0, tried = 0;
  for (const double memory : {0.5, 0.8, 0.9, 0.95, 0.99, 1.0}) {
    for (uint32_t seed = 0; seed < 50; ++seed, ++tried)
      found +=
          PeriodOf(MadeSeries(500, RedNoise(memory, 50, 5, seed))).has_value();
  }
  EXPECT_LE(found, tried * 2 / 100);
}

}  // namespace
}  // namespace sonde
