#include "analyze/pattern/pattern.h"

#include <gtest/gtest.h>

#include "analyze/series/made_series.h"

namespace sonde {
namespace {

constexpr uint32_t kSeeds = 10;

// As a program's CPU in percent of a core, on four cores.
Pattern Cpu(const Shape& shape, uint32_t seed, size_t windows = 500) {
  PatternContext context;
  context.full_scale = 400;
  context.one_core = 100;
  return PatternOf(MadeSeries(windows, shape, 20, seed), context);
}

// As an accelerator's use in percent.
Pattern Accelerator(const Shape& shape, uint32_t seed, size_t windows = 500) {
  PatternContext context;
  context.full_scale = 100;
  return PatternOf(MadeSeries(windows, shape, 5, seed), context);
}

#define EXPECT_KIND(pattern, wanted) \
  EXPECT_EQ(NameOf((pattern).kind), NameOf(wanted)) << (pattern).text

TEST(PatternTest, Idle) {
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    PatternContext context;
    context.full_scale = 100;
    const RegularSeries quiet = MadeSeries(500, Flat(0.5), 0.5, seed);
    EXPECT_KIND(PatternOf(quiet, context), PatternKind::kIdle);
    EXPECT_NE(PatternOf(quiet, {}).kind, PatternKind::kIdle)
        << "without a scale nobody knows whether that is much";
  }
  const auto seldom = [](double every) {
    return MadeSeries(
        1000, [=](double t) { return std::fmod(t, every) < 2 ? 9 : 0; });
  };
  EXPECT_KIND(PatternOf(seldom(500), {}), PatternKind::kIdle);
  EXPECT_KIND(PatternOf(seldom(90), {}), PatternKind::kBursts);
  const Pattern zero = PatternOf(MadeSeries(500, Flat(0)), {});
  EXPECT_KIND(zero, PatternKind::kIdle);
  EXPECT_EQ(zero.confidence, 1);
}

TEST(PatternTest, Steady) {
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    const Pattern cpu = Cpu(Flat(350), seed);
    EXPECT_KIND(cpu, PatternKind::kSteady);
    EXPECT_NEAR(cpu.level, 350, 5);
    EXPECT_KIND(Accelerator(Flat(95), seed), PatternKind::kSteady);
  }
  EXPECT_KIND(PatternOf(MadeSeries(500, Flat(7)), {}), PatternKind::kSteady);
}

TEST(PatternTest, WhatIsSaidLiesWithinTheValues) {
  const Shape shapes[] = {
      [](double t) { return t * t / 1000; },
      [](double t) { return std::max(0.0, t - 200); },
      [](double t) { return std::max(0.0, Sine(40, -300, 300)(t)); },
      [](double t) { return std::max(0.0, Sine(25, -80, 400)(t)); },
      Square(50, 0, 300)};
  for (const Shape& shape : shapes) {
    const Pattern pattern = PatternOf(MadeSeries(500, shape), {});
    EXPECT_GE(pattern.low, 0) << pattern.text;
    EXPECT_EQ(pattern.text.find(" -"), std::string::npos) << pattern.text;
  }
}

TEST(PatternTest, SawToothWithItsPeriod) {
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    for (const double period : {20.0, 62.5, 100.0}) {
      const Pattern cpu = Cpu(SawTooth(period, 50, 350), seed);
      EXPECT_KIND(cpu, PatternKind::kSawTooth);
      EXPECT_NEAR(*cpu.period_s, period / 10, 0.03 * period);
      EXPECT_KIND(Accelerator(SawTooth(period, 95, 5), seed),
                  PatternKind::kSawTooth);
    }
  }
}

TEST(PatternTest, WaveIsAnyOtherRegularUpAndDown) {
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    for (const double period : {12.0, 40.7, 100.0}) {
      for (const Pattern& p : {Cpu(Sine(period, 50, 350), seed),
                               Cpu(Square(period, 50, 350), seed),
                               Accelerator(Square(period, 5, 95), seed)}) {
        EXPECT_KIND(p, PatternKind::kWave);
        EXPECT_NEAR(*p.period_s, period / 10, 0.002 * period);
        EXPECT_NEAR(*p.duty, 0.5, 0.06);
        EXPECT_GT(p.confidence, 0.7);
      }
    }
  }
}

TEST(PatternTest, AWaveIsNoStaircase) {
  for (uint32_t seed = 0; seed < 30; ++seed)
    EXPECT_KIND(PatternOf(MadeSeries(4096, Square(15, 20, 380), 60, seed), {}),
                PatternKind::kWave);
}

TEST(PatternTest, BurstsWithAndWithoutAPeriod) {
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    const Pattern regular = Cpu(Square(50, 0, 350, 0, 0.2), seed);
    EXPECT_KIND(regular, PatternKind::kBursts);
    EXPECT_NEAR(*regular.period_s, 5, 0.1);
    EXPECT_NEAR(*regular.duty, 0.2, 0.03);
    EXPECT_NEAR(regular.high, 350, 10);
    const auto now_and_then = [on = Telegraph(12, 0, 95, seed),
                               off = Telegraph(12, 0, 1, seed + 99)](double t) {
      return on(t) * off(t);
    };
    const Pattern random = Accelerator(now_and_then, seed, 1000);
    EXPECT_KIND(random, PatternKind::kBursts);
    EXPECT_FALSE(random.period_s);
  }
}

