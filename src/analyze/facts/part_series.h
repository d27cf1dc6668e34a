#ifndef SONDE_ANALYZE_FACTS_PART_SERIES_H_
#define SONDE_ANALYZE_FACTS_PART_SERIES_H_

#include <optional>
#include <string>
#include <vector>

#include "analyze/facts/facts.h"
#include "analyze/series/run_series.h"

namespace sonde {

// A series as the verdict sees it: what came before the part of the run that is
// judged is not known.
RegularSeries JudgedOf(const Facts& facts, RegularSeries series);

// What follows reads the store once more, so a rule asks only if what all have
// together (facts.series) is worth it.

// The series of a part of the run. The windows of a part are finer than those
// of the whole run, down to those of facts.windows.
RunSeries RunSeriesOf(const Facts& facts, TimeRange range = {},
                      size_t max_windows = Grid::kMaxWindows);

// The series of the counters, on any grid: for a part of a run that is too long
// for facts.windows to be as fine as its samples. The CPU's series but tree_cpu
// are not there.
RunSeries FineSeriesOf(const Facts& facts, const Grid& grid);

// Sums of counters, on any grid.
std::vector<RegularSeries> SumCounters(const Facts& facts, const Grid& grid,
                                       const std::vector<CounterSum>& sums);

// One network interface. What was not collected has no known window.
struct Link {
  std::string name;
  RegularSeries receive, send;  // bytes/s
};

// Every interface of the run, the one that moved most first.
std::vector<Link> LinksOf(const Facts& facts);

// A number of bytes that is sampled of the machine, or of one cgroup.
RegularSeries BytesOfMachine(const Facts& facts, const char* counter,
                             std::optional<std::string> cgroup = std::nullopt);

// Resident memory of one process. Not known outside of its life.
struct ProcessMemory {
  const ProcessFacts* process;  // of the facts
  RegularSeries bytes;
  RegularSeries file_bytes;  // pages of files in memory; if collected
};

// Of the processes that had most, at least `least_bytes` of it at some time:
// kMostProcesses of them, largest first.
inline constexpr size_t kMostProcesses = 64;
std::vector<ProcessMemory> MemoryOf(const Facts& facts, double least_bytes);

}  // namespace sonde

#endif  // SONDE_ANALYZE_FACTS_PART_SERIES_H_
