#include <gtest/gtest.h>

#include "analyze/facts/made_run.h"
#include "analyze/rules/made_case.h"
#include "analyze/verdict/judge.h"

namespace sonde {
namespace {

// A process of two threads, the first using `busy`, the second `rest`.
MadeRun Threads(double busy, double rest) {
  MadeRun run;
  run.workers = {{.name = "loader", .cores = run.Always(busy)},
                 {.name = "loader", .cores = run.Always(rest)}};
  return run;
}

bool Fires(const MadeRun& run) {
  return !Ask(OneCoreBound, run.Make()).findings.empty();
}

TEST(OneCoreBoundTest, NamesTheThreadThatFillsACore) {
  const Outcome outcome = Ask(OneCoreBound, Threads(0.99, 0.11).Make());
  ASSERT_EQ(outcome.findings.size(), 1u);
  const Finding& f = outcome.findings[0];
  EXPECT_EQ(f.rule, "one_core_bound");
  EXPECT_EQ(f.where.process, 1u);
  EXPECT_EQ(f.where.thread, 1u);
  EXPECT_EQ(f.where.tid, 2001);
  EXPECT_EQ(f.where.thread_name, "loader");
  EXPECT_EQ(f.summary,
            "Limited by one core: thread 2001 of loader is always busy while "
            "0.9 of 2 cores stay free.");
  ASSERT_EQ(f.evidence.size(), 3u);
  EXPECT_EQ(f.evidence[1].text,
            "The thread used 90.0 % of all CPU time of "
            "the run.");
  ASSERT_TRUE(f.gain.has_value());
  EXPECT_NEAR(f.gain->share, 0.5, 0.01) << "Amdahl on two cores";
  EXPECT_NE(f.gain->how.find("if this work spread over 2 cores"),
            std::string::npos);
  EXPECT_GT(f.confidence, 0.9);
}

TEST(OneCoreBoundTest, CoresNobodyLookedAtAreNotCalledFree) {
  Facts facts = Threads(0.99, 0.11).Make();
  for (CpuWindow& w : facts.windows) w.machine_known = false;
  const Finding f = Ask(OneCoreBound, facts).findings.at(0);
  EXPECT_EQ(f.summary,
            "Limited by one core: thread 2001 of loader is always busy and "
            "leaves 0.9 of 2 cores to others.");
  ASSERT_TRUE(f.gain.has_value());
  EXPECT_NE(f.gain->how.find("and these are free"), std::string::npos);
  for (const Evidence& e : f.evidence)
    EXPECT_EQ(e.text.find("were free"), std::string::npos) << e.text;
}

TEST(OneCoreBoundTest, NamesTheSliceMostOfItsTimeWentTo) {
  Facts facts = Threads(0.99, 0.11).Make();
  TrackSlices other;  // of the thread that is not the reason
  other.process = 1;
  other.thread = 2;
  other.slices = {{"wait", 10, 9'000'000'000, 9'000'000'000, 0, 0, 1}};
  TrackSlices busy;
  busy.process = 1;
  busy.thread = 1;
  busy.slices = {{"augment", 1000, 6'000'000'000, 6'000'000'000, 0, 0, 0.75},
                 {"read", 1000, 2'000'000'000, 2'000'000'000, 0, 0, 0.25}};
  facts.said.tracks = {other, busy};
  const Finding f = Ask(OneCoreBound, facts).findings.at(0);
  ASSERT_EQ(f.evidence.size(), 4u);
  EXPECT_EQ(f.evidence[2].text,
            "60.0 % of its time was in the slice `augment` (1000 times, 6.00 "
            "ms each on average).");
  EXPECT_NE(f.advice.find("Begin with the slice `augment`"), std::string::npos);
  EXPECT_EQ(f.summary,
            "Limited by one core: thread 2001 of loader is always busy, most "
            "of all with `augment`, while 0.9 of 2 cores stay free.");
}

TEST(OneCoreBoundTest, TheThresholdIsNinetyFivePercentOfACore) {
  EXPECT_TRUE(Fires(Threads(0.955, 0.1)));
  EXPECT_FALSE(Fires(Threads(0.945, 0.1)));
}

TEST(OneCoreBoundTest, TheThresholdIsSixtyPercentOfTheTime) {
  MadeRun run = Threads(1, 0);
  const auto busy_for = [](int of_ten) {
    return [of_ten](double s) {
      return static_cast<int>(s * 2) % 10 < of_ten ? 1.0 : 0.7;
    };
  };
  run.workers[0].cores = busy_for(6);
  ASSERT_TRUE(Fires(run));
  EXPECT_NE(Ask(OneCoreBound, run.Make())
                .findings[0]
                .summary.find("is busy most of the time while"),
            std::string::npos);
  run.workers[0].cores = busy_for(5);
  EXPECT_FALSE(Fires(run));
}

TEST(OneCoreBoundTest, HalfACoreMustBeFree) {
  EXPECT_TRUE(Fires(Threads(1.0, 0.45)));
  EXPECT_FALSE(Fires(Threads(1.0, 0.55)));
}

TEST(OneCoreBoundTest, CoresThatOthersUseAreNotFree) {
  MadeRun run = Threads(1.0, 0.2);
  run.others = MadeRun::Always(0.25);
  EXPECT_TRUE(Fires(run));
  run.others = MadeRun::Always(0.35);
  EXPECT_FALSE(Fires(run)) << "its second thread may want more";
}

TEST(OneCoreBoundTest, WhatOthersDoIsNothingToAThreadThatIsAlone) {
  MadeRun run = Threads(1.0, 0.1);
  run.others = MadeRun::Always(0.9);
  const Outcome outcome = Ask(OneCoreBound, run.Make());
  ASSERT_EQ(outcome.findings.size(), 1u);
  EXPECT_NE(outcome.findings[0].summary.find("other programs use the rest"),
            std::string::npos);
  EXPECT_FALSE(outcome.findings[0].gain) << "not while they do";
  EXPECT_TRUE(
      outcome.findings[0].advice.starts_with("Run the program again when"));
}

TEST(OneCoreBoundTest, AThreadThatIsAloneAndKeptFromItsCoreIsOneToo) {
  MadeRun run = Threads(0.6, 0.1);
  run.others = MadeRun::Always(1.3);
  EXPECT_FALSE(Fires(run)) << "it is not ready for more";
  run.workers[0].wait = MadeRun::Always(0.38);
  const Outcome outcome = Ask(OneCoreBound, run.Make());
  ASSERT_EQ(outcome.findings.size(), 1u);
  EXPECT_EQ(outcome.findings[0].advice.substr(0, 27),
            "Run the program again when ");
}

TEST(OneCoreBoundTest, TwoBusyThreadsAreNotOne) {
  MadeRun run = Threads(1.0, 0.75);
  run.cores = 8;
  EXPECT_TRUE(Fires(run));
  run.workers[1].cores = MadeRun::Always(0.85);
  EXPECT_FALSE(Fires(run));
}

TEST(OneCoreBoundTest, AThreadThatWaitsForItsCoreFillsItToo) {
  MadeRun run = Threads(0.85, 0);
  EXPECT_FALSE(Fires(run));
  run.workers[0].wait = MadeRun::Always(0.14);
  EXPECT_TRUE(Fires(run));
  run.workers[0].cores = MadeRun::Always(0.35);
  run.workers[0].wait = MadeRun::Always(0.64);
  EXPECT_FALSE(Fires(run)) << "it had no core for most of the time";
  run = Threads(0.6, 0.25);
  run.workers[0].wait = MadeRun::Always(0.38);
  EXPECT_FALSE(Fires(run)) << "it was not alone, and had no whole core";
}

TEST(OneCoreBoundTest, OneAllowedCoreIsNotItsBusiness) {
  MadeRun run = Threads(1.0, 0);
  run.meta["allowed_cores"] = "1";
  EXPECT_FALSE(Fires(run));
  run = Threads(1.0, 0);
  run.cores = 8;
  run.meta["cpu_limit_cores"] = "1.2";
  EXPECT_FALSE(Fires(run));
}

TEST(OneCoreBoundTest, SevenBusyCoresOfEightAreNotOne) {
  MadeRun run;
  run.cores = 8;
  for (uint32_t i = 1; i <= 7; ++i)
    run.workers.push_back({.process = i, .cores = run.Always(1)});
  EXPECT_FALSE(Fires(run));
}

TEST(OneCoreBoundTest, ProcessesWithoutThreadValuesCountAsOneThread) {
  MadeRun run = Threads(0.99, 0);
  run.workers.pop_back();
  run.thread_series = false;
  const Outcome outcome = Ask(OneCoreBound, run.Make());
  ASSERT_EQ(outcome.findings.size(), 1u);
  EXPECT_EQ(outcome.findings[0].where.thread, 0u);
}

TEST(OneCoreBoundTest, AProcessThatUsesTwoCoresIsNoThread) {
  MadeRun run = Threads(0.99, 0);
  run.cores = 4;
  run.workers.pop_back();
  run.workers[0].cores = run.Always(1.9);
  run.thread_series = false;
  EXPECT_TRUE(Ask(OneCoreBound, run.Make()).findings.empty());
}

TEST(OneCoreBoundTest, FindsAChainOfProcessesOneAtATime) {
  MadeRun run;
  run.workers = {{.name = "sh", .cores = run.Always(0.02)}};
  for (uint32_t i = 0; i < 10; ++i)
    run.workers.push_back({.process = 2 + i,
                           .name = "step",
                           .cores = run.Always(0.97),
                           .from_s = static_cast<double>(i),
                           .to_s = i + 1.0});
  const Outcome outcome = Ask(OneCoreBound, run.Make());
  ASSERT_EQ(outcome.findings.size(), 1u);
  EXPECT_EQ(outcome.findings[0].summary,
            "Limited by one core: its 11 processes work one at a time while "
            "1.0 of 2 cores stay free.");
  EXPECT_LT(outcome.findings[0].confidence, 0.8) << "less sure than a thread";
  EXPECT_EQ(outcome.findings[0].evidence.back().text,
            "Most CPU time went to step (10 processes) 98.0 %, sh 2.0 %.");
  EXPECT_EQ(outcome.findings[0].where.process_name, "step");
  for (auto& worker : run.workers) worker.cores = run.Always(0.8);
  EXPECT_FALSE(Fires(run));
}

// Four threads of one process that use `each` of a core.
MadeRun FourThreads(const char* name, const MadeRun::Load& each) {
  MadeRun run;
  run.cores = 4;
  for (int i = 0; i < 4; ++i)
    run.workers.push_back({.name = name, .cores = each});
  return run;
}

TEST(OneCoreBoundTest, FindsThreadsThatShareOneCore) {
  const Finding f =
      Ask(OneCoreBound, FourThreads("python3", MadeRun::Always(0.25)).Make())
          .findings.at(0);
  EXPECT_EQ(f.summary,
            "Limited by one core: the 4 threads of python3 together use one "
            "while 3.0 of 4 cores stay free.");
  EXPECT_NE(f.advice.find("interpreter's lock"), std::string::npos);
  EXPECT_LT(f.confidence, 0.6) << "what they wait for nobody saw";
  const Finding other =
      Ask(OneCoreBound, FourThreads("serve", MadeRun::Always(0.25)).Make())
          .findings.at(0);
  EXPECT_NE(other.advice.find("for what is not recorded"), std::string::npos)
      << other.advice;
  EXPECT_EQ(other.advice.find("Python"), std::string::npos) << other.advice;
}

TEST(OneCoreBoundTest, ThreadsSeenAsleepForEachOtherAreNoChance) {
  constexpr double kFutex = 202, kRead = 0;
  MadeRun run = FourThreads("serve", MadeRun::Always(0.25));
  for (auto& worker : run.workers) worker.wait = MadeRun::Always(0.01);
  Facts facts = run.Make();
  const auto seen_in = [&](double call) {
    for (ThreadFacts& t : facts.processes[0].threads) t.sleeps_in = call;
    return Ask(OneCoreBound, facts).findings.at(0);
  };
  EXPECT_GE(seen_in(kFutex).confidence, 0.85);
  EXPECT_NE(seen_in(kFutex).summary.find("work one at a time"),
            std::string::npos);
  EXPECT_LT(seen_in(kRead).confidence, 0.6);
}

TEST(OneCoreBoundTest, ThreadsThatHappenToUseAboutOneCoreAreNotOne) {
  EXPECT_FALSE(Fires(FourThreads("serve", MadeRun::Always(0.93 / 4))));
  // More than one at a time, now and then: no lock lets them.
  const MadeRun::Load uneven = [](double s) {
    return (static_cast<int>(s * 10) % 3 == 0 ? 1.1 : 0.97) / 4;
  };
  EXPECT_FALSE(Fires(FourThreads("serve", uneven)));
  const MadeRun::Load seldom = [](double s) {
    return (static_cast<int>(s * 10) % 10 == 0 ? 1.1 : 0.97) / 4;
  };
  EXPECT_TRUE(Fires(FourThreads("serve", seldom))) << "clocks err";
}

TEST(OneCoreBoundTest, AShellAroundItDoesNotMakeItSeveralProcesses) {
  MadeRun run = FourThreads("serve", MadeRun::Always(0.25));
  run.workers.push_back(
      {.process = 2, .name = "sh", .cores = run.Always(0.001)});
  EXPECT_NE(Ask(OneCoreBound, run.Make())
                .findings.at(0)
                .summary.find("the 4 threads of serve"),
            std::string::npos);
}

// Four threads beside a program that has a core: each runs a fifth of the time
// and is kept from its core for a tenth.
Facts Starved(double sleeps_in, double wait = 0.11) {
  MadeRun run;
  run.others = MadeRun::Always(1.1);
  for (int i = 0; i < 4; ++i)
    run.workers.push_back({.name = "python3",
                           .cores = MadeRun::Always(0.21),
                           .wait = MadeRun::Always(wait)});
  Facts facts = run.Make();
  for (ThreadFacts& t : facts.processes[0].threads) t.sleeps_in = sleeps_in;
  return facts;
}

TEST(OneCoreBoundTest, NeighboursDoNotHideThreadsThatTakeTurns) {
  constexpr double kFutex = 202, kRead = 0;
  const Outcome outcome = Ask(OneCoreBound, Starved(kFutex));
  ASSERT_EQ(outcome.findings.size(), 1u);
  const Finding& f = outcome.findings[0];
  EXPECT_EQ(f.summary,
            "Limited by one core: the 4 threads of python3 work one at a time; "
            "other programs use the rest.");
  EXPECT_FALSE(f.gain.has_value()) << "others have the cores";
  // Who waits for something else does not wait for a thread.
  EXPECT_TRUE(Ask(OneCoreBound, Starved(kRead)).findings.empty());
  // Who could run if there was a core does not sleep.
  EXPECT_TRUE(Ask(OneCoreBound, Starved(kFutex, 0.79)).findings.empty());
}

TEST(OneCoreBoundTest, SilentOnAHealthyOrIdleRun) {
  EXPECT_FALSE(Fires(Threads(0.05, 0)));
  EXPECT_FALSE(Fires(Threads(0.6, 0.6)));
  EXPECT_FALSE(Fires(Threads(1, 1)));
}

TEST(OneCoreBoundTest, SaysWhenItCannotKnow) {
  MadeRun run = Threads(1, 0);
  run.meta["allowed_cores"] = run.meta["cores"] = "";
  EXPECT_NE(Ask(OneCoreBound, run.Make()).not_enough_data, "");
  run = Threads(1, 0);
  run.seconds = 0.9;
  EXPECT_NE(Ask(OneCoreBound, run.Make()).not_enough_data, "");
  run = Threads(1, 0);
  run.process_series = run.thread_series = false;
  EXPECT_NE(Ask(OneCoreBound, run.Make()).not_enough_data, "");
}

TEST(OneCoreBoundTest, JudgesAtAnyRate) {
  for (const double rate : {1.0, 10.0, 100.0, 1000.0}) {
    MadeRun run = Threads(0.99, 0.1);
    run.rate_hz = rate;
    run.jitter_s = 0.3 / rate;
    EXPECT_TRUE(Fires(run)) << rate;
  }
}

}  // namespace
}  // namespace sonde
