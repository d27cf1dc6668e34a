#include <gtest/gtest.h>

#include "analyze/facts/made_run.h"
#include "analyze/rules/made_case.h"
#include "analyze/verdict/judge.h"

namespace sonde {
namespace {

// Two busy cores, and `waiting` threads more that would like to run.
Facts Crowd(double waiting, double switches) {
  MadeRun run;
  for (int i = 0; i < 4; ++i)
    run.workers.push_back({.name = "crowd", .cores = run.Always(0.5)});
  Facts facts = run.Make();
  PutSeries(facts, "tree_wait", MadeRun::Always(waiting));
  PutSeries(facts, "tree_switched", MadeRun::Always(switches));
  return facts;
}

// Pools of so many threads, one process each, that are always ready on two
// cores; `launcher` only waits for them. Others take `others` cores.
Facts Pools(const std::vector<int>& sizes, double others = 0,
            const std::string& limit = "") {
  MadeRun run;
  run.others = MadeRun::Always(others);
  if (!limit.empty()) run.meta["cpu_limit_cores"] = limit;
  int threads = 0;
  for (const int size : sizes) threads += size;
  run.workers.push_back({.name = "launcher", .cores = run.Always(0.001)});
  const double each = (2 - others) / threads;
  for (size_t i = 0; i < sizes.size(); ++i)
    for (int k = 0; k < sizes[i]; ++k)
      run.workers.push_back({.process = static_cast<uint32_t>(i + 2),
                             .name = "rank",
                             .cores = run.Always(each),
                             .wait = run.Always(1 - each)});
  Facts facts = run.Make();
  PutSeries(facts, "tree_switched", MadeRun::Always(500));
  return facts;
}

Finding Found(const Facts& facts) {
  return Ask(Oversubscribed, facts).findings.at(0);
}

bool Says(const std::string& text, const char* what) {
  return text.find(what) != std::string::npos;
}

bool Fires(const Facts& facts) {
  return !Ask(Oversubscribed, facts).findings.empty();
}

TEST(OversubscribedTest, ComesBeforeTheCoresThatItFills) {
  const Judgement judgement = Judge(Crowd(14, 500));
  ASSERT_EQ(judgement.findings.size(), 2u);
  const Finding& f = judgement.findings[0];
  EXPECT_EQ(f.rule, "oversubscribed");
  EXPECT_EQ(f.summary,
            "Too many threads: 16.0 want to run at a time on 2 cores.");
  EXPECT_NE(f.advice.find("OMP_NUM_THREADS=2"), std::string::npos);
  EXPECT_GT(f.confidence, 0.9);
  EXPECT_EQ(judgement.findings[1].rule, "cpu_bound");
}

TEST(OversubscribedTest, ProcessesShareTheCores) {
  const Finding f = Found(Pools({16, 16, 16, 16}));
  EXPECT_EQ(f.summary,
            "Too many threads: 4 processes x 16 threads want to run at a time "
            "on 2 cores.");
  EXPECT_TRUE(Says(f.advice, "OMP_NUM_THREADS=1 ")) << f.advice;
  EXPECT_TRUE(Says(f.advice, "at most 2 processes at a time")) << f.advice;
  EXPECT_FALSE(f.gain.has_value()) << "they may spin";
}

TEST(OversubscribedTest, UnevenPoolsAreSaidAsTheyAre) {
  EXPECT_TRUE(Says(Found(Pools({4, 16, 8})).summary,
                   "3 processes with 16, 8 and 4 threads"));
  EXPECT_TRUE(Says(Found(Pools({4, 16, 8, 1, 1})).summary,
                   "5 processes with 1 to 16 threads (30 together)"));
}

TEST(OversubscribedTest, OnePoolGetsAllTheCores) {
  const Finding f = Found(Pools({16}));
  EXPECT_EQ(f.summary,
            "Too many threads: 16 want to run at a time on 2 cores.");
  EXPECT_TRUE(Says(f.advice, "OMP_NUM_THREADS=2 ")) << f.advice;
}

TEST(OversubscribedTest, ProcessesOfOneThreadAreTooManyProcesses) {
  const Finding f = Found(Pools({1, 1, 1, 1, 1, 1, 1, 1}));
  EXPECT_TRUE(Says(f.advice, "let at most 2 of these processes")) << f.advice;
  EXPECT_FALSE(Says(f.advice, "OMP")) << f.advice;
}

TEST(OversubscribedTest, TheLimitOfTheContainerComesFirst) {
  const Finding f = Found(Pools({8}, 0, "1.5"));
  EXPECT_TRUE(Says(f.summary, "8 want to run at a time on 1.5 permitted cores"))
      << f.summary;
  EXPECT_TRUE(Says(f.advice, "OMP_NUM_THREADS=1 ")) << f.advice;
}

TEST(OversubscribedTest, WhatWaitsForOthersIsNotTooMuch) {
  EXPECT_TRUE(Fires(Pools({4})));
  EXPECT_FALSE(Fires(Pools({4}, 1)));
  EXPECT_TRUE(Fires(Pools({16}, 1)));
}

TEST(OversubscribedTest, PoolsThatFollowEachOtherDoNotAddUp) {
  MadeRun run;
  for (uint32_t p = 1; p <= 4; ++p)
    for (int k = 0; k < 16; ++k)
      run.workers.push_back({.process = p,
                             .cores = run.Always(0.125),
                             .wait = run.Always(0.875),
                             .from_s = 2.5 * (p - 1),
                             .to_s = 2.5 * p});
  Facts facts = run.Make();
  PutSeries(facts, "tree_switched", MadeRun::Always(500));
  EXPECT_TRUE(Says(Found(facts).advice, "OMP_NUM_THREADS=2 "))
      << Found(facts).advice;
}

TEST(OversubscribedTest, TheThresholdIsTwoThreadsACore) {
  EXPECT_TRUE(Fires(Crowd(1.7, 500))) << "nearly";
  EXPECT_FALSE(Fires(Crowd(1.5, 500)));
}

TEST(OversubscribedTest, TwoThreadsInHalfACoreAreNotMany) {
  Facts facts = Crowd(0, 500);
  facts.run.capacity_cores = 0.5;
  PutSeries(facts, "tree_wait", MadeRun::Always(0.9));
  EXPECT_FALSE(Fires(facts));
  PutSeries(facts, "tree_wait", MadeRun::Always(1.1));
  EXPECT_TRUE(Fires(facts));
}

TEST(OversubscribedTest, TheyMustTakeEachOthersPlace) {
  EXPECT_TRUE(Fires(Crowd(14, 21)));
  EXPECT_FALSE(Fires(Crowd(14, 19)));
}

TEST(OversubscribedTest, TheThresholdIsSixtyPercentOfTheTime) {
  const auto waiting_for = [](int of_ten) {
    return [of_ten](double s) {
      return static_cast<int>(s * 2) % 10 < of_ten ? 9.0 : 0.0;
    };
  };
  Facts facts = Crowd(0, 500);
  PutSeries(facts, "tree_wait", waiting_for(7));
  EXPECT_TRUE(Fires(facts));
  PutSeries(facts, "tree_wait", waiting_for(5));
  EXPECT_FALSE(Fires(facts));
}

TEST(OversubscribedTest, SaysWhenItCannotKnow) {
  MadeRun run;
  run.workers = {{.cores = run.Always(1)}};
  EXPECT_NE(Ask(Oversubscribed, run.Make()).not_enough_data, "");
  Facts facts = Crowd(14, 500);
  facts.run.capacity_cores.reset();
  EXPECT_NE(Ask(Oversubscribed, facts).not_enough_data, "");
}

}  // namespace
}  // namespace sonde
