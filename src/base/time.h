#ifndef SONDE_BASE_TIME_H_
#define SONDE_BASE_TIME_H_

#include <time.h>

#include <cstdint>

namespace sonde {

inline constexpr int64_t kNsPerUs = 1'000;
inline constexpr int64_t kNsPerMs = 1'000'000;
inline constexpr int64_t kNsPerSec = 1'000'000'000;

// Nanoseconds of one of the system's clocks.
inline int64_t ClockNs(clockid_t clock) {
  timespec t;
  if (::clock_gettime(clock, &t) != 0) return 0;
  return t.tv_sec * kNsPerSec + t.tv_nsec;
}

// The clock of every timestamp in a trace. Never steps, not even when the
// machine's date is set.
inline int64_t NowNs() { return ClockNs(CLOCK_MONOTONIC); }

}  // namespace sonde

#endif  // SONDE_BASE_TIME_H_
