#include "cli/summary.h"

#include "base/text.h"
#include "report/report.h"
#include "report/text.h"

namespace sonde {

Result<std::string> Summary(const std::string& trace_path) {
  TRY(const Report report, MakeReport(trace_path, {}));
  return SummaryText(report);
}

std::string LeftLine(const std::string& path) {
  return "sonde: " + Printable(path, 4096) +
         " stays: there is something in it that sonde did not make; remove it "
         "when you have looked\n";
}

}  // namespace sonde
