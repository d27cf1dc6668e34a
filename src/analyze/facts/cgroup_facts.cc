#include "analyze/facts/cgroup_facts.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

#include "analyze/series/counter_scan.h"

namespace sonde {
namespace {

using Stats = std::map<std::string_view, const SeriesStat*>;

CgroupFacts FactsOf(std::string_view path, const Stats& stats) {
  const auto find = [&](std::string_view name) {
    const auto at = stats.find(name);
    return at == stats.end() ? nullptr : at->second;
  };
  const auto growth_ns = [&](std::string_view name) -> MaybeNs {
    const MaybeNumber growth = GrowthOf(find(name));
    if (!growth) return std::nullopt;
    return static_cast<int64_t>(std::llround(*growth));
  };
  CgroupFacts out;
  out.path = path;
  out.cpu_ns = growth_ns("cgroup_cpu_ns");
  const SeriesStat* const quota = find("cgroup_cpu_quota_ns");
  const SeriesStat* const period = find("cgroup_cpu_period_ns");
  if (quota != nullptr && period != nullptr && period->last > 0)
    out.cpu_limit_cores = quota->last / period->last;
  out.periods = GrowthOf(find("cgroup_cpu_periods"));
  out.throttled_periods = GrowthOf(find("cgroup_cpu_throttled_periods"));
  out.throttled_ns = growth_ns("cgroup_cpu_throttled_ns");
  if (const SeriesStat* const held = find("cgroup_cpu_throttled_ns"))
    out.covered_ns = held->covered_ns;
  out.memory_peak_bytes = PeakOf(find("cgroup_memory_bytes"));
  // A limit may be changed: the last is what holds now.
  if (const SeriesStat* const limit = find("cgroup_memory_limit_bytes"))
    out.memory_limit_bytes = limit->last;
  out.cache_peak_bytes = PeakOf(find("cgroup_memory_cache_bytes"));
  out.limit_hits = GrowthOf(find("cgroup_memory_limit_hits"));
  out.oom_kills = GrowthOf(find("cgroup_oom_kills"));
  if (out.oom_kills.value_or(0) > 0)
    out.oom_seen_ns = find("cgroup_oom_kills")->last_ns;
  out.refaulted_pages = GrowthOf(find("cgroup_refaulted_pages"));
  out.read_bytes = GrowthOf(find("cgroup_read_bytes"));
  out.write_bytes = GrowthOf(find("cgroup_write_bytes"));
  out.psi_cpu_some = ShareOf(find("cgroup_psi_cpu_some_ns"));
  out.psi_io_some = ShareOf(find("cgroup_psi_io_some_ns"));
  out.psi_memory_some = ShareOf(find("cgroup_psi_memory_some_ns"));
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
