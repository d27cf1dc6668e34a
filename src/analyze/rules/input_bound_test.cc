#include <gtest/gtest.h>

#include <cmath>

#include "analyze/facts/made_devices.h"
#include "analyze/rules/made_case.h"
#include "analyze/verdict/judge.h"

namespace sonde {
namespace {

// A consumer that mostly waits, and two loaders, on four cores.
struct InputTest : testing::Test {
  InputTest() {
    run.cores = 4;
    run.workers = {{.name = "train", .cores = run.Always(0.1)},
                   {.process = 2, .name = "load", .cores = run.Always(0.9)},
                   {.process = 3, .name = "load", .cores = run.Always(0.9)}};
  }
  Facts Busy(double share) const {
    return WithDevices(run, {{.busy = MadeRun::Always(share),
                              .memory = MadeRun::Always(0.4)}});
  }
  // Loaders that use little CPU, but read.
  Facts Reading(double calls_s, double bytes_each, double sleeps_s) {
    run.workers[1].cores = run.workers[2].cores = run.Always(0.05);
    Facts facts = Busy(0.5);
    for (ProcessFacts& p : facts.processes) {
      if (p.row.number == 1) continue;
      p.io.read_calls = calls_s * 10 / 2;
      p.io.read_chars = *p.io.read_calls * bytes_each;
      p.voluntary_switches = sleeps_s * 10 / 2;
    }
    return facts;
  }
  static std::string First(const Facts& facts) {
    const Judgement judgement = Judge(facts);
    return judgement.findings.empty() ? "" : judgement.findings[0].rule;
  }
  // `detail` comes second, and the first one's advice is its.
  static void ExpectDetail(const Facts& facts, const std::string& detail) {
    const Judgement judgement = Judge(facts);
    ASSERT_GE(judgement.findings.size(), 2u);
    EXPECT_EQ(judgement.findings[0].rule, "input_bound");
    EXPECT_EQ(judgement.findings[1].rule, detail);
    EXPECT_EQ(judgement.advice, judgement.findings[1].advice);
  }

