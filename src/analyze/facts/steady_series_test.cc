#include "analyze/facts/steady_series.h"

#include <gtest/gtest.h>

#include "analyze/facts/made_run.h"

namespace sonde {
namespace {

// Starts up for a second of ten, then works.
Facts Late() {
  MadeRun run;
  run.workers = {{.cores = [](double s) { return s < 1 ? 0.0 : 1.0; }}};
  return run.Make();
}

TEST(SteadySeriesTest, LeavesTheStartUpOut) {
  Facts facts = Late();
  PutSeries(facts, "psi_io", [](double s) { return s < 1 ? 9.0 : s; });
  const Steady steady = SteadyOf(facts);
  const SteadySeries series(facts, steady);
  EXPECT_NEAR(static_cast<double>(series.size()), 90, 1);
  EXPECT_NEAR(series.OfRun(), 0.9, 0.02);
  const SeriesView psi = series.Find("psi_io");
  EXPECT_NEAR(psi.At(0), 1.05, 0.11);
  EXPECT_NEAR(psi.Mean(), 5.5, 0.1);
  EXPECT_NEAR(psi.QuantileAt(0.5), 5.5, 0.15);
  EXPECT_NEAR(series.ShareWhere([&](size_t i) { return psi.At(i) < 5.5; }), 0.5,
              0.02);
}

TEST(SteadySeriesTest, WhatWasNotCollectedIsNotKnown) {
  const Facts facts = Late();
  const Steady steady = SteadyOf(facts);
  const SeriesView none = SteadySeries(facts, steady).Find("psi_io");
  EXPECT_FALSE(none.collected());
  EXPECT_EQ(none.At(3), 0);
  EXPECT_EQ(none.At(3, 7), 7);
  EXPECT_EQ(none.Mean(), 0);
}

TEST(SteadySeriesTest, DisksAreTheProgramsIfItMovesItsPart) {
  const auto owns = [](double read, double write, double all) {
    Facts facts = Late();
    PutSeries(facts, "tree_read", MadeRun::Always(read));
    PutSeries(facts, "tree_write", MadeRun::Always(write));
    PutSeries(facts, "disk_read", MadeRun::Always(all));
    return SteadySeries(facts, SteadyOf(facts)).OwnsDisks();
  };
  EXPECT_TRUE(owns(20e6, 11e6, 100e6));
  EXPECT_FALSE(owns(12e6, 7e6, 100e6));
  EXPECT_TRUE(owns(65e3, 0, 0));
  EXPECT_FALSE(owns(63e3, 0, 0));
}

}  // namespace
}  // namespace sonde
