#include <gtest/gtest.h>

#include "analyze/facts/made_run.h"
#include "analyze/rules/made_case.h"
#include "analyze/verdict/judge.h"

namespace sonde {
namespace {

// Half a core is allowed, two would be used: throttled for `waited_s` of 10 s.
Facts Held(double waited_s, double periods) {
  MadeRun run;
  run.meta["cpu_limit_cores"] = "0.5";
  run.workers = {{.process = 1, .cores = run.Always(0.25)},
                 {.process = 2, .cores = run.Always(0.25)}};
  Facts facts = run.Make();
  CgroupFacts cgroup;
  cgroup.path = "/box";
  cgroup.cpu_ns = 5 * kNsPerSec;
  cgroup.periods = 100;
  cgroup.throttled_periods = periods;
  cgroup.throttled_ns = static_cast<int64_t>(waited_s * 1e9);
  facts.cgroups = {cgroup};
  return facts;
}

bool Fires(const Facts& facts) {
  return !Ask(CpuThrottled, facts).findings.empty();
}

TEST(CpuThrottledTest, ComesBeforeTheCoresThatItMayUse) {
  const Judgement judgement = Judge(Held(15, 98));
  ASSERT_EQ(judgement.findings.size(), 2u);
  const Finding& f = judgement.findings[0];
  EXPECT_EQ(f.rule, "cpu_throttled");
  EXPECT_EQ(f.summary,
            "Held back by its CPU limit of 0.5 cores: the container was "
            "throttled in 98.0 % of the periods.");
  ASSERT_TRUE(f.gain.has_value());
  EXPECT_NEAR(f.gain->share, 0.75, 0.01) << "it could use two cores";
  EXPECT_EQ(judgement.findings[1].rule, "cpu_bound");
}

TEST(CpuThrottledTest, SaysHowManyThreadsFitTheLimit) {
  MadeRun run;
  run.meta["cpu_limit_cores"] = "1.5";
  for (int i = 0; i < 8; ++i)
    run.workers.push_back(
        {.cores = run.Always(1.5 / 8), .wait = run.Always(0.8)});
  Facts facts = run.Make();
  facts.cgroups = Held(15, 98).cgroups;
  const Finding f = Ask(CpuThrottled, facts).findings.at(0);
  EXPECT_EQ(f.evidence.at(2).text, "8 threads want to run.");
  EXPECT_NE(f.advice.find("OMP_NUM_THREADS=1 "), std::string::npos) << f.advice;
  EXPECT_NE(f.advice.find("Raise the limit"), std::string::npos) << f.advice;
  EXPECT_FALSE(f.gain.has_value()) << "they may spin";
}

TEST(CpuThrottledTest, TheThresholdIsFivePercent) {
  EXPECT_TRUE(Fires(Held(0.51, 10)));
  EXPECT_FALSE(Fires(Held(0.49, 10)));
  EXPECT_FALSE(Fires(Held(0.51, 4)));
}

TEST(CpuThrottledTest, WithoutALimitThereIsNothingToSay) {
  MadeRun run;
  run.workers = {{.cores = run.Always(1)}};
  EXPECT_EQ(Ask(CpuThrottled, run.Make()).not_enough_data, "");
  EXPECT_FALSE(Fires(run.Make()));
}

TEST(CpuThrottledTest, SaysWhenItCannotKnow) {
  Facts facts = Held(15, 98);
  facts.cgroups.clear();
  EXPECT_EQ(Ask(CpuThrottled, facts).not_enough_data,
            "how long the cgroup was throttled was not collected");
}

TEST(CpuThrottledTest, OnlyTheTimeThatWasSampledCounts) {
  Facts facts = Held(1, 98);
  facts.cgroups[0].cpu_ns = kNsPerSec;
  facts.cgroups[0].covered_ns = 2 * kNsPerSec;
  const Finding f = Ask(CpuThrottled, facts).findings.at(0);
  EXPECT_NE(f.evidence[0].text.find("for 1.00 s of CPU time in 2.00 s"),
            std::string::npos)
      << f.evidence[0].text;
  EXPECT_EQ(f.evidence[1].text, "The cgroup used 0.50 cores on average.");
  EXPECT_NEAR(f.gain->share, 0.5 * 0.2, 0.01) << "of the run's time";
}

}  // namespace
}  // namespace sonde
