#include <gtest/gtest.h>

#include "analyze/facts/made_text.h"
#include "analyze/rules/made_case.h"
#include "analyze/verdict/judge.h"

namespace sonde {
namespace {

// Ten seconds with `cpu` of CPU time, of which `more` says more.
Facts Waits(std::string_view slope, std::string_view more) {
  const std::string run = std::string(R"(
meta started_ns 0
meta ended_ns 10000000000
meta rate_hz 10
meta cores 2
meta allowed_cores 2
process 1 pid=100 name=python3 start=0 end=10s exit=0
thread 1 process=1 tid=100 name=python3 start=0 end=10s
series 1 scope=process:1 name=cpu_ns
series 2 scope=thread:1 name=cpu_ns
frame 1 function=poll file=/home/u/client.py line=12
frame 2 function=clock_nanosleep file=[kernel]
frame 3 function=epoll_wait file=[kernel]
frame 4 function=fsync file=[kernel]
stack 1 frame=1
stack 2 parent=1 frame=2
stack 3 parent=1 frame=3
stack 4 parent=1 frame=4
)") +
                          "ramp 1 from=0 to=10s slope=" + std::string(slope) +
                          "\nramp 2 from=0 to=10s slope=" + std::string(slope) +
                          "\n";
  return FactsOfText(run, more);
}

TEST(WaitingTest, SaysForWhatAndInWhichLine) {
  const Facts facts =
      Waits("100ms/s", "sample 9s thread=1 stack=2 weight=8s waiting\n");
  const Finding f = Judge(facts).findings.at(0);
  EXPECT_EQ(f.rule, "waiting");
  EXPECT_EQ(f.summary,
            "Mostly waiting: the main thread of python3 waited for a time to "
            "pass for 80.0 % of the time, in poll (client.py:12).");
  EXPECT_EQ(f.where.function, "poll");
  EXPECT_EQ(f.where.line, 12u);
  ASSERT_TRUE(f.gain.has_value());
  EXPECT_NEAR(f.gain->share, 0.8, 0.01);
}

TEST(WaitingTest, WhoIsAskedSeldomHasNothingToGain) {
  const Facts facts =
      Waits("100ms/s", "sample 9s thread=1 stack=3 weight=8s waiting\n");
  const Finding f = Judge(facts).findings.at(0);
  EXPECT_EQ(f.severity, Severity::kInfo);
  EXPECT_FALSE(f.gain.has_value());
}

TEST(WaitingTest, MuchSavingIsToldAlsoIfItWorks) {
  const auto found = [](const char* disk) {
    return Ask(Waiting, Waits("500ms/s",
                              "sample 8s thread=1 stack=2 weight=2s waiting\n"
                              "sample 9s thread=1 stack=4 weight=" +
                                  std::string(disk) + " waiting\n"))
        .findings;
  };
  ASSERT_EQ(found("2600ms").size(), 1u);
  EXPECT_EQ(found("2600ms")[0].summary,
            "Held up by saving: the main thread of python3 waited until data "
            "was on the disk for 26.0 % of the time, in poll (client.py:12).");
  EXPECT_TRUE(found("1500ms").empty());
}

TEST(WaitingTest, SilentWhereItWorks) {
  EXPECT_TRUE(
      Ask(Waiting,
          Waits("400ms/s", "sample 9s thread=1 stack=2 weight=6s waiting\n"))
          .findings.empty());
  EXPECT_TRUE(
      Ask(Waiting,
          Waits("100ms/s", "sample 9s thread=1 stack=2 weight=3s waiting\n"))
          .findings.empty())
      << "too little is known";
}

}  // namespace
}  // namespace sonde