TEST(PatternTest, RampWithItsSlope) {
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    const Pattern leak =
        PatternOf(MadeSeries(600, Line(1e9, 1e5), 5e6, seed, "bytes"), {});
    EXPECT_KIND(leak, PatternKind::kRamp);
    EXPECT_NEAR(*leak.slope_per_s, 1e6, 1e5);
    EXPECT_KIND(Cpu(Line(300, -0.5), seed), PatternKind::kRamp);
  }
  const Pattern both =
      Cpu([](double t) { return 50 + 0.4 * t + Square(15, 0, 60)(t); }, 1);
  EXPECT_KIND(both, PatternKind::kRamp);
  EXPECT_NEAR(*both.period_s, 1.5, 0.05) << "a ramp may repeat something";
  const Pattern leak =
      PatternOf(MadeSeries(600, Line(1e9, 1e5), 5e6, 1, "bytes"), {});
  EXPECT_EQ(leak.text,
            "ramp: rises all the time, from 999 MB to 1.06 GB, 1.01 MB a "
            "second");
}

TEST(PatternTest, ASlopeIsOfTheTimeThatIsKnown) {
  RegularSeries leak = MadeSeries(1000, Line(-700e6, 1e6), 0, 1, "bytes");
  for (size_t i = 0; i < 800; ++i) leak.known[i] = leak.values[i] = 0;
  for (size_t i = 980; i < 1000; ++i) leak.known[i] = leak.values[i] = 0;
  const Pattern pattern = PatternOf(leak, {});
  EXPECT_KIND(pattern, PatternKind::kRamp);
  EXPECT_NEAR(*pattern.slope_per_s, 10e6, 1e4);
  EXPECT_TRUE(pattern.text.ends_with("10.0 MB a second")) << pattern.text;
}

TEST(PatternTest, Staircase) {
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    const Pattern up = PatternOf(
        MadeSeries(
            600, [](double t) { return 1e9 + 2e8 * std::floor(t / 120); }, 5e6,
            seed, "bytes"),
        {});
    EXPECT_KIND(up, PatternKind::kStaircase);
    EXPECT_EQ(up.steps, 4u);
    EXPECT_NEAR(up.high, 1.8e9, 1e7);
    const Pattern one = Cpu([](double t) { return t < 200 ? 60 : 330; }, seed);
    EXPECT_KIND(one, PatternKind::kStaircase);
    EXPECT_EQ(one.steps, 1u);
  }
}

TEST(PatternTest, ThrottledNeedsEvidence) {
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    const RegularSeries cpu = MadeSeries(500, Flat(200), 20, seed);
    const RegularSeries held = MadeSeries(500, Flat(0.4), 0.1, seed);
    const RegularSeries free = MadeSeries(500, Flat(0));
    PatternContext context;
    context.full_scale = 400;
    context.limit = 200;
    context.held_back = &held;
    const Pattern p = PatternOf(cpu, context);
    EXPECT_KIND(p, PatternKind::kThrottled);
    EXPECT_NEAR(p.level, 200, 5);
    context.held_back = &free;
    EXPECT_KIND(PatternOf(cpu, context), PatternKind::kSteady);
    const RegularSeries seldom = MadeSeries(500, Square(25, 0, 0.4, 0, 0.04));
    context.held_back = &seldom;
    EXPECT_KIND(PatternOf(cpu, context), PatternKind::kSteady);
    // Held back often, but not at this level.
    context.held_back = &held;
    context.limit = 390;
    EXPECT_NE(PatternOf(cpu, context).kind, PatternKind::kThrottled);
  }
}

TEST(PatternTest, SingleCoreBound) {
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    PatternContext context;
    context.full_scale = 8;
    context.one_core = 1;
    const RegularSeries cpu = MadeSeries(500, Flat(1), 0.05, seed, "cores");
    EXPECT_KIND(PatternOf(cpu, context), PatternKind::kOneCore);
    context.full_scale = 1;
    EXPECT_KIND(PatternOf(cpu, context), PatternKind::kSteady)
        << "there is no other";
    context = {};
    EXPECT_KIND(PatternOf(cpu, context), PatternKind::kSteady);
  }
}

TEST(PatternTest, NoiseIsIrregular) {
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    EXPECT_KIND(PatternOf(MadeSeries(500, Flat(200), 200, seed), {}),
                PatternKind::kIrregular);
  }
}

TEST(PatternTest, LittleIsUnknownAndGapsAreNotZero) {
  EXPECT_KIND(PatternOf(MadeSeries(20, Flat(5)), {}), PatternKind::kUnknown);
  EXPECT_KIND(PatternOf(RegularSeries{}, {}), PatternKind::kUnknown);
  RegularSeries s = MadeSeries(500, Flat(300), 20);
  for (size_t i = 0; i < 500; i += 2) s.known[i] = s.values[i] = 0;
  EXPECT_KIND(PatternOf(s, {}), PatternKind::kSteady);
}

TEST(PatternTest, ValuesHaveTheirUnits) {
  EXPECT_EQ(FormatValue(1.5e9, "bytes/s"), "1.50 GB/s");
  EXPECT_EQ(FormatValue(-2e3, "bytes"), "-2.00 kB");
  EXPECT_EQ(FormatValue(0.41, "share"), "41.0 %");
  EXPECT_EQ(FormatValue(3.804, "cores"), "3.8 cores");
  EXPECT_EQ(FormatValue(6, "1"), "6");
  EXPECT_EQ(FormatValue(12, "1/s"), "12/s");
  EXPECT_EQ(FormatValue(12, ""), "12");
}

}  // namespace
}  // namespace sonde
