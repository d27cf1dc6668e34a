#include "collect/sample/cgroup_sampler.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "tools/trace_contents.h"

namespace sonde {
namespace {

// A cgroup tree made of plain files.
struct CgroupSamplerTest : testing::Test {
  CgroupSamplerTest() {
    char name[] = "/tmp/sonde-cgroup-XXXXXX";
    root = ::mkdtemp(name);
  }
  ~CgroupSamplerTest() override { std::filesystem::remove_all(root); }

  void Put(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories(
        std::filesystem::path(root + path).parent_path());
    std::ofstream(root + path) << text;
  }
  std::string Version2() const {
    return "30 1 0:26 / " + root + " rw - cgroup2 cgroup2 rw\n";
  }
  std::string Version1() const {
    return "31 1 0:27 / " + root + "/cpu rw - cgroup cgroup rw,cpu,cpuacct\n" +
           "32 1 0:28 / " + root + "/memory rw - cgroup cgroup rw,memory\n";
  }
  // The last value of each series, by "label name"; -1 if it ended.
  std::map<std::string, int64_t> Close() {
    CHECK(out->Close().ok());
    const TraceContents trace = TraceContents::OfBytes(bytes);
    std::map<std::string, int64_t> last;
    for (const auto& [id, row] : trace.series)
      if (const auto at = trace.points.find(id); at != trace.points.end())
        last[trace.strings.at(row.label) + " " + trace.strings.at(row.name)] =
            at->second.back().gone ? -1 : at->second.back().value;
    return last;
  }

