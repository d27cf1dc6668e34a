#ifndef SONDE_ANALYZE_PATTERN_PERIOD_H_
#define SONDE_ANALYZE_PATTERN_PERIOD_H_

#include <cstddef>
#include <optional>

#include "analyze/series/series.h"

namespace sonde {

// What a series repeats, and how well.
struct Period {
  double windows = 0;  // its length; not always a whole number
  double seconds = 0;
  double cycles = 0;    // how often it fits into what is known
  double strength = 0;  // 0 to 1: how alike two cycles are
};

// A series with fewer known windows has no period.
inline constexpr size_t kMinPeriodWindows = 24;

// The fundamental period, by autocorrelation: of a sine, a square wave, a
// pulse, a saw-tooth. Nothing for noise, also noise with a memory, for a ramp,
// a constant, a single step and a single pulse.
//
//  - A straight trend is taken off first, and the few highest and lowest values
//    are cut, so that one spike does not hide the rest.
//  - A period is at least 4 windows long and fits in at least three times.
//    Cycles may differ in length by a few percent.
//
// Safe from any thread; O(n log n).
std::optional<Period> PeriodOf(const RegularSeries& series);

}  // namespace sonde

#endif  // SONDE_ANALYZE_PATTERN_PERIOD_H_
