#include "analyze/verdict/finding_tables.h"

#include "analyze/facts/judgeable.h"
#include "analyze/verdict/judge.h"

namespace sonde {
namespace {

using Cells = std::vector<SqlValue>;

constexpr SqlColumn kFinding[] = {
    {"id", "INTEGER", kUseOrder | kUseKey},
    {"rule", "TEXT"},
    {"severity", "TEXT"},
    {"confidence", "REAL"},
    {"summary", "TEXT"},
    {"advice", "TEXT"},
    {"gain_share", "REAL"},
    {"gain_from_share", "REAL"},
    {"gain_how", "TEXT"},
    {"from_ts", "INTEGER"},
    {"to_ts", "INTEGER"},
    {"process_id", "INTEGER"},
    {"thread_id", "INTEGER"},
};
constexpr SqlColumn kFindingNumber[] = {
    {"finding_id", "INTEGER", kUseOrder},
    {"name", "TEXT"},
    {"value", "REAL"},
    {"unit", "TEXT"},
};

SqlValue Text(std::string_view text) { return text; }

// What the rules found in a trace, once somebody asked, and the rows of it.
struct Findings {
  std::shared_ptr<const Store> store;
  bool asked = false;
  std::vector<Finding> found;
  std::vector<Cells> rows, numbers;

  // False if there was not enough time: then only a part was read.
  bool Find(const SqlRequest& request, std::string& error) {
    if (asked) return true;
    if (const Status status = CheckJudgeable(*store); !status.ok()) {
      error = status.error().what;
      return false;
    }
    std::vector<Finding> all = Judge(FactsOf(store)).findings;
    if (request.Late(error)) return false;
    found = std::move(all);
    for (const Finding& f : found) Add(f);
    return asked = true;
  }
  void Add(const Finding& f) {
    const int64_t id = static_cast<int64_t>(rows.size()) + 1;
    Cells gain(3);
    if (f.gain) gain = {f.gain->share, f.gain->from_share, Text(f.gain->how)};
    rows.push_back({id, Text(f.rule), Text(NameOf(f.severity)), f.confidence,
                    Text(f.summary), Text(f.advice), gain[0], gain[1], gain[2],
                    f.from_ns, f.to_ns, IdOrNull(f.where.process),
                    IdOrNull(f.where.thread)});
    for (const Number& n : f.numbers)
      numbers.push_back({id, n.name, n.value, Text(NameOf(n.unit))});
  }
};

}  // namespace

std::vector<SqlTable> FindingTables(std::shared_ptr<const Store> store) {
  const auto findings = std::make_shared<Findings>();
  findings->store = std::move(store);
  const auto open = [&](std::vector<Cells> Findings::*list) {
    return [findings, list](const Store&, const SqlRequest& request,
                            std::string& error) -> std::unique_ptr<SqlRows> {
      if (!findings->Find(request, error)) return nullptr;
      return RowsIn((*findings).*list, [](const Cells& row) { return row; });
    };
  };
  const auto some = [](const Store&) { return 20.0; };
  return {{"finding", "what the rules found, what matters most first", kFinding,
           some, open(&Findings::rows)},
          {"finding_number", "the numbers that decided a finding",
           kFindingNumber, some, open(&Findings::numbers)}};
}

}  // namespace sonde
