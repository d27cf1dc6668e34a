// Reports of recordings written as text, for tests.

#ifndef SONDE_REPORT_MADE_REPORT_H_
#define SONDE_REPORT_MADE_REPORT_H_

#include <string_view>

#include "analyze/facts/made_text.h"
#include "report/report.h"

namespace sonde {

// Ten seconds on two cores in which process 1, `main`, used 7 s of CPU time.
inline constexpr std::string_view kShortRun = R"(
meta started_ns 0
meta ended_ns 10000000000
meta cores 2
meta allowed_cores 2
process 1 pid=100 name=main start=0 end=10s exit=0
series 1 scope=process:1 name=cpu_ns
ramp 1 from=0 to=10s slope=0.7s/s
)";

inline Report ReportOfText(std::string_view run, std::string_view more = "") {
  return ReportOf(StoreOfText(run, more), {});
}

}  // namespace sonde

#endif  // SONDE_REPORT_MADE_REPORT_H_
