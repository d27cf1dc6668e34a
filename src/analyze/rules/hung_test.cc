#include <gtest/gtest.h>

#include "analyze/facts/made_run.h"
#include "analyze/facts/run_patterns.h"
#include "analyze/rules/made_case.h"

namespace sonde {
namespace {

MadeRun Works(double from_s, double to_s, double rest = 0.0) {
  MadeRun run;
  run.seconds = 20;
  run.workers = {{.cores = [=](double s) {
    return s >= from_s && s < to_s ? 0.9 : rest;
  }}};
  return run;
}

std::string SummaryOf(const Facts& facts) {
  const Outcome outcome = Ask(Hung, facts);
  return outcome.findings.empty() ? "" : outcome.findings[0].summary;
}

TEST(HungTest, FindsAHangAtTheEnd) {
  const Facts facts = Works(0, 10).Make();
  const Outcome outcome = Ask(Hung, facts);
  ASSERT_EQ(outcome.findings.size(), 1u);
  const Finding& f = outcome.findings[0];
  EXPECT_EQ(f.severity, Severity::kCritical);
  EXPECT_NEAR(static_cast<double>(f.from_ns - facts.run.begin_ns), 10e9, 0.3e9);
  EXPECT_NE(f.summary.find("Hung"), std::string::npos) << f.summary;
  const RunShape shape = ShapeOf(facts);
  ASSERT_FALSE(shape.phases.list.empty());
  EXPECT_EQ(shape.phases.list.back().kind, Phase::Kind::kHung);
  EXPECT_EQ(shape.phases.list.front().from_ns, facts.run.begin_ns);
  for (size_t i = 1; i < shape.phases.list.size(); ++i)
    EXPECT_EQ(shape.phases.list[i].from_ns, shape.phases.list[i - 1].to_ns);
}

TEST(HungTest, NeighboursDoNotHideIt) {
  MadeRun run = Works(0, 10);
  run.others = MadeRun::Always(1.5);
  EXPECT_NE(SummaryOf(run.Make()), "");
}

TEST(HungTest, AHeartbeatIsNoWork) {
  MadeRun run = Works(0, 10);
  run.workers[0].cores = [](double s) {
    if (s < 10) return 0.9;
    return s - static_cast<int>(s) < 0.1 ? 0.05 : 0.0;
  };
  EXPECT_NE(SummaryOf(run.Make()).find("Hung"), std::string::npos);
}

TEST(HungTest, LittleWorkIsWork) {
  EXPECT_EQ(SummaryOf(Works(0, 10, 0.03).Make()), "");
}

TEST(HungTest, ReadingIsWork) {
  Facts facts = Works(0, 10).Make();
  PutSeries(facts, "tree_read_chars", MadeRun::Always(20e3));
  EXPECT_EQ(SummaryOf(facts), "");
  PutSeries(facts, "tree_read_chars", MadeRun::Always(500));
  EXPECT_NE(SummaryOf(facts), "");
}

TEST(HungTest, AnAcceleratorThatWorksIsWork) {
  Facts facts = Works(0, 10).Make();
  PutSeries(facts, "accelerator", MadeRun::Always(0.9));
  EXPECT_EQ(SummaryOf(facts), "");
}

TEST(HungTest, WhoNeverWorkedDoesNotHang) {
  EXPECT_EQ(SummaryOf(Works(0, 0.3).Make()), "");
}

TEST(HungTest, WhoWaitsForItselfFromTheStartHangs) {
  constexpr double kFutex = 202, kSleep = 230;
  Facts facts = Works(0, 0.3).Make();
  std::vector<ThreadFacts>& threads = facts.processes[0].threads;
  threads[0].sleeps_in = kFutex;
  const Outcome outcome = Ask(Hung, facts);
  ASSERT_EQ(outcome.findings.size(), 1u);
  EXPECT_LT(outcome.findings[0].confidence, 0.8);
  EXPECT_NE(outcome.findings[0].advice.find("sonde stacks"), std::string::npos);
  threads[0].sleeps_in = kSleep;
  EXPECT_EQ(SummaryOf(facts), "") << "somebody else wakes it";
}

TEST(HungTest, ALongPauseIsSaidAShortOneIsNot) {
  MadeRun run = Works(0, 20);
  run.workers[0].cores = [](double s) { return s > 5 && s < 12 ? 0.0 : 0.9; };
  const Facts facts = run.Make();
  EXPECT_NE(SummaryOf(facts).find("stood still"), std::string::npos);
  const RunShape shape = ShapeOf(facts);
  EXPECT_TRUE(
      std::any_of(shape.phases.list.begin(), shape.phases.list.end(),
                  [](const Phase& p) { return p.kind == Phase::Kind::kIdle; }));
  run.workers[0].cores = [](double s) { return s > 5 && s < 9 ? 0.0 : 0.9; };
  EXPECT_EQ(SummaryOf(run.Make()), "");
}

TEST(HungTest, WaitingForADiskOrACoreIsNoHang) {
  for (const char* held_up : {"tree_blocked", "tree_wait"}) {
    Facts facts = Works(0, 10).Make();
    PutSeries(facts, held_up, [](double s) { return s < 10 ? 0.0 : 0.9; });
    EXPECT_EQ(SummaryOf(facts), "") << held_up;
  }
}

TEST(HungTest, OneSentenceNamesThreeSleepersAndTheAdviceWhoStandsThere) {
  constexpr double kFutex = 202, kRead = 0;
  MadeRun run = Works(0, 10);
  run.workers.resize(5, {.cores = MadeRun::Always(0)});
  Facts facts = run.Make();
  ProcessFacts& p = facts.processes[0];
  ASSERT_EQ(p.threads.size(), 5u);
  for (ThreadFacts& t : p.threads) t.sleeps_in = kFutex;
  p.threads[0].row.tid = p.row.pid;
  p.threads[4].sleeps_in = kRead;
  Finding f = Ask(Hung, facts).findings.at(0);
  ASSERT_EQ(f.evidence.size(), 2u);
  EXPECT_EQ(f.evidence[1].text,
            "The main thread, thread 2002, thread 2003 and 1 more of work "
            "waited for a lock or another thread (futex). Thread 2005 of work "
            "waited for data (read).");
  EXPECT_NE(f.advice.find("sonde stacks PID`"), std::string::npos) << f.advice;
  p.row.exit = Process::Exit::kRunning;
  f = Ask(Hung, facts).findings.at(0);
  EXPECT_NE(f.advice.find("sonde stacks 1001`"), std::string::npos) << f.advice;
  // Two that call themselves the main thread are in no trace of ours.
  p.threads[4].row.tid = p.row.pid;
  f = Ask(Hung, facts).findings.at(0);
  EXPECT_TRUE(f.evidence[1].text.ends_with(
      "The main thread of work waited for data (read)."))
      << f.evidence[1].text;
}

TEST(HungTest, AServiceThatNobodyAsksIsIdle) {
  constexpr double kEpollWait = 232, kFutex = 202;
  Facts facts = Works(0, 10).Make();
  facts.processes[0].threads[0].sleeps_in = kEpollWait;
  EXPECT_TRUE(SummaryOf(facts).starts_with("Idle")) << SummaryOf(facts);
  facts.processes[0].threads[0].sleeps_in = kFutex;
  EXPECT_TRUE(SummaryOf(facts).starts_with("Hung")) << SummaryOf(facts);
}

}  // namespace
}  // namespace sonde
