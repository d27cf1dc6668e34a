#include "report/report.h"

#include <algorithm>

#include "analyze/facts/command_words.h"
#include "analyze/facts/judgeable.h"

namespace sonde {
namespace {

Status CheckRules(const std::vector<std::string>& names) {
  std::string all;
  for (const Rule& rule : Rules())
    all += (all.empty() ? "" : ", ") + std::string(rule.name);
  for (const std::string& name : names) {
    if (std::any_of(Rules().begin(), Rules().end(),
                    [&](const Rule& rule) { return name == rule.name; }))
      continue;
    return Error{Error::Kind::kUsage, "no rule called '" + name + "'",
                 "the rules are " + all};
  }
  return Ok();
}

// A file may list half a million.
constexpr size_t kMostNotCollected = 1000;

}  // namespace

Report ReportOf(std::shared_ptr<const Store> store,
                const std::vector<std::string>& rules, ChartLines* lines) {
  Report report;
  report.facts = FactsOf(store, lines ? lines->Of(store) : AlsoRead());
  report.judgement = Judge(report.facts, rules);
  report.shape = ShapeOf(report.facts);
  report.losses = store->losses();
  if (const uint64_t count = report.facts.said.counters_left_out; count > 0)
    report.losses.push_back({"counters-left-out",
                             "counters of the program that are not listed",
                             count, kNoTime, kNoTime});
  report.command = CommandWords(*store);
  uint64_t more = 0;
  for (const auto& [ordinal, row] : store->rows().not_collected) {
    if (row.source.empty()) continue;
    if (report.not_collected.size() < kMostNotCollected)
      report.not_collected.push_back(row);
    else
      ++more;
  }
  if (more > 0)
    report.losses.push_back({"not-collected-left-out",
                             "sources not collected that are not listed", more,
                             kNoTime, kNoTime});
  return report;
}

Result<Report> MakeReport(const std::string& path,
                          const std::vector<std::string>& rules,
                          ChartLines* lines) {
  TRY_OK(CheckRules(rules));
  TRY(auto store, Store::Open(path));
  TRY_OK(CheckJudgeable(*store));
  return ReportOf(std::move(store), rules, lines);
}

}  // namespace sonde
