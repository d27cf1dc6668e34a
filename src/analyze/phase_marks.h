#ifndef SONDE_ANALYZE_PHASE_MARKS_H_
#define SONDE_ANALYZE_PHASE_MARKS_H_

#include <vector>

#include "analyze/charts.h"

namespace sonde {

// What is to be pointed out in the pictures of a run: its phases, told by the
// three series (cores, share of the accelerators' time, bytes written a second;
// each may know nothing), the findings, losses with a time, and marks.
std::vector<ChartMark> MarksOf(const Facts& facts,
                               const std::vector<Finding>& findings,
                               const RegularSeries& cpu,
                               const RegularSeries& accelerator,
                               const RegularSeries& written);

}  // namespace sonde

#endif  // SONDE_ANALYZE_PHASE_MARKS_H_
