#include <gtest/gtest.h>

#include "analyze/facts/made_devices.h"
#include "analyze/rules/made_case.h"

namespace sonde {
namespace {

// A device that gives `bits` from `from_s` on, at `clock` of 1500 MHz.
Outcome Slowed(double bits, double clock, double from_s = 5,
               double busy = 0.95) {
  MadeRun run;
  run.workers = {{.name = "train", .cores = run.Always(0.1)}};
  const auto after = [from_s](double before, double then) {
    return [=](double s) { return s < from_s ? before : then; };
  };
  return Ask(Throttled, WithDevices(run, {{.busy = run.Always(busy),
                                           .clock = after(1500, 1500 * clock),
                                           .throttle = after(0, bits)}}));
}

TEST(ThrottledTest, HeatIsAlwaysWorthAWord) {
  const Outcome outcome = Slowed(2, 0.8);
  ASSERT_EQ(outcome.findings.size(), 1u);
  const Finding& f = outcome.findings[0];
  EXPECT_EQ(f.summary,
            "GPU 0 is held back by heat, for 50.0 % of the time it works.");
  ASSERT_TRUE(f.gain);
  EXPECT_NEAR(f.gain->share, 0.5 * 0.2 * 0.95, 0.02);
  EXPECT_NEAR(NumberOf(f, "time"), 0.5, 0.02);
  EXPECT_NEAR(NumberOf(f, "clock"), 0.8, 0.01);
  EXPECT_NEAR(NumberOf(f, "highest_clock"), 1500, 1);
  EXPECT_EQ(Slowed(2, 1).findings.size(), 1u) << "also before the clock falls";
  EXPECT_EQ(Slowed(2, 0.6).findings[0].severity, Severity::kCritical);
}

TEST(ThrottledTest, PowerIsOneOnlyIfTheClockFalls) {
  EXPECT_TRUE(Slowed(1, 0.95).findings.empty());
  EXPECT_EQ(Slowed(1, 0.85).findings.size(), 1u);
  EXPECT_TRUE(Slowed(0, 0.5).findings.empty()) << "it had no reason to hurry";
}

TEST(ThrottledTest, AMomentIsNone) {
  EXPECT_TRUE(Slowed(2, 0.8, 8.5).findings.empty());
  EXPECT_EQ(Slowed(2, 0.8, 7.5).findings.size(), 1u);
}

TEST(ThrottledTest, AnIdleDeviceMayBeSlow) {
  EXPECT_TRUE(Slowed(2, 0.5, 5, 0.2).findings.empty());
}

TEST(ThrottledTest, WithoutReasonsTheClockDecides) {
  MadeRun run;
  run.workers = {{.name = "train", .cores = run.Always(0.1)}};
  const auto clock = [](double s) { return s < 5 ? 1500.0 : 1200.0; };
  const Outcome outcome =
      Ask(Throttled,
          WithDevices(run, {{.busy = run.Always(0.95), .clock = clock}}));
  ASSERT_EQ(outcome.findings.size(), 1u);
  EXPECT_LT(outcome.findings[0].confidence, 0.6);
  EXPECT_EQ(Ask(Throttled, run.Make()).not_enough_data, "");
}

}  // namespace
}  // namespace sonde
