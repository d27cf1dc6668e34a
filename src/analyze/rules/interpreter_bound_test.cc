#include <gtest/gtest.h>

#include "analyze/facts/made_devices.h"
#include "analyze/rules/made_case.h"
#include "analyze/verdict/judge.h"

namespace sonde {
namespace {

Facts At(double main, double wait, double busy) {
  MadeRun run;
  run.cores = 8;
  run.workers = {
      {.name = "python3", .cores = run.Always(main), .wait = run.Always(wait)}};
  return WithDevices(run,
                     {{.busy = run.Always(busy), .memory = run.Always(0.75)}});
}

TEST(InterpreterBoundTest, AFullThreadAndAnIdleDevice) {
  const Outcome outcome = Ask(InterpreterBound, At(0.99, 0, 0.3));
  ASSERT_EQ(outcome.findings.size(), 1u);
  const Finding& f = outcome.findings[0];
  EXPECT_EQ(f.summary,
            "Limited by one Python thread of python3: it fills a core while "
            "GPU 0 idles 70.0 % of the time.");
  EXPECT_NEAR(f.gain->share, 0.7, 0.01);
  const Judgement judgement = Judge(At(0.99, 0, 0.3));
  EXPECT_EQ(judgement.findings[0].rule, "interpreter_bound")
      << "before one_core_bound, which it explains";
}

TEST(InterpreterBoundTest, AThreadThatLoadsIsTheInput) {
  MadeRun run;
  run.workers = {{.name = "python3", .cores = run.Always(0.1)},
                 {.name = "loader", .cores = run.Always(0.95)}};
  Facts facts =
      WithDevices(run, {{.busy = run.Always(0.3), .memory = run.Always(0.75)}});
  EXPECT_EQ(Ask(InterpreterBound, facts).findings.size(), 1u)
      << "nobody knows which thread is the main one";
  ProcessFacts& p = facts.processes[0];
  for (ThreadFacts& t : p.threads)
    if (t.name == "python3") t.row.tid = p.row.pid;
  EXPECT_TRUE(Ask(InterpreterBound, facts).findings.empty());
  EXPECT_EQ(Judge(facts).findings.at(0).rule, "input_bound");
}

TEST(InterpreterBoundTest, TheThresholds) {
  EXPECT_TRUE(Ask(InterpreterBound, At(0.99, 0, 0.51)).findings.empty());
  EXPECT_TRUE(Ask(InterpreterBound, At(0.85, 0, 0.3)).findings.empty());
  EXPECT_FALSE(Ask(InterpreterBound, At(0.6, 0.35, 0.3)).findings.empty())
      << "it is ready all the time";
  EXPECT_TRUE(Ask(InterpreterBound, At(0.3, 0.65, 0.3)).findings.empty())
      << "others are the reason";
}

TEST(InterpreterBoundTest, WithoutADeviceItIsNotItsBusiness) {
  MadeRun run;
  run.workers = {{.name = "python3", .cores = run.Always(1)}};
  EXPECT_TRUE(Ask(InterpreterBound, run.Make()).findings.empty());
  EXPECT_EQ(Ask(InterpreterBound, run.Make()).not_enough_data, "");
}

TEST(InterpreterBoundTest, SaysWhenItCannotKnow) {
  MadeRun run;
  run.workers = {{.name = "python3", .cores = run.Always(1)}};
  EXPECT_NE(
      Ask(InterpreterBound, WithDevices(run, {{.memory = run.Always(0.5)}}))
          .not_enough_data,
      "");
}

}  // namespace
}  // namespace sonde
