#include <gtest/gtest.h>

#include "analyze/judge.h"
#include "analyze/made_run.h"
#include "analyze/rules/rules.h"

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

bool Fires(const Facts& facts) {
  return !Oversubscribed(facts).findings.empty();
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
  EXPECT_NE(Oversubscribed(run.Make()).not_enough_data, "");
  Facts facts = Crowd(14, 500);
  facts.run.capacity_cores.reset();
  EXPECT_NE(Oversubscribed(facts).not_enough_data, "");
}

}  // namespace
}  // namespace sonde
