#ifndef SONDE_REPORT_SHAPE_H_
#define SONDE_REPORT_SHAPE_H_

#include <nlohmann/json.hpp>

#include "analyze/shape.h"
#include "report/lines.h"

namespace sonde {

// How the run went over time, in a few lines: its phases, and the patterns that
// are worth a sentence. Empty if there are none.
Lines ShapeLines(const RunShape& shape);

// `phases` and `series` of the report in JSON: docs/report-json.md.
nlohmann::ordered_json PhasesJson(const RunShape& shape);
nlohmann::ordered_json SeriesJson(const RunShape& shape);

}  // namespace sonde

#endif  // SONDE_REPORT_SHAPE_H_
