#ifndef SONDE_ANALYZE_PATTERN_TREND_H_
#define SONDE_ANALYZE_PATTERN_TREND_H_

#include <cstddef>
#include <optional>

#include "analyze/series/series.h"

namespace sonde {

// A series that goes one way: all the time, or in steps.
struct Trend {
  double from = 0;   // level at its begin
  double to = 0;     // and at its end
  size_t steps = 0;  // 0: it climbs or falls all the time
  double confidence = 0;
};

// A ramp grows (or falls) in each quarter, by at least 15 % of the whole each
// time, and by more than it scatters around the line. Steps are level changes
// of which four fifths go one way, with levels that keep still between them.
//
// `least`: smaller changes from begin to end are none. Nothing if it is none
// of these.
std::optional<Trend> TrendOf(const RegularSeries& series, double least);

}  // namespace sonde

#endif  // SONDE_ANALYZE_PATTERN_TREND_H_
