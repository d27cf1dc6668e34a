#include "report/annotations.h"

#include <gtest/gtest.h>

#include "base/time.h"
#include "report/cgroups.h"

namespace sonde {
namespace {

SliceFacts Slice(const std::string& name, int64_t self_ns, double share) {
  SliceFacts out;
  out.name = name;
  out.count = 1;
  out.self_ns = self_ns;
  out.total_ns = out.p50_ns = out.p99_ns = static_cast<uint64_t>(self_ns);
  out.share = share;
  return out;
}

TEST(ReportAnnotations, AProgramThatSaysNothingHasNoTables) {
  const Facts facts;
  EXPECT_TRUE(SliceLines(facts, 10).empty());
  EXPECT_TRUE(SliceTrackLines(facts, 10).empty());
  EXPECT_TRUE(CounterLines(facts, 10).empty());
  EXPECT_TRUE(MarkLines(facts, 10).empty());
  EXPECT_TRUE(SliceSummary(facts).empty());
}

TEST(ReportAnnotations, SlicesThatAreNotShownAreSummedUp) {
  Facts facts;
  facts.said.slices = {
      Slice("load", 5 * kNsPerSec, 0.5), Slice("\x1b[2J", 3 * kNsPerSec, 0.3),
      Slice("", kNsPerSec, 0.1), Slice("save", kNsPerSec, 0.1)};
  const Lines some = SliceLines(facts, 2);
  ASSERT_EQ(some.size(), 4u);
  EXPECT_TRUE(some[2].starts_with("\\x1b[2J ")) << some[2];
  EXPECT_EQ(some[3],
            "and 2 more                     2       -  2.00 s       -       -"
            "       -  20.0 %");
  const Lines all = SliceLines(facts, 3);
  ASSERT_EQ(all.size(), 5u) << "one row more rather than one that is counted";
  EXPECT_TRUE(all[3].starts_with("(no name) ")) << all[3];
}

TEST(ReportCgroups, WhatALimitDidIsToldAlsoInBrief) {
  Facts facts;
  CgroupFacts group;
  group.path = "/job";
  group.cpu_ns = kNsPerSec;
  facts.cgroups = {group};
  EXPECT_TRUE(CgroupLines(facts, true).empty()) << "no limit did anything";
  EXPECT_EQ(CgroupLines(facts, false), Lines{"Cgroup   /job: CPU 1.00 s"});
  facts.cgroups[0].memory_peak_bytes = 5e8;
  facts.cgroups[0].memory_limit_bytes = 1e9;
  facts.cgroups[0].oom_kills = 2;
  EXPECT_EQ(CgroupLines(facts, true),
            (Lines{"Cgroup   /job: memory at most 500 MB of its limit 1.00 GB "
                   "(50.0 %), 2 killed for",
                   "         lack of memory"}));
}

}  // namespace
}  // namespace sonde
