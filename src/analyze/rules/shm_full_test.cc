#include <gtest/gtest.h>

#include "analyze/facts/made_text.h"
#include "analyze/rules/made_case.h"
#include "analyze/verdict/judge.h"

namespace sonde {
namespace {

constexpr char kRun[] =
    "meta started_ns 0\nmeta ended_ns 10000000000\nmeta rate_hz 10\n"
    "meta cores 2\nmeta allowed_cores 2\n"
    "process 1 pid=10 name=train start=0 end=10s exit=1\n"
    "series 1 scope=process:1 name=cpu_ns\nramp 1 to=10s slope=0.1s/s\n";
constexpr char kShm[] =
    "series 4 group=4 scope=machine name=shm_used_bytes\n"
    "series 5 group=4 scope=machine name=shm_total_bytes\n"
    "ramp 5 to=10s value=64MB\n";
constexpr char kBus[] =
    "process 2 parent=1 pid=11 name=worker start=0 end=6s signal=7\n";

Outcome Of(const std::string& more) {
  return Ask(ShmFull, FactsOfText(kRun, more));
}

TEST(ShmFullTest, SaysHowLargeItIsAndWhoDied) {
  const std::string full = "ramp 4 to=6s value=4MB slope=10MB/s\n";
  const Outcome outcome = Of(std::string(kBus) + kShm + full);
  ASSERT_EQ(outcome.findings.size(), 1u);
  const Finding& f = outcome.findings[0];
  EXPECT_TRUE(f.summary.starts_with("/dev/shm was full (6"));
  EXPECT_NE(f.summary.find("of 64.0 MB) when worker (pid 11) died of SIGBUS, "
                           "6.0 s after the start."),
            std::string::npos)
      << f.summary;
  EXPECT_NE(f.advice.find("--shm-size"), std::string::npos);
  EXPECT_EQ(Judge(FactsOfText(kRun, std::string(kBus) + kShm + full), {})
                .findings.at(0)
                .rule,
            "shm_full");
}

TEST(ShmFullTest, BothAreNeeded) {
  EXPECT_TRUE(Of(std::string(kBus) + kShm + "ramp 4 to=10s value=30MB\n")
                  .findings.empty())
      << "there was room";
  EXPECT_TRUE(Of(std::string(kBus) + kShm +
                 "ramp 4 to=2s value=64MB\nramp 4 from=2s to=10s value=1MB\n")
                  .findings.empty())
      << "there was room when it died";
  EXPECT_TRUE(
      Of(std::string("process 2 parent=1 pid=11 start=0 end=6s exit=0\n") +
         kShm + "ramp 4 to=6s value=64MB\nramp 4 from=7s to=10s value=1MB\n")
          .findings.empty())
      << "nobody failed";
}

TEST(ShmFullTest, WhoFailsWithoutRoomIsLessSure) {
  const std::string failed =
      std::string("process 2 parent=1 pid=11 start=0 end=6s exit=1\n") + kShm;
  const std::string filled = "ramp 4 to=6s value=4MB slope=10MB/s\n";
  const std::string sampled =
      "series 6 scope=process:2 name=cpu_ns\nramp 6 to=6s slope=0.1s/s\n";
  const Outcome outcome = Of(failed + filled + sampled);
  ASSERT_EQ(outcome.findings.size(), 1u);
  EXPECT_LT(outcome.findings[0].confidence, 0.8);
  std::string fine = kRun;
  fine.replace(fine.find("exit=1"), 6, "exit=0");
  EXPECT_TRUE(Ask(ShmFull, FactsOfText(fine, failed + filled)).findings.empty())
      << "a short test or grep";
  EXPECT_TRUE(
      Of(failed + sampled + "ramp 4 to=10s value=64MB\n").findings.empty())
      << "it was full before";
}

TEST(ShmFullTest, WhatIsFilledBetweenTwoLooksIsProbable) {
  const Outcome outcome =
      Of(std::string(kBus) + kShm + "ramp 4 to=10s value=40MB\n");
  ASSERT_EQ(outcome.findings.size(), 1u);
  EXPECT_TRUE(outcome.findings[0].summary.starts_with(
      "/dev/shm was probably full (40.0 MB of 64.0 MB) when worker"))
      << outcome.findings[0].summary;
  EXPECT_LT(outcome.findings[0].confidence, 0.8);
}

TEST(ShmFullTest, SaysWhenItCannotKnow) {
  EXPECT_NE(Of(kBus).not_enough_data, "");
  EXPECT_EQ(Of("").not_enough_data, "");
}

}  // namespace
}  // namespace sonde
