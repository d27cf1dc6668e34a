#include <gtest/gtest.h>

#include "analyze/facts/made_run.h"
#include "analyze/facts/made_text.h"
#include "analyze/rules/made_case.h"
#include "analyze/verdict/judge.h"

namespace sonde {
namespace {

// One thread that is always on a core, `kernel` of it for its read calls.
Facts Reader(double calls, double bytes_each, double kernel) {
  MadeRun run;
  run.workers = {{.name = "load", .cores = run.Always(0.99)}};
  Facts facts = run.Make();
  PutSeries(facts, "tree_read_calls", MadeRun::Always(calls));
  PutSeries(facts, "tree_read_chars", MadeRun::Always(calls * bytes_each));
  PutSeries(facts, "tree_system", MadeRun::Always(kernel));
  return facts;
}

bool Fires(const Facts& facts) {
  return !Ask(SmallFiles, facts).findings.empty();
}

TEST(SmallFilesTest, FiresWhenReadingCostsTheKernelMostOfTheTime) {
  const Outcome outcome = Ask(SmallFiles, Reader(50'000, 4096, 0.7));
  ASSERT_EQ(outcome.findings.size(), 1u);
  const Finding& f = outcome.findings[0];
  EXPECT_EQ(f.rule, "small_files");
  EXPECT_EQ(f.summary,
            "Held up by small reads: 50000 read calls a second brought 4.10 kB "
            "each.");
  ASSERT_TRUE(f.gain.has_value());
  EXPECT_NEAR(f.gain->share, 0.7, 0.02);
}

TEST(SmallFilesTest, ComesBeforeTheCoreThatItFills) {
  const Judgement judgement = Judge(Reader(50'000, 4096, 0.3));
  ASSERT_EQ(judgement.findings.size(), 2u);
  EXPECT_EQ(judgement.findings[0].rule, "small_files");
  EXPECT_EQ(judgement.findings[1].rule, "one_core_bound");
}

TEST(SmallFilesTest, LargeOrFewReadsAreFine) {
  EXPECT_FALSE(Fires(Reader(50'000, 65'537, 0.7)));
  EXPECT_FALSE(Fires(Reader(999, 4096, 0.7)));
}

TEST(SmallFilesTest, TheCallsMustCost) {
  EXPECT_TRUE(Fires(Reader(50'000, 4096, 0.26)));
  EXPECT_FALSE(Fires(Reader(50'000, 4096, 0.23)));
  EXPECT_FALSE(Fires(Reader(2000, 4096, 0.7)))
      << "2000 calls are not what the kernel was busy with";
  Facts copies = Reader(2000, 4096, 0.9);
  EXPECT_FALSE(Fires(copies));
  PutSeries(copies, "tree_write", MadeRun::Always(2000 * 4096));
  EXPECT_TRUE(Fires(copies)) << "to make the copies costs more than to read";
  PutSeries(copies, "tree_write", MadeRun::Always(2000 * 40'960));
  EXPECT_FALSE(Fires(copies)) << "it does not write what it reads";
}

TEST(SmallFilesTest, WhoComputesIsNotHeldUpByThoseWhoRead) {
  Facts facts = Reader(50'000, 4096, 0.4);
  ASSERT_FALSE(facts.processes.empty());
  ProcessFacts& filter = facts.processes[0];
  filter.user_ns = 9 * kNsPerSec;
  filter.system_ns = kNsPerSec;
  EXPECT_FALSE(Fires(facts));
  filter.system_ns = 4 * kNsPerSec;
  EXPECT_TRUE(Fires(facts));
}

TEST(SmallFilesTest, WaitingForStorageIsACostToo) {
  Facts facts = Reader(2000, 3000, 0.01);
  PutSeries(facts, "tree_read", MadeRun::Always(2000 * 4096));
  PutSeries(facts, "psi_io", MadeRun::Always(0.2));
  EXPECT_FALSE(Fires(facts));
  PutSeries(facts, "psi_io", MadeRun::Always(0.6));
  EXPECT_TRUE(Fires(facts));
  PutSeries(facts, "tree_read", MadeRun::Always(0));
  EXPECT_FALSE(Fires(facts)) << "the cache has it: somebody waits to write";
  PutSeries(facts, "tree_read", MadeRun::Always(2000 * 4096));
  PutSeries(facts, "tree_write", MadeRun::Always(2000 * 9000));
  EXPECT_FALSE(Fires(facts)) << "it writes more than it reads";
}

TEST(SmallFilesTest, BlocksPastThePageCacheAreNoFiles) {
  Facts facts = Reader(50'000, 8192, 0.7);
  PutSeries(facts, "psi_io", MadeRun::Always(0.6));
  PutSeries(facts, "tree_read", MadeRun::Always(50'000 * 8192.0));
  EXPECT_FALSE(Fires(facts));
  PutSeries(facts, "tree_read",
            [](double s) { return (s < 1 ? 2 : 1) * 50'000 * 8192.0; });
  EXPECT_FALSE(Fires(facts)) << "only the program itself was read besides";
  PutSeries(facts, "tree_read", MadeRun::Always(50'000 * 9000.0));
  EXPECT_TRUE(Fires(facts)) << "whole pages and directories came along";
}

TEST(SmallFilesTest, TheThresholdIsSixtyPercentOfTheTime) {
  const auto calls_for = [](int of_ten) {
    return [of_ten](double s) {
      return static_cast<int>(s * 2) % 10 < of_ten ? 50'000.0 : 0.0;
    };
  };
  Facts facts = Reader(50'000, 4096, 0.7);
  PutSeries(facts, "tree_read_calls", calls_for(7));
  EXPECT_TRUE(Fires(facts));
  PutSeries(facts, "tree_read_calls", calls_for(5));
  EXPECT_FALSE(Fires(facts));
}

TEST(SmallFilesTest, SaysWhenItCannotKnow) {
  MadeRun run;
  run.workers = {{.cores = run.Always(1)}};
  EXPECT_EQ(Ask(SmallFiles, run.Make()).not_enough_data,
            "how often the program read was not collected");
  run.seconds = 0.9;
  EXPECT_NE(Ask(SmallFiles, run.Make()).not_enough_data, "");
}

TEST(SmallFilesTest, ALargeFileInSmallPiecesIsReadAhead) {
  Facts facts = Reader(2000, 16'000, 0.01);
  PutSeries(facts, "tree_read", MadeRun::Always(2000 * 16'000));
  PutSeries(facts, "psi_io", MadeRun::Always(0.6));
  facts.machine.disk_read_bytes = 2000 * 16e3 * 10;
  facts.machine.disk_reads = *facts.machine.disk_read_bytes / 20e3;
  EXPECT_TRUE(Fires(facts));
  facts.machine.disk_reads = *facts.machine.disk_read_bytes / 128e3;
  EXPECT_FALSE(Fires(facts));
}

TEST(SmallFilesTest, WhoWaitsForItsWritesIsNotHeldUpByReads) {
  Facts facts = Reader(10'000, 16'000, 0.9);
  PutSeries(facts, "tree_write", MadeRun::Always(10'000 * 16e3));
  EXPECT_TRUE(Fires(facts)) << "copies of small files";
  PutSeries(facts, "psi_io", MadeRun::Always(0.6));
  EXPECT_FALSE(Fires(facts)) << "past the page cache";
}

TEST(SmallFilesTest, AServiceSleepsForEachRequest) {
  Facts facts = Reader(20'000, 100, 0.7);
  EXPECT_TRUE(Fires(facts));
  facts.processes[0].voluntary_switches = 10 * 11'000;
  EXPECT_FALSE(Fires(facts));
}

// 2000 files a second of one block each, read with one call.
TEST(SmallFilesTest, FilesOfWholeBlocksFillThePageCache) {
  const std::string run =
      "meta started_ns 0\nmeta ended_ns 10000000000\nmeta rate_hz 10\n"
      "meta cores 2\nmeta allowed_cores 2\n"
      "process 1 pid=10 name=load start=0 end=10s exit=0\n"
      "series 1 scope=process:1 name=cpu_ns\n"
      "series 2 scope=process:1 name=read_calls kind=total\n"
      "series 3 scope=process:1 name=read_chars kind=total\n"
      "series 4 scope=process:1 name=read_bytes kind=total\n"
      "series 5 scope=machine name=psi_io_some_ns kind=total\n"
      "series 6 scope=machine name=mem_cached_bytes kind=gauge\n"
      "ramp 1 to=10s slope=0.1s/s\nramp 2 to=10s slope=2000/s\n"
      "ramp 3 to=10s slope=8192000/s\nramp 4 to=10s slope=8192000/s\n"
      "ramp 5 to=10s slope=0.6s/s\n";
  EXPECT_TRUE(Fires(FactsOfText(run, "ramp 6 to=10s value=1e9 slope=8MB/s\n")));
  EXPECT_FALSE(
      Fires(FactsOfText(run, "ramp 6 to=10s value=1e9 slope=1MB/s\n")));
}

}  // namespace
}  // namespace sonde
