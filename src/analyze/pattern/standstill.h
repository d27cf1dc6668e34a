#ifndef SONDE_ANALYZE_PATTERN_STANDSTILL_H_
#define SONDE_ANALYZE_PATTERN_STANDSTILL_H_

#include <cstdint>
#include <vector>

#include "analyze/series/run_series.h"

namespace sonde {

// A stretch in which the run did nothing: on average less than 1 % of a core,
// 4 KiB/s of reads and writes and 64 KiB/s of network, and no accelerator of
// the run worked, and hardly a thread waited for a disk or a core. A heartbeat
// or a progress bar may go on.
struct Standstill {
  int64_t from_ns = 0;
  int64_t to_ns = 0;
  bool to_the_end = false;  // of what was sampled, but for a moment
  // The run did some work at another time: half a second of CPU time, or an
  // accelerator worked as long.
  bool worked = false;
};

// In time order; each takes at least three seconds and a tenth of the run.
std::vector<Standstill> StandstillsOf(const RunSeries& series);

}  // namespace sonde

#endif  // SONDE_ANALYZE_PATTERN_STANDSTILL_H_
