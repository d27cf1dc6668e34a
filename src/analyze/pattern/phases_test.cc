#include "analyze/pattern/phases.h"

#include <gtest/gtest.h>

#include "analyze/series/made_series.h"

namespace sonde {
namespace {

constexpr uint32_t kSeeds = 10;

std::string Names(const Phases& phases) {
  std::string out;
  for (const Phase& phase : phases.list) {
    if (!out.empty()) out += ' ';
    out += NameOf(phase.kind);
  }
  return out;
}

void ExpectCovered(const Phases& phases) {
  ASSERT_FALSE(phases.list.empty());
  EXPECT_EQ(phases.list.front().from_ns, phases.main->grid.begin_ns);
  EXPECT_EQ(phases.list.back().to_ns, phases.main->grid.end_ns);
  for (size_t i = 1; i < phases.list.size(); ++i)
    EXPECT_EQ(phases.list[i].from_ns, phases.list[i - 1].to_ns);
}

// A training run: imports for 100 windows, a slow first epoch to 200, then
// full speed, at the end 60 windows of nothing much.
Shape Training(double full) {
  return [=](double t) {
    return (t < 100 ? 0.02 : t < 200 ? 0.6 : t < 940 ? 1 : 0.03) * full;
  };
}

TEST(PhasesTest, StartUpWarmUpSteadyEnd) {
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    const RegularSeries cpu =
        MadeSeries(1000, Flat(1), 0.2, seed + 100, "cores");
    const RegularSeries gpu =
        MadeSeries(1000, Training(0.95), 0.05, seed, "share");
    const Phases phases = PhasesOf({&cpu, &gpu, nullptr});
    EXPECT_EQ(phases.main, &gpu);
    ASSERT_EQ(Names(phases), "start-up warm-up steady end");
    ExpectCovered(phases);
    EXPECT_NEAR(static_cast<double>(phases.list[1].from_ns), 10e9, 0.4e9);
    EXPECT_NEAR(static_cast<double>(phases.list[2].from_ns), 20e9, 0.6e9);
    EXPECT_NEAR(static_cast<double>(phases.list[3].from_ns), 94e9, 0.4e9);
    EXPECT_NEAR(phases.list[2].level, 0.95, 0.02);
  }
}

TEST(PhasesTest, TheCpuTellsIfTheAcceleratorIdles) {
  const RegularSeries cpu = MadeSeries(1000, Training(3.5), 0.2, 1, "cores");
  const RegularSeries gpu = MadeSeries(1000, Flat(0.01), 0.01, 2, "share");
  const Phases phases = PhasesOf({&cpu, &gpu, nullptr});
  EXPECT_EQ(phases.main, &cpu);
  EXPECT_EQ(Names(phases), "start-up warm-up steady end");
}

TEST(PhasesTest, ARushAtTheBeginIsTheStartUp) {
  const Shape service = [](double t) { return t < 60 ? 0.95 : 0.1; };
  const RegularSeries cpu = MadeSeries(1000, service, 0.02, 1, "cores");
  const Phases phases = PhasesOf({&cpu, nullptr, nullptr});
  ASSERT_EQ(Names(phases), "start-up steady");
  ExpectCovered(phases);
  EXPECT_NEAR(static_cast<double>(phases.list[1].from_ns), 6e9, 0.4e9);
  EXPECT_NEAR(phases.list[1].level, 0.1, 0.02);
  const Shape half = [](double t) { return t < 600 ? 0.95 : 0.1; };
  const RegularSeries more = MadeSeries(1000, half, 0.02, 1, "cores");
  EXPECT_EQ(Names(PhasesOf({&more, nullptr, nullptr})), "steady end");
}

TEST(PhasesTest, OneLevelIsSteadyFromTheBegin) {
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    const RegularSeries cpu = MadeSeries(500, Flat(3.5), 0.2, seed, "cores");
    EXPECT_EQ(Names(PhasesOf({&cpu, nullptr, nullptr})), "steady");
  }
}

TEST(PhasesTest, StepsAreNotDips) {
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    const RegularSeries gpu = MadeSeries(
        1000,
        [](double t) {
          return t < 100 ? 0 : Square(15, 0.05, 0.95, 0, 0.6)(t);
        },
        0.05, seed, "share");
    EXPECT_EQ(Names(PhasesOf({nullptr, &gpu, nullptr})), "start-up steady");
  }
}

// Full speed with a drop of 12 windows every 200.
RegularSeries WithDips(uint32_t seed) {
  return MadeSeries(
      1100, [](double t) { return std::fmod(t, 200) >= 188 ? 0.05 : 0.95; },
      0.05, seed, "share");
}

TEST(PhasesTest, ACheckpointIsADropThatWrites) {
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    const RegularSeries gpu = WithDips(seed);
    const RegularSeries written = MadeSeries(
        1100, [](double t) { return std::fmod(t, 200) >= 188 ? 5e8 : 2e6; },
        1e6, seed, "bytes/s");
    const Phases phases = PhasesOf({nullptr, &gpu, &written});
    ASSERT_EQ(Names(phases),
              "steady checkpoint steady checkpoint steady checkpoint steady "
              "checkpoint steady checkpoint steady");
    ExpectCovered(phases);
    EXPECT_NEAR(static_cast<double>(phases.list[1].from_ns), 18.8e9, 0.2e9);
    EXPECT_NEAR(static_cast<double>(phases.list[1].to_ns), 20e9, 0.2e9);
    EXPECT_NE(phases.list[1].reason.find("are written"), std::string::npos);
  }
}

