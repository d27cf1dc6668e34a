#ifndef SONDE_ANALYZE_PATTERN_PART_SERIES_H_
#define SONDE_ANALYZE_PATTERN_PART_SERIES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "analyze/facts.h"
#include "analyze/pattern/series.h"

namespace sonde {

// The parts of some series of a run (run_series.h), on its grid. Each function
// reads the store once more, so a rule asks only if the sum is worth it.

// One network interface. What was not collected has no known window.
struct Link {
  std::string name;
  RegularSeries receive, send;  // bytes/s
};

// Every interface of the run, the one that moved most first.
std::vector<Link> LinksOf(const Facts& facts);

// What the machine has of files in its memory (the page cache), in bytes.
RegularSeries CachedOf(const Facts& facts);

// Resident memory of one process. Not known outside of its life.
struct ProcessMemory {
  const ProcessFacts* process;  // of the facts
  RegularSeries bytes;
  RegularSeries file_bytes;  // of them, pages of files; if collected
};

// Of the processes that had most, at least `least_bytes` of it at some time:
// kMostProcesses of them, largest first.
inline constexpr size_t kMostProcesses = 64;
std::vector<ProcessMemory> MemoryOf(const Facts& facts, double least_bytes);

}  // namespace sonde

#endif  // SONDE_ANALYZE_PATTERN_PART_SERIES_H_
