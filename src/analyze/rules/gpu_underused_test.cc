#include <gtest/gtest.h>

#include <cmath>

#include "analyze/facts/accelerators.h"
#include "analyze/facts/made_devices.h"
#include "analyze/rules/made_case.h"
#include "analyze/verdict/judge.h"

namespace sonde {
namespace {

Facts At(const MadeRun::Load& busy, double memory = 0.75, double cpu = 0.1) {
  MadeRun run;
  run.seconds = 30;
  run.workers = {{.name = "train", .cores = run.Always(cpu)}};
  return WithDevices(run, {{.busy = busy, .memory = run.Always(memory)}});
}

MadeRun::Load Always(double share) { return MadeRun::Always(share); }

// Works for `duty` of every `period` seconds.
MadeRun::Load Turns(double period, double duty, double high = 1) {
  return [=](double s) {
    return std::fmod(s, period) < duty * period ? high : 0.0;
  };
}

bool Found(const Outcome& outcome) { return !outcome.findings.empty(); }

TEST(GpuUnderusedTest, TheThresholdIsHalf) {
  EXPECT_TRUE(Found(Ask(GpuUnderused, At(Always(0.49)))));
  EXPECT_FALSE(Found(Ask(GpuUnderused, At(Always(0.51)))));
  EXPECT_FALSE(Found(Ask(GpuUnderused, At(Always(0), 0))))
      << "it is not its own";
}

TEST(GpuUnderusedTest, JudgesEveryDevice) {
  MadeRun run;
  run.workers = {{.name = "train", .cores = run.Always(0.1)}};
  const Facts facts = WithDevices(
      run,
      {{.busy = Always(0.95)}, {.busy = Always(0.2)}, {.busy = Always(0.3)}});
  const Outcome outcome = Ask(GpuUnderused, facts);
  ASSERT_TRUE(Found(outcome));
  EXPECT_EQ(outcome.findings[0].summary,
            "GPU 1 and 2 are used by 20.0 % only.");
}

TEST(GpuUnderusedTest, StartUpDoesNotCount) {
  const auto late = [](double s) { return s < 12 ? 0.0 : 0.95; };
  EXPECT_FALSE(Found(Ask(GpuUnderused, At(late))));
  EXPECT_FALSE(Found(Ask(GpuFluctuating, At(late))));
  EXPECT_TRUE(Judge(At(late)).findings.empty());
}

TEST(GpuFluctuatingTest, NamesThePeriod) {
  const Outcome outcome = Ask(GpuFluctuating, At(Turns(2, 0.7)));
  ASSERT_TRUE(Found(outcome));
  EXPECT_NE(outcome.findings[0].summary.find("again every 2.00 s"),
            std::string::npos)
      << outcome.findings[0].summary;
}

TEST(GpuFluctuatingTest, BothEndsMustBeFar) {
  EXPECT_FALSE(Found(Ask(GpuFluctuating, At(Turns(2, 0.7, 0.65)))));
  EXPECT_FALSE(Found(Ask(GpuFluctuating, At(Turns(20, 0.96)))))
      << "rests for less than 5 % of the time";
  EXPECT_FALSE(Found(Ask(GpuFluctuating, At([](double s) {
                           return std::fmod(s, 2) < 1 ? 1.0 : 0.2;
                         }))));
}

TEST(ProblemTooSmallTest, NothingMayBeUsedToCapacity) {
  EXPECT_TRUE(Found(Ask(ProblemTooSmall, At(Always(0.6), 0.3))));
  EXPECT_FALSE(Found(Ask(ProblemTooSmall, At(Always(0.72), 0.3))));
  EXPECT_FALSE(Found(Ask(ProblemTooSmall, At(Always(0.6), 0.72))));
  EXPECT_FALSE(Found(Ask(ProblemTooSmall, At(Always(0.6), 0.3, 1.5))));
}

TEST(ProblemTooSmallTest, CoresOfAStartUpThatIsNotJudgedDoNotCount) {
  MadeRun run;
  run.seconds = 30;
  run.workers = {
      {.name = "train", .cores = [](double s) { return s < 10 ? 1.9 : 0.1; }}};
  const std::vector<MadeDevice> devices = {
      {.busy = Always(0.6), .memory = Always(0.3)}};
  EXPECT_FALSE(Found(Ask(ProblemTooSmall, WithDevices(run, devices))));
  run.meta["steady_ns"] = std::to_string(MadeRun::kBeginNs + 10 * kNsPerSec);
  EXPECT_TRUE(Found(Ask(ProblemTooSmall, WithDevices(run, devices))));
}

TEST(GpuUnderusedTest, SaysWhenItCannotKnow) {
  MadeRun run;
  run.workers = {{.name = "train", .cores = run.Always(0.1)}};
  const Facts facts = WithDevices(run, {{.memory = Always(0.5)}});
  for (const auto rule : {&GpuUnderused, &GpuFluctuating, &ProblemTooSmall}) {
    EXPECT_EQ(Ask(rule, facts).not_enough_data,
              "how busy the accelerators were was not collected");
    EXPECT_EQ(Ask(rule, run.Make()).not_enough_data, "") << "there is none";
  }
}

TEST(GpuUnderusedTest, AHealthyRunHasNoFindingAndAVerdict) {
  MadeRun run;
  run.workers = {{.name = "train", .cores = run.Always(1.9)}};
  const auto taken = [](double s) { return s < 1 ? 0.0 : 0.5; };
  const Facts facts =
      WithDevices(run, {{.busy = Always(0.95), .memory = taken}});
  const Judgement judgement = Judge(facts);
  EXPECT_TRUE(judgement.findings.empty())
      << judgement.findings[0].rule << ": what the CPU does is no limit";
  EXPECT_EQ(judgement.verdict,
            "No single limit found: the accelerators were busy 95.0 % of the "
            "time.");
}

TEST(GpuUnderusedTest, ARunThatOthersHeldUpIsNotJudged) {
  MadeRun run;
  run.workers = {
      {.name = "train", .cores = run.Always(0.1), .wait = run.Always(0.5)}};
  run.others = run.Always(1.8);
  const Facts facts =
      WithDevices(run, {{.busy = Always(0.3), .memory = Always(0.3)}});
  for (const auto rule :
       {&GpuUnderused, &GpuFluctuating, &ProblemTooSmall, &GpuAndMemoryFree})
    EXPECT_EQ(Ask(rule, facts).not_enough_data,
              "other programs held the run "
              "up");
}

TEST(GpuUnderusedTest, WorkThatMayBeSomebodyElsesExcusesNobody) {
  Facts facts = At(Always(0.95), 0.5, 1.9);
  EXPECT_TRUE(Judge(facts).findings.empty()) << "nobody is seen to use it";
  facts.devices[0].tells_users = true;
  EXPECT_EQ(Judge(facts).findings.at(0).rule, "cpu_bound");
  EXPECT_TRUE(Judge(At(Always(0.03), 0.5, 0.4)).findings.empty())
      << "a display";
}

TEST(GpuUnderusedTest, ADeviceThatBeganToWorkWithTheRunIsTheRuns) {
  const auto begins = [](double s) { return s < 0.3 ? 0.0 : 0.97; };
  EXPECT_TRUE(Judge(At(begins, 0.5, 1.9)).findings.empty());
  const auto half = [](double s) {
    return s > 1 && std::fmod(s, 1) < 0.5 ? 0.97 : 0.0;
  };
  EXPECT_FALSE(AcceleratorsOf(At(half, 0.5, 1.9)).WellUsed());
}

}  // namespace
}  // namespace sonde