TEST(PhasesTest, ADeviceTellsOfItsDipAWindowLate) {
  const auto in = [](double t, double from, double to) {
    return std::fmod(t, 20) >= from && std::fmod(t, 20) < to;
  };
  const RegularSeries gpu = MadeSeries(
      100, [&](double t) { return in(t, 11, 13) ? 0.1 : 1.0; }, 0.02, 1,
      "share");
  const RegularSeries written = MadeSeries(
      100, [&](double t) { return in(t, 10, 11) ? 1e9 : 0.0; }, 0, 1,
      "bytes/s");
  EXPECT_EQ(Names(PhasesOf({nullptr, &gpu, &written})).substr(0, 25),
            "steady checkpoint steady ");
}

TEST(PhasesTest, WithoutWritesItIsAnEvaluationOrOnlyADip) {
  const RegularSeries gpu = WithDips(1);
  const RegularSeries written = MadeSeries(1100, Flat(2e6), 1e6, 1, "bytes/s");
  EXPECT_EQ(Names(PhasesOf({nullptr, &gpu, &written})).substr(0, 25),
            "steady evaluation steady ");
  EXPECT_EQ(Names(PhasesOf({nullptr, &gpu, nullptr})).substr(0, 18),
            "steady dip steady ")
      << "writes not collected are not 0";
  const RegularSeries once = gpu.Part(0, 350), none = written.Part(0, 350);
  EXPECT_EQ(Names(PhasesOf({nullptr, &once, &none})), "steady dip steady");
}

TEST(PhasesTest, ACheckpointAmongStepsIsFound) {
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    const auto writes = [](double t) { return std::fmod(t, 300) >= 250; };
    const RegularSeries gpu = MadeSeries(
        1000,
        [&](double t) {
          return writes(t) ? 0.02 : Square(15, 0.05, 0.95, 0, 0.6)(t);
        },
        0.02, seed, "share");
    const RegularSeries written = MadeSeries(
        1000, [&](double t) { return writes(t) ? 5e8 : 0; }, 1e5, seed,
        "bytes/s");
    EXPECT_EQ(Names(PhasesOf({nullptr, &gpu, &written})),
              "steady checkpoint steady checkpoint steady checkpoint steady");
  }
}

TEST(PhasesTest, WhateverItDidThePhasesCoverTheRun) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    const size_t windows = 24 + seed * 7;
    RegularSeries cpu =
        seed % 2 == 0
            ? MadeSeries(windows, RedNoise(0.99, 2, 0.2, seed), 0.5, seed)
            : MadeSeries(windows, Telegraph(3 + seed % 40, 0, 4, seed), 0.2,
                         seed);
    for (size_t i = seed; i + seed % 9 < windows; i += 31)
      for (size_t gap = 0; gap < seed % 9; ++gap) cpu.known[i + gap] = 0;
    const Phases phases = PhasesOf({&cpu, nullptr, &cpu});
    if (phases.not_enough_data.empty()) ExpectCovered(phases);
  }
}

TEST(PhasesTest, ScatterIsNoDip) {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    for (const size_t windows : {300, 2000}) {
      const RegularSeries cpu =
          MadeSeries(windows, Flat(1), 0.9, seed, "cores");
      EXPECT_EQ(Names(PhasesOf({&cpu, nullptr, nullptr})), "steady");
    }
  }
}

TEST(PhasesTest, GapsMakeNoPhase) {
  RegularSeries gpu = MadeSeries(1000, Training(0.95), 0.05, 1, "share");
  for (size_t i = 500; i < 560; ++i) gpu.known[i] = gpu.values[i] = 0;
  EXPECT_EQ(Names(PhasesOf({nullptr, &gpu, nullptr})),
            "start-up warm-up steady end");
}

TEST(PhasesTest, WhatNobodySampledIsNoPhase) {
  RegularSeries cpu = MadeSeries(1000, Flat(0.5), 0.02, 1, "cores");
  for (size_t i = 0; i < 700; ++i) cpu.known[i] = cpu.values[i] = 0;
  for (size_t i = 900; i < 1000; ++i) cpu.known[i] = cpu.values[i] = 0;
  const RegularSeries written = MadeSeries(1000, Flat(2e6), 0, 1, "bytes/s");
  const Phases phases = PhasesOf({&cpu, nullptr, &written});
  EXPECT_EQ(phases.main, &cpu);
  ASSERT_EQ(Names(phases), "steady");
  EXPECT_EQ(phases.list[0].from_ns, 70 * kNsPerSec);
  EXPECT_EQ(phases.list[0].to_ns, 90 * kNsPerSec);
}

TEST(PhasesTest, AWindowThatASampleMissedIsTheBorder) {
  RegularSeries cpu = MadeSeries(1000, Flat(0.5), 0.02, 1, "cores");
  cpu.known[0] = cpu.known[1] = cpu.known[999] = 0;
  ExpectCovered(PhasesOf({&cpu, nullptr, nullptr}));
}

TEST(PhasesTest, NothingToGoByIsSaid) {
  EXPECT_FALSE(PhasesOf({}).not_enough_data.empty());
  const RegularSeries idle = MadeSeries(500, Flat(0.02), 0.02),
                      brief = MadeSeries(20, Flat(1));
  EXPECT_FALSE(PhasesOf({&idle, nullptr, nullptr}).not_enough_data.empty());
  EXPECT_FALSE(PhasesOf({&brief, nullptr, nullptr}).not_enough_data.empty());
}

}  // namespace
}  // namespace sonde
