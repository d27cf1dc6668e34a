#include <gtest/gtest.h>

#include "analyze/facts/made_run.h"
#include "analyze/rules/made_case.h"
#include "analyze/verdict/judge.h"

namespace sonde {
namespace {

Facts Swaps(double faults, double waits) {
  MadeRun run;
  run.workers = {{.name = "fat", .cores = run.Always(0.2)}};
  Facts facts = run.Make();
  facts.machine.swap_total_bytes = 8e9;
  facts.machine.swap_peak_bytes = 3e9;
  PutSeries(facts, "tree_faults", MadeRun::Always(faults));
  PutSeries(facts, "psi_memory", MadeRun::Always(waits));
  return facts;
}

bool Fires(const Facts& facts) {
  return !Ask(Swapping, facts).findings.empty();
}

TEST(SwappingTest, ComesBeforeTheDiskThatItUses) {
  Facts facts = Swaps(2000, 0.6);
  PutSeries(facts, "tree_read", MadeRun::Always(50e6));
  PutSeries(facts, "psi_io", MadeRun::Always(0.9));
  const Judgement judgement = Judge(facts);
  ASSERT_EQ(judgement.findings.size(), 2u);
  EXPECT_EQ(judgement.findings[0].rule, "swapping");
  EXPECT_EQ(judgement.findings[0].summary,
            "Short of memory: 2000 pages of the program a second had to come "
            "back from swap.");
  EXPECT_EQ(judgement.findings[1].rule, "disk_bound");
}

TEST(SwappingTest, PagesOfFilesAreNoSwap) {
  Facts facts = Swaps(2000, 0.6);
  facts.machine.swap_peak_bytes = 0;
  EXPECT_FALSE(Fires(facts));
}

TEST(SwappingTest, BothPagesAndWaitingAreNeeded) {
  EXPECT_TRUE(Fires(Swaps(51, 0.06)));
  EXPECT_FALSE(Fires(Swaps(49, 0.06)));
  EXPECT_FALSE(Fires(Swaps(51, 0.04)));
}

TEST(SwappingTest, OwnThreadsThatAreBlockedCountWhereTheDiskIsShared) {
  Facts facts = Swaps(2000, 0.03);
  PutSeries(facts, "tree_blocked", MadeRun::Always(0.7));
  EXPECT_FALSE(Fires(facts)) << "others may have filled swap long ago";
  PutSeries(facts, "swap_free", [](double s) { return s < 1 ? 5.2e9 : 5.0e9; });
  EXPECT_TRUE(Fires(facts));
  PutSeries(facts, "tree_blocked", MadeRun::Always(0.1));
  EXPECT_FALSE(Fires(facts));
}

TEST(SwappingTest, SaysWhenItCannotKnow) {
  MadeRun run;
  run.workers = {{.cores = run.Always(1)}};
  EXPECT_NE(Ask(Swapping, run.Make()).not_enough_data, "");
}

}  // namespace
}  // namespace sonde
