#ifndef SONDE_CLI_REPORT_JSON_H_
#define SONDE_CLI_REPORT_JSON_H_

#include <string>

#include "cli/report.h"

namespace sonde {

// The report for machines: one JSON object, as docs/report-json.md promises.
// A number that was not collected is null, never 0.
std::string ReportJson(const Report& report);

}  // namespace sonde

#endif  // SONDE_CLI_REPORT_JSON_H_
