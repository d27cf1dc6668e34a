#include <gtest/gtest.h>

#include "analyze/facts/made_run.h"
#include "analyze/rules/made_case.h"
#include "analyze/verdict/judge.h"

namespace sonde {
namespace {

// Two threads on one of four cores.
MadeRun Pinned(double wait_each) {
  MadeRun run;
  run.cores = 4;
  run.meta = {{"allowed_cores", "1"}};
  run.workers = {
      {.name = "a", .cores = run.Always(0.5), .wait = run.Always(wait_each)},
      {.name = "a", .cores = run.Always(0.5), .wait = run.Always(wait_each)}};
  return run;
}

bool Fires(const MadeRun& run) {
  return !Ask(MisplacedCpu, run.Make()).findings.empty();
}

TEST(MisplacedCpuTest, ThreadsThatWaitBesideFreeCores) {
  const Outcome outcome = Ask(MisplacedCpu, Pinned(0.5).Make());
  ASSERT_EQ(outcome.findings.size(), 1u);
  const Finding& f = outcome.findings[0];
  EXPECT_EQ(f.summary,
            "Threads wait for cores (1.0 threads at a time) while 3.0 cores "
            "are free that these threads may not use.");
  EXPECT_EQ(f.evidence[1].text,
            "The program was started with leave to use 1 of 4 cores.");
  EXPECT_FALSE(f.gain.has_value()) << "threads of one process may spin";
  EXPECT_EQ(Judge(Pinned(0.5).Make()).findings[0].rule, "misplaced_cpu")
      << "before cpu_bound, which it explains";
}

TEST(MisplacedCpuTest, TheThresholds) {
  EXPECT_TRUE(Fires(Pinned(0.26)));
  EXPECT_FALSE(Fires(Pinned(0.24)));
  MadeRun run = Pinned(0.5);
  run.others = MadeRun::Always(2.2);
  EXPECT_TRUE(Fires(run));
  run.others = MadeRun::Always(2.3);
  EXPECT_FALSE(Fires(run)) << "others use the cores";
}

TEST(MisplacedCpuTest, ALimitOfTheContainerIsAnotherMatter) {
  MadeRun run = Pinned(0.5);
  run.meta = {{"allowed_cores", "4"}};
  EXPECT_TRUE(Fires(run)) << "pinned by itself";
  run.meta = {{"allowed_cores", "4"}, {"cpu_limit_cores", "1"}};
  EXPECT_FALSE(Fires(run));
  Facts facts = Pinned(0.5).Make();
  facts.cgroups.push_back({});
  facts.cgroups[0].throttled_periods = 3;
  EXPECT_TRUE(Ask(MisplacedCpu, facts).findings.empty());
}

TEST(MisplacedCpuTest, SaysWhenItCannotKnow) {
  MadeRun run = Pinned(0.5);
  run.seconds = 0.5;
  EXPECT_NE(Ask(MisplacedCpu, run.Make()).not_enough_data, "");
  run = Pinned(0.5);
  run.machine_series = false;
  EXPECT_FALSE(Fires(run));
}

}  // namespace
}  // namespace sonde
