#include "analyze/facts/cgroup_facts.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

#include "analyze/series/counter_scan.h"

namespace sonde {
namespace {

using Stats = std::map<std::string_view, const SeriesStat*>;

const SeriesStat* Find(const Stats& stats, std::string_view name) {
  const auto at = stats.find(name);
  return at == stats.end() ? nullptr : at->second;
}

MaybeNumber Growth(const Stats& stats, std::string_view name) {
  const SeriesStat* const stat = Find(stats, name);
  if (stat == nullptr) return std::nullopt;
  return std::max(0.0, stat->last - stat->first);
}

MaybeNs GrowthNs(const Stats& stats, std::string_view name) {
  const MaybeNumber growth = Growth(stats, name);
  if (!growth) return std::nullopt;
  return static_cast<int64_t>(std::llround(*growth));
}

MaybeNumber Peak(const Stats& stats, std::string_view name) {
  const SeriesStat* const stat = Find(stats, name);
  return stat == nullptr ? MaybeNumber() : stat->max;
}

MaybeNumber Share(const Stats& stats, std::string_view name) {
  const SeriesStat* const stat = Find(stats, name);
  if (stat == nullptr || stat->covered_ns == 0) return std::nullopt;
  return std::clamp(
      (stat->last - stat->first) / static_cast<double>(stat->covered_ns), 0.0,
      1.0);
}

CgroupFacts FactsOf(std::string_view path, const Stats& stats) {
  CgroupFacts out;
  out.path = path;
  out.cpu_ns = GrowthNs(stats, "cgroup_cpu_ns");
  const SeriesStat* const quota = Find(stats, "cgroup_cpu_quota_ns");
  const SeriesStat* const period = Find(stats, "cgroup_cpu_period_ns");
  if (quota != nullptr && period != nullptr && period->last > 0)
    out.cpu_limit_cores = quota->last / period->last;
  out.periods = Growth(stats, "cgroup_cpu_periods");
  out.throttled_periods = Growth(stats, "cgroup_cpu_throttled_periods");
  out.throttled_ns = GrowthNs(stats, "cgroup_cpu_throttled_ns");
  if (const SeriesStat* const held = Find(stats, "cgroup_cpu_throttled_ns"))
    out.covered_ns = held->covered_ns;
  out.memory_peak_bytes = Peak(stats, "cgroup_memory_bytes");
  // A limit may be changed: the last is what holds now.
  if (const SeriesStat* const limit = Find(stats, "cgroup_memory_limit_bytes"))
    out.memory_limit_bytes = limit->last;
  out.cache_peak_bytes = Peak(stats, "cgroup_memory_cache_bytes");
  out.limit_hits = Growth(stats, "cgroup_memory_limit_hits");
  out.oom_kills = Growth(stats, "cgroup_oom_kills");
  if (out.oom_kills.value_or(0) > 0)
    out.oom_seen_ns = Find(stats, "cgroup_oom_kills")->last_ns;
  out.refaulted_pages = Growth(stats, "cgroup_refaulted_pages");
  out.read_bytes = Growth(stats, "cgroup_read_bytes");
  out.write_bytes = Growth(stats, "cgroup_write_bytes");
  out.psi_cpu_some = Share(stats, "cgroup_psi_cpu_some_ns");
  out.psi_io_some = Share(stats, "cgroup_psi_io_some_ns");
  out.psi_memory_some = Share(stats, "cgroup_psi_memory_some_ns");
  return out;
}

}  // namespace

std::vector<CgroupFacts> CgroupsOf(const Store& store, const Scan& scan) {
  std::map<std::string_view, Stats> by_path;
  for (const auto& [id, row] : store.series()) {
    const std::string_view name = store.Str(row.name);
    const auto stat = scan.stats.find(id);
    if (row.scope == Series::Scope::kMachine && name.starts_with("cgroup_") &&
        stat != scan.stats.end() && stat->second.values > 0)
      by_path[store.Str(row.label)].emplace(name, &stat->second);
  }
  std::vector<CgroupFacts> out;
  for (const auto& [path, stats] : by_path) out.push_back(FactsOf(path, stats));
  std::stable_sort(out.begin(), out.end(),
                   [](const CgroupFacts& a, const CgroupFacts& b) {
                     return a.path.size() > b.path.size();
                   });
  return out;
}

}  // namespace sonde
