#include "analyze/verdict/finding_tables.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "analyze/facts/made_run.h"
#include "analyze/verdict/judge.h"
#include "store/sql.h"

namespace sonde {
namespace {

// The cells of each row as text.
class Rows : public RowSink {
 public:
  void Columns(const std::vector<std::string>&) override {}
  bool Row(std::span<const SqlValue> cells) override {
    std::string row;
    for (const SqlValue& cell : cells) {
      if (cell.type == SqlValue::Type::kNull) row += "-|";
      if (cell.type == SqlValue::Type::kInt)
        row += fmt::format("{}|", cell.number);
      if (cell.type == SqlValue::Type::kReal)
        row += fmt::format("{:.3f}|", cell.real);
      if (cell.type == SqlValue::Type::kText)
        row += fmt::format("{}|", cell.text);
    }
    rows.push_back(row);
    return true;
  }
  std::vector<std::string> rows;
};

struct FindingTablesTest : testing::Test {
  FindingTablesTest() {
    MadeRun run;
    run.cores = 4;
    run.workers = {{.name = "work", .cores = MadeRun::Always(1)}};
    store = run.Trace();
    database = Database::Open(store, FindingTables(store)).Take();
  }
  std::vector<std::string> Query(const std::string& sql,
                                 QueryLimits limits = {}) {
    Rows rows;
    const auto asked = database->Query(sql, limits, rows);
    EXPECT_TRUE(asked.ok());
    if (asked.ok()) cut = asked.value().cut;
    return rows.rows;
  }

  std::shared_ptr<const Store> store;
  std::unique_ptr<Database> database;
  QuerySummary::Cut cut = QuerySummary::Cut::kNo;
};

TEST_F(FindingTablesTest, RowsAreTheFindingsInTheirOrder) {
  const Judgement judgement = Judge(FactsOf(store));
  ASSERT_FALSE(judgement.findings.empty());
  std::vector<std::string> findings, numbers;
  for (const Finding& f : judgement.findings) {
    const size_t id = findings.size() + 1;
    findings.push_back(
        fmt::format("{}|{}|{}|{:.3f}|{}|{}|{}|{}|{}|", id, f.rule,
                    NameOf(f.severity), f.confidence, f.summary,
                    f.gain ? fmt::format("{:.3f}", f.gain->share) : "-",
                    f.gain ? f.gain->how : "-", f.from_ns,
                    f.where.process ? std::to_string(f.where.process) : "-"));
    for (const Number& n : f.numbers)
      numbers.push_back(
          fmt::format("{}|{}|{:.3f}|{}|", id, n.name, n.value, NameOf(n.unit)));
  }
  EXPECT_EQ(Query("SELECT id, rule, severity, confidence, summary, gain_share, "
                  "gain_how, from_ts, process_id FROM finding ORDER BY id"),
            findings);
  EXPECT_EQ(Query("SELECT * FROM finding_number"), numbers);
}

TEST_F(FindingTablesTest, RulesAreAskedOnceAndOnlyIfTheirFindingsAreRead) {
  const uint64_t before = store->counter_decodes();
  Query("SELECT count(*) FROM process");
  EXPECT_EQ(store->counter_decodes(), before);
  EXPECT_FALSE(Query("SELECT rule, name, value, unit FROM finding JOIN "
                     "finding_number ON finding_id = id")
                   .empty());
  const uint64_t asked = store->counter_decodes();
  EXPECT_GT(asked, before);
  Query("SELECT * FROM finding");
  EXPECT_EQ(store->counter_decodes(), asked);
}

TEST_F(FindingTablesTest, OutOfTimeThereAreNoFindingsAndNoneAreKept) {
  EXPECT_TRUE(Query("SELECT * FROM finding", {.timeout_ns = 0}).empty());
  EXPECT_EQ(cut, QuerySummary::Cut::kTime);
  EXPECT_FALSE(Query("SELECT * FROM finding").empty());
  EXPECT_EQ(cut, QuerySummary::Cut::kNo);
}

TEST(FindingTables, CanBeListedWithoutATrace) {
  const std::vector<TableInfo> tables = Tables(FindingTables(nullptr));
  ASSERT_EQ(tables.size(), 2u);
  EXPECT_EQ(tables[0].name, "finding");
  EXPECT_EQ(tables[1].name, "finding_number");
}

}  // namespace
}  // namespace sonde
