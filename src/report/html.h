#ifndef SONDE_REPORT_HTML_H_
#define SONDE_REPORT_HTML_H_

#include <string>

#include "analyze/verdict/charts.h"
#include "report/report.h"

namespace sonde {

// The report as one page for a browser: losses first, the verdict, its
// findings, the pictures, the flame graph with the source of the hottest lines
// (from the files of this machine, if they are still what ran), and the tables.
//
//  - The page is whole: opened from a disk it asks for nothing.
//  - Names come from the program that was recorded; none can become markup or
//    script.
//  - The page is light or dark as its reader's system is, and reads well
//    without script, which sorts the tables and moves in the flame graph.
//  - Long tables are cut and say so; the size of the page is bounded.
std::string ReportHtml(const Report& report, const Charts& charts);

}  // namespace sonde

#endif  // SONDE_REPORT_HTML_H_
