#include <fmt/format.h>
#include <gtest/gtest.h>

#include "analyze/facts/made_text.h"
#include "analyze/rules/made_case.h"
#include "analyze/verdict/judge.h"

namespace sonde {
namespace {

// A virtual machine with two threads that collect and one that works.
Facts Collects(double each, double works, const std::string& name) {
  return FactsOfText(
      "meta started_ns 0\nmeta ended_ns 10000000000\nmeta rate_hz 10\n"
      "meta cores 2\nmeta allowed_cores 2\n"
      "process 1 pid=10 name=java cmdline=\"java -Xmx64m Serve\" start=0 "
      "end=10s exit=0\n"
      "series 1 scope=process:1 name=cpu_ns\n",
      fmt::format("thread 1 process=1 tid=10 name=\"main\"\n"
                  "thread 2 process=1 tid=11 name=\"{0}0\"\n"
                  "thread 3 process=1 tid=12 name=\"{0}1\"\n"
                  "series 2 scope=thread:1 name=cpu_ns\n"
                  "series 3 scope=thread:2 name=cpu_ns\n"
                  "series 4 scope=thread:3 name=cpu_ns\n"
                  "ramp 1 to=10s slope={1}s/s\nramp 2 to=10s slope={2}s/s\n"
                  "ramp 3 to=10s slope={3}s/s\nramp 4 to=10s slope={3}s/s\n",
                  name, 2 * each + works, works, each));
}

bool Fires(const Facts& facts) {
  return !Ask(HeapTooSmall, facts).findings.empty();
}

TEST(HeapTooSmallTest, SaysWhatCollectingTakes) {
  const Judgement judgement = Judge(Collects(0.9, 0.2, "GC Thread#"), {});
  ASSERT_FALSE(judgement.findings.empty());
  const Finding& f = judgement.findings[0];
  EXPECT_EQ(f.rule, "heap_too_small");
  EXPECT_EQ(f.summary,
            "The heap is too small: 90.0 % of the CPU time of java -Xmx64m "
            "Serve goes to collecting garbage.");
  EXPECT_NE(f.advice.find("a larger value than -Xmx64m"), std::string::npos);
}

TEST(HeapTooSmallTest, FourTenthsOfTheTimeAreTooMuch) {
  EXPECT_TRUE(Fires(Collects(0.21, 0.6, "GC Thread#")));
  EXPECT_FALSE(Fires(Collects(0.19, 0.6, "GC Thread#")));
  EXPECT_FALSE(Fires(Collects(0.05, 0.01, "GC Thread#"))) << "little work";
}

TEST(HeapTooSmallTest, OnlyNamesOfCollectorsCount) {
  EXPECT_TRUE(Fires(Collects(0.9, 0.2, "ZWorker#")));
  EXPECT_TRUE(Fires(Collects(0.9, 0.2, ".NET Server GC")));
  EXPECT_FALSE(Fires(Collects(0.9, 0.2, "GCC worker ")));
  EXPECT_FALSE(Fires(Collects(0.9, 0.2, "pool-1-thread-")));
}

}  // namespace
}  // namespace sonde
