#ifndef SONDE_REPORT_CURVES_H_
#define SONDE_REPORT_CURVES_H_

#include "analyze/verdict/charts.h"
#include "report/lines.h"

namespace sonde {

// How curves are drawn in a terminal.
struct CurveOptions {
  size_t columns = kColumns;
  bool unicode = false;  // blocks of eighths; else ASCII
  bool colour = false;
};

// One line of text for each curve that is worth one: its name, its course, the
// greatest value of that course; above them the phases, below them when each
// finding held. Nothing if nothing was sampled. Without colour no line is
// longer than the columns.
Lines CurveLines(const Charts& charts, const CurveOptions& options);

}  // namespace sonde

#endif  // SONDE_REPORT_CURVES_H_
