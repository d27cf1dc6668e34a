// What the rules call a gain where only a part of the run is judged.

#include <gtest/gtest.h>

#include "analyze/facts/made_text.h"
#include "analyze/rules/made_case.h"
#include "analyze/verdict/judge.h"

namespace sonde {
namespace {

// One thread that fills one of two cores for 20 s, of which `more` says more.
Facts Busy(std::string_view more) {
  return FactsOfText(R"(
meta started_ns 0
meta ended_ns 20000000000
meta rate_hz 10
meta cores 2
meta allowed_cores 2
process 1 pid=100 name=work start=0 end=20s exit=0
thread 1 process=1 tid=100 name=work start=0 end=20s
series 1 scope=process:1 name=cpu_ns
series 2 scope=thread:1 name=cpu_ns
)",
                     more);
}

constexpr char kWhole[] = R"(
ramp 1 from=0 to=20s slope=1s/s
ramp 2 from=0 to=20s slope=1s/s
)";
// Nothing was sampled in the middle half of it.
constexpr char kPaused[] = R"(
ramp 1 from=0 to=5s slope=1s/s
ramp 2 from=0 to=5s slope=1s/s
ramp 1 from=15s to=20s value=15s slope=1s/s
ramp 2 from=15s to=20s value=15s slope=1s/s
track 1 kind=machine name=session
slice 1 5s 15s paused
)";

TEST(GainTest, APauseIsNeitherWonNorLost) {
  const Finding whole = Ask(OneCoreBound, Busy(kWhole)).findings.at(0);
  EXPECT_NEAR(whole.gain->share, 0.5, 0.01);
  const Facts facts = Busy(kPaused);
  EXPECT_NEAR(facts.JudgedNs(), 10e9, 0.3e9);
  const Finding part = Ask(OneCoreBound, facts).findings.at(0);
  EXPECT_NEAR(part.gain->share, 0.5, 0.01);
}

TEST(GainTest, WhatItIsAShareOfIsSaidWhereThatIsNotTheRun) {
  const auto phrase = [](const Facts& facts) {
    return PhraseGain(*Judge(facts, {"one_core_bound"}).findings.at(0).gain);
  };
  EXPECT_TRUE(phrase(Busy(kWhole)).starts_with("up to 50.0 % of the run's"))
      << phrase(Busy(kWhole));
  EXPECT_NE(phrase(Busy(kPaused)).find(" s that were judged, if"),
            std::string::npos)
      << phrase(Busy(kPaused));
}

TEST(GainTest, SharesOfSeriesDoNotCountAPause) {
  const Facts facts = Busy(kPaused);
  const Case about(facts);
  EXPECT_NEAR(about.series().ShareWhere([](size_t) { return true; }), 1, 1e-9);
  EXPECT_NEAR(about.series().OfRun(), 1, 0.03);
}

}  // namespace
}  // namespace sonde
