#include <fmt/format.h>
#include <gtest/gtest.h>

#include "analyze/facts/made_run.h"
#include "analyze/facts/made_text.h"
#include "analyze/rules/made_case.h"
#include "analyze/verdict/judge.h"

namespace sonde {
namespace {

// Two seconds of a shell that starts one after the other. A CPU time of 0 is
// not known.
Facts Starts(int count, int life_us, int cpu_us = 1000) {
  std::string more;
  for (int i = 0; i < count; ++i) {
    const int at_us = static_cast<int>(2e6 * i / count);
    more += fmt::format(
        "process {} parent=1 pid={} name=grep start={}us end={}us exit=0{}\n",
        i + 2, i + 100, at_us, at_us + life_us,
        cpu_us > 0 ? fmt::format(" cpu={}us", cpu_us) : "");
  }
  return FactsOfText(
      "meta started_ns 0\nmeta ended_ns 2000000000\nmeta rate_hz 10\n"
      "meta cores 2\nmeta allowed_cores 2\n"
      "process 1 pid=10 name=sh cmdline=\"sh count.sh\" start=0 end=2s exit=0\n"
      "series 1 scope=process:1 name=cpu_ns\nramp 1 to=2s slope=0.3s/s\n",
      more);
}

bool Fires(const Facts& facts) {
  return !Ask(SpawnStorm, facts).findings.empty();
}

TEST(SpawnStormTest, SaysHowManyOfWhatAndWhoStartsThem) {
  const Outcome outcome = Ask(SpawnStorm, Starts(1000, 1500));
  ASSERT_EQ(outcome.findings.size(), 1u);
  const Finding& f = outcome.findings[0];
  EXPECT_EQ(f.summary,
            "The program starts 500 processes a second, most of them grep: "
            "starting them takes the time.");
  EXPECT_EQ(f.where.process_name, "sh");
}

TEST(SpawnStormTest, FewOrLongOnesAreNone) {
  EXPECT_TRUE(Fires(Starts(120, 8000)));
  EXPECT_FALSE(Fires(Starts(90, 8000))) << "few";
  EXPECT_FALSE(Fires(Starts(120, 8000, 3100))) << "they work";
  EXPECT_TRUE(Fires(Starts(120, 8000, 0)));
  EXPECT_FALSE(Fires(Starts(120, 8100, 0))) << "they may work";
  EXPECT_FALSE(Fires(Starts(120, 2000))) << "they take little of the time";
  Facts beside = Starts(1000, 1500);
  beside.run.cpu_ns = 100 * *beside.run.cpu_ns;
  EXPECT_FALSE(Fires(beside)) << "others have the CPU time";
}

TEST(SpawnStormTest, WhatProgramsReadAsTheyStartIsNoFindingOfItsOwn) {
  const auto small_reads = [](Facts facts) {
    PutSeries(facts, "tree_read_calls", MadeRun::Always(50'000));
    PutSeries(facts, "tree_read_chars", MadeRun::Always(50'000 * 832.0));
    PutSeries(facts, "tree_system", MadeRun::Always(0.7));
    PutSeries(facts, "tree_cpu", MadeRun::Always(0.8));
    facts.processes[0].system_ns = 1'400'000'000;
    facts.processes[0].user_ns = 100'000'000;
    facts.processes[0].io.read_calls = 100'000;
    return !Ask(SmallFiles, facts).findings.empty();
  };
  EXPECT_TRUE(small_reads(Starts(90, 8000)));
  EXPECT_FALSE(small_reads(Starts(1000, 1500)));
}

}  // namespace
}  // namespace sonde
