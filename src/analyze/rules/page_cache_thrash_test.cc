#include <gtest/gtest.h>

#include "analyze/facts/made_text.h"
#include "analyze/rules/made_case.h"
#include "analyze/verdict/judge.h"

namespace sonde {
namespace {

constexpr char kRun[] =
    "meta started_ns 0\nmeta ended_ns 10000000000\nmeta rate_hz 10\n"
    "meta cores 2\nmeta allowed_cores 2\n"
    "process 1 pid=10 name=load start=0 end=10s exit=0\n"
    "series 1 scope=process:1 name=cpu_ns\n"
    "series 2 scope=process:1 name=read_bytes kind=total\n"
    "series 3 scope=machine name=psi_io_some_ns kind=total\n"
    "series 4 group=4 scope=machine name=cgroup_memory_bytes label=/box\n"
    "series 5 group=4 scope=machine name=cgroup_memory_limit_bytes label=/box\n"
    "series 6 group=4 scope=machine name=cgroup_memory_cache_bytes label=/box\n"
    "series 7 group=4 scope=machine name=cgroup_refaulted_pages label=/box "
    "kind=total\n"
    "ramp 2 to=10s slope=200MB/s\nramp 3 to=10s slope=0.8s/s\n"
    "ramp 5 to=10s value=1GB\n";

struct Numbers {
  std::string cores = "0.2", memory = "990MB", cache = "900MB", pages = "45000";
};

Facts Of(const Numbers& n) {
  return FactsOfText(kRun, "ramp 1 to=10s slope=" + n.cores +
                               "s/s\nramp 4 to=10s value=" + n.memory +
                               "\nramp 6 to=10s value=" + n.cache +
                               "\nramp 7 to=10s slope=" + n.pages + "/s\n");
}

bool Fires(const Numbers& n) {
  return !Ask(PageCacheThrash, Of(n)).findings.empty();
}

TEST(PageCacheThrashTest, IsNoMatterOfTheDisk) {
  const Judgement judgement = Judge(Of({}), {});
  ASSERT_FALSE(judgement.findings.empty());
  const Finding& f = judgement.findings[0];
  EXPECT_EQ(f.rule, "page_cache_thrash");
  EXPECT_EQ(f.summary,
            "The page cache thrashes: the files of the program do not fit "
            "into its memory limit of 1.00 GB; it reads 200 MB/s, 92.2 % of "
            "that again.");
  for (const Finding& one : judgement.findings)
    EXPECT_NE(one.rule, "disk_bound");
}

TEST(PageCacheThrashTest, ReadingOnceIsNone) {
  EXPECT_TRUE(Fires({.pages = "15000"}));
  EXPECT_FALSE(Fires({.pages = "14000"}));
  EXPECT_FALSE(Fires({.pages = "0"}));
  const Judgement judgement = Judge(Of({.pages = "0"}), {});
  ASSERT_FALSE(judgement.findings.empty());
  EXPECT_EQ(judgement.findings[0].rule, "disk_bound");
}

TEST(PageCacheThrashTest, TheLimitMustBeReachedByFiles) {
  EXPECT_FALSE(Fires({.memory = "800MB", .cache = "700MB"}));
  EXPECT_FALSE(Fires({.cache = "400MB"}));
}

TEST(PageCacheThrashTest, OthersMayReadAgain) {
  EXPECT_FALSE(Fires({.pages = "400000"}));
}

TEST(PageCacheThrashTest, WhoComputesDoesNotWaitForIt) {
  EXPECT_FALSE(Fires({.cores = "1"}));
}

TEST(PageCacheThrashTest, WithoutALimitThereIsNothingToSay) {
  const Outcome outcome = Ask(
      PageCacheThrash,
      FactsOfText(
          "meta started_ns 0\nmeta ended_ns 10000000000\nmeta rate_hz 10\n"));
  EXPECT_TRUE(outcome.findings.empty());
  EXPECT_EQ(outcome.not_enough_data, "");
}

}  // namespace
}  // namespace sonde
