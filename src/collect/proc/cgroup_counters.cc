#include "collect/proc/cgroup_counters.h"

#include <algorithm>
#include <array>
#include <string>

#include "collect/proc/cgroup_files.h"
#include "collect/proc/machine_files.h"
#include "collect/proc/text_scanner.h"

namespace sonde {
namespace {

using Values = std::vector<CgroupValue>;
using Keys = std::span<const CgroupKey>;

void Put(const CgroupKey& key, uint64_t number, Values& out) {
  uint64_t value = 0;
  if (!__builtin_mul_overflow(number, key.times, &value))
    out.push_back({key.name, value});
}

// Lines "key number".
void Lines(std::string_view text, Keys keys, Values& out) {
  TextScanner in(text);
  while (!in.done()) {
    TextScanner line(in.Line());
    const std::string_view word = line.Word();
    uint64_t number = 0;
    if (!line.Number(&number)) continue;
    for (const CgroupKey& key : keys)
      if (word == key.key) Put(key, number, out);
  }
}

// A number and nothing else. A quota of -1 is no limit, and no number here.
void One(std::string_view text, Keys keys, Values& out) {
  uint64_t number = 0;
  TextScanner in(text);
  if (in.Number(&number) && in.Line().empty()) Put(keys[0], number, out);
}

void MemoryLimit(std::string_view text, Keys keys, Values& out) {
  const size_t before = out.size();
  One(text, keys, out);
  if (out.size() > before && out.back().value >= kNoCgroupLimitBytes)
    out.pop_back();
}

// "50000 100000", or "max 100000" if there is no limit.
void CpuMax(std::string_view text, Keys keys, Values& out) {
  uint64_t quota_us = 0, period_us = 0;
  TextScanner in(text);
  if (!in.Number(&quota_us) || !in.Number(&period_us)) return;
  Put(keys[0], quota_us, out);
  Put(keys[1], period_us, out);
}

void PressureOf(std::string_view text, Keys keys, Values& out) {
  const Pressure pressure = ParsePressure(text);
  if (pressure.some_ns) Put(keys[0], *pressure.some_ns, out);
  if (pressure.full_ns) Put(keys[1], *pressure.full_ns, out);
}

// The sums of all devices: "8:0 rbytes=1459200 wbytes=314773504 rios=192 ...",
// a line for each; in version 1 "8:0 Read 1459200", lines for each and what was
// done.
void Devices(std::string_view text, Keys keys, Values& out) {
  std::string spaced(text);
  std::replace(spaced.begin(), spaced.end(), '=', ' ');
  std::array<uint64_t, 2> sums = {};
  bool any = false;
  TextScanner in(spaced);
  while (!in.done()) {
    TextScanner line(in.Line());
    line.Word();
    for (std::string_view word = line.Word(); !word.empty();
         word = line.Word()) {
      uint64_t bytes = 0;
      if (!line.Number(&bytes)) continue;
      for (size_t i = 0; i < sums.size(); ++i) {
        if (word != keys[i].key) continue;
        sums[i] += bytes;
        any = true;
      }
    }
  }
  for (size_t i = 0; any && i < sums.size(); ++i) Put(keys[i], sums[i], out);
}

constexpr CgroupKey kCpuStat2[] = {
    {"usage_usec", "cgroup_cpu_ns", 1000},
    {"nr_periods", "cgroup_cpu_periods"},
    {"nr_throttled", "cgroup_cpu_throttled_periods"},
    {"throttled_usec", "cgroup_cpu_throttled_ns", 1000}};
constexpr CgroupKey kCpuStat1[] = {
    {"nr_periods", "cgroup_cpu_periods"},
    {"nr_throttled", "cgroup_cpu_throttled_periods"},
    {"throttled_time", "cgroup_cpu_throttled_ns"}};
constexpr CgroupKey kCpuUsage[] = {{"", "cgroup_cpu_ns"}};
constexpr CgroupKey kCpuMax[] = {{"", "cgroup_cpu_quota_ns", 1000},
                                 {"", "cgroup_cpu_period_ns", 1000}};
constexpr Keys kCpuQuota = Keys(kCpuMax).first(1);
constexpr Keys kCpuPeriod = Keys(kCpuMax).last(1);
constexpr CgroupKey kMemoryUsage[] = {{"", "cgroup_memory_bytes"}};
constexpr CgroupKey kMemoryPeak[] = {{"", "cgroup_memory_peak_bytes"}};
constexpr CgroupKey kMemoryLimit[] = {{"", "cgroup_memory_limit_bytes"}};
// Pages of files that were read again soon after they had to be given up.
// Before Linux 5.9 the last had a shorter name.
constexpr CgroupKey kMemoryStat2[] = {
    {"file", "cgroup_memory_cache_bytes"},
    {"workingset_refault_file", "cgroup_refaulted_pages"},
    {"workingset_refault", "cgroup_refaulted_pages"}};
constexpr CgroupKey kMemoryStat1[] = {
    {"total_cache", "cgroup_memory_cache_bytes"},
    {"total_workingset_refault_file", "cgroup_refaulted_pages"}};
constexpr CgroupKey kMemoryEvents[] = {{"max", "cgroup_memory_limit_hits"},
                                       {"oom", "cgroup_oom_events"},
                                       {"oom_kill", "cgroup_oom_kills"}};
constexpr Keys kMemoryFailures = Keys(kMemoryEvents).first(1);
constexpr Keys kOomControl = Keys(kMemoryEvents).last(1);
constexpr CgroupKey kCpuPressure[] = {{"some", "cgroup_psi_cpu_some_ns"},
                                      {"full", "cgroup_psi_cpu_full_ns"}};
constexpr CgroupKey kMemoryPressure[] = {{"some", "cgroup_psi_memory_some_ns"},
                                         {"full", "cgroup_psi_memory_full_ns"}};
constexpr CgroupKey kIoPressure[] = {{"some", "cgroup_psi_io_some_ns"},
                                     {"full", "cgroup_psi_io_full_ns"}};
constexpr CgroupKey kIoStat[] = {{"rbytes", "cgroup_read_bytes"},
                                 {"wbytes", "cgroup_write_bytes"}};
constexpr CgroupKey kBlkioBytes[] = {{"Read", "cgroup_read_bytes"},
                                     {"Write", "cgroup_write_bytes"}};

constexpr std::array<CgroupFile, 22> kFiles = {{
    {"cpu", true, "cpu.stat", true, false, Lines, kCpuStat2},
    {"cpu", false, "cpu.stat", true, false, Lines, kCpuStat1},
    {"cpuacct", false, "cpuacct.usage", false, false, One, kCpuUsage},
    {"cpu", true, "cpu.max", true, true, CpuMax, kCpuMax},
    {"cpu", false, "cpu.cfs_quota_us", true, true, One, kCpuQuota},
    {"cpu", false, "cpu.cfs_period_us", true, true, One, kCpuPeriod},
    {"memory", true, "memory.current", true, false, One, kMemoryUsage},
    {"memory", false, "memory.usage_in_bytes", true, false, One, kMemoryUsage},
    {"memory", true, "memory.peak", true, true, One, kMemoryPeak},
    {"memory", false, "memory.max_usage_in_bytes", true, true, One,
     kMemoryPeak},
    {"memory", true, "memory.max", true, true, MemoryLimit, kMemoryLimit},
    {"memory", false, "memory.limit_in_bytes", true, true, MemoryLimit,
     kMemoryLimit},
    {"memory", true, "memory.stat", true, true, Lines, kMemoryStat2},
    {"memory", false, "memory.stat", true, true, Lines, kMemoryStat1},
    {"memory", true, "memory.events", true, true, Lines, kMemoryEvents},
    {"memory", false, "memory.failcnt", true, true, One, kMemoryFailures},
    {"memory", false, "memory.oom_control", true, true, Lines, kOomControl},
    {"cpu", true, "cpu.pressure", false, false, PressureOf, kCpuPressure},
    {"memory", true, "memory.pressure", false, false, PressureOf,
     kMemoryPressure},
    {"io", true, "io.pressure", false, false, PressureOf, kIoPressure},
    {"io", true, "io.stat", false, true, Devices, kIoStat},
    {"blkio", false, "blkio.throttle.io_service_bytes", false, true, Devices,
     kBlkioBytes},
}};

}  // namespace

std::span<const CgroupFile> CgroupFiles() { return kFiles; }

}  // namespace sonde
