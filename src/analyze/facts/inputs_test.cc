#include "analyze/facts/inputs.h"

#include <gtest/gtest.h>

#include "analyze/facts/made_run.h"
#include "analyze/rules/case.h"

namespace sonde {
namespace {

std::string Missing(const Facts& facts, Input alternatives) {
  const Case about(facts);
  return MissingFrom(
      {facts, about.steady(), about.series(), about.accelerators()},
      alternatives);
}

Facts Computes() {
  MadeRun run;
  run.workers = {{.cores = MadeRun::Always(0.5)}};
  return run.Make();
}

TEST(InputsTest, WhatWasCollectedIsNotMissing) {
  EXPECT_EQ(Missing(Computes(), Input::kProcessCpu), "");
  EXPECT_EQ(Missing(Computes(), Input::kNone), "");
}

TEST(InputsTest, OneOfTheAlternativesIsEnough) {
  Facts facts = Computes();
  const Input either = Input::kReads | Input::kIoPressure | Input::kNetwork;
  EXPECT_EQ(Missing(facts, either),
            "neither what the program read, I/O pressure nor network traffic "
            "was collected");
  PutSeries(facts, "psi_io", MadeRun::Always(0));
  EXPECT_EQ(Missing(facts, either), "");
}

TEST(InputsTest, EveryInputHasWordsOfItsOwn) {
  MadeRun run;
  run.meta = {{"cores", ""}, {"allowed_cores", ""}};
  run.machine_series = run.thread_series = run.process_series = false;
  const Facts facts = run.Make();
  std::string before;
  for (uint32_t bit = 0; bit < 23; ++bit) {
    const std::string why = Missing(facts, static_cast<Input>(1u << bit));
    EXPECT_TRUE(why.ends_with(" was not collected")) << bit << ": " << why;
    EXPECT_NE(why, before);
    before = why;
  }
}

// What came only before the part that is judged is of no use to a rule.
TEST(InputsTest, ASeriesCountsInTheSteadyPart) {
  Facts facts = Computes();
  auto all = std::make_shared<RunSeries>(*facts.series);
  RegularSeries early = *all->Find("tree_cpu");
  early.name = "tree_read";
  for (size_t i = 1; i < early.size(); ++i) early.known[i] = 0;
  all->all.push_back(early);
  facts.series = all;
  facts.windows[0].judged = false;
  EXPECT_NE(Missing(facts, Input::kReads), "");
}

}  // namespace
}  // namespace sonde
