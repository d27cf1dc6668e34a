// Every series that the collector samples: what is measured in which unit, and
// whether it only grows. docs/series.md and docs/devices.md say what they mean.

#ifndef SONDE_TRACE_SERIES_LIST_H_
#define SONDE_TRACE_SERIES_LIST_H_

#include <compare>
#include <string_view>

#include "trace/writer.h"

namespace sonde {

// What a name says, of whatever it is measured.
struct SeriesInfo {
  std::string_view name, unit;
  Series::Kind kind;
  Series::Type type = Series::Type::kInt;
};

namespace series_list {
inline constexpr auto kTotal = Series::Kind::kTotal;
inline constexpr auto kGauge = Series::Kind::kGauge;
inline constexpr auto kDouble = Series::Type::kDouble;

inline constexpr SeriesInfo kAll[] = {
    // Processes and threads.
    {"cpu_ns", "ns", kTotal},
    {"cpu_user_ns", "ns", kTotal},
    {"cpu_system_ns", "ns", kTotal},
    {"wait_ns", "ns", kTotal},
    {"blocked_ns", "ns", kTotal},
    {"sync_ns", "ns", kTotal},
    {"sleeps_in", "1", kGauge},
    {"minor_faults", "1", kTotal},
    {"major_faults", "1", kTotal},
    {"read_chars", "bytes", kTotal},
    {"write_chars", "bytes", kTotal},
    {"read_calls", "1", kTotal},
    {"write_calls", "1", kTotal},
    {"read_bytes", "bytes", kTotal},
    {"write_bytes", "bytes", kTotal},
    {"rss_bytes", "bytes", kGauge},
    {"rss_file_bytes", "bytes", kGauge},
    {"pss_bytes", "bytes", kGauge},
    {"threads", "1", kGauge},
    {"voluntary_switches", "1", kTotal},
    {"involuntary_switches", "1", kTotal},
    // The machine, and its cores beside cpu_user_ns and cpu_system_ns.
    {"cpu_nice_ns", "ns", kTotal},
    {"cpu_idle_ns", "ns", kTotal},
    {"cpu_iowait_ns", "ns", kTotal},
    {"cpu_irq_ns", "ns", kTotal},
    {"cpu_steal_ns", "ns", kTotal},
    {"context_switches", "1", kTotal},
    {"procs_running", "1", kGauge},
    {"procs_blocked", "1", kGauge},
    {"load1", "1", kGauge, kDouble},
    {"mem_total_bytes", "bytes", kGauge},
    {"mem_free_bytes", "bytes", kGauge},
    {"mem_available_bytes", "bytes", kGauge},
    {"mem_cached_bytes", "bytes", kGauge},
    {"swap_total_bytes", "bytes", kGauge},
    {"swap_free_bytes", "bytes", kGauge},
    {"shm_used_bytes", "bytes", kGauge},
    {"shm_total_bytes", "bytes", kGauge},
    {"oom_kills", "1", kTotal},
    {"disk_read_bytes", "bytes", kTotal},
    {"disk_write_bytes", "bytes", kTotal},
    {"disk_reads", "1", kTotal},
    {"disk_writes", "1", kTotal},
    {"disk_busy_ns", "ns", kTotal},
    {"net_rx_bytes", "bytes", kTotal},
    {"net_tx_bytes", "bytes", kTotal},
    {"net_rx_packets", "1", kTotal},
    {"net_tx_packets", "1", kTotal},
    {"psi_cpu_some_ns", "ns", kTotal},
    {"psi_io_some_ns", "ns", kTotal},
    {"psi_io_full_ns", "ns", kTotal},
    {"psi_memory_some_ns", "ns", kTotal},
    {"psi_memory_full_ns", "ns", kTotal},
    // Cgroups.
    {"cgroup_cpu_ns", "ns", kTotal},
    {"cgroup_cpu_periods", "1", kTotal},
    {"cgroup_cpu_throttled_periods", "1", kTotal},
    {"cgroup_cpu_throttled_ns", "ns", kTotal},
    {"cgroup_cpu_quota_ns", "ns", kGauge},
    {"cgroup_cpu_period_ns", "ns", kGauge},
    {"cgroup_memory_bytes", "bytes", kGauge},
    {"cgroup_memory_peak_bytes", "bytes", kGauge},
    {"cgroup_memory_limit_bytes", "bytes", kGauge},
    {"cgroup_memory_cache_bytes", "bytes", kGauge},
    {"cgroup_memory_limit_hits", "1", kTotal},
    {"cgroup_refaulted_pages", "1", kTotal},
    {"cgroup_oom_events", "1", kTotal},
    {"cgroup_oom_kills", "1", kTotal},
    {"cgroup_read_bytes", "bytes", kTotal},
    {"cgroup_write_bytes", "bytes", kTotal},
    {"cgroup_psi_cpu_some_ns", "ns", kTotal},
    {"cgroup_psi_cpu_full_ns", "ns", kTotal},
    {"cgroup_psi_io_some_ns", "ns", kTotal},
    {"cgroup_psi_io_full_ns", "ns", kTotal},
    {"cgroup_psi_memory_some_ns", "ns", kTotal},
    {"cgroup_psi_memory_full_ns", "ns", kTotal},
    // Accelerators.
    {"gpu_busy_pct", "%", kGauge, kDouble},
    {"gpu_mem_busy_pct", "%", kGauge, kDouble},
    {"gpu_mem_used_bytes", "bytes", kGauge, kDouble},
    {"gpu_mem_total_bytes", "bytes", kGauge, kDouble},
    {"gpu_clock_mhz", "MHz", kGauge, kDouble},
    {"gpu_mem_clock_mhz", "MHz", kGauge, kDouble},
    {"gpu_power_w", "W", kGauge, kDouble},
    {"gpu_temp_c", "C", kGauge, kDouble},
    {"gpu_throttle", "1", kGauge, kDouble},
    {"gpu_users", "1", kGauge, kDouble},
};
}  // namespace series_list

// A name that is in the list: any other does not compile.
class SeriesName {
 public:
  consteval SeriesName(const char* name) : info_(&Find(name)) {}
  constexpr const SeriesInfo* operator->() const { return info_; }
  auto operator<=>(const SeriesName&) const = default;

 private:
  static consteval const SeriesInfo& Find(std::string_view name) {
    for (const SeriesInfo& one : series_list::kAll)
      if (one.name == name) return one;
    throw "no such series";
  }

  const SeriesInfo* info_;
};

// A row of that series in a group, with all that its name says. Whoever adds
// the row says of what it is, if not of the machine.
inline Series SampledSeries(SeriesName name, std::string_view source,
                            uint32_t group, TraceWriter& out) {
  Series row;
  row.group = group;
  row.name = out.Intern(name->name);
  row.unit = out.Intern(name->unit);
  row.kind = name->kind;
  row.type = name->type;
  row.source = out.Intern(source);
  return row;
}

}  // namespace sonde

#endif  // SONDE_TRACE_SERIES_LIST_H_
