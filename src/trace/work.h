#ifndef SONDE_TRACE_WORK_H_
#define SONDE_TRACE_WORK_H_

#include <cstdint>

#include "base/result.h"
#include "trace/reader.h"

namespace sonde {

// What it takes to go through one of each, in units of 16 ns or so.
struct WorkCosts {
  uint64_t event, sample, value;  // a tick takes as long as a value
};
inline constexpr WorkCosts kJudging = {1, 0, 8}, kCopying = {3, 2, 4};

// An error that names the trace if going through all its events, samples and
// values takes out of proportion to the file: 60 bytes can say 16384 events.
// For those who go through all of them with nobody to stop them.
Status CheckWork(const TraceReader& trace, const WorkCosts& costs);

}  // namespace sonde

#endif  // SONDE_TRACE_WORK_H_
