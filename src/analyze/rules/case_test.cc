#include "analyze/rules/case.h"

#include <gtest/gtest.h>

#include "analyze/facts/made_run.h"
#include "analyze/rules/rules.h"

namespace sonde {
namespace {

Facts Busy() {
  MadeRun run;
  run.workers = {{.cores = MadeRun::Always(1)}};
  return run.Make();
}

int made = 0;
int Count(const Case&) { return ++made; }

TEST(CaseTest, WorksThingsOutWhenAskedAndOnce) {
  const Facts facts = Busy();
  const Case about(facts);
  EXPECT_EQ(made, 0);
  EXPECT_EQ(about.Once(Count), 1);
  EXPECT_EQ(about.Once(Count), 1);
  EXPECT_EQ(Case(facts).Once(Count), 2) << "another case knows nothing of it";
  EXPECT_EQ(&about.steady(), &about.steady());
  EXPECT_EQ(&about.Of(OneCoreBound), &about.Of(OneCoreBound));
}

int AsksItself(const Case& about) { return about.Once(AsksItself); }

TEST(CaseDeathTest, WhatNeedsItselfStopsTheProgram) {
  const Facts facts = Busy();
  EXPECT_DEATH(Case(facts).Once(AsksItself), "CHECK");
}

TEST(CaseTest, FindingsHaveTheNameOfTheirRule) {
  const Facts facts = Busy();
  const Case about(facts);
  ASSERT_TRUE(about.Found(OneCoreBound));
  EXPECT_EQ(about.Of(OneCoreBound).findings[0].rule, "one_core_bound");
  EXPECT_FALSE(about.Found(CpuBound));
}

// Every rule may be named in the row of another: none asks for it in turn.
TEST(CaseTest, NoTwoRulesReplaceEachOther) {
  const Facts facts = Busy();
  const Case about(facts);
  for (const Rule& rule : Rules()) about.Of(rule.run);
}

TEST(CaseTest, ARuleWithoutItsInputsSaysWhichItLacks) {
  const Facts facts = Busy();
  const Case about(facts);
  EXPECT_EQ(about.Of(Oversubscribed).not_enough_data,
            "how long threads waited for a core was not collected");
  EXPECT_EQ(about.Of(Swapping).not_enough_data,
            "how often pages came from a disk was not collected");
  EXPECT_TRUE(about.Has(Input::kProcessCpu));
  EXPECT_FALSE(about.Has(Input::kFaults));
}

// A sentence for each rule would say the same of a run that is too short.
TEST(CaseTest, ARunThatWasHardlySampledIsTheReasonBeforeItsInputs) {
  MadeRun run;
  run.seconds = 0.5;
  run.workers = {{.cores = MadeRun::Always(1)}};
  const Facts facts = run.Make();
  EXPECT_EQ(Case(facts).Of(Swapping).not_enough_data,
            "the processes were sampled only 6 times");
}

TEST(CaseTest, ARuleIsSilentWhereItsQuestionIsNone) {
  const Facts facts = Busy();
  const Case about(facts);
  for (const RuleFunction rule :
       {GpuUnderused, PageCacheThrash, CpuThrottled, OutOfMemory}) {
    EXPECT_FALSE(about.Found(rule));
    EXPECT_EQ(about.Of(rule).not_enough_data, "");
  }
}

}  // namespace
}  // namespace sonde
