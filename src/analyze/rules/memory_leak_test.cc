#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "analyze/facts/made_run.h"
#include "analyze/facts/made_text.h"
#include "analyze/rules/made_case.h"
#include "analyze/verdict/judge.h"

namespace sonde {
namespace {

Facts Grows(const MadeRun::Load& bytes, double seconds = 10) {
  MadeRun run;
  run.seconds = seconds;
  run.workers = {{.name = "serve", .cores = run.Always(0.1)}};
  Facts facts = run.Make();
  PutSeries(facts, "tree_memory", bytes);
  facts.machine.mem_total_bytes = 16e9;
  facts.machine.mem_peak_bytes = 4e9;
  return facts;
}

MadeRun::Load Ramp(double from, double per_s) {
  return [=](double s) { return from + per_s * s; };
}

bool Fires(const Facts& facts) {
  return !Ask(MemoryLeak, facts).findings.empty();
}

TEST(MemoryLeakTest, SaysWhenMemoryWillEnd) {
  const Outcome outcome = Ask(MemoryLeak, Grows(Ramp(100e6, 20e6)));
  ASSERT_EQ(outcome.findings.size(), 1u);
  const Finding& f = outcome.findings[0];
  EXPECT_EQ(f.rule, "memory_leak");
  EXPECT_EQ(f.severity, Severity::kCritical);
  EXPECT_NE(f.summary.find("the machine's memory of 16.0 GB is reached in 10 "
                           "minutes"),
            std::string::npos)
      << f.summary;
  EXPECT_NEAR(NumberOf(f, "growth"), 20e6, 2e6);
  EXPECT_NEAR(NumberOf(f, "left"), 12e9, 1);
}

TEST(MemoryLeakTest, TheNearestLimitCounts) {
  Facts facts = Grows(Ramp(100e6, 20e6));
  CgroupFacts cgroup;
  cgroup.path = "/box";
  cgroup.memory_peak_bytes = 500e6;
  cgroup.cache_peak_bytes = 200e6;
  cgroup.memory_limit_bytes = 2300e6;
  facts.cgroups = {cgroup};
  const Outcome outcome = Ask(MemoryLeak, facts);
  ASSERT_EQ(outcome.findings.size(), 1u);
  EXPECT_NE(outcome.findings[0].summary.find(
                "the container's limit of 2.30 GB is reached in 100 seconds"),
            std::string::npos)
      << outcome.findings[0].summary;
}

TEST(MemoryLeakTest, PagesOfMappedFilesAreNoMemoryOfItsOwn) {
  // As they were a second ago, at most.
  const auto files = [](double per_s) -> MadeRun::Load {
    return [=](double s) { return 90e6 + per_s * std::floor(s); };
  };
  Facts facts = Grows(Ramp(100e6, 20e6));
  PutSeries(facts, "tree_file_memory", files(20e6));
  EXPECT_FALSE(Fires(facts));
  PutSeries(facts, "tree_file_memory", files(2e6));
  EXPECT_TRUE(Fires(facts));
  // Libraries are files as well, and are told of late.
  facts = Grows(Ramp(300e6, 20e6));
  PutSeries(facts, "tree_file_memory", files(0));
  auto late = std::make_shared<RunSeries>(*facts.series);
  for (RegularSeries& one : late->all)
    if (one.name == "tree_file_memory")
      for (size_t i = 0; i < 30; ++i) one.known[i] = 0;
  facts.series = late;
  EXPECT_TRUE(Fires(facts));
}

TEST(MemoryLeakTest, AFarLimitIsLessSevere) {
  const auto severity = [](double per_s) {
    Facts facts = Grows(Ramp(10e6, per_s));
    facts.machine.mem_total_bytes = 300e9;
    return Ask(MemoryLeak, facts).findings.at(0).severity;
  };
  EXPECT_EQ(severity(4e6), Severity::kCritical);
  EXPECT_EQ(severity(2e6), Severity::kInfo);
}

TEST(MemoryLeakTest, ComesBeforeABusyThread) {
  MadeRun run;
  run.workers = {{.name = "serve", .cores = run.Always(1)}};
  Facts facts = run.Make();
  PutSeries(facts, "tree_memory", Ramp(100e6, 2e6));
  facts.machine.mem_total_bytes = 16e9;
  facts.machine.mem_peak_bytes = 4e9;
  const Judgement judgement = Judge(facts, {});
  ASSERT_EQ(judgement.findings.size(), 2u);
  EXPECT_EQ(judgement.findings[0].rule, "memory_leak");
  EXPECT_EQ(judgement.findings[1].rule, "one_core_bound");
}

TEST(MemoryLeakTest, WhatItReadsOrReceivesMayBeItsData) {
  Facts facts = Grows(Ramp(100e6, 2e6), 100);
  Facts brief = Grows(Ramp(100e6, 20e6));
  for (const char* const name : {"tree_read_chars", "net_receive"}) {
    PutSeries(facts, name, MadeRun::Always(2e6));
    const Outcome outcome = Ask(MemoryLeak, facts);
    ASSERT_EQ(outcome.findings.size(), 1u);
    EXPECT_EQ(outcome.findings[0].severity, Severity::kInfo);
    PutSeries(facts, name, MadeRun::Always(20e6));
    EXPECT_EQ(Ask(MemoryLeak, facts).findings.at(0).severity,
              Severity::kCritical)
        << "it keeps a tenth of it";
    PutSeries(brief, name, MadeRun::Always(7e6));
    EXPECT_FALSE(Fires(brief)) << "a short run may be nothing but loading";
    PutSeries(brief, name, MadeRun::Always(0));
    EXPECT_TRUE(Fires(brief));
  }
}

TEST(MemoryLeakTest, GrowthMustOutgrowWhatComesAndGoes) {
  // Eight threads with temporary arrays.
  const auto waves = [](double per_s, double size) -> MadeRun::Load {
    return [=](double s) {
      return 60e6 + per_s * s + size * std::abs(std::sin(9.1 * s));
    };
  };
  EXPECT_FALSE(Fires(Grows(waves(4e6, 32e6), 7)));
  EXPECT_FALSE(Fires(Grows(waves(5e6, 32e6), 10)));
  EXPECT_TRUE(Fires(Grows(waves(5e6, 32e6), 30))) << "longer, it is clear";
  EXPECT_TRUE(Fires(Grows(waves(20e6, 32e6), 10)));
}

TEST(MemoryLeakTest, OneRiseAtTheEndOfWavesIsNone) {
  EXPECT_FALSE(Fires(Grows([](double s) {
    return 60e6 + (s < 6 ? 16e6 * std::fmod(s, 2) : 30e6 * (s - 6));
  })));
}

TEST(MemoryLeakTest, StartUpIsNotJudged) {
  // While libraries come, all grows.
  const auto files = [](double until) -> MadeRun::Load {
    return [=](double s) { return 30e6 * std::min(std::floor(s), until); };
  };
  const auto both = [&](double until) {
    Facts facts = Grows([=](double s) {
      return files(until)(s) + 50e6 + 20e6 * std::min(s, until);
    });
    PutSeries(facts, "tree_file_memory", files(until));
    return facts;
  };
  EXPECT_FALSE(Fires(both(10)));
  EXPECT_FALSE(Fires(both(4)));
  Facts goes_on = Grows([&](double s) { return files(3)(s) + 20e6 * s; });
  PutSeries(goes_on, "tree_file_memory", files(3));
  EXPECT_TRUE(Fires(goes_on));
}

TEST(MemoryLeakTest, FindsSteps) {
  EXPECT_TRUE(Fires(Grows([](double s) { return 1e8 * std::floor(s / 2); })));
  EXPECT_FALSE(Fires(Grows([](double s) { return s < 4 ? 1e8 : 3e8; })))
      << "one step is something loaded";
}

TEST(MemoryLeakTest, WhatLevelsOffOrFallsIsNoLeak) {
  EXPECT_FALSE(
      Fires(Grows([](double s) { return 1e8 + 2e7 * std::min(s, 5.0); })));
  EXPECT_FALSE(Fires(Grows(Ramp(400e6, -20e6))));
  EXPECT_FALSE(Fires(Grows([](double s) {
    return 1e8 + 5e7 * std::fmod(s, 2.5);
  }))) << "a collector of garbage";
}

TEST(MemoryLeakTest, SmallGrowthIsNone) {
  EXPECT_TRUE(Fires(Grows(Ramp(100e6, 1.8e6))));
  EXPECT_FALSE(Fires(Grows(Ramp(100e6, 1.4e6))));
  EXPECT_FALSE(Fires(Grows(Ramp(400e6, 3e6)))) << "less than a tenth";
}

// Two processes that wait most of the time; their memory is to be added.
constexpr char kTwo[] =
    "meta started_ns 0\nmeta ended_ns 10000000000\nmeta rate_hz 10\n"
    "meta cores 2\nmeta allowed_cores 2\n"
    "process 1 pid=10 name=parent start=0 end=10s exit=0\n"
    "process 2 pid=11 name=worker start=1s end=9s exit=0\n"
    "series 1 scope=process:1 name=cpu_ns\n"
    "series 2 scope=process:2 name=cpu_ns\n"
    "series 3 scope=process:1 name=rss_bytes\n"
    "series 4 scope=process:2 name=rss_bytes\n"
    "series 8 scope=machine name=mem_total_bytes\n"
    "series 9 scope=machine name=mem_available_bytes\n"
    "ramp 1 to=10s slope=0.1s/s\nramp 2 from=1s to=9s slope=0.1s/s\n"
    "ramp 8 to=10s value=16GB\nramp 9 to=10s value=12GB\n";

TEST(MemoryLeakTest, OneProcessIsFoundThoughTheSumDoesNotGrow) {
  const Facts facts = FactsOfText(
      kTwo,
      "ramp 3 to=10s value=20MB slope=5MB/s\n"
      "ramp 4 from=1s to=9s value=90MB slope=-5MB/s\ntick 2 9100ms 4=gone\n");
  const Outcome outcome = Ask(MemoryLeak, facts);
  ASSERT_EQ(outcome.findings.size(), 1u);
  const Finding& f = outcome.findings[0];
  EXPECT_EQ(f.where.process_name, "parent");
  EXPECT_EQ(f.severity, Severity::kCritical);
  EXPECT_NE(f.summary.find("One process's memory grows without end: by 5.0"),
            std::string::npos)
      << f.summary;
}

TEST(MemoryLeakTest, NotOneThatLivesForAShortTimeOrKeepsStill) {
  EXPECT_TRUE(Ask(MemoryLeak, FactsOfText(kTwo,
                                          "ramp 3 to=10s value=90MB\n"
                                          "ramp 4 from=1s to=9s value=70MB\n"))
                  .findings.empty());
  EXPECT_TRUE(
      Ask(MemoryLeak, FactsOfText(kTwo,
                                  "ramp 3 to=10s value=90MB\n"
                                  "process 3 pid=12 start=2s end=6s exit=0\n"
                                  "series 30 scope=process:3 name=rss_bytes\n"
                                  "ramp 30 from=2s to=6s slope=20MB/s\n"
                                  "tick 2 6100ms 30=gone\n"))
          .findings.empty());
}

TEST(MemoryLeakTest, MoreProcessesAreNoGrowth) {
  std::string more = "ramp 3 to=10s value=90MB\n";
  for (int i = 3; i < 9; ++i)
    more += fmt::format(
        "process {0} pid={0} name=worker start={0}s end=10s exit=0\n"
        "series 3{0} scope=process:{0} name=rss_bytes\n"
        "series 4{0} scope=process:{0} name=cpu_ns\n"
        "ramp 4{0} from={0}s to=10s slope=0.01s/s\n"
        "ramp 3{0} from={0}s to=10s value=40MB\n",
        i);
  EXPECT_TRUE(Ask(MemoryLeak, FactsOfText(kTwo, more)).findings.empty());
}

TEST(MemoryLeakTest, AHeapThatFillsIsNone) {
  for (const char* const name : {"VM Thread", ".NET Finalizer", "serve"}) {
    Facts facts = Grows(Ramp(100e6, 20e6));
    facts.processes[0].rss_peak_bytes = 300e6;
    facts.processes[0].threads[0].name = name;
    EXPECT_EQ(Fires(facts), name == std::string("serve")) << name;
  }
}

TEST(MemoryLeakTest, PythonIsNotSentToHeaptrack) {
  MadeRun run;
  for (const char* const name : {"python3", "serve"}) {
    run.workers = {{.name = name, .cores = run.Always(0.1)}};
    Facts facts = run.Make();
    facts.processes[0].rss_peak_bytes = 300e6;
    PutSeries(facts, "tree_memory", Ramp(100e6, 20e6));
    const std::string advice = Ask(MemoryLeak, facts).findings.at(0).advice;
    EXPECT_EQ(advice.find("heaptrack") == std::string::npos,
              name == std::string("python3"))
        << advice;
  }
}

TEST(MemoryLeakTest, SaysWhenItCannotKnow) {
  EXPECT_NE(Ask(MemoryLeak, Grows(Ramp(100e6, 20e6), 4.9)).not_enough_data, "");
  MadeRun run;
  run.workers = {{.cores = run.Always(1)}};
  EXPECT_EQ(Ask(MemoryLeak, run.Make()).not_enough_data,
            "the memory of processes was not collected");
}

}  // namespace
}  // namespace sonde
