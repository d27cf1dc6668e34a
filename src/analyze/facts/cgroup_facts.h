#ifndef SONDE_ANALYZE_FACTS_CGROUP_FACTS_H_
#define SONDE_ANALYZE_FACTS_CGROUP_FACTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "store/store.h"

namespace sonde {

struct Scan;

// What was used and waited for in one cgroup while it was recorded: that of the
// recorded processes, or one above it that has a limit.
struct CgroupFacts {
  std::string path;
  std::optional<int64_t> cpu_ns;
  std::optional<double> cpu_limit_cores;  // of its own
  std::optional<double> periods, throttled_periods;
  std::optional<int64_t> throttled_ns;  // summed over its threads' waiting CPUs
  int64_t covered_ns = 0;               // the time that the three before are of
  // The most at a sample; the limit, if it has one.
  std::optional<double> memory_peak_bytes, memory_limit_bytes;
  std::optional<double>
      cache_peak_bytes;  // of it: files, which can be given up
  std::optional<double> limit_hits, oom_kills;
  std::optional<int64_t> oom_seen_ns;  // when the last of the kills was seen
  // Pages of files that were read again soon after they had to be given up.
  std::optional<double> refaulted_pages;
  std::optional<double> read_bytes, write_bytes;
  // Shares of the time in which something waited (pressure).
  std::optional<double> psi_cpu_some, psi_io_some, psi_memory_some;
};

// By path, the longest first: a cgroup comes before those above it.
std::vector<CgroupFacts> CgroupsOf(const Store& store, const Scan& scan);

}  // namespace sonde

#endif  // SONDE_ANALYZE_FACTS_CGROUP_FACTS_H_
