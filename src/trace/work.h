#ifndef SONDE_TRACE_WORK_H_
#define SONDE_TRACE_WORK_H_

#include <cstdint>

#include "base/result.h"
#include "trace/reader.h"

namespace sonde {

// What it takes to go through one event, sample or value of a trace (a tick
// takes as long as a value), and the time that each byte of the file allows
// for that, all in ns.
struct WorkCosts {
  uint64_t event, sample, value, allowed_a_byte;
};
inline constexpr WorkCosts kJudging = {16, 32, 128, 192};
inline constexpr WorkCosts kCopying = {80, 32, 48, 96};

// An error that names the trace if going through all that the trace says takes
// out of proportion to the file: 60 bytes can say 16384 events. For those who
// go through all of it with nobody to stop them.
Status CheckWork(const TraceReader& trace, const WorkCosts& costs);

}  // namespace sonde

#endif  // SONDE_TRACE_WORK_H_
