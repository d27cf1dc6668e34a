#ifndef SONDE_CLI_REPORT_H_
#define SONDE_CLI_REPORT_H_

#include <string>
#include <vector>

#include "analyze/charts.h"
#include "analyze/facts.h"
#include "analyze/judge.h"
#include "analyze/shape.h"
#include "base/result.h"

namespace sonde {

// A source that was not collected, as the recorder wrote it.
struct MissingSource {
  std::string source, why, cure;
};

// All that a report of one trace says, in whatever form it is shown.
struct Report {
  Facts facts;
  Judgement judgement;
  RunShape shape;            // points into facts.series
  std::vector<Loss> losses;  // also what was found while reading
  std::vector<std::string> command;
  std::vector<MissingSource> not_collected;
};

// Reads and judges a trace. `rules`: only these, all if empty; an unknown name
// is an error of kind kUsage that lists them. `lines`: of pictures that will be
// drawn, or null.
Result<Report> MakeReport(const std::string& path,
                          const std::vector<std::string>& rules,
                          ChartLines* lines = nullptr);

}  // namespace sonde

#endif  // SONDE_CLI_REPORT_H_
