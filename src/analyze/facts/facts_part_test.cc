// Facts of a run of which only a part was sampled, or is judged.

#include <gtest/gtest.h>

#include "analyze/facts/facts.h"
#include "analyze/facts/made_run.h"
#include "analyze/facts/made_text.h"
#include "analyze/facts/part_series.h"
#include "analyze/facts/run_patterns.h"
#include "analyze/facts/steady.h"
#include "analyze/series/counter_scan.h"
#include "analyze/series/run_series.h"

namespace sonde {
namespace {

TEST(FactsPartTest, CoresAreOfTheTimeThatSamplesCover) {
  MadeRun run;
  run.workers = {{.name = "work", .cores = run.Always(0.8)}};
  run.meta["ended_ns"] = std::to_string(MadeRun::kBeginNs + 40 * kNsPerSec);
  Facts facts = run.Make();
  EXPECT_EQ(facts.run.wall_ns, 40 * kNsPerSec);
  EXPECT_EQ(facts.run.cpu_wall_ns, 10 * kNsPerSec);
  EXPECT_NEAR(*facts.run.cores_used, 0.8, 1e-6);
  EXPECT_NEAR(*facts.processes[0].cores_used, 0.8, 1e-6);
  EXPECT_NEAR(*facts.judged.cores_used, 0.8, 1e-6);
  // The kernel's account at the end is of all of it.
  run.meta["tree_cpu_ns"] = std::to_string(20 * kNsPerSec);
  facts = run.Make();
  EXPECT_EQ(facts.run.cpu_wall_ns, 40 * kNsPerSec);
  EXPECT_NEAR(*facts.run.cores_used, 0.5, 1e-6);
}

TEST(FactsPartTest, AWatchThatBeganLateCountsFromItsFirstSample) {
  MadeRun run;
  run.workers = {{.name = "work", .cores = run.Always(0.8), .from_s = -5}};
  run.meta["started_ns"] = std::to_string(MadeRun::kBeginNs - 3 * kNsPerSec);
  const Facts facts = run.Make();
  EXPECT_EQ(facts.run.wall_ns, 13 * kNsPerSec);
  EXPECT_EQ(facts.run.cpu_wall_ns, 10 * kNsPerSec);
  EXPECT_NEAR(*facts.run.cores_used, 0.8, 1e-6);
}

TEST(FactsPartTest, WhatAWatchedProcessUsedBeforeIsNotCounted) {
  const Facts facts = FactsOfText(R"(meta started_ns 1000000000
meta ended_ns 3000000000
meta watched "process 100"
meta cores 2
meta rate_hz 10
process 1 pid=100 name=young start=300ms
thread 1 process=1 tid=100 start=300ms
series 1 scope=process:1 name=cpu_ns
ramp 1 from=1s to=3s value=700ms slope=1s/s
series 2 scope=thread:1 name=cpu_ns
ramp 2 from=1s to=3s value=700ms slope=1s/s
)");
  EXPECT_EQ(facts.run.cpu_ns, 2 * kNsPerSec);
  EXPECT_NEAR(*facts.run.cores_used, 1, 0.01);
  EXPECT_NEAR(*facts.processes[0].cores_used, 1, 0.01);
  EXPECT_NEAR(*facts.processes[0].threads[0].cores_used, 1, 0.01);
  EXPECT_NEAR(facts.windows[0].tree_cores, 1, 0.01);
}

TEST(FactsPartTest, CoresOfAProcessAreOfItsWholeLife) {
  MadeRun run;
  run.workers = {{.name = "work",
                  .cores = run.Always(0),
                  .from_s = -0.5,
                  .to_s = 0.5,
                  .exact_ns = kNsPerSec}};
  EXPECT_NEAR(*run.Make().processes[0].cores_used, 1, 1e-6)
      << "it was forked half a second before the recording began";
}

TEST(FactsPartTest, WhatIsJudgedAfterTheStartUpAndTheStartUpAreTheWhole) {
  MadeRun run;
  run.workers = {{.name = "work",
                  .cores = [](double s) { return s < 6 ? 1.5 : 0.2; },
                  .wait = [](double s) { return s < 6 ? 0.5 : 0.1; }}};
  run.others = [](double s) { return s < 6 ? 0.5 : 1.0; };
  run.meta["steady_ns"] = std::to_string(MadeRun::kBeginNs + 6 * kNsPerSec);
  const Facts facts = run.Make();
  EXPECT_EQ(facts.judged.wall_ns, 4 * kNsPerSec);
  EXPECT_NEAR(*facts.judged.cores_used, 0.2, 0.01);
  EXPECT_NEAR(*facts.judged.other_cores, 1.0, 0.01);
  EXPECT_NEAR(*facts.run.cores_used, 0.98, 0.01) << "of the whole run";
  EXPECT_NEAR(*facts.machine.other_cores, 0.7, 0.01);
  EXPECT_NEAR(GreatestWait(facts), 0.1, 0.01);
  double start_up_ns = 0;
  for (const CpuWindow& w : facts.windows)
    if (w.from_ns < *facts.run.steady_ns)
      start_up_ns +=
          w.tree_cores * static_cast<double>(Elapsed(w.from_ns, w.to_ns));
  EXPECT_NEAR(start_up_ns + *facts.judged.cores_used *
                                static_cast<double>(facts.judged.wall_ns),
              static_cast<double>(*facts.run.cpu_ns), 1e6);
}

TEST(FactsPartTest, TheStartUpIsKnownThoughItIsNotJudged) {
  MadeRun run;
  run.workers = {
      {.name = "work", .cores = [](double s) { return s < 6 ? 0.3 : 2.0; }}};
  const int64_t steady_ns = MadeRun::kBeginNs + 6 * kNsPerSec;
  run.meta["steady_ns"] = std::to_string(steady_ns);
  const Facts facts = run.Make();
  for (const CpuWindow& w : facts.windows) {
    EXPECT_TRUE(w.known) << w.from_ns;
    EXPECT_EQ(w.judged, w.from_ns >= steady_ns) << w.from_ns;
  }
  EXPECT_EQ(SteadyOf(facts).from_ns, steady_ns);
  const RegularSeries& cpu = *facts.series->Find("tree_cpu");
  EXPECT_EQ(cpu.KnownCount(), cpu.size());
  EXPECT_NEAR(cpu.values[30], 0.3, 0.01);
  const RegularSeries judged = JudgedOf(facts, cpu);
  EXPECT_EQ(judged.KnownRange().first, 60u);
  EXPECT_EQ(judged.KnownRange().second, cpu.size());
  run.meta.clear();
  const Facts whole = run.Make();
  EXPECT_TRUE(whole.windows[0].judged) << "all of it, without such a moment";
  EXPECT_EQ(JudgedOf(whole, cpu).KnownCount(), cpu.size());
}

TEST(FactsPartTest, PhasesTellTheStartUpThatIsNotJudged) {
  MadeRun run;
  run.seconds = 30;
  run.workers = {
      {.name = "work", .cores = [](double s) { return s < 12 ? 0.3 : 2.0; }}};
  run.meta["steady_ns"] = std::to_string(MadeRun::kBeginNs + 12 * kNsPerSec);
  EXPECT_EQ(PhrasePhases(ShapeOf(run.Make()).phases),
            "start-up 12.0 s, steady 18.0 s");
}

TEST(FactsPartTest, WhatCameInTheDelayIsNotJudged) {
  const Facts facts = FactsOfText(R"(meta started_ns 0
meta ended_ns 20000000000
meta delay_ns 8500000000
meta cores 2
meta rate_hz 10
process 1 pid=100 name=train start=0 end=20s exit=0
thread 1 process=1 tid=100 start=0 end=20s
series 1 scope=process:1 name=cpu_ns
ramp 1 from=8.5s to=20s value=8s slope=0.1s/s
series 2 scope=thread:1 name=wait_ns
ramp 2 from=8.5s to=20s value=7s slope=0.2s/s
track 1 kind=machine name=session
slice 1 0 8.5s paused
)");
  EXPECT_EQ(facts.judged.wall_ns, 11'500'000'000);
  EXPECT_NEAR(*facts.judged.cores_used, 0.1, 0.01);
  EXPECT_NEAR(*facts.run.cores_used, 9.15 / 20, 0.01) << "of the whole run";
  EXPECT_NEAR(GreatestWait(facts), 0.2, 0.01);
}

}  // namespace
}  // namespace sonde
