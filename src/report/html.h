#ifndef SONDE_REPORT_HTML_H_
#define SONDE_REPORT_HTML_H_

#include <string>

#include "analyze/charts.h"
#include "report/report.h"

namespace sonde {

// The report as one page for a browser: losses first, the verdict, what it
// rests on, the pictures, and the tables.
//
//  - It is whole: opened from a disk it asks for nothing.
//  - Names come from the program that was recorded; none can become markup or
//    script.
//  - Light or dark as its reader's system is. It reads well without script,
//    which only sorts the tables.
//  - Long tables are cut and say so; its size is bounded.
std::string ReportHtml(const Report& report, const Charts& charts);

}  // namespace sonde

#endif  // SONDE_REPORT_HTML_H_
