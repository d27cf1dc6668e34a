#include "analyze/verdict/judge.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "analyze/facts/made_devices.h"
#include "analyze/facts/made_run.h"

namespace sonde {
namespace {

MadeRun One(double cores, double seconds = 10) {
  MadeRun run;
  run.seconds = seconds;
  run.workers = {{.name = "work", .cores = run.Always(cores)}};
  return run;
}

TEST(JudgeTest, AGainIsARangeWithItsCondition) {
  EXPECT_EQ(PhraseGain({0.6, "if it slept less"}),
            "up to 60.0 % of the run's time, if it slept less");
  EXPECT_EQ(PhraseGain({0.6, "if it slept less", 0.2}),
            "20.0 % to 60.0 % of the run's time, if it slept less");
  EXPECT_EQ(PhraseGain({1, "if it slept less"}),
            "nearly all of the run's time, if it slept less");
  EXPECT_EQ(PhraseGain({0.6, "if it slept less", 0, 4'000'000'000}),
            "up to 60.0 % of the 4.00 s that were judged, if it slept less");
}

TEST(JudgeTest, AHealthyRunHasNoFindingAndSaysWhatItUsed) {
  MadeRun run;
  run.workers = {{.process = 1, .name = "a", .cores = run.Always(0.7)},
                 {.process = 2, .name = "b", .cores = run.Always(0.6)}};
  const Judgement judgement = Judge(run.Make());
  EXPECT_TRUE(judgement.findings.empty());
  EXPECT_EQ(judgement.verdict,
            "No single limit found: the program used 1.30 of 2 cores.");
  for (const RuleState& state : judgement.rules)
    EXPECT_NE(state.state, RuleState::State::kFound) << state.rule->name;
}

TEST(JudgeTest, AShortRunIsNotJudged) {
  const Judgement judgement = Judge(One(1, 0.9).Make());
  EXPECT_TRUE(judgement.findings.empty());
  EXPECT_EQ(judgement.verdict, "Ran 900 ms: too short to judge.");
  for (const RuleState& state : judgement.rules) {
    EXPECT_NE(state.state, RuleState::State::kFound);
    // Rules about what is not there have nothing to say.
    if (state.state == RuleState::State::kNotEnoughData) {
      EXPECT_EQ(state.why, "the processes were sampled only 10 times");
    }
  }
  EXPECT_EQ(judgement.rules[0].state, RuleState::State::kNotEnoughData);
}

TEST(JudgeTest, AShortRunThatWasSampledOftenIsJudged) {
  MadeRun run = One(1, 0.25);
  run.rate_hz = 1000;
  EXPECT_EQ(Judge(run.Make()).rules[1].state, RuleState::State::kFound);
  run.rate_hz = 100;
  EXPECT_EQ(Judge(run.Make()).rules[1].state, RuleState::State::kFound);
  run.rate_hz = 20;
  EXPECT_EQ(Judge(run.Make()).verdict, "Ran 250 ms: too short to judge.");
  run = One(1, 0.19);
  run.rate_hz = 1000;
  EXPECT_EQ(Judge(run.Make()).verdict, "Ran 190 ms: too short to judge.");
  EXPECT_EQ(Judge(run.Make()).rules[0].why,
            "the run took 190 ms, less than 200 ms");
}

TEST(JudgeTest, ARunOfWhichOnlyTheSumIsKnownIsNotCalledHealthy) {
  MadeRun run = One(1);
  run.process_series = run.thread_series = false;
  run.meta["tree_cpu_ns"] = "10000000000";
  const Judgement judgement = Judge(run.Make());
  EXPECT_EQ(judgement.verdict,
            "Not judged: no CPU times of processes were collected.");
}

TEST(JudgeTest, ALongRunThatWasSampledSeldomIsNotCalledShort) {
  MadeRun run = One(1, 5);
  run.rate_hz = 1;
  EXPECT_EQ(Judge(run.Make()).verdict,
            "Ran 5.00 s, sampled 6 times: too seldom to judge.");
}

TEST(JudgeTest, AWaitingRunIsCalledWaiting) {
  EXPECT_EQ(Judge(One(0.1).Make()).verdict,
            "Mostly waiting: the program used 0.10 of 2 cores.");
}

TEST(JudgeTest, ABusyMachineIsMentionedNotBlamed) {
  MadeRun run = One(0.8);
  run.others = MadeRun::Always(1.2);
  const Judgement judgement = Judge(run.Make());
  EXPECT_TRUE(judgement.findings.empty());
  EXPECT_EQ(judgement.verdict,
            "No single limit found, but the program was not alone: it used "
            "0.80 of 2 cores, other programs 1.20.");
}

TEST(JudgeTest, AProgramThatGetsNoCoreIsHeldUpNotWaiting) {
  MadeRun run = One(0.1);
  run.others = MadeRun::Always(1.9);
  run.workers[0].wait = MadeRun::Always(0.8);
  const Judgement judgement = Judge(run.Make());
  EXPECT_TRUE(judgement.findings.empty());
  EXPECT_EQ(judgement.verdict,
            "Held up by other programs: they used 1.90 cores, the recorded "
            "program 0.10 of 2 cores; a thread was ready for 80 % of the run "
            "without getting a core.");
  run.workers[0].wait = MadeRun::Always(0.2);
  EXPECT_EQ(Judge(run.Make()).verdict,
            "Mostly waiting: the program used 0.10 of 2 cores.");
}

// Every verdict that no rule gave has something to do next.
TEST(JudgeTest, AVerdictWithoutAFindingSaysWhatToTry) {
  const auto advice = [](MadeRun run, const std::vector<std::string>& rules) {
    run.meta["command"] = R"(["./train","--note","a b"])";
    const Judgement judgement = Judge(run.Make(), rules);
    EXPECT_TRUE(judgement.findings.empty());
    return judgement.advice;
  };
  const auto has = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  has(advice(One(0.1), {}), "strace -f -c -w ./train --note 'a b'");
  has(advice(One(0.5), {}), "sonde export made --to chrome");
  has(advice(One(0.5), {"cpu_bound"}), "sonde report made");
  has(advice(One(1, 0.5), {}), "sonde run --rate 100 -- ./train --note 'a b'");
  has(advice(One(1, 0.1), {}),
      "sonde run -- sh -c 'for i in $(seq 20); do ./train --note "
      "'\\''a b'\\''; done'");
  MadeRun seldom = One(1, 5);
  seldom.rate_hz = 1;
  has(advice(seldom, {}), "sonde run --rate 10 -- ./train");
  MadeRun shared = One(0.8);
  shared.others = MadeRun::Always(1.2);
  has(advice(shared, {}), "quiet machine");
  shared.workers[0].wait = MadeRun::Always(0.6);
  shared.workers[0].cores = MadeRun::Always(0.3);
  has(advice(shared, {}), "ps -eo pcpu");
  MadeRun blind;
  blind.workers = {{.cores = blind.Always(1), .sampled = false}};
  has(advice(blind, {}), "sonde doctor");
}

// What ended the recording tells what would make it longer.
TEST(JudgeTest, TooShortSaysTheRightNextStep) {
  using Meta = std::map<std::string, std::string>;
  const auto said = [](const Meta& meta) {
    MadeRun run = One(1, 0.5);
    run.meta = {{"command", R"(["./train"])"}};
    for (const auto& [key, value] : meta) run.meta[key] = value;
    const Judgement judgement = Judge(run.Make());
    return judgement.verdict + " " + judgement.advice;
  };
  const auto has = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  has(said({{"exit", "exit 0"}, {"ended_by", "command"}}),
      "Ran 500 ms: too short to judge. Sample the command more often: sonde "
      "run --rate");
  has(said({{"exit", "exit 2"}, {"ended_by", "command"}}),
      "Mend what made the command fail (exit 2), then record it again: sonde "
      "run -- ./train");
  has(said({{"ended_by", "time"}}),
      "Recorded 500 ms: too short to judge. Give the recording more time: "
      "sonde "
      "run --for 10s -- ./train");
  has(said({{"ended_by", "time"}, {"watched", "this machine"}}),
      "Give the recording more time: sonde watch --for 10s");
  has(said({{"ended_by", "time"}, {"watched", "process 712 (train)"}}),
      "sonde watch --pid 712 --for 10s");
  has(said({{"exit", "exit 0"}, {"still_running", "1"}}),
      "Record the descendants, too: sonde run --wait-tree -- ./train");
  has(said({{"ended_by", "request"}}), "a few seconds at least: sonde run --");
  has(said({{"ended_by", "target gone"}, {"watched", "process 7"}}),
      "from its start: sonde run -- COMMAND");
}

TEST(JudgeTest, APartAfterTheStartUpThatIsTooShortIsNotJudged) {
  MadeRun run = One(0.5);
  run.meta = {{"command", R"(["./train"])"},
              {"steady_ns", std::to_string(MadeRun::kBeginNs + 9'900'000'000)}};
  EXPECT_EQ(Judge(run.Make()).verdict,
            "The start-up took 9.90 s of 10.0 s: the time after it is too "
            "short to judge.");
}

TEST(JudgeTest, ALongCommandIsNotRepeated) {
  MadeRun run = One(0.1);
  run.meta["command"] = "[\"" + std::string(500, 'x') + "\"]";
  EXPECT_TRUE(Judge(run.Make()).advice.ends_with("strace -f -c -w COMMAND"));
}

TEST(JudgeTest, TheVerdictIsTheFirstFinding) {
  const Judgement judgement = Judge(One(1).Make());
  ASSERT_EQ(judgement.findings.size(), 1u);
  EXPECT_EQ(judgement.advice, judgement.findings[0].advice);
  EXPECT_EQ(judgement.verdict, judgement.findings[0].summary);
  EXPECT_EQ(judgement.findings[0].rule, "one_core_bound");
}

TEST(JudgeTest, AsksOnlyTheRulesNamed) {
  const Judgement judgement = Judge(One(1).Make(), {"cpu_bound"});
  EXPECT_TRUE(judgement.findings.empty());
  EXPECT_EQ(judgement.verdict,
            "cpu_bound found nothing. Other rules were not asked.")
      << "another rule might";
  ASSERT_EQ(judgement.rules.size(), 1u);
  EXPECT_STREQ(judgement.rules[0].rule->name, "cpu_bound");
}

TEST(JudgeTest, EveryRuleSaysWhatItAsksAndNeeds) {
  for (const Rule& rule : Rules()) {
    EXPECT_TRUE(std::string(rule.question).ends_with("?")) << rule.name;
    EXPECT_NE(rule.needs[0], Input::kNone) << rule.name;
  }
}

// Whatever else is so: an accelerator that always works has no time to gain.
TEST(JudgeTest, BesideAnAcceleratorThatAlwaysWorksNothingIsALimit) {
  MadeRun run;
  run.cores = 4;
  run.workers = {{.process = 1, .name = "train", .cores = run.Always(0.2)}};
  for (uint32_t i = 2; i < 12; ++i)
    run.workers.push_back({.process = i,
                           .name = "load",
                           .cores = run.Always(0.1),
                           .wait = run.Always(0.9)});
  const auto judge = [&](double busy) {
    Facts facts = WithDevices(
        run, {{.busy = run.Always(busy), .memory = run.Always(0.5)}});
    facts.devices[0].holders = {1};
    facts.processes[0].voluntary_switches = 1e5;
    PutSeries(facts, "net_receive", MadeRun::Always(20e6));
    PutSeries(facts, "tree_switched", MadeRun::Always(1000));
    CgroupFacts cgroup;
    cgroup.periods = cgroup.throttled_periods = 100;
    cgroup.throttled_ns = 5 * kNsPerSec;
    std::set<std::string> found;
    for (const bool held : {false, true}) {
      if (held) facts.cgroups = {cgroup};
      for (const Finding& f : Judge(facts).findings) found.insert(f.rule);
    }
    return found;
  };
  const auto idle = judge(0.1);
  for (const char* const rule :
       {"network_bound", "oversubscribed", "misplaced_cpu", "cpu_throttled"})
    EXPECT_TRUE(idle.contains(rule)) << rule;
  EXPECT_TRUE(judge(0.97).empty()) << *judge(0.97).begin();
}

TEST(JudgeTest, StorageIsNotBlamedForWhatNeighboursDoToIt) {
  MadeRun run;
  run.workers = {{.cores = MadeRun::Always(0.01)}};
  Facts facts = run.Make();
  PutSeries(facts, "psi_io", MadeRun::Always(0.9));
  facts.machine.psi_io_some = 0.9;
  facts.processes[0].blocked_ns = 0;
  EXPECT_EQ(Judge(facts).advice.find("torage"), std::string::npos);
  facts.processes[0].blocked_ns = facts.run.wall_ns / 2;
  EXPECT_NE(Judge(facts).advice.find("blocked for 50.0 %"), std::string::npos);
}

}  // namespace
}  // namespace sonde
