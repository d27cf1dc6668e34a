#ifndef SONDE_REPORT_JSON_H_
#define SONDE_REPORT_JSON_H_

#include <string>

#include "report/report.h"

namespace sonde {

// The report for machines: one JSON object, as docs/report-json.md promises.
// A number that was not collected is null, never 0.
std::string ReportJson(const Report& report);

}  // namespace sonde

#endif  // SONDE_REPORT_JSON_H_
