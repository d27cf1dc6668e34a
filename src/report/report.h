#ifndef SONDE_REPORT_REPORT_H_
#define SONDE_REPORT_REPORT_H_

#include <memory>
#include <string>
#include <vector>

#include "analyze/facts/facts.h"
#include "analyze/facts/run_patterns.h"
#include "analyze/verdict/charts.h"
#include "analyze/verdict/judge.h"
#include "base/result.h"

namespace sonde {

// All that a report of one trace says, in whatever form it is shown.
struct Report {
  Facts facts;
  Judgement judgement;
  RunShape shape;            // points into facts.series
  std::vector<Loss> losses;  // also what was found while reading
  std::vector<std::string> command;
  std::vector<NotCollected> not_collected;
};

// The report of what `store` holds. `rules`: only these, all if empty; names
// that are no rule's are passed over. `lines`: of pictures that will be drawn,
// or null if none will be.
Report ReportOf(std::shared_ptr<const Store> store,
                const std::vector<std::string>& rules,
                ChartLines* lines = nullptr);

// Reads and judges a trace. `rules`: only these, all if empty; an unknown name
// is an error of kind kUsage that lists them.
Result<Report> MakeReport(const std::string& path,
                          const std::vector<std::string>& rules,
                          ChartLines* lines = nullptr);

}  // namespace sonde

#endif  // SONDE_REPORT_REPORT_H_
