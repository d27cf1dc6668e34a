#include <gtest/gtest.h>

#include <cmath>

#include "analyze/judge.h"
#include "analyze/made_run.h"
#include "analyze/rules/rules.h"

namespace sonde {
namespace {

Facts Grows(const MadeRun::Load& bytes, double seconds = 10) {
  MadeRun run;
  run.seconds = seconds;
  run.workers = {{.name = "serve", .cores = run.Always(0.1)}};
  Facts facts = run.Make();
  PutSeries(facts, "tree_memory", bytes);
  facts.machine.mem_total_bytes = 16e9;
  facts.machine.mem_peak_bytes = 4e9;
  return facts;
}

MadeRun::Load Ramp(double from, double per_s) {
  return [=](double s) { return from + per_s * s; };
}

bool Fires(const Facts& facts) { return !MemoryLeak(facts).findings.empty(); }

TEST(MemoryLeakTest, SaysWhenMemoryWillEnd) {
  const Outcome outcome = MemoryLeak(Grows(Ramp(100e6, 20e6)));
  ASSERT_EQ(outcome.findings.size(), 1u);
  const Finding& f = outcome.findings[0];
  EXPECT_EQ(f.rule, "memory_leak");
  EXPECT_EQ(f.severity, Severity::kCritical);
  EXPECT_NE(f.summary.find("the machine's memory of 16.0 GB is reached in 10 "
                           "minutes"),
            std::string::npos)
      << f.summary;
}

TEST(MemoryLeakTest, TheNearestLimitCounts) {
  Facts facts = Grows(Ramp(100e6, 20e6));
  CgroupFacts cgroup;
  cgroup.path = "/box";
  cgroup.memory_peak_bytes = 500e6;
  cgroup.cache_peak_bytes = 200e6;
  cgroup.memory_limit_bytes = 2300e6;
  facts.cgroups = {cgroup};
  const Outcome outcome = MemoryLeak(facts);
  ASSERT_EQ(outcome.findings.size(), 1u);
  EXPECT_NE(outcome.findings[0].summary.find(
                "the container's limit of 2.30 GB is reached in 100 seconds"),
            std::string::npos)
      << outcome.findings[0].summary;
}

TEST(MemoryLeakTest, AFarLimitIsLessSevere) {
  const auto severity = [](double per_s) {
    return MemoryLeak(Grows(Ramp(10e6, per_s))).findings.at(0).severity;
  };
  EXPECT_EQ(severity(4e6), Severity::kCritical);
  EXPECT_EQ(severity(2.5e6), Severity::kWarning);
}

TEST(MemoryLeakTest, FindsSteps) {
  EXPECT_TRUE(Fires(Grows([](double s) { return 1e8 * std::floor(s / 2); })));
  EXPECT_FALSE(Fires(Grows([](double s) { return s < 4 ? 1e8 : 3e8; })))
      << "one step is something loaded";
}

TEST(MemoryLeakTest, WhatLevelsOffOrFallsIsNoLeak) {
  EXPECT_FALSE(
      Fires(Grows([](double s) { return 1e8 + 2e7 * std::min(s, 5.0); })));
  EXPECT_FALSE(Fires(Grows(Ramp(400e6, -20e6))));
  EXPECT_FALSE(Fires(Grows([](double s) {
    return 1e8 + 5e7 * std::fmod(s, 2.5);
  }))) << "a collector of garbage";
}

TEST(MemoryLeakTest, SmallGrowthIsNone) {
  EXPECT_TRUE(Fires(Grows(Ramp(100e6, 1.8e6))));
  EXPECT_FALSE(Fires(Grows(Ramp(100e6, 1.4e6))));
  EXPECT_FALSE(Fires(Grows(Ramp(400e6, 3e6)))) << "less than a tenth";
}

TEST(MemoryLeakTest, SaysWhenItCannotKnow) {
  EXPECT_NE(MemoryLeak(Grows(Ramp(100e6, 20e6), 4.9)).not_enough_data, "");
  MadeRun run;
  run.workers = {{.cores = run.Always(1)}};
  EXPECT_EQ(MemoryLeak(run.Make()).not_enough_data,
            "memory of processes was not collected");
}

}  // namespace
}  // namespace sonde
