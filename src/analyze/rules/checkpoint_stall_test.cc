#include <gtest/gtest.h>

#include <cmath>

#include "analyze/facts/made_run.h"
#include "analyze/rules/made_case.h"
#include "analyze/verdict/judge.h"

namespace sonde {
namespace {

// A run of 26 s that stops its work every `period_s` for `stall_s`, and writes
// so much a second meanwhile.
struct Saver {
  double stall_s = 0.8;
  double written = 200e6;
  double period_s = 5;
  double cores = 1;
  MadeRun::Load wait = {};
  MadeRun::Load others = [](double) { return 0.0; };

  bool Saves(double s) const {
    return std::fmod(s, period_s) > period_s - stall_s;
  }
  Facts Make() const {
    const Saver me = *this;
    MadeRun run;
    run.seconds = 26;
    run.others = others;
    run.workers = {
        {.name = "train",
         .cores = [=](double s) { return me.Saves(s) ? 0.05 : me.cores; },
         .wait = wait}};
    Facts facts = run.Make();
    PutSeries(facts, "tree_write",
              [=](double s) { return me.Saves(s) ? me.written : 0.0; });
    return facts;
  }
};

Facts Saves(double stall_s, double written) {
  return Saver{.stall_s = stall_s, .written = written}.Make();
}

bool Fires(const Facts& facts) {
  return !Ask(CheckpointStall, facts).findings.empty();
}

bool Says(const std::string& text, const char* what) {
  return text.find(what) != std::string::npos;
}

TEST(CheckpointStallTest, FindsDipsInWhichMuchIsWritten) {
  const Outcome outcome = Ask(CheckpointStall, Saves(0.8, 200e6));
  ASSERT_EQ(outcome.findings.size(), 1u);
  const Finding& f = outcome.findings[0];
  EXPECT_EQ(f.rule, "checkpoint_stall");
  EXPECT_NE(f.summary.find("Stands still while saving: 5 times"),
            std::string::npos)
      << f.summary;
  ASSERT_TRUE(f.gain.has_value());
  EXPECT_NEAR(f.gain->share, 5 * 0.8 / 26, 0.03);
}

TEST(CheckpointStallTest, DipsWithoutWritingAreSomethingElse) {
  EXPECT_TRUE(Ask(CheckpointStall, Saves(0.8, 0)).findings.empty());
}

TEST(CheckpointStallTest, SavingThatTakesNoTimeIsFine) {
  EXPECT_TRUE(Ask(CheckpointStall, Saves(0.2, 200e6)).findings.empty());
}

TEST(CheckpointStallTest, TheKernelsWorkForTheDiskIsTheSaving) {
  Facts facts = Saves(0.8, 200e6);
  const auto saves = [](double s) { return std::fmod(s, 5) > 4.2; };
  PutSeries(facts, "tree_cpu", MadeRun::Always(1));
  EXPECT_TRUE(Ask(CheckpointStall, facts).findings.empty());
  PutSeries(facts, "tree_system",
            [=](double s) { return saves(s) ? 0.95 : 0.02; });
  EXPECT_EQ(Ask(CheckpointStall, facts).findings.size(), 1u);
}

TEST(CheckpointStallTest, SavesMayTakeMostOfTheTime) {
  for (const double stall_s : {1.2, 1.8, 2.5, 3.7}) {
    const Outcome outcome = Ask(CheckpointStall, Saves(stall_s, 200e6));
    ASSERT_EQ(outcome.findings.size(), 1u) << stall_s;
    EXPECT_NEAR(outcome.findings[0].gain->share, 5 * stall_s / 26, 0.05);
  }
  EXPECT_FALSE(Fires(Saves(4.8, 200e6))) << "it only writes";
}

TEST(CheckpointStallTest, SaysHowMuchHowLongAndHowFast) {
  const Finding f = Ask(CheckpointStall, Saves(2, 300e6)).findings.at(0);
  EXPECT_TRUE(Says(f.summary, "for 3.00 GB")) << f.summary;
  EXPECT_TRUE(Says(f.evidence[0].text, "600 MB each")) << f.evidence[0].text;
  EXPECT_TRUE(Says(f.evidence[0].text, "at 300 MB/s")) << f.evidence[0].text;
  EXPECT_FALSE(Says(f.advice, "DataLoader")) << f.advice;
  EXPECT_FALSE(Says(f.advice, "fsync")) << f.advice;
}

TEST(CheckpointStallTest, ComesBeforeTheTurnsAndTheDisk) {
  Facts facts = Saves(2, 300e6);
  PutSeries(facts, "psi_io",
            [](double s) { return Saver{.stall_s = 2}.Saves(s) ? 0.9 : 0.0; });
  const Judgement judgement = Judge(facts);
  ASSERT_FALSE(judgement.findings.empty());
  EXPECT_EQ(judgement.findings[0].rule, "checkpoint_stall");
}

TEST(CheckpointStallTest, WhatIsWrittenAtOnceIsWaitedForInFsync) {
  const Saver saver = {.stall_s = 2, .written = 0};
  Facts facts = saver.Make();
  PutSeries(facts, "tree_write", [](double s) {
    return std::fmod(s, 5) > 3 && std::fmod(s, 5) < 3.3 ? 1e9 : 0.0;
  });
  const auto synced = [=](double s) { return saver.Saves(s) ? 0.8 : 0.0; };
  PutSeries(facts, "tree_blocked", synced);
  PutSeries(facts, "tree_sync", synced);
  const Finding f = Ask(CheckpointStall, facts).findings.at(0);
  EXPECT_TRUE(Says(f.evidence.back().text,
                   "The program waited in fsync for "
                   "80"))
      << f.evidence.back().text;
  EXPECT_TRUE(Says(f.advice, "do not fsync each file")) << f.advice;
  EXPECT_NEAR(f.gain->from_share, 0.8 * f.gain->share, 0.01)
      << "another thread can wait";
}

TEST(CheckpointStallTest, ShortTurnsWithoutFsyncAreTurns) {
  const Saver saver = {.stall_s = 0.6, .period_s = 1.2};
  Facts facts = saver.Make();
  const Judgement judgement = Judge(facts);
  ASSERT_FALSE(judgement.findings.empty());
  EXPECT_EQ(judgement.findings[0].rule, "alternating");
  EXPECT_FALSE(Says(judgement.findings[0].advice, "DataLoader"))
      << "nothing is loaded";
  const auto synced = [=](double s) { return saver.Saves(s) ? 0.5 : 0.0; };
  PutSeries(facts, "tree_blocked", synced);
  PutSeries(facts, "tree_sync", synced);
  EXPECT_EQ(Judge(facts).findings.at(0).rule, "checkpoint_stall");
}

TEST(CheckpointStallTest, WhoReadsOrReceivesMeanwhileLoads) {
  const Saver saver = {.stall_s = 1.8};
  for (const char* const name : {"tree_read_chars", "net_receive"}) {
    Facts facts = saver.Make();
    const auto loads = [=](double s) { return saver.Saves(s) ? 150e6 : 0.0; };
    PutSeries(facts, name, loads);
    EXPECT_FALSE(Fires(facts)) << name;
    PutSeries(facts, name, MadeRun::Always(150e6));
    EXPECT_TRUE(Fires(facts)) << name << " does not rise";
  }
}

TEST(CheckpointStallTest, WhoWritesAllTheTimeDoesNotSave) {
  Facts facts = Saves(1.8, 0);
  PutSeries(facts, "tree_write", MadeRun::Always(200e6));
  EXPECT_FALSE(Fires(facts)) << "a log";
  EXPECT_FALSE(Fires(Saver{.cores = 0.2}.Make())) << "a copy computes nothing";
}

TEST(CheckpointStallTest, ManySmallSyncsAreNoSaves) {
  Facts facts = Saves(0.8, 2e6);
  PutSeries(facts, "tree_blocked", MadeRun::Always(0.9));
  EXPECT_FALSE(Fires(facts));
}

TEST(CheckpointStallTest, WhoWritesAndThenSleepsDoesNotSave) {
  Facts facts = Saves(2, 20e6);
  ASSERT_TRUE(Fires(facts)) << "nobody looked whether it slept";
  PutSeries(facts, "tree_blocked",
            [](double s) { return s < 0.3 ? 0.1 : 0.0; });
  EXPECT_FALSE(Fires(facts));
}

TEST(CheckpointStallTest, WhoWaitsForACoreStillComputes) {
  // Others take the cores every five seconds, and then it also writes a bit.
  const Saver saver = {.written = 20e6, .wait = [](double s) {
                         return std::fmod(s, 5) > 4.2 ? 0.9 : 0.0;
                       }};
  EXPECT_FALSE(Fires(saver.Make()));
}

TEST(CheckpointStallTest, TheFirstAndTheLastAreNoSavesOfTheirOwn) {
  MadeRun run;
  run.workers = {
      {.cores = [](double s) { return s > 2 && s < 8 ? 1.0 : 0.05; }}};
  Facts facts = run.Make();
  PutSeries(facts, "tree_write",
            [](double s) { return s > 2 && s < 8 ? 0.0 : 100e6; });
  EXPECT_FALSE(Fires(facts));
}

TEST(CheckpointStallTest, WhatItSavedInTheStartUpIsNotJudged) {
  Facts facts = Saves(0.8, 200e6);
  ASSERT_EQ(Ask(CheckpointStall, facts).findings.size(), 1u);
  facts.run.judged_from_ns = MadeRun::kBeginNs + 22 * kNsPerSec;
  EXPECT_TRUE(Ask(CheckpointStall, facts).findings.empty()) << "one is left";
}

TEST(CheckpointStallTest, SaysWhenItCannotKnow) {
  MadeRun run;
  run.workers = {{.cores = run.Always(1)}};
  EXPECT_EQ(Ask(CheckpointStall, run.Make()).not_enough_data,
            "what the program wrote was not collected");
}

}  // namespace
}  // namespace sonde
