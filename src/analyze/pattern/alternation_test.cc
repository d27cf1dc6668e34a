#include "analyze/pattern/alternation.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

#include "analyze/series/made_series.h"

namespace sonde {
namespace {

// How often each relation was seen, over the seeds.
template <typename Make>
std::map<Relation, int> Count(const Make& make, uint32_t seeds = 40) {
  std::map<Relation, int> out;
  for (uint32_t seed = 0; seed < seeds; ++seed) {
    const MadePair pair = make(seed);
    ++out[AlternationOf(pair.cpu, pair.accelerator).relation];
  }
  return out;
}

std::map<Relation, int> Count(const Shape& cpu, const Shape& accelerator) {
  return Count(
      [&](uint32_t seed) { return MadePair::Of(cpu, accelerator, seed); });
}

TEST(AlternationTest, IsFoundInOppositionAndOnlyThere) {
  const int seeds = MadePair::kSeeds;
  EXPECT_GE(Count(MadePair::Alternating, seeds)[Relation::kAlternate],
            seeds * 95 / 100);
  EXPECT_LE(Count(MadePair::Together, seeds)[Relation::kAlternate],
            seeds * 5 / 100);
  EXPECT_LE(Count(MadePair::Noise, seeds)[Relation::kAlternate],
            seeds * 5 / 100);
}

TEST(AlternationTest, SaysHowMuchWouldBeGained) {
  const MadePair pair =
      MadePair::Of(Square(50, 50, 350, 0, 0.3), Square(50, 5, 95, 0.6, 0.6), 1);
  const Alternation a = AlternationOf(pair.cpu, pair.accelerator);
  ASSERT_TRUE(a.found()) << a.why;
  EXPECT_NEAR(a.first_share, 0.3, 0.02);
  EXPECT_NEAR(a.second_share, 0.6, 0.02);
  EXPECT_NEAR(a.both_share, 0, 0.02);
  EXPECT_NEAR(a.gain, 0.3, 0.03) << "the loader could run beside the trainer";
  EXPECT_NEAR(*a.period_s, 5, 0.05);
  EXPECT_GT(a.confidence, 0.8);
}

TEST(AlternationTest, OfAnyPeriodAndShape) {
  for (const double period : {10.0, 20.0, 40.7, 97.3}) {
    EXPECT_EQ(Count(Sine(period, 50, 350),
                    Sine(period, 5, 95, 0.5))[Relation::kAlternate],
              40);
    EXPECT_EQ(Count(Square(period, 50, 350, 0, 0.3),
                    Square(period, 5, 95, 0.5, 0.3))[Relation::kAlternate],
              40);
    EXPECT_EQ(
        Count(Sine(period, 50, 350), Sine(period, 5, 95))[Relation::kTogether],
        40);
  }
}

TEST(AlternationTest, AQuarterShiftIsNoTurnTaking) {
  for (const double phase : {0.25, 0.75}) {
    EXPECT_EQ(Count(Square(100, 50, 350),
                    Square(100, 5, 95, phase))[Relation::kShifted],
              40);
    EXPECT_EQ(Count(Sine(40.7, 50, 350),
                    Sine(40.7, 5, 95, phase))[Relation::kShifted],
              40);
  }
}

TEST(AlternationTest, WithoutAPeriodByCorrelation) {
  const auto opposed = [](uint32_t seed) {
    return MadePair::Of(Telegraph(15, 50, 350, seed),
                        Telegraph(15, 95, 5, seed), seed);
  };
  const auto alone = [](uint32_t seed) {
    return MadePair::Of(Telegraph(15, 50, 350, seed),
                        Telegraph(15, 95, 5, seed + 1000), seed);
  };
  EXPECT_GE(Count(opposed)[Relation::kAlternate], 38);
  EXPECT_LE(Count(alone)[Relation::kAlternate], 2);
}

TEST(AlternationTest, CyclesNeedNotBeEquallyLong) {
  const auto made = [](double jitter, uint32_t seed, uint32_t other) {
    return MadePair::Of(JitteredSquare(25, jitter, 50, 350, seed),
                        JitteredSquare(25, jitter, 95, 5, other), seed);
  };
  for (const double jitter : {0.05, 0.2, 0.5}) {
    const auto opposed = [&](uint32_t seed) {
      return made(jitter, seed, seed);
    };
    EXPECT_GE(Count(opposed)[Relation::kAlternate], 38) << jitter;
  }
  // With less jitter two that begin in opposition stay so to the end.
  for (const double jitter : {0.2, 0.5}) {
    const auto alone = [&](uint32_t seed) {
      return made(jitter, seed, seed + 999);
    };
    EXPECT_LE(Count(alone)[Relation::kAlternate], 2) << jitter;
  }
}

TEST(AlternationTest, AShortRunOfUnevenTurnsIsEnough) {
  // 60 windows, in each of which one of the two works.
  const auto turns = [](uint32_t seed) {
    std::mt19937 random(seed);
    std::uniform_int_distribution<int> length(3, 6);
    std::vector<bool> first;
    for (bool on = true; first.size() < 60; on = !on)
      first.insert(first.end(), static_cast<size_t>(length(random)), on);
    const auto at = [&](double t) { return first[static_cast<size_t>(t)]; };
    return MadePair{
        MadeSeries(
            60, [&](double t) { return at(t) ? 350 : 20; }, 15, seed),
        MadeSeries(
            60, [&](double t) { return at(t) ? 5 : 95; }, 4, seed)};
  };
  EXPECT_GE(Count(turns)[Relation::kAlternate], 38);
}

TEST(AlternationTest, APhaseThatIsNotKeptIsNotBelieved) {
  // It runs ahead for half of the time and behind for the other half.
  const MadePair pair = MadePair::Of(
      Square(25, 50, 350, 0, 0.3),
      [](double t) { return Square(25, 5, 95, t < 250 ? 0.65 : 0.35, 0.3)(t); },
      1);
  const Alternation a = AlternationOf(pair.cpu, pair.accelerator);
  EXPECT_FALSE(a.found());
  EXPECT_EQ(a.why, "they went up and down too seldom to tell it from chance");
}

TEST(AlternationTest, OneThatStandsStillForAWhileHidesNothing) {
  const auto starved = [](uint32_t seed) {
    return MadePair::Of(
        [](double t) { return t > 350 ? 20 : Square(16, 50, 350)(t); },
        [](double t) {
          return t > 350 ? Square(9, 5, 50)(t) : Square(16, 5, 95, 0.5)(t);
        },
        seed);
  };
  EXPECT_GE(Count(starved)[Relation::kAlternate], 38);
}

TEST(AlternationTest, OtherPeriodsAreUnrelated) {
  for (const double other : {37.0, 60.0, 90.0, 95.0, 106.0, 150.0}) {
    const auto made = [&](uint32_t seed) {
      return MadePair::Of(Square(100, 50, 350),
                          Square(other, 5, 95, seed / 40.0), seed);
    };
    EXPECT_EQ(Count(made)[Relation::kUnrelated], 40) << other;
  }
}

TEST(AlternationTest, TrendsConstantsAndRedNoiseTakeNoTurns) {
  EXPECT_EQ(Count(Line(10, 0.7), Line(95, -0.18))[Relation::kAlternate], 0);
  EXPECT_EQ(Count(Line(10, 0.7), Line(5, 0.18))[Relation::kAlternate], 0);
  EXPECT_EQ(Count(Flat(300), Square(100, 5, 95))[Relation::kUnknown], 40);
  EXPECT_EQ(
      Count([](double t) { return t < 250 ? 350 : 20; },
            [](double t) { return t < 250 ? 5 : 95; })[Relation::kAlternate],
      0)
      << "one took over from the other, once";
  for (const double memory : {0.9, 0.97, 0.995}) {
    const auto made = [&](uint32_t seed) {
      return MadePair::Of(RedNoise(memory, 200, 40, seed),
                          RedNoise(memory, 50, 10, seed + 1000), seed);
    };
    EXPECT_LE(Count(made)[Relation::kAlternate], 2);
  }
}

TEST(AlternationTest, NeitherEverFarDownIsNoTurnTaking) {
  const MadePair pair =
      MadePair::Of(Square(100, 300, 390), Square(100, 70, 95, 0.5), 1);
  EXPECT_FALSE(AlternationOf(pair.cpu, pair.accelerator).found());
}

TEST(AlternationTest, GapsAreLeftOut) {
  MadePair pair = MadePair::Alternating(1);
  for (size_t i = 130; i < 220; ++i) pair.cpu.known[i] = pair.cpu.values[i] = 0;
  EXPECT_TRUE(AlternationOf(pair.cpu, pair.accelerator).found());
  for (size_t i = 0; i < 500; ++i) pair.cpu.known[i] = i < 30;
  const Alternation a = AlternationOf(pair.cpu, pair.accelerator);
  EXPECT_EQ(a.relation, Relation::kUnknown);
  EXPECT_FALSE(a.why.empty());
}

TEST(TurnsTest, ThreeResourcesInTurn) {
  const std::vector<RegularSeries> series = {
      MadeSeries(600, Square(60, 50, 350, 0, 0.3), 20, 1),
      MadeSeries(600, Square(60, 0, 9e7, 0.65, 0.3), 1e6, 2),
      MadeSeries(600, Square(60, 5, 95, 0.35, 0.3), 5, 3),
      MadeSeries(600, Square(60, 5, 95, 0.35, 0.3), 5, 4)};
  const Turns three = TurnsOf({series.data(), 3});
  EXPECT_EQ(three.members, (std::vector<size_t>{0, 1, 2}));
  EXPECT_NEAR(three.none_share, 0.1, 0.03);
  EXPECT_NEAR(three.overlap_share, 0, 0.02);
  EXPECT_NEAR(three.gain, 0.6, 0.04) << "0.9 of the time becomes 0.3";
  EXPECT_NEAR(*three.period_s, 6, 0.1);
  // A second accelerator in step with the first does not take turns with it.
  EXPECT_EQ(TurnsOf(series).members.size(), 3u);
  EXPECT_TRUE(TurnsOf({series.data() + 2, 2}).members.empty());
}

}  // namespace
}  // namespace sonde
