#include "cli/summary.h"

#include "cli/report.h"
#include "cli/report_text.h"

namespace sonde {

Result<std::string> Summary(const std::string& trace_path) {
  TRY(const Report report, MakeReport(trace_path, {}));
  return SummaryText(report);
}

}  // namespace sonde
