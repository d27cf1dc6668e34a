#include <gtest/gtest.h>

#include <cmath>

#include "analyze/facts/made_run.h"
#include "analyze/facts/made_text.h"
#include "analyze/rules/made_case.h"

namespace sonde {
namespace {

// Fetches at a rate, with little work and a thousand waits a second.
Facts Fetches(const MadeRun::Load& bytes_per_s) {
  MadeRun run;
  run.workers = {{.name = "fetch", .cores = run.Always(0.1)}};
  Facts facts = run.Make();
  facts.processes[0].voluntary_switches = 10'000;
  PutSeries(facts, "net_receive", bytes_per_s);
  PutSeries(facts, "net_send", MadeRun::Always(1e3));
  return facts;
}

// Goes up and down by `by` each half second.
MadeRun::Load Around(double rate, double by) {
  return [=](double s) {
    return static_cast<int>(s * 2) % 2 == 0 ? rate - by : rate + by;
  };
}

bool Fires(const Facts& facts) {
  return !Ask(NetworkBound, facts).findings.empty();
}

TEST(NetworkBoundTest, FindsAFlatCeiling) {
  const Outcome outcome = Ask(NetworkBound, Fetches(Around(10e6, 0.2e6)));
  ASSERT_EQ(outcome.findings.size(), 1u);
  const Finding& f = outcome.findings[0];
  EXPECT_EQ(f.rule, "network_bound");
  EXPECT_NE(f.summary.find("Limited by the network: the program receives"),
            std::string::npos);
  EXPECT_LT(f.confidence, 0.9) << "it may mean to be as slow";
}

TEST(NetworkBoundTest, SendingCountsAsWell) {
  Facts facts = Fetches(MadeRun::Always(1e3));
  PutSeries(facts, "net_send", MadeRun::Always(50e6));
  ASSERT_EQ(Ask(NetworkBound, facts).findings.size(), 1u);
  EXPECT_NE(Ask(NetworkBound, facts)
                .findings[0]
                .summary.find("the program sends 50.0 MB/s"),
            std::string::npos);
}

TEST(NetworkBoundTest, WhatGoesUpAndDownHasNoCeiling) {
  EXPECT_FALSE(Fires(Fetches(Around(10e6, 2e6))));
  EXPECT_FALSE(Fires(Fetches(
      [](double s) { return static_cast<int>(s) % 5 == 4 ? 30e6 : 10e6; })));
}

TEST(NetworkBoundTest, ALittleTrafficIsNone) {
  EXPECT_TRUE(Fires(Fetches(MadeRun::Always(101e3))));
  EXPECT_FALSE(Fires(Fetches(MadeRun::Always(99e3))));
}

TEST(NetworkBoundTest, WhoComputesOrWaitsForDisksDoesNotWaitForTheNetwork) {
  Facts facts = Fetches(MadeRun::Always(10e6));
  PutSeries(facts, "busiest_thread", MadeRun::Always(0.7));
  EXPECT_FALSE(Fires(facts));
  facts = Fetches(MadeRun::Always(10e6));
  PutSeries(facts, "psi_io", MadeRun::Always(0.4));
  EXPECT_FALSE(Fires(facts));
  facts = Fetches(MadeRun::Always(10e6));
  PutSeries(facts, "disk_busy", MadeRun::Always(0.9));
  PutSeries(facts, "disk_write", MadeRun::Always(20e6));
  PutSeries(facts, "tree_write", MadeRun::Always(10e6));
  EXPECT_FALSE(Fires(facts));
}

TEST(NetworkBoundTest, ADiskThatNeighboursKeepBusyIsNotBlamed) {
  Facts facts = Fetches(MadeRun::Always(10e6));
  PutSeries(facts, "disk_busy", MadeRun::Always(0.9));
  PutSeries(facts, "disk_write", MadeRun::Always(900e6));
  EXPECT_TRUE(Fires(facts)) << "it wrote nothing";
  PutSeries(facts, "tree_write", MadeRun::Always(10e6));
  EXPECT_TRUE(Fires(facts)) << "it wrote a hundredth";
}

TEST(NetworkBoundTest, OtherProgramsTrafficIsNotBlamedOnTheTarget) {
  Facts facts = Fetches(MadeRun::Always(10e6));
  facts.processes[0].voluntary_switches = 100;
  EXPECT_FALSE(Fires(facts)) << "it sleeps";
}

TEST(NetworkBoundTest, SaysWhenItCannotKnow) {
  MadeRun run;
  run.workers = {{.cores = run.Always(1)}};
  EXPECT_EQ(Ask(NetworkBound, run.Make()).not_enough_data,
            "network traffic was not collected");
}

// One process that wakes up often; two interfaces, one way each.
constexpr char kTwoLinks[] =
    "meta started_ns 0\nmeta ended_ns 10000000000\nmeta rate_hz 10\n"
    "meta cores 2\nmeta allowed_cores 2\n"
    "process 1 pid=10 name=fetch start=0 end=10s exit=0\n"
    "series 1 scope=process:1 name=cpu_ns\n"
    "series 5 scope=process:1 name=voluntary_switches kind=total\n"
    "series 6 scope=machine name=net_rx_bytes label=eth0 kind=total\n"
    "series 7 scope=machine name=net_tx_bytes label=veth1 kind=total\n"
    "ramp 1 to=10s slope=0.1s/s\nramp 5 to=10s slope=1000/s\n";

TEST(NetworkBoundTest, OneInterfaceMayBeFullBesideOthersThatAreNot) {
  const std::string other =
      "ramp 7 to=5s slope=5MB/s\nramp 7 from=5100ms to=10s value=25MB "
      "slope=30MB/s\n";
  const Outcome outcome =
      Ask(NetworkBound,
          FactsOfText(kTwoLinks, "ramp 6 to=10s slope=10MB/s\n" + other));
  ASSERT_EQ(outcome.findings.size(), 1u);
  EXPECT_NE(outcome.findings[0].evidence[0].text.find("the rate of eth0 was"),
            std::string::npos)
      << outcome.findings[0].evidence[0].text;
  EXPECT_TRUE(
      Ask(NetworkBound, FactsOfText(kTwoLinks, other)).findings.empty());
}

TEST(NetworkBoundTest, AnotherNetworkMayBeTheOneThatIsFull) {
  std::string run = kTwoLinks;
  for (const char* const name : {"eth0", "veth1"})
    run.replace(run.find(name), std::string_view(name).size(),
                "eth0@4026532177");
  const Outcome outcome =
      Ask(NetworkBound, FactsOfText(run, "ramp 6 to=10s slope=10MB/s\n"));
  ASSERT_EQ(outcome.findings.size(), 1u) << outcome.not_enough_data;
  EXPECT_NE(outcome.findings[0].evidence[0].text.find("of eth0@4026532177 was"),
            std::string::npos);
}

TEST(NetworkBoundTest, WhatWasNotCollectedIsNotSaid) {
  const auto says = [](const Facts& facts) {
    return Ask(NetworkBound, facts).findings.at(0).evidence.at(1).text;
  };
  Facts facts = Fetches(MadeRun::Always(10e6));
  EXPECT_EQ(says(facts), "Meanwhile the program used 0.10 cores.");
  PutSeries(facts, "psi_io", MadeRun::Always(0.01));
  EXPECT_EQ(says(facts),
            "Meanwhile the program used 0.10 cores and did not wait for "
            "disks.");
}

TEST(NetworkBoundTest, BurstsAtALowRateAreACeiling) {
  // 500 kB/s in packets of 64 kB: none in some windows, two in others.
  const auto bursts = [](double rate) {
    return [rate](double s) {
      const auto sent = [&](double until_s) {
        return std::floor(until_s * rate / 64e3) * 64e3;
      };
      return (sent(s + 0.05) - sent(s - 0.05)) * 10;
    };
  };
  EXPECT_TRUE(Fires(Fetches(bursts(500e3))));
  EXPECT_FALSE(Fires(Fetches(bursts(200e3)))) << "many small requests";
}

}  // namespace
}  // namespace sonde
