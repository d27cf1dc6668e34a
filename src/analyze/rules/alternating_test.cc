#include <gtest/gtest.h>

#include <cmath>

#include "analyze/facts/made_run.h"
#include "analyze/rules/made_case.h"

namespace sonde {
namespace {

// High in the half of each second that begins at `phase`.
MadeRun::Load Turn(double high, double phase) {
  return [=](double s) { return std::fmod(s + phase, 1) < 0.5 ? high : 0.0; };
}

Facts Computes(double seconds = 10) {
  MadeRun run;
  run.seconds = seconds;
  run.workers = {{.name = "work", .cores = Turn(1, 0)}};
  return run.Make();
}

TEST(AlternatingTest, FindsTurnsOfComputingAndReading) {
  Facts facts = Computes();
  PutSeries(facts, "tree_read", Turn(200e6, 0.5));
  const Outcome outcome = Ask(Alternating, facts);
  ASSERT_EQ(outcome.findings.size(), 1u);
  const Finding& f = outcome.findings[0];
  EXPECT_EQ(f.rule, "alternating");
  EXPECT_EQ(f.summary,
            "Takes turns: computing and reading wait for each other.");
  ASSERT_TRUE(f.gain.has_value());
  EXPECT_NEAR(f.gain->share, 0.5, 0.08);
  EXPECT_NEAR(NumberOf(f, "computing"), 0.5, 0.08);
  EXPECT_NEAR(NumberOf(f, "reading"), 0.5, 0.08);
}

TEST(AlternatingTest, FindsTurnsOfASecondInAnHour) {
  Facts facts = Computes(3600);
  PutSeries(facts, "tree_read", Turn(200e6, 0.5));
  EXPECT_EQ(Ask(Alternating, facts).findings.size(), 1u);
}

// It writes to the page cache in a moment and waits for the disk in fsync.
TEST(AlternatingTest, FindsTurnsWithTheDiskThatFsyncWaitsFor) {
  Facts facts = Computes();
  PutSeries(facts, "tree_write",
            [](double s) { return std::fmod(s + 0.5, 1) < 0.1 ? 500e6 : 0.0; });
  EXPECT_TRUE(Ask(Alternating, facts).findings.empty());
  PutSeries(facts, "disk_write", Turn(100e6, 0.5));
  PutSeries(facts, "psi_io", Turn(0.5, 0.5));
  PutSeries(facts, "tree_system", Turn(0.4, 0.5));
  const Outcome outcome = Ask(Alternating, facts);
  ASSERT_EQ(outcome.findings.size(), 1u);
  EXPECT_EQ(outcome.findings[0].summary,
            "Takes turns: computing and the disk wait for each other.");
  PutSeries(facts, "disk_write", Turn(1000e6, 0.5));
  EXPECT_TRUE(Ask(Alternating, facts).findings.empty())
      << "others keep it busy";
}

TEST(AlternatingTest, WithoutPressureTheDiskItselfTells) {
  Facts facts = Computes();
  PutSeries(facts, "tree_write", MadeRun::Always(50e6));
  PutSeries(facts, "disk_busy", Turn(0.9, 0.5));
  EXPECT_EQ(Ask(Alternating, facts).findings.size(), 1u);
}

TEST(AlternatingTest, FindsTurnsWithTheAccelerator) {
  Facts facts = Computes();
  PutSeries(facts, "accelerator", Turn(0.9, 0.5));
  ASSERT_EQ(Ask(Alternating, facts).findings.size(), 1u);
}

TEST(AlternatingTest, WhatGoesTogetherOrHardlyGoesIsFine) {
  Facts facts = Computes();
  PutSeries(facts, "tree_read", Turn(200e6, 0));
  EXPECT_TRUE(Ask(Alternating, facts).findings.empty());
  PutSeries(facts, "tree_read", MadeRun::Always(200e6));
  EXPECT_TRUE(Ask(Alternating, facts).findings.empty());
  PutSeries(facts, "tree_read", Turn(0.5e6, 0.5));
  EXPECT_TRUE(Ask(Alternating, facts).findings.empty())
      << "too little to matter";
}

TEST(AlternatingTest, TheKernelsPartBelongsToTheReading) {
  MadeRun run;
  run.workers = {{.name = "work", .cores = run.Always(0.9)}};
  Facts facts = run.Make();
  PutSeries(facts, "tree_read", Turn(200e6, 0.5));
  EXPECT_TRUE(Ask(Alternating, facts).findings.empty());
  PutSeries(facts, "tree_system", Turn(0.9, 0.5));
  EXPECT_EQ(Ask(Alternating, facts).findings.size(), 1u);
}

TEST(AlternatingTest, SaysWhenItCannotKnow) {
  EXPECT_NE(Ask(Alternating, Computes()).not_enough_data, "");
}

}  // namespace
}  // namespace sonde
