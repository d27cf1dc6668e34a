#include "collect/ring/tick_clock.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "base/time.h"

namespace sonde {
namespace {

TEST(TickClock, IsLinearBetweenItsPairsAndStaysWithinThem) {
  TickClock clock;
  clock.Add({1000, 5000});
  clock.Add({2000, 7000});
  clock.Add({4000, 8000});
  EXPECT_EQ(clock.ToNs(1000), 5000);
  EXPECT_EQ(clock.ToNs(1500), 6000);
  EXPECT_EQ(clock.ToNs(3000), 7500);
  EXPECT_EQ(clock.ToNs(0), 5000);
  EXPECT_EQ(clock.ToNs(UINT64_MAX), 8000);
}

TEST(TickClock, APairThatRunsBackwardsIsIgnored) {
  TickClock clock;
  clock.Add({1000, 5000});
  clock.Add({2000, 4000});
  clock.Add({900, 6000});
  clock.Add({3000, 7000});
  EXPECT_EQ(clock.ToNs(2000), 6000);
}

TEST(TickClock, IsMonotoneWhilePairsAreAdded) {
  TickClock clock;
  uint64_t ticks = 1'000'000;
  int64_t ns = 5'000'000;
  int64_t last_ns = 0;
  uint32_t noise = 1;
  clock.Add({ticks, ns});
  // More than are kept, so that the old ones are thinned out on the way.
  for (int pair = 0; pair < 200'000; ++pair) {
    const uint64_t before = ticks;
    noise = noise * 1664525 + 1013904223;
    ticks += 3'000'000;
    ns += 1'000'000 + (noise >> 22) - 512;
    clock.Add({ticks, ns});
    for (uint64_t t = before; t <= ticks; t += 600'000) {
      const int64_t now_ns = clock.ToNs(t);
      ASSERT_GE(now_ns, last_ns);
      last_ns = now_ns;
    }
    ASSERT_EQ(clock.ToNs(ticks), ns);
  }
  EXPECT_NEAR(static_cast<double>(clock.ToNs(1'000'000 + 3'000'000ull * 1000)),
              5e6 + 1e9, 2e6)
      << "old ones too";
}

TEST(TickClock, AgreesWithTheSystemsClock) {
  if (!TicksAreTime()) GTEST_SKIP() << "ticks are not time here";
  TickClock clock;
  clock.Take();
  const int64_t begin_ns = NowNs();
  int64_t worst_ns = 0;
  std::vector<std::pair<uint64_t, int64_t>> both;
  // Longer where something else runs.
  while (NowNs() < begin_ns + 20 * kNsPerMs ||
         (both.size() <= 100 && NowNs() < begin_ns + 5 * kNsPerSec)) {
    const uint64_t before = ReadTicks();
    const int64_t ns = NowNs();
    // Not when something else ran in between.
    if (ReadTicks() - before < 1000) both.emplace_back(before, ns);
  }
  clock.Take();
  for (const auto& [ticks, ns] : both)
    worst_ns = std::max(worst_ns, std::abs(clock.ToNs(ticks) - ns));
  EXPECT_GT(both.size(), 100u);
  EXPECT_LT(worst_ns, 2000);
}

}  // namespace
}  // namespace sonde
