// The source of the hottest functions in the page of a report.

#ifndef SONDE_REPORT_SOURCES_H_
#define SONDE_REPORT_SOURCES_H_

#include <cstdint>
#include <string>

#include "analyze/facts/line_facts.h"
#include "base/result.h"
#include "store/store.h"

namespace sonde {

// The text of a source file that a trace names, if it can be what ran: an
// absolute path with an ending of a programming language, a regular file of at
// most a megabyte that was not written after `started_realtime_ns`. Otherwise
// an error that names the file and says why not. A trace may come from anybody:
// what does not look like source is not opened, whatever the trace says.
Result<std::string> ReadSource(const std::string& path,
                               int64_t started_realtime_ns);

// The five hottest files that are worth a look, each with the CPU time of its
// lines: those with most time, and a few lines around them. Where the source
// cannot be shown, one line says why. Of a trace that was recorded on another
// machine no file is opened, and one line says so for all. Empty if no line is
// known. Text is escaped, long lines are cut.
std::string SourceSection(const Store& store,
                          const std::vector<StackSum>& sums);

}  // namespace sonde

#endif  // SONDE_REPORT_SOURCES_H_
