#include <fmt/format.h>
#include <gtest/gtest.h>

#include "analyze/facts/made_text.h"
#include "analyze/rules/made_case.h"
#include "analyze/verdict/judge.h"

namespace sonde {
namespace {

// Ten seconds on two cores, which eight threads fill. The main thread is always
// ready, and sleeps for the rest of `awake` of the time; all other threads are
// in a barrier for `spun` seconds and work for `worked`, as samples tell.
Facts Pool(double spun, double worked, double awake = 1, int threads = 8) {
  std::string text = R"(
meta started_ns 0
meta ended_ns 10000000000
meta rate_hz 10
meta cores 2
meta allowed_cores 2
process 1 pid=100 name=job start=0 end=10s exit=0
module 1 path=/usr/lib/libgomp.so.1.0.0
frame 1 module=1 offset=64
frame 2 function=work
stack 1 frame=1
stack 2 frame=2
series 100 scope=process:1 name=cpu_ns
ramp 100 to=10s slope=2s/s
)";
  for (int i = 0; i < threads; ++i) {
    text += fmt::format(
        "thread {0} process=1 tid={1} name=job start=0 end=10s\n"
        "series {2} scope=thread:{0} name=cpu_ns\n"
        "series {3} scope=thread:{0} name=wait_ns\n",
        i + 1, 100 + i, 2 * i + 1, 2 * i + 2);
    const double cores = i == 0 ? 0.3 : 1.7 / (threads - 1);
    text += fmt::format(
        "ramp {} to=10s slope={}ms/s\nramp {} to=10s slope={}ms/s\n", 2 * i + 1,
        static_cast<int>(1000 * cores), 2 * i + 2,
        static_cast<int>(1000 * std::max(0.0, awake - cores)));
  }
  for (int k = 1; k <= 1000; ++k) {
    const int thread = threads == 1 ? 1 : 2 + k % (threads - 1);
    for (const auto& [stack, seconds] : {std::pair(1, spun), {2, worked}})
      if (seconds > 0)
        text += fmt::format("sample {}ms thread={} stack={} weight={}us\n",
                            k * 9, stack == 1 ? thread : 1, stack,
                            static_cast<int>(1000 * seconds));
  }
  return FactsOfText(text);
}

TEST(SpinningThreads, SaysPoolThreadsAndWhatToSet) {
  const Facts facts = Pool(17, 3);
  const Finding f = Judge(facts).findings.at(0);
  EXPECT_EQ(f.rule, "spinning_threads");
  EXPECT_EQ(f.summary,
            "Threads that wait burn the cores: 85.0 % of the CPU time goes to "
            "7 threads of OpenMP (libgomp) that spin until there is work, on 2 "
            "cores.");
  EXPECT_NE(f.advice.find("OMP_NUM_THREADS=1: "), std::string::npos)
      << f.advice;
  ASSERT_TRUE(f.gain.has_value());
  EXPECT_NEAR(f.gain->from_share, 0.7, 0.05) << "3 s of work on one core";
  EXPECT_NEAR(f.gain->share, 0.85, 0.03) << "1.5 s on both";
  EXPECT_LE(f.gain->from_share, 0.7);
  EXPECT_GE(f.gain->share, 0.85);
  EXPECT_NEAR(NumberOf(Ask(SpinningThreads, facts).findings.at(0), "spinning"),
              0.85, 0.01);
}

TEST(SpinningThreads, WhoSleepsMeanwhileIsPromisedNothing) {
  const Finding f = Ask(SpinningThreads, Pool(17, 3, 0.3)).findings.at(0);
  ASSERT_TRUE(f.gain.has_value());
  EXPECT_EQ(f.gain->from_share, 0);
}

TEST(SpinningThreads, WorkForSeveralCoresGetsThem) {
  const Finding f = Ask(SpinningThreads, Pool(8, 12)).findings.at(0);
  EXPECT_NE(f.advice.find("OMP_NUM_THREADS=2: "), std::string::npos)
      << f.advice;
  EXPECT_EQ(f.gain->from_share, 0);
}

TEST(SpinningThreads, WhatWasNotSampledIsWork) {
  const Finding f = Ask(SpinningThreads, Pool(10, 0)).findings.at(0);
  EXPECT_EQ(f.gain->from_share, 0) << "10 s of 20 may be work";
  EXPECT_GT(f.gain->share, 0.99) << "none is known";
}

TEST(SpinningThreads, SilentWhereThreadsWork) {
  EXPECT_TRUE(Ask(SpinningThreads, Pool(4, 16)).findings.empty());
}

TEST(SpinningThreads, SilentAboutAPoolThatFitsAndMayBeAsFastAsCanBe) {
  EXPECT_TRUE(Ask(SpinningThreads, Pool(8, 12, 1, 2)).findings.empty());
}

TEST(SpinningThreads, CannotJudgeWithoutStacks) {
  EXPECT_NE(Ask(SpinningThreads, Pool(0, 0)).not_enough_data, "");
}

TEST(SpinningThreads, ComesBeforeWhatItExplains) {
  const Judgement judgement = Judge(Pool(17, 3));
  ASSERT_GE(judgement.findings.size(), 2u);
  EXPECT_EQ(judgement.findings[0].rule, "spinning_threads");
  EXPECT_EQ(judgement.findings.back().rule, "cpu_bound");
}

}  // namespace
}  // namespace sonde
