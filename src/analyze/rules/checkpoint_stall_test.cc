#include <gtest/gtest.h>

#include <cmath>

#include "analyze/made_run.h"
#include "analyze/rules/rules.h"

namespace sonde {
namespace {

// Every five seconds of 30, for `stall_s`: no work, but much is written.
Facts Saves(double stall_s, double written) {
  const auto saves = [=](double s) { return std::fmod(s, 5) > 5 - stall_s; };
  MadeRun run;
  run.seconds = 29;
  run.workers = {{.name = "train",
                  .cores = [=](double s) { return saves(s) ? 0.05 : 1.0; }}};
  Facts facts = run.Make();
  PutSeries(facts, "tree_write",
            [=](double s) { return saves(s) ? written : 0.0; });
  return facts;
}

TEST(CheckpointStallTest, FindsDipsInWhichMuchIsWritten) {
  const Outcome outcome = CheckpointStall(Saves(0.8, 200e6));
  ASSERT_EQ(outcome.findings.size(), 1u);
  const Finding& f = outcome.findings[0];
  EXPECT_EQ(f.rule, "checkpoint_stall");
  EXPECT_NE(f.summary.find("Stands still while it saves: 5 times"),
            std::string::npos)
      << f.summary;
  ASSERT_TRUE(f.gain.has_value());
  EXPECT_NEAR(f.gain->share, 5 * 0.8 / 29, 0.03);
}

TEST(CheckpointStallTest, DipsWithoutWritingAreSomethingElse) {
  EXPECT_TRUE(CheckpointStall(Saves(0.8, 0)).findings.empty());
}

TEST(CheckpointStallTest, SavingThatTakesNoTimeIsFine) {
  EXPECT_TRUE(CheckpointStall(Saves(0.2, 200e6)).findings.empty());
}

TEST(CheckpointStallTest, TheKernelsWorkForTheDiskIsTheSaving) {
  Facts facts = Saves(0.8, 200e6);
  const auto saves = [](double s) { return std::fmod(s, 5) > 4.2; };
  PutSeries(facts, "tree_cpu", MadeRun::Always(1));
  EXPECT_TRUE(CheckpointStall(facts).findings.empty());
  PutSeries(facts, "tree_system",
            [=](double s) { return saves(s) ? 0.95 : 0.02; });
  EXPECT_EQ(CheckpointStall(facts).findings.size(), 1u);
}

TEST(CheckpointStallTest, WhoSavesAsLongAsItWorksTakesTurns) {
  EXPECT_EQ(CheckpointStall(Saves(1.2, 200e6)).findings.size(), 1u);
  EXPECT_TRUE(CheckpointStall(Saves(1.8, 200e6)).findings.empty());
}

TEST(CheckpointStallTest, WhatItSavedInTheStartUpIsNotJudged) {
  Facts facts = Saves(0.8, 200e6);
  ASSERT_EQ(CheckpointStall(facts).findings.size(), 1u);
  facts.run.judged_from_ns = MadeRun::kBeginNs + 22 * kNsPerSec;
  EXPECT_TRUE(CheckpointStall(facts).findings.empty()) << "one is left";
}

TEST(CheckpointStallTest, SaysWhenItCannotKnow) {
  MadeRun run;
  run.workers = {{.cores = run.Always(1)}};
  EXPECT_EQ(CheckpointStall(run.Make()).not_enough_data,
            "what was written was not collected");
}

}  // namespace
}  // namespace sonde