  MadeRun run;
};

TEST_F(InputTest, FindsLoadersThatCannotKeepUp) {
  const Outcome outcome = Ask(InputBound, Busy(0.4));
  ASSERT_EQ(outcome.findings.size(), 1u);
  const Finding& f = outcome.findings[0];
  EXPECT_EQ(f.severity, Severity::kCritical);
  EXPECT_EQ(f.summary,
            "Limited by its input: GPU 0 waits 60.0 % of the time while 1.8 "
            "cores prepare data.");
  EXPECT_EQ(f.where.process_name, "train");
  ASSERT_TRUE(f.gain);
  EXPECT_NEAR(f.gain->share, 0.6, 0.02);
  EXPECT_EQ(First(Busy(0.4)), "input_bound") << "before its symptoms";
}

TEST_F(InputTest, WhatLoadersUsedInAStartUpIsNotJudged) {
  // Of 1.9 cores, what is the loaders' part in all CPU time.
  for (const size_t i : {1, 2})
    run.workers[i].cores = [](double s) { return s < 5 ? 0.1 : 0.9; };
  run.meta["steady_ns"] = std::to_string(MadeRun::kBeginNs + 5 * kNsPerSec);
  const Outcome outcome = Ask(InputBound, Busy(0.4));
  ASSERT_EQ(outcome.findings.size(), 1u);
  EXPECT_NE(outcome.findings[0].summary.find("1.7 cores"), std::string::npos)
      << outcome.findings[0].summary;
}

TEST_F(InputTest, AnAcceleratorThatIsNinetyPercentBusyIsWell) {
  EXPECT_TRUE(Ask(InputBound, Busy(0.91)).findings.empty());
  ASSERT_EQ(Ask(InputBound, Busy(0.89)).findings.size(), 1u);
  EXPECT_EQ(Ask(InputBound, Busy(0.85)).findings[0].severity,
            Severity::kWarning);
  EXPECT_EQ(Ask(InputBound, Busy(0.79)).findings[0].severity,
            Severity::kCritical);
}

TEST_F(InputTest, OneOfEightThatWaitsIsNotHiddenByTheOthers) {
  const MadeDevice well = {.busy = MadeRun::Always(0.97),
                           .memory = MadeRun::Always(0.4)};
  std::vector<MadeDevice> devices(8, well);
  EXPECT_TRUE(Ask(InputBound, WithDevices(run, devices)).findings.empty());
  devices[5].busy = MadeRun::Always(0.6);
  const Outcome outcome = Ask(InputBound, WithDevices(run, devices));
  ASSERT_EQ(outcome.findings.size(), 1u);
  EXPECT_EQ(outcome.findings[0].summary,
            "Limited by its input: GPU 5 waits 40.0 % of the time while 1.8 "
            "cores prepare data.");
}

TEST_F(InputTest, FindsAMainThreadThatLoadsBetweenTheSteps) {
  run.workers = {{.name = "train", .cores = run.Always(0.55)}};
  const Outcome outcome = Ask(InputBound, Busy(0.45));
  ASSERT_EQ(outcome.findings.size(), 1u);
  EXPECT_EQ(outcome.findings[0].summary,
            "Limited by its input: GPU 0 waits 55.0 % of the time while the "
            "main thread prepares data.");
  EXPECT_EQ(First(Busy(0.45)), "input_bound");
  EXPECT_TRUE(Ask(InputBound, Busy(0.7)).findings.empty())
      << "it does something else, too";
  EXPECT_TRUE(Ask(InputBound, Busy(0.2)).findings.empty())
      << "something else is waited for";
  run.workers[0].cores = run.Always(0.95);
  EXPECT_TRUE(Ask(InputBound, Busy(0.05)).findings.empty())
      << "it never waits for the accelerator";
}

TEST_F(InputTest, TurnsThatCanBeToldApartAreTurns) {
  for (const double part : {0.5, 0.65}) {
    const auto turn = [part](double s) {
      return std::fmod(s, 2) < 2 * part ? 1.0 : 0.0;
    };
    const auto other = [turn](double s) { return 1 - turn(s); };
    run.workers = {{.name = "train", .cores = turn}};
    Facts facts = WithDevices(run, {{.busy = other, .memory = {}}});
    PutSeries(facts, "accelerator", other);
    EXPECT_TRUE(Ask(InputBound, facts).findings.empty());
    EXPECT_EQ(First(facts), "alternating") << "also before interpreter_bound";
  }
}

TEST_F(InputTest, AConsumerThatComputesDoesNotWaitForData) {
  run.workers[0].cores = run.Always(0.75);
  EXPECT_TRUE(Ask(InputBound, Busy(0.4)).findings.empty());
}

TEST_F(InputTest, NobodyWhoLoadsIsNoInput) {
  run.workers[1].cores = run.workers[2].cores = run.Always(0.05);
  EXPECT_TRUE(Ask(InputBound, Busy(0.4)).findings.empty());
}

TEST_F(InputTest, AShellThatWaitsIsNotTheConsumer) {
  run.workers = {{.name = "sh", .cores = run.Always(0)},
                 {.process = 2, .name = "train", .cores = run.Always(1)}};
  EXPECT_TRUE(Ask(InputBound, Busy(0.4)).findings.empty());
  EXPECT_EQ(Ask(InterpreterBound, Busy(0.4)).findings.at(0).where.process_name,
            "train");
}

TEST_F(InputTest, TheHolderOfDeviceMemoryIsTheConsumer) {
  Facts facts = Busy(0.4);
  facts.devices[0].holders = {2};
  EXPECT_TRUE(Ask(InputBound, facts).findings.empty()) << "it computes";
}

TEST_F(InputTest, SaturatedCoresSayWhyTheInputIsSlow) {
  EXPECT_TRUE(Ask(InputCpuSaturated, Busy(0.4)).findings.empty());
  run.cores = 2;
  run.workers[1].cores = run.workers[2].cores = run.Always(0.92);
  ASSERT_EQ(Ask(InputCpuSaturated, Busy(0.4)).findings.size(), 1u);
  ExpectDetail(Busy(0.4), "input_cpu_saturated");
}

TEST_F(InputTest, ABusyDiskSaysWhyTheInputIsSlow) {
  Facts facts = Busy(0.4);
  PutSeries(facts, "tree_read", MadeRun::Always(2e6));
  PutSeries(facts, "disk_busy", MadeRun::Always(0.79));
  EXPECT_TRUE(Ask(InputStorageBound, facts).findings.empty());
  PutSeries(facts, "disk_busy", MadeRun::Always(0.95));
  ASSERT_EQ(Ask(InputStorageBound, facts).findings.size(), 1u);
  ExpectDetail(facts, "input_storage_bound");
  PutSeries(facts, "tree_read", MadeRun::Always(0.9e6));
  EXPECT_TRUE(Ask(InputStorageBound, facts).findings.empty())
      << "somebody else keeps the disk busy";
}

TEST_F(InputTest, SlowSmallReadsAreLatency) {
  const Facts slow = Reading(100, 16'000, 90);
  ASSERT_EQ(Ask(InputBound, slow).findings.size(), 1u) << "reads are input";
  ASSERT_EQ(Ask(InputStorageLatency, slow).findings.size(), 1u);
  EXPECT_EQ(Ask(InputStorageLatency, slow).findings[0].summary,
            "Limited by slow answers of its storage: GPU 0 waits 50.0 % of the "
            "time for reads of 16.0 kB that take about 19.0 ms each.");
  ExpectDetail(slow, "input_storage_latency");
  Facts pipes = slow;
  PutSeries(pipes, "psi_io", MadeRun::Always(0.02));
  EXPECT_TRUE(Ask(InputStorageLatency, pipes).findings.empty())
      << "nobody waits for storage";
  EXPECT_TRUE(
      Ask(InputStorageLatency, Reading(100, 70'000, 90)).findings.empty());
  EXPECT_TRUE(
      Ask(InputStorageLatency, Reading(1000, 16'000, 900)).findings.empty())
      << "2 ms each";
  EXPECT_TRUE(
      Ask(InputStorageLatency, Reading(100, 16'000, 10)).findings.empty())
      << "they hardly ever slept for it";
}

TEST_F(InputTest, WithoutAnAcceleratorThereIsNothingToJudge) {
  for (const auto rule : {&InputBound, &InputCpuSaturated, &InputStorageBound,
                          &InputStorageLatency}) {
    EXPECT_TRUE(Ask(rule, run.Make()).findings.empty());
    EXPECT_EQ(Ask(rule, run.Make()).not_enough_data, "");
    const Facts unused = WithDevices(run, {{.busy = MadeRun::Always(0)}});
    EXPECT_TRUE(Ask(rule, unused).findings.empty());
  }
}

TEST_F(InputTest, SaysWhenItCannotKnow) {
  const Facts memory = WithDevices(run, {{.memory = MadeRun::Always(0.4)}});
  EXPECT_EQ(Ask(InputBound, memory).not_enough_data,
            "how busy the accelerators were was not collected");
  run.seconds = 0.5;
  EXPECT_NE(Ask(InputBound, Busy(0.4)).not_enough_data, "");
}

TEST_F(InputTest, ADiskThatOthersKeepBusyIsNotItsInput) {
  Facts facts = Busy(0.4);
  PutSeries(facts, "tree_read", MadeRun::Always(2e6));
  PutSeries(facts, "disk_busy", MadeRun::Always(0.95));
  PutSeries(facts, "disk_read", MadeRun::Always(4e6));
  EXPECT_EQ(Ask(InputStorageBound, facts).findings.size(), 1u);
  PutSeries(facts, "disk_read", MadeRun::Always(400e6));
  EXPECT_TRUE(Ask(InputStorageBound, facts).findings.empty());
}

TEST_F(InputTest, AThreadThatFillsACoreWaitsForNoData) {
  // Long idle before: on average it was on a core half of the time.
  run.seconds = 40;
  run.workers[0].cores = [](double s) { return s < 18 ? 0.0 : 0.98; };
  run.workers[1].cores =
      run.workers[2].cores = [](double s) { return s < 18 ? 0.0 : 0.5; };
  const Facts facts =
      WithDevices(run, {{.busy = [](double s) { return s < 18 ? 0.0 : 0.3; }}});
  EXPECT_EQ(Ask(InterpreterBound, facts).findings.size(), 1u);
  EXPECT_TRUE(Ask(InputBound, facts).findings.empty());
}

TEST_F(InputTest, WaitingForTheAcceleratorOnACoreIsNoWork) {
  run.workers[0].cores = run.Always(0.75);
  EXPECT_EQ(Ask(InputBound, Busy(0.75)).findings.size(), 1u);
  EXPECT_TRUE(Ask(InputBound, Busy(0.4)).findings.empty());
}

}  // namespace
}  // namespace sonde
