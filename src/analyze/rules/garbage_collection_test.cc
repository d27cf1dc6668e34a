#include <fmt/format.h>
#include <gtest/gtest.h>

#include "analyze/facts/made_text.h"
#include "analyze/rules/made_case.h"
#include "analyze/verdict/judge.h"

namespace sonde {
namespace {

// Ten seconds of one core, of which a collector had `collecting`.
Facts Collecting(const char* collector, double collecting) {
  std::string text = fmt::format(R"(
meta started_ns 0
meta ended_ns 10000000000
meta rate_hz 10
meta cores 2
meta allowed_cores 2
process 1 pid=100 name=job start=0 end=10s exit=0
thread 1 process=1 tid=100 name=job start=0 end=10s
series 1 scope=process:1 name=cpu_ns
series 2 scope=thread:1 name=cpu_ns
ramp 1 to=10s slope=1s/s
ramp 2 to=10s slope=1s/s
frame 1 function=make file=/src/make.py line=4
frame 2 function={}
stack 1 frame=1
stack 2 parent=1 frame=2
)",
                                 collector);
  for (int k = 1; k <= 1000; ++k)
    text += fmt::format("sample {}ms thread=1 stack={} weight=10ms\n", k * 9,
                        k <= 1000 * collecting ? 2 : 1);
  return FactsOfText(text);
}

TEST(GarbageCollection, SaysHowMuchAndUnderWhichLine) {
  const Judgement judgement = Judge(Collecting("gc_collect_main", 0.6));
  const Finding& f = judgement.findings.at(0);
  EXPECT_EQ(f.rule, "garbage_collection");
  EXPECT_EQ(f.summary,
            "Collecting garbage takes 60.0 % of the CPU time of job (Python).");
  EXPECT_EQ(f.where.function, "make");
  EXPECT_EQ(f.where.line, 4u);
  EXPECT_NE(f.advice.find("gc.freeze()"), std::string::npos);
  ASSERT_TRUE(f.gain.has_value());
  EXPECT_NEAR(f.gain->share, 0.6, 0.01);
}

TEST(GarbageCollection, WhoCollectsMeanwhileIsPromisedNothing) {
  const Finding f =
      Ask(GarbageCollection, Collecting("runtime.gcBgMarkWorker", 0.6))
          .findings.at(0);
  EXPECT_NE(f.advice.find("GOGC"), std::string::npos);
  EXPECT_FALSE(f.gain.has_value());
}

TEST(GarbageCollection, SilentWhereItCostsLittle) {
  EXPECT_TRUE(Ask(GarbageCollection, Collecting("gc_collect_main", 0.1))
                  .findings.empty());
  EXPECT_TRUE(
      Ask(GarbageCollection, Collecting("collect", 0.9)).findings.empty())
      << "a function of the program";
}

}  // namespace
}  // namespace sonde
