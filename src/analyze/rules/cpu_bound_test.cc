#include <gtest/gtest.h>

#include "analyze/facts/made_run.h"
#include "analyze/rules/made_case.h"
#include "analyze/verdict/judge.h"

namespace sonde {
namespace {

using Workers = std::vector<MadeRun::Worker>;

// Two workers that use `each` of a core each.
MadeRun Two(double each) {
  MadeRun run;
  run.workers = {{.process = 1, .name = "lead", .cores = run.Always(each)},
                 {.process = 2, .name = "help", .cores = run.Always(each)}};
  return run;
}

bool Fires(const MadeRun& run) {
  return !Ask(CpuBound, run.Make()).findings.empty();
}

TEST(CpuBoundTest, FiresWhenAllAllowedCoresAreBusy) {
  const Outcome outcome = Ask(CpuBound, Two(0.99).Make());
  ASSERT_EQ(outcome.findings.size(), 1u);
  const Finding& f = outcome.findings[0];
  EXPECT_EQ(f.rule, "cpu_bound");
  EXPECT_EQ(f.severity, Severity::kWarning);
  EXPECT_GT(f.confidence, 0.9);
  EXPECT_EQ(f.summary,
            "Limited by the CPU: the program kept 1.98 of 2 cores busy.");
  ASSERT_GE(f.evidence.size(), 2u);
  EXPECT_EQ(f.evidence[1].text,
            "Most CPU time went to help 50.0 %, lead 50.0 %.");
  EXPECT_FALSE(f.gain.has_value()) << "nobody knows what smaller work is";
  EXPECT_NE(f.where.process, 0u);
}

// A command that starts two short processes of a name at a time, `each` long.
MadeRun Short(double each_s) {
  MadeRun run;
  run.workers = {{.name = "make", .cores = run.Always(0.01)}};
  uint32_t number = 2;
  for (double at = 0; at < run.seconds; at += each_s)
    for (int i = 0; i < 2; ++i)
      run.workers.push_back({.process = number++,
                             .name = "cc1",
                             .cores = run.Always(0),
                             .from_s = at,
                             .to_s = at + each_s,
                             .exact_ns = static_cast<int64_t>(each_s * 0.97e9),
                             .sampled = false});
  return run;
}

TEST(CpuBoundTest, ManyShortProcessesAreNamedTogether) {
  const Outcome outcome = Ask(CpuBound, Short(0.05).Make());
  ASSERT_EQ(outcome.findings.size(), 1u);
  const Finding& f = outcome.findings[0];
  EXPECT_NE(f.advice.find("Most of it is its 400 processes cc1:"),
            std::string::npos)
      << f.advice;
  EXPECT_NE(f.advice.find("Each cc1 lived 50.0 ms on average"),
            std::string::npos)
      << f.advice;
  EXPECT_EQ(f.where.process, 0u) << "no single one is to blame";
  const Outcome longer = Ask(CpuBound, Short(0.5).Make());
  ASSERT_EQ(longer.findings.size(), 1u);
  EXPECT_EQ(longer.findings[0].advice.find("lived"), std::string::npos);
}

TEST(CpuBoundTest, AProcessThatDidMostIsNamedBesideOthersOfItsName) {
  MadeRun run = Short(0.05);
  for (auto& worker : run.workers) worker.name = "python3";
  run.workers[0].cores = run.Always(1.9);
  for (auto& worker : run.workers)
    if (!worker.sampled) worker.exact_ns = 1000;
  const Outcome outcome = Ask(CpuBound, run.Make());
  ASSERT_EQ(outcome.findings.size(), 1u);
  EXPECT_NE(outcome.findings[0].advice.find("Most of it is python3:"),
            std::string::npos)
      << outcome.findings[0].advice;
  EXPECT_EQ(outcome.findings[0].where.process, 1u);
}

TEST(CpuBoundTest, TheThresholdIsNinetyPercentOfTheCores) {
  EXPECT_TRUE(Fires(Two(0.905)));
  EXPECT_FALSE(Fires(Two(0.895)));
}

TEST(CpuBoundTest, TheThresholdIsSixtyPercentOfTheTime) {
  // Busy and half busy by turns, so that nothing is start-up or winding down.
  const auto busy_for = [](int of_ten) {
    return [of_ten](double s) {
      return static_cast<int>(s * 2) % 10 < of_ten ? 1.0 : 0.6;
    };
  };
  MadeRun run = Two(1);
  for (auto& worker : run.workers) worker.cores = busy_for(6);
  EXPECT_TRUE(Fires(run));
  for (auto& worker : run.workers) worker.cores = busy_for(5);
  EXPECT_FALSE(Fires(run));
}

TEST(CpuBoundTest, StartUpAndWindingDownDoNotCount) {
  MadeRun run = Two(1);
  for (auto& worker : run.workers)
    worker.cores = [](double s) { return s > 2 && s < 8 ? 1.0 : 0.1; };
  const Outcome outcome = Ask(CpuBound, run.Make());
  ASSERT_EQ(outcome.findings.size(), 1u);
  EXPECT_NEAR(
      static_cast<double>(outcome.findings[0].from_ns - MadeRun::kBeginNs), 2e9,
      0.2e9);
}

TEST(CpuBoundTest, ALongSleepIsNotStartUp) {
  MadeRun run = Two(1);
  for (auto& worker : run.workers)
    worker.cores = [](double s) { return s > 7 ? 1.0 : 0.0; };
  EXPECT_FALSE(Fires(run));
}

TEST(CpuBoundTest, OthersCrumbsDoNotHideIt) {
  MadeRun run = Two(0.75);
  run.others = MadeRun::Always(0.45);
  const Outcome outcome = Ask(CpuBound, run.Make());
  ASSERT_EQ(outcome.findings.size(), 1u);
  ASSERT_TRUE(outcome.findings[0].gain.has_value());
  EXPECT_NEAR(outcome.findings[0].gain->share, 0.45 / 1.95, 0.01);
  run.others = MadeRun::Always(0.25);
  EXPECT_FALSE(Fires(run)) << "1.75 of 2 cores";
}

TEST(CpuBoundTest, OtherProgramsLoadIsNotBlamedOnTheTarget) {
  MadeRun run = Two(0.58);
  run.others = MadeRun::Always(0.84);
  EXPECT_FALSE(Fires(run));
  run = Two(0.62);
  run.others = MadeRun::Always(0.76);
  EXPECT_TRUE(Fires(run)) << "most of it is its own";
}

TEST(CpuBoundTest, ThreadsThatAreReadyForAllCoresAreBoundByThem) {
  MadeRun run = Two(0.5);
  run.others = MadeRun::Always(1);
  for (auto& worker : run.workers) worker.wait = MadeRun::Always(0.48);
  const Outcome outcome = Ask(CpuBound, run.Make());
  ASSERT_EQ(outcome.findings.size(), 1u);
  EXPECT_EQ(outcome.findings[0].summary,
            "Limited by the CPU: the program kept 1.00 of 2 cores busy and had "
            "work for all of them; other programs had the rest.");
  EXPECT_NEAR(outcome.findings[0].gain->share, 0.5, 0.01);
  run.workers[1].wait = MadeRun::Always(0.2);
  EXPECT_FALSE(Fires(run)) << "it has work for 1.7 cores";
}

// Threads that are woken to take a lock queue for a core, too: nobody can tell
// them from threads that have work.
TEST(CpuBoundTest, ThreadsThatMayTakeTurnsAreNotReadyForAllCores) {
  constexpr double kFutex = 202, kRead = 0;
  MadeRun run;
  run.others = MadeRun::Always(1);
  for (int i = 0; i < 4; ++i)
    run.workers.push_back(
        {.cores = run.Always(0.25), .wait = run.Always(0.24)});
  Facts facts = run.Make();
  std::vector<ThreadFacts>& threads = facts.processes[0].threads;
  for (ThreadFacts& t : threads) t.sleeps_in = kRead;
  EXPECT_FALSE(Ask(CpuBound, facts).findings.empty());
  for (size_t i = 0; i < 2; ++i) threads[i].sleeps_in = kFutex;
  EXPECT_TRUE(Ask(CpuBound, facts).findings.empty());
  threads[0].sleeps_in = kRead;
  EXPECT_FALSE(Ask(CpuBound, facts).findings.empty()) << "one of four";
  for (ThreadFacts& t : threads)
    t.voluntary_switches = static_cast<double>(*t.cpu_ns) / 1e9 * 100;
  EXPECT_FALSE(Ask(CpuBound, facts).findings.empty());
  for (ThreadFacts& t : threads)
    t.voluntary_switches = static_cast<double>(*t.cpu_ns) / 1e9 * 3000;
  EXPECT_TRUE(Ask(CpuBound, facts).findings.empty())
      << "they give up their cores all the time";
}

TEST(CpuBoundTest, NoGainIsToldOfThreadsThatMaySpin) {
  MadeRun run;
  run.others = MadeRun::Always(1);
  for (int i = 0; i < 8; ++i)
    run.workers.push_back(
        {.cores = run.Always(0.125), .wait = run.Always(0.875)});
  const Outcome outcome = Ask(CpuBound, run.Make());
  ASSERT_EQ(outcome.findings.size(), 1u);
  EXPECT_FALSE(outcome.findings[0].gain.has_value());
}

TEST(CpuBoundTest, StealIsNotBlamedOnTheTarget) {
  MadeRun run = Two(0.5);
  run.steal = MadeRun::Always(1.0);
  EXPECT_FALSE(Fires(run));
  for (auto& worker : run.workers) worker.wait = MadeRun::Always(0.48);
  const Outcome ready = Ask(CpuBound, run.Make());
  ASSERT_EQ(ready.findings.size(), 1u);
  EXPECT_TRUE(ready.findings[0].evidence[0].text.starts_with(
      "At least 90 % of 2 cores were busy or taken away by the hypervisor"))
      << ready.findings[0].evidence[0].text;
}

TEST(CpuBoundTest, RespectsTheContainersLimit) {
  MadeRun run;
  run.cores = 8;
  run.workers = {{.cores = run.Always(1)}, {.cores = run.Always(0.45)}};
  EXPECT_FALSE(Fires(run));
  run.meta["cpu_limit_cores"] = "1.5";
  const Outcome outcome = Ask(CpuBound, run.Make());
  ASSERT_EQ(outcome.findings.size(), 1u);
  ASSERT_TRUE(outcome.findings[0].gain.has_value());
  EXPECT_NEAR(outcome.findings[0].gain->share, 1 - 1.5 / 8, 0.01);
}

TEST(CpuBoundTest, RespectsTheAllowedCores) {
  MadeRun run;
  run.cores = 8;
  run.workers = {{.cores = run.Always(1)}};
  EXPECT_FALSE(Fires(run));
  run.meta["allowed_cores"] = "1";
  EXPECT_TRUE(Fires(run));
}

TEST(CpuBoundTest, ShortProcessesCountByTheirExactTimes) {
  // A hundred processes a second, none of which lives to see a tick.
  MadeRun run;
  run.workers = {{.name = "make", .cores = run.Always(0.01)}};
  for (uint32_t i = 0; i < 1000; ++i) {
    const double from = 0.01 * i;
    run.workers.push_back({.process = 2 + i,
                           .name = "cc",
                           .cores = run.Always(0),
                           .from_s = from,
                           .to_s = from + 0.0095,
                           .exact_ns = 19'000'000,
                           .sampled = false});
  }
  const Outcome outcome = Ask(CpuBound, run.Make());
  ASSERT_EQ(outcome.findings.size(), 1u);
  EXPECT_EQ(outcome.findings[0].evidence[1].text,
            "Most CPU time went to cc (1000 processes) 99.5 %.");
}

TEST(CpuBoundTest, TimesNobodyCouldFollowAreCalledEstimated) {
  MadeRun run = Two(0.5);
  run.meta["tree_cpu_ns"] = "19500000000";
  const Outcome outcome = Ask(CpuBound, run.Make());
  ASSERT_EQ(outcome.findings.size(), 1u);
  EXPECT_NE(outcome.findings[0].evidence.back().text.find("estimated"),
            std::string::npos);
  EXPECT_LT(outcome.findings[0].confidence, 0.6);
}

TEST(CpuBoundTest, SaysWhenItCannotKnow) {
  MadeRun run = Two(0.99);
  run.meta["allowed_cores"] = run.meta["cores"] = "";
  EXPECT_NE(Ask(CpuBound, run.Make()).not_enough_data, "");
  run = Two(0.99);
  run.process_series = run.thread_series = false;
  EXPECT_NE(Ask(CpuBound, run.Make()).not_enough_data, "");
  run = Two(0.99);
  run.seconds = 0.9;
  EXPECT_NE(Ask(CpuBound, run.Make()).not_enough_data, "");
  run = Two(0.99);
  run.rate_hz = 0.2;
  EXPECT_NE(Ask(CpuBound, run.Make()).not_enough_data, "");
}

TEST(CpuBoundTest, JudgesAtAnyRate) {
  for (const double rate : {1.0, 10.0, 100.0, 1000.0}) {
    MadeRun run = Two(0.99);
    run.rate_hz = rate;
    run.jitter_s = 0.3 / rate;
    EXPECT_TRUE(Fires(run)) << rate;
  }
}

}  // namespace
}  // namespace sonde
