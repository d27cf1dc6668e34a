#include "collect/session/steady_watch.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

namespace sonde {
namespace {

using Level = std::function<double(double second)>;

Level Always(double value) {
  return [=](double) { return value; };
}

// Ten samples a second with noise of 5 %. When something was said of it, and
// from when on it was steady, in seconds; -1 if never.
struct Watched {
  double at_s = -1;
  double from_s = -1;
  std::string why;

  Watched(const Level& cpu, const Level& accelerator, const Level& io,
          double seconds, uint32_t seed = 1) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> noise(0.95, 1.05);
    SteadyWatch watch;
    for (int i = 0; i <= seconds * 10; ++i) {
      const double t = i / 10.0;
      std::optional<double> share;
      if (accelerator) share = accelerator(t) * noise(random);
      const int64_t begin_ns = 1'000 * kNsPerSec;
      const auto found = watch.Add(begin_ns + i * 100 * kNsPerMs,
                                   cpu(t) * noise(random), share, io(t));
      if (!found) continue;
      EXPECT_EQ(at_s, -1) << "said twice";
      at_s = t;
      if (found->from_ns)
        from_s = static_cast<double>(*found->from_ns - begin_ns) / 1e9;
      why = found->why;
    }
  }
};

TEST(SteadyWatchTest, OneLevelIsSteadyAfterThreeSeconds) {
  const Watched w(Always(3.5), nullptr, Always(0), 20);
  EXPECT_NEAR(w.at_s, 3, 0.5);
  EXPECT_NEAR(w.from_s, 0, 0.5) << "it kept its level from the start on";
  EXPECT_EQ(w.why.substr(0, 28), "the CPU has kept 3.5 cores f");
}

TEST(SteadyWatchTest, WaitsUntilStartUpIsOver) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    const Watched w([](double t) { return t < 8 ? 0.1 + t * 0.1 : 3.5; },
                    nullptr, Always(0), 60, seed);
    EXPECT_GE(w.from_s, 7) << w.why;
    EXPECT_LE(w.at_s, 20) << w.why;
  }
}

TEST(SteadyWatchTest, TheAcceleratorTellsOnceItWorks) {
  const Watched w(
      Always(1), [](double t) { return t < 20 ? 0.0 : 0.9; }, Always(0), 100);
  EXPECT_GE(w.at_s, 20) << "a level CPU is no work while it loads";
  EXPECT_LE(w.at_s, 40);
  EXPECT_EQ(w.why.substr(0, 24), "the accelerator has kept");
}

TEST(SteadyWatchTest, AnAcceleratorThatStaysIdleIsNotWaitedForLong) {
  const Watched w(Always(3), Always(0), Always(0), 100);
  EXPECT_NEAR(w.at_s, 30, 1);
  EXPECT_EQ(w.why.substr(0, 12), "the CPU has ");
}

TEST(SteadyWatchTest, AnAcceleratorThatFallsSilentTellsNothing) {
  SteadyWatch watch;
  std::optional<SteadyWork> found;
  for (int i = 0; i <= 100 && !found; ++i) {
    const bool silent = i >= 20 && i < 30;
    found = watch.Add(i * 100 * kNsPerMs, 0.1,
                      silent ? std::nullopt : std::optional<double>(0.95), 0);
  }
  ASSERT_TRUE(found);
  EXPECT_EQ(found->why, "the accelerator has kept 95.0 % for 3.00 s");
  EXPECT_GE(*found->from_ns, 2 * kNsPerSec) << "what was before is not it";
}

TEST(SteadyWatchTest, StepsAreSteadyWhenTheyAreManyEnough) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    const Watched w(
        [](double t) { return std::fmod(t, 1.3) < 0.6 ? 4.0 : 0.2; }, nullptr,
        Always(0), 120, seed);
    EXPECT_GE(w.at_s, 3);
    EXPECT_LE(w.at_s, 30) << w.why;
  }
}

TEST(SteadyWatchTest, ALullAfterWorkIsNotSteady) {
  const Watched w([](double t) { return t >= 1.3 && t < 20 ? 0.4 : 4; },
                  nullptr, Always(0), 100);
  EXPECT_GE(w.at_s, 20) << w.why;
  EXPECT_LE(w.at_s, 45) << w.why;
}

TEST(SteadyWatchTest, ARampIsNotSteady) {
  const Watched w([](double t) { return 0.05 * t; }, nullptr, Always(0), 119);
  EXPECT_EQ(w.at_s, -1) << w.why;
}

TEST(SteadyWatchTest, LoadingThatEndsIsNotSteady) {
  const Watched w(
      Always(1), nullptr, [](double t) { return t < 2 ? 5e8 : 0; }, 60);
  EXPECT_GE(w.at_s, 4.8) << "the stretch before it must be without loading too";
  EXPECT_LE(w.at_s, 12);
}

TEST(SteadyWatchTest, GivesUpAndSaysSo) {
  const Watched idle(Always(0), nullptr, Always(0), 200);
  EXPECT_NEAR(idle.at_s, 120, 0.2);
  EXPECT_EQ(idle.why, "no steady level was seen in 120 s");
  EXPECT_EQ(idle.from_s, -1) << "nothing of it is left out";
}

TEST(SteadyWatchTest, LongWatchesStayTrue) {
  // More moments than are kept, at a thousand a second.
  SteadyWatch watch(1'000 * kNsPerSec);
  double at_s = -1;
  for (int64_t i = 0; i < 60'000 && at_s < 0; ++i) {
    const double t = static_cast<double>(i) / 1000;
    if (watch.Add(i * kNsPerMs, t < 20 ? 0.02 : 2, std::nullopt, 0)) at_s = t;
  }
  EXPECT_GE(at_s, 20);
  EXPECT_LE(at_s, 45);
}

TEST(SteadyWatchTest, TimeThatDoesNotPassIsNoSample) {
  SteadyWatch watch;
  EXPECT_FALSE(watch.Add(5, 1, std::nullopt, 0));
  EXPECT_FALSE(watch.Add(5, 1, std::nullopt, 0));
  EXPECT_FALSE(watch.Add(4, 1, std::nullopt, 0));
}

}  // namespace
}  // namespace sonde
