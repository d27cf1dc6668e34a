#include "cli/report.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "analyze/command_words.h"
#include "cli/journal_loss.h"
#include "store/work.h"

namespace sonde {
namespace {

// Meta rows in JSON. What is not what it should be is left out: the trace may
// come from anywhere.
nlohmann::json ParseMeta(const Store& store, const char* key) {
  return nlohmann::json::parse(store.Meta(key), nullptr,
                               /*allow_exceptions=*/false);
}

std::string TextAt(const nlohmann::json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_string() ? at->get<std::string>() : "";
}

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

}  // namespace

Result<Report> MakeReport(const std::string& path,
                          const std::vector<std::string>& rules,
                          ChartLines* lines) {
  TRY_OK(CheckRules(rules));
  TRY(const auto store, Store::Open(path));
  TRY_OK(CheckWork(*store));
  Report report;
  report.facts = FactsOf(store, lines ? lines->Of(store) : AlsoRead());
  report.judgement = Judge(report.facts, rules);
  report.shape = ShapeOf(report.facts);
  report.losses = store->losses();
  if (auto loss = JournalLoss(*store))
    report.losses.insert(report.losses.begin(), *std::move(loss));
  // Where there are few lines for losses, this one explains the others.
  std::stable_partition(
      report.losses.begin(), report.losses.end(),
      [](const Loss& loss) { return loss.reason == "collector-killed"; });
  report.command = CommandWords(*store);
  const nlohmann::json missing = ParseMeta(*store, "not_collected");
  if (missing.is_array())
    for (const auto& row : missing)
      if (row.is_object())
        report.not_collected.push_back(
            {TextAt(row, "source"), TextAt(row, "why"), TextAt(row, "cure")});
  return report;
}

}  // namespace sonde
