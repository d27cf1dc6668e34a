#include <gtest/gtest.h>

#include "analyze/facts/made_run.h"
#include "analyze/rules/made_case.h"

namespace sonde {
namespace {

// Reads all that the disks deliver, and computes little.
Facts Reader(double busy, double stalled, double bytes_per_s = 100e6) {
  MadeRun run;
  run.workers = {{.name = "load", .cores = run.Always(0.2)}};
  Facts facts = run.Make();
  PutSeries(facts, "tree_read", MadeRun::Always(bytes_per_s));
  PutSeries(facts, "tree_write", MadeRun::Always(0));
  PutSeries(facts, "disk_read", MadeRun::Always(110e6));
  PutSeries(facts, "disk_write", MadeRun::Always(1e6));
  PutSeries(facts, "disk_busy", MadeRun::Always(busy));
  PutSeries(facts, "psi_io", MadeRun::Always(stalled));
  return facts;
}

bool Fires(const Facts& facts) {
  return !Ask(DiskBound, facts).findings.empty();
}

TEST(DiskBoundTest, FiresWhenTheProgramWaitsForABusyDisk) {
  const Outcome outcome = Ask(DiskBound, Reader(0.97, 0.9));
  ASSERT_EQ(outcome.findings.size(), 1u);
  const Finding& f = outcome.findings[0];
  EXPECT_EQ(f.rule, "disk_bound");
  EXPECT_EQ(f.severity, Severity::kCritical);
  EXPECT_EQ(f.summary,
            "Limited by the disk: something waited for it 90.0 % of the time "
            "while the program read 100 MB/s.");
  EXPECT_NE(f.advice.find("Read less"), std::string::npos);
  ASSERT_TRUE(f.gain.has_value());
  EXPECT_NEAR(f.gain->share, 0.9, 0.01);
  EXPECT_GT(f.confidence, 0.9);
  EXPECT_NEAR(NumberOf(f, "waited"), 0.9, 0.01);
  EXPECT_NEAR(NumberOf(f, "disk_busy"), 0.97, 0.01);
  EXPECT_NEAR(NumberOf(f, "read"), 100e6, 1e6);
  EXPECT_NEAR(NumberOf(f, "of_disks"), 100.0 / 111, 0.01);
}

TEST(DiskBoundTest, WritingIsToldFromReading) {
  Facts facts = Reader(0.97, 0.9, 0);
  PutSeries(facts, "tree_write", MadeRun::Always(80e6));
  const Outcome outcome = Ask(DiskBound, facts);
  ASSERT_EQ(outcome.findings.size(), 1u);
  EXPECT_NE(outcome.findings[0].summary.find("wrote 80.0 MB/s"),
            std::string::npos);
  EXPECT_NE(outcome.findings[0].advice.find("fsync"), std::string::npos);
}

TEST(DiskBoundTest, ABusyDiskMustBeWaitedFor) {
  EXPECT_TRUE(Fires(Reader(0.81, 0.26)));
  EXPECT_FALSE(Fires(Reader(0.79, 0.26)));
  EXPECT_FALSE(Fires(Reader(0.99, 0.24)));
}

TEST(DiskBoundTest, MuchWaitingIsEnough) {
  EXPECT_TRUE(Fires(Reader(0.3, 0.51)));
  EXPECT_FALSE(Fires(Reader(0.3, 0.49)));
}

TEST(DiskBoundTest, TheKernelsWorkForTheDiskIsNotComputing) {
  Facts facts = Reader(0.6, 0.4);
  PutSeries(facts, "tree_cpu", MadeRun::Always(0.5));
  PutSeries(facts, "tree_system", MadeRun::Always(0.2));
  EXPECT_FALSE(Fires(facts)) << "it computes for 0.3 of the time";
  PutSeries(facts, "tree_system", MadeRun::Always(0.4));
  const Outcome outcome = Ask(DiskBound, facts);
  ASSERT_EQ(outcome.findings.size(), 1u);
  EXPECT_EQ(outcome.findings[0].evidence[2].text,
            "Meanwhile the program used 0.50 cores, 0.40 of them in the "
            "kernel.");
  PutSeries(facts, "psi_io", MadeRun::Always(0.2));
  EXPECT_FALSE(Fires(facts)) << "it hardly waits";
}

TEST(DiskBoundTest, AProgramThatOnlyMovesDataIsBoundAlsoIfTheKernelWorksMore) {
  Facts facts = Reader(0.4, 0.16);
  PutSeries(facts, "tree_cpu", MadeRun::Always(0.6));
  PutSeries(facts, "tree_system", MadeRun::Always(0.58));
  EXPECT_TRUE(Fires(facts));
  PutSeries(facts, "psi_io", MadeRun::Always(0.14));
  EXPECT_FALSE(Fires(facts)) << "it hardly waits";
  PutSeries(facts, "psi_io", MadeRun::Always(0.3));
  PutSeries(facts, "tree_cpu", MadeRun::Always(0.18));
  PutSeries(facts, "tree_system", MadeRun::Always(0.17));
  EXPECT_FALSE(Fires(facts)) << "it sleeps for more than half of the time";
}

TEST(DiskBoundTest, TheThresholdIsSixtyPercentOfTheTime) {
  const auto waits_for = [](int of_ten) {
    return [of_ten](double s) {
      return static_cast<int>(s * 2) % 10 < of_ten ? 0.9 : 0.0;
    };
  };
  Facts facts = Reader(0.9, 0.9);
  PutSeries(facts, "psi_io", waits_for(7));
  EXPECT_TRUE(Fires(facts));
  PutSeries(facts, "psi_io", waits_for(5));
  EXPECT_FALSE(Fires(facts));
}

TEST(DiskBoundTest, OtherProgramsDisksAreNotBlamedOnTheTarget) {
  EXPECT_TRUE(Fires(Reader(0.97, 0.9, 40e6)));
  EXPECT_FALSE(Fires(Reader(0.97, 0.9, 20e6)));
  EXPECT_FALSE(Fires(Reader(0.97, 0.9, 0)));
}

TEST(DiskBoundTest, AThreadThatComputesDoesNotWait) {
  Facts facts = Reader(0.97, 0.9);
  PutSeries(facts, "busiest_thread", MadeRun::Always(0.95));
  EXPECT_FALSE(Fires(facts));
}

TEST(DiskBoundTest, WithoutPressureIdleCoresAreEvidence) {
  MadeRun run;
  run.workers = {{.name = "load", .cores = run.Always(0.2)}};
  Facts facts = run.Make();
  PutSeries(facts, "tree_read", MadeRun::Always(50e6));
  EXPECT_NE(Ask(DiskBound, facts).not_enough_data, "");
  PutSeries(facts, "disk_busy", MadeRun::Always(0.95));
  PutSeries(facts, "iowait", MadeRun::Always(0.9));
  const Outcome outcome = Ask(DiskBound, facts);
  ASSERT_EQ(outcome.findings.size(), 1u);
  EXPECT_LT(outcome.findings[0].confidence, 0.9);
}

TEST(DiskBoundTest, SaysWhenItCannotKnow) {
  MadeRun run;
  run.workers = {{.cores = run.Always(0.2)}};
  EXPECT_EQ(Ask(DiskBound, run.Make()).not_enough_data,
            "neither what the program read nor what the program wrote was "
            "collected");
  run.seconds = 0.9;
  EXPECT_NE(Ask(DiskBound, run.Make()).not_enough_data, "");
}

}  // namespace
}  // namespace sonde
