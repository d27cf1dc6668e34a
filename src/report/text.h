#ifndef SONDE_REPORT_TEXT_H_
#define SONDE_REPORT_TEXT_H_

#include <cstddef>
#include <string>

#include "report/lines.h"
#include "report/report.h"

namespace sonde {

// How much of a report is shown, and how.
struct TextOptions {
  size_t top = 10;    // rows of a table before "and N more"
  bool bold = false;  // the verdict in bold, for a terminal that wants it
  Lines curves = {};  // shown behind the findings as they are
};

// The report for a person: losses first, then the verdict, its findings, and
// the tables.
//
//  - No line is longer than 80 columns, but for curves.
//  - Nothing a trace contains can reach the terminal as a control character.
//  - Each table's rows and its "and N more" sum to its "all".
//  - "-" stands for what was not collected.
std::string ReportText(const Report& report, const TextOptions& options);

// The same in at most 25 lines, for the end of `sonde run`.
std::string SummaryText(const Report& report);

}  // namespace sonde

#endif  // SONDE_REPORT_TEXT_H_
