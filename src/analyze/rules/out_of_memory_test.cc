#include <gtest/gtest.h>

#include "analyze/facts/made_text.h"
#include "analyze/rules/made_case.h"
#include "analyze/verdict/judge.h"

namespace sonde {
namespace {

// A worker grows until the container's limit is reached, in its sixth second.
constexpr char kRun[] =
    "meta started_ns 0\nmeta ended_ns 10000000000\nmeta rate_hz 10\n"
    "meta cores 2\nmeta allowed_cores 2\n"
    "process 1 pid=10 name=train start=0 end=10s exit=1\n"
    "series 1 scope=process:1 name=cpu_ns\n"
    "series 2 scope=process:2 name=cpu_ns\n"
    "series 3 scope=process:2 name=rss_bytes\n"
    "ramp 1 to=10s slope=0.1s/s\n"
    "ramp 2 to=6s slope=0.1s/s\n"
    "ramp 3 to=6s value=100MB slope=180MB/s\n";
constexpr char kKilled[] =
    "process 2 parent=1 pid=11 name=worker start=0 end=6s signal=9\n";
constexpr char kLimit[] =
    "series 4 group=4 scope=machine name=cgroup_memory_bytes label=/box\n"
    "series 5 group=4 scope=machine name=cgroup_memory_limit_bytes label=/box\n"
    "series 6 group=4 scope=machine name=cgroup_oom_kills label=/box\n"
    "ramp 4 to=10s value=300MB slope=90MB/s\n"
    "ramp 5 to=10s value=1200MB\n"
    "tick 4 0 6=3\ntick 4 6500ms 6=4\n";

Outcome Of(const std::string& more) {
  return Ask(OutOfMemory, FactsOfText(kRun, more));
}

TEST(OutOfMemoryTest, SaysWhoWhenAndWhy) {
  const Outcome outcome = Of(std::string(kKilled) + kLimit);
  ASSERT_EQ(outcome.findings.size(), 1u);
  const Finding& f = outcome.findings[0];
  EXPECT_EQ(f.summary,
            "Killed for lack of memory: worker (pid 11), 6.0 s after the "
            "start, when its container reached its limit of 1.20 GB.");
  EXPECT_EQ(f.severity, Severity::kCritical);
  EXPECT_EQ(f.where.pid, 11);
  ASSERT_EQ(f.evidence.size(), 2u);
  EXPECT_TRUE(
      f.evidence[0].text.starts_with("Memory of the process: 100 MB "
                                     "at 0.0 s, "))
      << f.evidence[0].text;
  EXPECT_NE(f.evidence[1].text.find("its limit is 1.20 GB"), std::string::npos);
}

TEST(OutOfMemoryTest, ComesFirst) {
  const Judgement judgement =
      Judge(FactsOfText(kRun, std::string(kKilled) + kLimit), {});
  ASSERT_FALSE(judgement.findings.empty());
  EXPECT_EQ(judgement.findings[0].rule, "out_of_memory");
  for (const Finding& f : judgement.findings)
    EXPECT_NE(f.rule, "memory_leak") << "the kill says more";
}

TEST(OutOfMemoryTest, WhoseEndIsNotKnownIsCalledAGuess) {
  const Outcome outcome =
      Of(std::string("process 2 parent=1 pid=11 name=worker start=0 end=6s\n") +
         kLimit);
  ASSERT_EQ(outcome.findings.size(), 1u);
  EXPECT_NE(outcome.findings[0].summary.find("worker (pid 11), as it seems"),
            std::string::npos)
      << outcome.findings[0].summary;
  EXPECT_LT(outcome.findings[0].confidence, 0.8);
}

TEST(OutOfMemoryTest, TheCommandItselfMayBeKilled) {
  const Outcome outcome = Ask(
      OutOfMemory,
      FactsOfText(
          "meta started_ns 0\nmeta ended_ns 6000000000\nmeta rate_hz 10\n"
          "process 1 pid=10 name=train start=0 end=6s signal=9\n"
          "series 1 scope=process:1 name=cpu_ns\nramp 1 to=6s slope=0.1s/s\n"
          "series 4 group=4 scope=machine name=cgroup_memory_bytes label=/box\n"
          "series 6 group=4 scope=machine name=cgroup_oom_kills label=/box\n"
          "tick 4 0 4=100 6=0\ntick 4 6s 4=200 6=1\n"));
  ASSERT_EQ(outcome.findings.size(), 1u);
  EXPECT_NE(outcome.findings[0].summary.find("train (pid 10)"),
            std::string::npos);
}

TEST(OutOfMemoryTest, OthersKillsAreNotItsOwn) {
  EXPECT_TRUE(Of(std::string("process 2 parent=1 pid=11 name=worker start=0 "
                             "end=6s exit=0\n") +
                 kLimit)
                  .findings.empty())
      << "nobody of it was killed";
  EXPECT_TRUE(Of(std::string("process 2 parent=1 pid=11 name=worker start=0 "
                             "end=2s signal=9\n") +
                 kLimit)
                  .findings.empty())
      << "not at that moment";
}

TEST(OutOfMemoryTest, AKillWithoutTheKernelsCountIsNone) {
  const Outcome outcome = Of(kKilled);
  EXPECT_TRUE(outcome.findings.empty());
  EXPECT_NE(outcome.not_enough_data, "");
}

TEST(OutOfMemoryTest, TheMachinesCountSpeaksWhereItsMemoryWasFull) {
  const std::string machine =
      "series 7 scope=machine name=oom_kills kind=total\n"
      "series 8 scope=machine name=mem_total_bytes\n"
      "series 9 scope=machine name=mem_available_bytes\n"
      "tick 1 6100ms 7=5\nramp 8 to=10s value=16GB\n";
  const std::string full = "ramp 9 to=10s value=1GB\ntick 1 0 7=4\n";
  const std::string free = "ramp 9 to=10s value=9GB\ntick 1 0 7=4\n";
  const Outcome outcome = Of(kKilled + machine + full);
  ASSERT_EQ(outcome.findings.size(), 1u);
  EXPECT_NE(outcome.findings[0].summary.find("the machine's 16.0 GB were in"),
            std::string::npos)
      << outcome.findings[0].summary;
  const std::string quiet =
      "series 6 group=4 scope=machine name=cgroup_oom_kills label=/box\n"
      "tick 4 0 6=0\ntick 4 9s 6=0\n";
  EXPECT_TRUE(Of(kKilled + machine + free + quiet).findings.empty())
      << "another container's";
}

TEST(OutOfMemoryTest, ACgroupThatIsGoneIsKnownByItsLimit) {
  const std::string gone =
      "series 7 scope=machine name=oom_kills kind=total\n"
      "series 4 group=4 scope=machine name=cgroup_memory_bytes label=/box\n"
      "series 5 group=4 scope=machine name=cgroup_memory_limit_bytes "
      "label=/box\n"
      "series 6 group=4 scope=machine name=cgroup_oom_kills label=/box\n"
      "tick 1 0 7=4\ntick 1 6100ms 7=5\n"
      "tick 4 0 4=100MB 5=1GB 6=0\n";
  const Outcome outcome = Of(kKilled + gone + "tick 4 5900ms 4=900MB\n");
  ASSERT_EQ(outcome.findings.size(), 1u);
  EXPECT_NE(outcome.findings[0].summary.find("reached its limit of 1.00 GB"),
            std::string::npos)
      << outcome.findings[0].summary;
  EXPECT_TRUE(Of(kKilled + gone + "tick 4 5900ms 4=200MB\n").findings.empty());
}

}  // namespace
}  // namespace sonde
