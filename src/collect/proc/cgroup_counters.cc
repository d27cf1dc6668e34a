#include "collect/proc/cgroup_counters.h"

#include <array>
#include <optional>

#include "collect/proc/cgroup_files.h"
#include "collect/proc/machine_files.h"
#include "collect/proc/text_scanner.h"

namespace sonde {
namespace {

using Values = std::vector<CgroupValue>;

// A line "key number" that becomes a value, multiplied.
struct Key {
  std::string_view key;
  SeriesName name;
  uint64_t times;
};

void ParseKeys(std::string_view text, std::span<const Key> keys, Values& out) {
  TextScanner in(text);
  while (!in.done()) {
    TextScanner line(in.Line());
    const std::string_view word = line.Word();
    uint64_t number = 0;
    if (!line.Number(&number)) continue;
    for (const Key& key : keys) {
      uint64_t value = 0;
      if (word == key.key && !__builtin_mul_overflow(number, key.times, &value))
        out.push_back({key.name, value});
    }
  }
}

// A file that holds a number and nothing else.
std::optional<uint64_t> OneNumber(std::string_view text) {
  uint64_t value = 0;
  TextScanner in(text);
  if (!in.Number(&value) || !in.Line().empty()) return std::nullopt;
  return value;
}

void CpuStat2(std::string_view text, Values& out) {
  static constexpr Key kKeys[] = {
      {"usage_usec", "cgroup_cpu_ns", 1000},
      {"nr_periods", "cgroup_cpu_periods", 1},
      {"nr_throttled", "cgroup_cpu_throttled_periods", 1},
      {"throttled_usec", "cgroup_cpu_throttled_ns", 1000}};
  ParseKeys(text, kKeys, out);
}

void CpuStat1(std::string_view text, Values& out) {
  static constexpr Key kKeys[] = {
      {"nr_periods", "cgroup_cpu_periods", 1},
      {"nr_throttled", "cgroup_cpu_throttled_periods", 1},
      {"throttled_time", "cgroup_cpu_throttled_ns", 1}};
  ParseKeys(text, kKeys, out);
}

void CpuUsage(std::string_view text, Values& out) {
  if (const auto ns = OneNumber(text)) out.push_back({"cgroup_cpu_ns", *ns});
}

void MemoryUsage(std::string_view text, Values& out) {
  if (const auto bytes = OneNumber(text))
    out.push_back({"cgroup_memory_bytes", *bytes});
}

void MemoryPeak(std::string_view text, Values& out) {
  if (const auto bytes = OneNumber(text))
    out.push_back({"cgroup_memory_peak_bytes", *bytes});
}

void MemoryLimit(std::string_view text, Values& out) {
  const auto bytes = OneNumber(text);
  if (bytes && *bytes < kNoCgroupLimitBytes)
    out.push_back({"cgroup_memory_limit_bytes", *bytes});
}

// Pages of files that were read again soon after they had to be given up.
constexpr SeriesName kRefaults = "cgroup_refaulted_pages";

void MemoryStat2(std::string_view text, Values& out) {
  // Before Linux 5.9 the last had a shorter name.
  static constexpr Key kKeys[] = {{"file", "cgroup_memory_cache_bytes", 1},
                                  {"workingset_refault_file", kRefaults, 1},
                                  {"workingset_refault", kRefaults, 1}};
  ParseKeys(text, kKeys, out);
}

void MemoryStat1(std::string_view text, Values& out) {
  static constexpr Key kKeys[] = {
      {"total_cache", "cgroup_memory_cache_bytes", 1},
      {"total_workingset_refault_file", kRefaults, 1}};
  ParseKeys(text, kKeys, out);
}

void MemoryEvents(std::string_view text, Values& out) {
  static constexpr Key kKeys[] = {{"max", "cgroup_memory_limit_hits", 1},
                                  {"oom", "cgroup_oom_events", 1},
                                  {"oom_kill", "cgroup_oom_kills", 1}};
  ParseKeys(text, kKeys, out);
}

void MemoryFailures(std::string_view text, Values& out) {
  if (const auto count = OneNumber(text))
    out.push_back({"cgroup_memory_limit_hits", *count});
}

void PutQuota(uint64_t us, SeriesName name, Values& out) {
  uint64_t ns = 0;
  if (!__builtin_mul_overflow(us, uint64_t{1000}, &ns))
    out.push_back({name, ns});
}
constexpr SeriesName kQuota = "cgroup_cpu_quota_ns";
constexpr SeriesName kPeriod = "cgroup_cpu_period_ns";

// "50000 100000", or "max 100000" if there is no limit.
void CpuMax(std::string_view text, Values& out) {
  uint64_t quota_us = 0, period_us = 0;
  TextScanner in(text);
  if (!in.Number(&quota_us) || !in.Number(&period_us)) return;
  PutQuota(quota_us, kQuota, out);
  PutQuota(period_us, kPeriod, out);
}

// -1 is no limit, and no number here.
void CpuQuota(std::string_view text, Values& out) {
  if (const auto us = OneNumber(text)) PutQuota(*us, kQuota, out);
}

void CpuPeriod(std::string_view text, Values& out) {
  if (const auto us = OneNumber(text)) PutQuota(*us, kPeriod, out);
}

void OomControl(std::string_view text, Values& out) {
  static constexpr Key kKeys[] = {{"oom_kill", "cgroup_oom_kills", 1}};
  ParseKeys(text, kKeys, out);
}

void PressureOf(std::string_view text, SeriesName some, SeriesName full,
                Values& out) {
  const Pressure pressure = ParsePressure(text);
  if (pressure.some_ns) out.push_back({some, *pressure.some_ns});
  if (pressure.full_ns) out.push_back({full, *pressure.full_ns});
}

void CpuPressure(std::string_view text, Values& out) {
  PressureOf(text, "cgroup_psi_cpu_some_ns", "cgroup_psi_cpu_full_ns", out);
}
void MemoryPressure(std::string_view text, Values& out) {
  PressureOf(text, "cgroup_psi_memory_some_ns", "cgroup_psi_memory_full_ns",
             out);
}
void IoPressure(std::string_view text, Values& out) {
  PressureOf(text, "cgroup_psi_io_some_ns", "cgroup_psi_io_full_ns", out);
}

void PutIo(bool any, uint64_t read, uint64_t written, Values& out) {
  if (!any) return;
  out.push_back({"cgroup_read_bytes", read});
  out.push_back({"cgroup_write_bytes", written});
}

// "8:0 rbytes=1459200 wbytes=314773504 rios=192 ...", a line for each device.
void IoStat(std::string_view text, Values& out) {
  uint64_t read = 0, written = 0;
  bool any = false;
  TextScanner in(text);
  while (!in.done()) {
    TextScanner line(in.Line());
    line.Word();
    for (std::string_view word = line.Word(); !word.empty();
         word = line.Word()) {
      uint64_t bytes = 0;
      const size_t equals = word.find('=');
      if (equals == std::string_view::npos ||
          !TextScanner(word.substr(equals + 1)).Number(&bytes))
        continue;
      const std::string_view key = word.substr(0, equals);
      if (key == "rbytes") read += bytes;
      if (key == "wbytes") written += bytes;
      any |= key == "rbytes" || key == "wbytes";
    }
  }
  PutIo(any, read, written, out);
}

// "8:0 Read 1459200", lines for each device and what was done.
void BlkioBytes(std::string_view text, Values& out) {
  uint64_t read = 0, written = 0;
  bool any = false;
  TextScanner in(text);
  while (!in.done()) {
    TextScanner line(in.Line());
    line.Word();
    const std::string_view what = line.Word();
    uint64_t bytes = 0;
    if (!line.Number(&bytes)) continue;
    if (what == "Read") read += bytes;
    if (what == "Write") written += bytes;
    any |= what == "Read" || what == "Write";
  }
  PutIo(any, read, written, out);
}

constexpr std::array<CgroupFile, 22> kFiles = {{
    {"cpu", true, "cpu.stat", true, false, CpuStat2},
    {"cpu", false, "cpu.stat", true, false, CpuStat1},
    {"cpuacct", false, "cpuacct.usage", false, false, CpuUsage},
    {"cpu", true, "cpu.max", true, true, CpuMax},
    {"cpu", false, "cpu.cfs_quota_us", true, true, CpuQuota},
    {"cpu", false, "cpu.cfs_period_us", true, true, CpuPeriod},
    {"memory", true, "memory.current", true, false, MemoryUsage},
    {"memory", false, "memory.usage_in_bytes", true, false, MemoryUsage},
    {"memory", true, "memory.peak", true, true, MemoryPeak},
    {"memory", false, "memory.max_usage_in_bytes", true, true, MemoryPeak},
    {"memory", true, "memory.max", true, true, MemoryLimit},
    {"memory", false, "memory.limit_in_bytes", true, true, MemoryLimit},
    {"memory", true, "memory.stat", true, true, MemoryStat2},
    {"memory", false, "memory.stat", true, true, MemoryStat1},
    {"memory", true, "memory.events", true, true, MemoryEvents},
    {"memory", false, "memory.failcnt", true, true, MemoryFailures},
    {"memory", false, "memory.oom_control", true, true, OomControl},
    {"cpu", true, "cpu.pressure", false, false, CpuPressure},
    {"memory", true, "memory.pressure", false, false, MemoryPressure},
    {"io", true, "io.pressure", false, false, IoPressure},
    {"io", true, "io.stat", false, true, IoStat},
    {"blkio", false, "blkio.throttle.io_service_bytes", false, true,
     BlkioBytes},
}};

}  // namespace

std::span<const CgroupFile> CgroupFiles() { return kFiles; }

}  // namespace sonde
