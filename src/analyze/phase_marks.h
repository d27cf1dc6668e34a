#ifndef SONDE_ANALYZE_PHASE_MARKS_H_
#define SONDE_ANALYZE_PHASE_MARKS_H_

#include <vector>

#include "analyze/charts.h"

namespace sonde {

// What is to be pointed out in the pictures of a run: its phases, the findings,
// losses with a time, and marks.
std::vector<ChartMark> MarksOf(const Facts& facts,
                               const std::vector<Finding>& findings);

}  // namespace sonde

#endif  // SONDE_ANALYZE_PHASE_MARKS_H_