  std::string root;
  std::shared_ptr<std::string> bytes = std::make_shared<std::string>();
  std::unique_ptr<TraceWriter> out = TraceWriter::CreateInMemory({}, bytes);
  FdBudget none{0};  // every reading opens its file
};

using Last = std::map<std::string, int64_t>;

TEST_F(CgroupSamplerTest, TheOwnCgroupAndThoseAboveThatHaveALimit) {
  Put("/a/b/c/memory.current", "100\n");
  Put("/a/b/c/memory.max", "max\n");
  Put("/a/b/c/cpu.stat", "usage_usec 1\n");
  Put("/a/b/memory.current", "150\n");  // has no limit: not looked at
  Put("/a/b/memory.max", "max\n");
  Put("/a/memory.current", "200\n");
  Put("/a/memory.max", "1000\n");
  Put("/a/cpu.stat", "usage_usec 5\nnr_throttled 3\n");
  Put("/a/cpu.max", "max 100000\n");
  Put("/cpu.stat", "usage_usec 9\n");  // the machine's
  CgroupSampler sampler(*out, Version2());
  sampler.Add("0::/a/b/c\n");
  sampler.Tick(none);
  EXPECT_EQ(Close(), (Last{{"/a/b/c cgroup_memory_bytes", 100},
                           {"/a/b/c cgroup_cpu_ns", 1000},
                           {"/a cgroup_memory_bytes", 200},
                           {"/a cgroup_memory_limit_bytes", 1000}}));
}

TEST_F(CgroupSamplerTest, Version1) {
  Put("/memory/m/memory.usage_in_bytes", "100\n");
  Put("/memory/m/memory.limit_in_bytes", "1000\n");
  Put("/memory/m/memory.oom_control", "under_oom 0\noom_kill 2\n");
  Put("/cpu/c/cpuacct.usage", "7\n");
  Put("/cpu/c/cpu.stat", "nr_periods 4\nnr_throttled 3\nthrottled_time 2\n");
  Put("/cpu/c/cpu.cfs_quota_us", "-1\n");
  CgroupSampler sampler(*out, Version1());
  sampler.Add("4:memory:/m\n3:cpu,cpuacct:/c\n0::/x\n");
  sampler.Tick(none);
  EXPECT_EQ(Close(), (Last{{"/m cgroup_memory_bytes", 100},
                           {"/m cgroup_memory_limit_bytes", 1000},
                           {"/m cgroup_oom_kills", 2},
                           {"/c cgroup_cpu_ns", 7},
                           {"/c cgroup_cpu_periods", 4},
                           {"/c cgroup_cpu_throttled_periods", 3},
                           {"/c cgroup_cpu_throttled_ns", 2}}));
}

TEST_F(CgroupSamplerTest, OneThatVanishesEndsItsSeriesAndNothingElse) {
  Put("/a/b/memory.current", "100\n");
  Put("/a/memory.current", "200\n");
  Put("/a/memory.max", "1000\n");
  CgroupSampler sampler(*out, Version2());
  sampler.Add("0::/a/b\n");
  sampler.Tick(none);
  std::filesystem::remove_all(root + "/a/b");
  Put("/a/memory.current", "250\n");
  sampler.Tick(none);
  Put("/a/b/memory.current", "1\n");  // another of the same name
  Put("/a/memory.current", "300\n");
  sampler.Tick(none, true);
  const Last last = Close();
  EXPECT_EQ(last.at("/a cgroup_memory_bytes"), 300);
  EXPECT_EQ(last.at("/a/b cgroup_memory_bytes"), -1);
}

TEST_F(CgroupSamplerTest, OneThatAProcessGoesToLaterIsReadFromThenOn) {
  Put("/a/memory.current", "100\n");
  Put("/a/memory.max", "1000\n");
  Put("/b/memory.current", "200\n");
  Put("/a/c/memory.current", "50\n");
  CgroupSampler sampler(*out, Version2());
  sampler.Add("0::/a\n");
  sampler.Tick(none);
  for (int i = 0; i < 3; ++i) {
    sampler.Add("0::/b\n");
    sampler.Add("0::/a/c\n");  // the one above it is read already
    sampler.Tick(none, true);
  }
  Put("/b/memory.current", "250\n");
  sampler.Tick(none, true);
  EXPECT_EQ(Close(), (Last{{"/a cgroup_memory_bytes", 100},
                           {"/a cgroup_memory_limit_bytes", 1000},
                           {"/b cgroup_memory_bytes", 250},
                           {"/a/c cgroup_memory_bytes", 50}}));
  EXPECT_EQ(TraceContents::OfBytes(bytes).series.size(), 4u);
}

TEST_F(CgroupSamplerTest, OneThatVanishesLeavesRoomForAnother) {
  CgroupSampler sampler(*out, Version2());
  const auto name = [](size_t i) { return "/" + std::to_string(i); };
  for (size_t i = 0; i <= CgroupSampler::kMostCgroups; ++i) {
    Put(name(i) + "/memory.current", "1\n");
    EXPECT_FALSE(sampler.full());
    sampler.Add("0::" + name(i) + "\n");
  }
  EXPECT_TRUE(sampler.full());
  sampler.Tick(none);
  std::filesystem::remove_all(root + "/0");
  sampler.Tick(none);
  const std::string last = name(CgroupSampler::kMostCgroups);
  sampler.Add("0::" + last + "\n");
  sampler.Tick(none);
  const Last found = Close();
  EXPECT_EQ(found.at("/0 cgroup_memory_bytes"), -1);
  EXPECT_EQ(found.at("/1 cgroup_memory_bytes"), 1);
  EXPECT_EQ(found.at(last + " cgroup_memory_bytes"), 1);
}

TEST_F(CgroupSamplerTest, NoMoreAreReadHoweverManyComeAndGo) {
  CgroupSampler sampler(*out, Version2());
  const auto name = [](size_t i) { return "/p" + std::to_string(i); };
  constexpr size_t kEver = 40;
  for (size_t i = 0; i < kEver; ++i) {
    // The one above stays, and has a limit: it is read on.
    if (i % 2 == 0) Put(name(i) + "/memory.max", "1000\n");
    if (i % 2 == 0) Put(name(i) + "/memory.current", "1\n");
    Put(name(i) + "/own/memory.current", "1\n");
  }
  for (size_t round = 0; round < kEver; ++round) {
    for (size_t i = round; i < kEver; ++i)
      sampler.Add("0::" + name(i) + "/own\n");
    sampler.Tick(none, true);
    std::filesystem::remove_all(root + name(round) + "/own");
    sampler.Tick(none, true);
  }
  size_t read = 0, own = 0;
  for (const auto& [series, value] : Close()) {
    if (!series.ends_with(" cgroup_memory_bytes")) continue;
    if (value != -1) ++read;
    if (series.find("/own") != std::string::npos) ++own;
  }
  EXPECT_EQ(read, CgroupSampler::kMostCgroups) << "all above those gone";
  EXPECT_GT(own, CgroupSampler::kMostCgroups) << "there was room again";
}

TEST_F(CgroupSamplerTest, OneOfTheSameNameTakesThePlaceOfTheOneBefore) {
  Put("/a/memory.current", "200\n");
  Put("/a/memory.max", "1000\n");
  CgroupSampler sampler(*out, Version2());
  for (size_t i = 0; i <= CgroupSampler::kMostCgroups; ++i) {
    Put("/a/b/memory.current", "1\n");
    sampler.Add("0::/a/b\n");
    sampler.Tick(none, true);
    std::filesystem::remove_all(root + "/a/b");
    sampler.Tick(none, true);
  }
  EXPECT_FALSE(sampler.full());
  EXPECT_EQ(Close().at("/a cgroup_memory_bytes"), 200);
}

TEST_F(CgroupSamplerTest, OneThatWasReadForAnotherLeavesRoomToo) {
  CgroupSampler sampler(*out, Version2());
  for (size_t i = 0; i <= CgroupSampler::kMostCgroups; ++i) {
    const std::string above = "/" + std::to_string(i);
    Put(above + "/memory.current", "1\n");
    Put(above + "/memory.max", "1000\n");
    Put(above + "/b/memory.current", "1\n");
    sampler.Add("0::" + above + "/b\n");
    sampler.Add("0::" + above + "\n");
    sampler.Tick(none, true);
    std::filesystem::remove_all(root + above);
    sampler.Tick(none, true);
  }
  EXPECT_FALSE(sampler.full());
}

TEST_F(CgroupSamplerTest, OneThatCannotBeReadTakesNoRoom) {
  CgroupSampler sampler(*out, Version2());
  for (size_t i = 0; i < 1000; ++i)
    sampler.Add("0::/hidden" + std::to_string(i) + "\n");
  Put("/a/memory.current", "1\n");
  sampler.Add("0::/a\n");
  sampler.Tick(none);
  EXPECT_FALSE(sampler.full());
  EXPECT_EQ(Close().at("/a cgroup_memory_bytes"), 1);
}

TEST_F(CgroupSamplerTest, TheRootOfAMachineIsNone) {
  Put("/cpu.stat", "usage_usec 9\n");
  Put("/cpu.pressure", "some avg10=0.00 total=12\n");
  CgroupSampler sampler(*out, Version2());
  sampler.Add("0::/\n");
  sampler.Tick(none, true);
  EXPECT_EQ(Close(), Last());
}

TEST_F(CgroupSamplerTest, TheRootOfAContainersNamespaceIsOne) {
  Put("/memory.current", "100\n");
  Put("/memory.max", "max\n");
  CgroupSampler sampler(*out, Version2());
  sampler.Add("0::/\n");
  sampler.Tick(none, true);
  EXPECT_EQ(Close(), (Last{{"/ cgroup_memory_bytes", 100}}));
}

TEST_F(CgroupSamplerTest, ALimitThatIsLiftedEnds) {
  Put("/a/memory.current", "100\n");
  Put("/a/memory.max", "1000\n");
  Put("/a/cpu.max", "50000 100000\n");
  CgroupSampler sampler(*out, Version2());
  sampler.Add("0::/a\n");
  sampler.Tick(none, true);
  Put("/a/memory.max", "max\n");
  Put("/a/cpu.max", "max 100000\n");
  sampler.Tick(none, true);
  const Last last = Close();
  EXPECT_EQ(last.at("/a cgroup_memory_limit_bytes"), -1);
  for (const auto& [name, value] : last)
    EXPECT_EQ(value, name == "/a cgroup_memory_bytes" ? 100 : -1) << name;
  EXPECT_GE(last.size(), 3u);
}

TEST_F(CgroupSamplerTest, WhatIsReadSeldomIsReadAtTheEnd) {
  Put("/a/memory.current", "100\n");
  Put("/a/memory.events", "oom_kill 0\n");
  CgroupSampler sampler(*out, Version2());
  sampler.Add("0::/a\n");
  sampler.Tick(none);
  Put("/a/memory.events", "oom_kill 1\n");
  sampler.Tick(none);
  sampler.Tick(none, true);
  EXPECT_EQ(Close().at("/a cgroup_oom_kills"), 1);
}

}  // namespace
}  // namespace sonde
