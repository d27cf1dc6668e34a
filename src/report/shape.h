#ifndef SONDE_REPORT_SHAPE_H_
#define SONDE_REPORT_SHAPE_H_

#include "analyze/facts/run_patterns.h"
#include "report/lines.h"

namespace sonde {

// How the run went over time, in a few lines: its phases, and the patterns that
// are worth a sentence. Empty if there are none.
Lines ShapeLines(const RunShape& shape);

}  // namespace sonde

#endif  // SONDE_REPORT_SHAPE_H_
