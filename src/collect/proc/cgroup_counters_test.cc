#include "collect/proc/cgroup_counters.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace sonde {
namespace {

using Found = std::map<std::string, uint64_t>;

// What the file `name` of this version says.
Found Parse(bool version2, std::string_view name, std::string_view text) {
  for (const CgroupFile& file : CgroupFiles()) {
    if (file.version2 != version2 || file.name != name) continue;
    std::vector<CgroupValue> values;
    file.Parse(text, values);
    Found out;
    for (const CgroupValue& value : values)
      out[std::string(value.name->name)] = value.value;
    return out;
  }
  ADD_FAILURE() << "no file " << name;
  return {};
}

TEST(CgroupCounters, TheLimitOfCpuTimeIsAShareOfAPeriod) {
  const Found half = {{"cgroup_cpu_quota_ns", 50000000},
                      {"cgroup_cpu_period_ns", 100000000}};
  EXPECT_EQ(Parse(true, "cpu.max", "50000 100000\n"), half);
  EXPECT_EQ(Parse(true, "cpu.max", "max 100000\n"), Found());
  EXPECT_EQ(Parse(false, "cpu.cfs_quota_us", "50000\n"),
            (Found{{"cgroup_cpu_quota_ns", 50000000}}));
  EXPECT_EQ(Parse(false, "cpu.cfs_quota_us", "-1\n"), Found());
  EXPECT_EQ(Parse(false, "cpu.cfs_period_us", "100000\n"),
            (Found{{"cgroup_cpu_period_ns", 100000000}}));
}

TEST(CgroupCounters, CpuTimesAreInNanosecondsInBothVersions) {
  EXPECT_EQ(Parse(true, "cpu.stat",
                  "usage_usec 1500\nuser_usec 1000\nsystem_usec 500\n"
                  "nr_periods 10\nnr_throttled 4\nthrottled_usec 7\n"),
            (Found{{"cgroup_cpu_ns", 1500000},
                   {"cgroup_cpu_periods", 10},
                   {"cgroup_cpu_throttled_periods", 4},
                   {"cgroup_cpu_throttled_ns", 7000}}));
  EXPECT_EQ(Parse(false, "cpu.stat",
                  "nr_periods 10\nnr_throttled 4\nthrottled_time 7000\n"),
            (Found{{"cgroup_cpu_periods", 10},
                   {"cgroup_cpu_throttled_periods", 4},
                   {"cgroup_cpu_throttled_ns", 7000}}));
  EXPECT_EQ(Parse(false, "cpuacct.usage", "1500000\n"),
            (Found{{"cgroup_cpu_ns", 1500000}}));
}

TEST(CgroupCounters, NoLimitIsNoValue) {
  EXPECT_EQ(Parse(true, "memory.max", "1048576\n"),
            (Found{{"cgroup_memory_limit_bytes", 1048576}}));
  EXPECT_EQ(Parse(true, "memory.max", "max\n"), Found());
  EXPECT_EQ(Parse(false, "memory.limit_in_bytes", "9223372036854771712\n"),
            Found());
}

TEST(CgroupCounters, EventsOfMemoryInBothVersions) {
  EXPECT_EQ(Parse(true, "memory.events",
                  "low 0\nhigh 0\nmax 5\noom 2\noom_kill 1\n"
                  "oom_group_kill 0\n"),
            (Found{{"cgroup_memory_limit_hits", 5},
                   {"cgroup_oom_events", 2},
                   {"cgroup_oom_kills", 1}}));
  EXPECT_EQ(Parse(false, "memory.oom_control",
                  "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n"),
            (Found{{"cgroup_oom_kills", 3}}));
  EXPECT_EQ(Parse(false, "memory.failcnt", "5\n"),
            (Found{{"cgroup_memory_limit_hits", 5}}));
  EXPECT_EQ(Parse(true, "memory.stat", "anon 1\nfile 20\nfile_mapped 3\n"),
            (Found{{"cgroup_memory_cache_bytes", 20}}));
  EXPECT_EQ(Parse(false, "memory.stat", "cache 1\ntotal_cache 20\n"),
            (Found{{"cgroup_memory_cache_bytes", 20}}));
  // Version 1 counts those of the cgroups below in the total only.
  EXPECT_EQ(Parse(false, "memory.stat",
                  "workingset_refault_file 3\n"
                  "total_workingset_refault_file 7\n"),
            (Found{{"cgroup_refaulted_pages", 7}}));
  EXPECT_EQ(Parse(true, "memory.stat", "workingset_refault_file 7\n"),
            (Found{{"cgroup_refaulted_pages", 7}}));
  EXPECT_EQ(Parse(true, "memory.stat", "workingset_refault 7\n"),
            (Found{{"cgroup_refaulted_pages", 7}}));
}

TEST(CgroupCounters, BytesOfAllDevicesAreSummed) {
  const Found want = {{"cgroup_read_bytes", 110}, {"cgroup_write_bytes", 22}};
  EXPECT_EQ(Parse(true, "io.stat",
                  "8:0 rbytes=100 wbytes=20 rios=1 wios=1 dbytes=0 dios=0\n"
                  "8:16 rbytes=10 wbytes=2 rios=1 wios=1\n"),
            want);
  EXPECT_EQ(Parse(false, "blkio.throttle.io_service_bytes",
                  "8:0 Read 100\n8:0 Write 20\n8:0 Sync 5\n8:0 Total 125\n"
                  "8:16 Read 10\n8:16 Write 2\nTotal 137\n"),
            want);
  EXPECT_EQ(Parse(true, "io.stat", ""), Found()) << "not 0: not known";
}

TEST(CgroupCounters, PressureIsThatOfTheCgroup) {
  EXPECT_EQ(Parse(true, "memory.pressure",
                  "some avg10=0.00 avg60=0.00 avg300=0.00 total=12\n"
                  "full avg10=0.00 avg60=0.00 avg300=0.00 total=3\n"),
            (Found{{"cgroup_psi_memory_some_ns", 12000},
                   {"cgroup_psi_memory_full_ns", 3000}}));
}

TEST(CgroupCounters, NoTextIsTakenForMoreThanItSays) {
  for (const CgroupFile& file : CgroupFiles())
    for (const char* const text :
         {"", "\n\n", "max", "-1\n", "usage_usec\n", "oom_kill x\n",
          "usage_usec 99999999999999999999\n", "8:0 rbytes=\n", "8:0 Read\n",
          "usage_usec 18446744073709551615\n"}) {
      std::vector<CgroupValue> values;
      file.Parse(text, values);
      for (const CgroupValue& value : values)
        EXPECT_EQ(value.value, 0u) << file.name << ": " << text;
    }
}

}  // namespace
}  // namespace sonde
