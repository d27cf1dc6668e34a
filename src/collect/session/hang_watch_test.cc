#include "collect/session/hang_watch.h"

#include <gtest/gtest.h>

#include "base/time.h"

namespace sonde {
namespace {

// Ten ticks a second; `cores` and `io` as of each second. Returns the seconds
// in which it was said to hang.
std::vector<int> Hangs(HangWatch& watch, int seconds, double (*cores)(int),
                       double (*io)(int) = nullptr) {
  SampledRun::Used used;
  std::vector<int> out;
  for (int tick = 0; tick < seconds * 10; ++tick) {
    const int second = tick / 10;
    used.cpu_ns += static_cast<int64_t>(cores(second) * 0.1e9);
    if (io != nullptr) used.io_bytes += static_cast<uint64_t>(io(second) / 10);
    if (watch.Add(tick * 100 * kNsPerMs, used)) out.push_back(second);
  }
  return out;
}

TEST(HangWatch, SaysOnceThatItStandsStill) {
  HangWatch watch(5 * kNsPerSec);
  const auto hangs =
      Hangs(watch, 30, [](int s) { return s < 10 ? 0.9 : 0.001; });
  ASSERT_EQ(hangs.size(), 1u);
  EXPECT_GE(hangs[0], 14);
  EXPECT_LE(hangs[0], 16);
}

TEST(HangWatch, SaysSoAgainAfterWork) {
  HangWatch watch(5 * kNsPerSec);
  EXPECT_EQ(
      Hangs(watch, 40, [](int s) { return s >= 15 && s < 20 ? 0.9 : 0.0; })
          .size(),
      2u);
}

TEST(HangWatch, ReadingIsNoHang) {
  HangWatch watch(5 * kNsPerSec);
  EXPECT_TRUE(Hangs(
                  watch, 30, [](int) { return 0.0; }, [](int) { return 1e6; })
                  .empty());
}

TEST(HangWatch, AnAcceleratorThatWorkedIsWork) {
  HangWatch watch(5 * kNsPerSec);
  SampledRun::Used used;
  int said = 0;
  for (int tick = 0; tick < 300; ++tick) {
    const bool works = tick >= 100 && tick < 200;
    used.accelerator_share = works ? 0.9 : 0.0;
    said += watch.Add(tick * 100 * kNsPerMs, used) ? 1 : 0;
  }
  EXPECT_EQ(said, 2);
}

TEST(HangWatch, NeverIfNotAsked) {
  HangWatch watch(0);
  EXPECT_TRUE(Hangs(watch, 30, [](int) { return 0.0; }).empty());
}

}  // namespace
}  // namespace sonde
