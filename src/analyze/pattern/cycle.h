#ifndef SONDE_ANALYZE_PATTERN_CYCLE_H_
#define SONDE_ANALYZE_PATTERN_CYCLE_H_

#include "analyze/pattern/period.h"
#include "analyze/series/series.h"

namespace sonde {

// The shape of one cycle, the mean of all of them: how much of its variance
// each ideal shape explains, 0 to 1.
struct CycleShape {
  double sine = 0;
  double two_levels = 0;  // a square wave or a pulse
  double saw_tooth = 0;   // straight up, then down at once, or the reverse
  bool climbs = true;     // of a saw-tooth: slowly up, suddenly down
  double low = 0;         // lowest and highest of the mean cycle
  double high = 0;
};

CycleShape ShapeOf(const RegularSeries& series, const Period& period);

}  // namespace sonde

#endif  // SONDE_ANALYZE_PATTERN_CYCLE_H_
