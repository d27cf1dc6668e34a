#include "analyze/case.h"

#include <gtest/gtest.h>

#include "analyze/made_run.h"
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

}  // namespace
}  // namespace sonde
