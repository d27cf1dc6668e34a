#include "store/sql.h"

#include <gtest/gtest.h>

#include <map>

#include "store/event_cells.h"
#include "store/sql_group.h"
#include "store/test_trace.h"

namespace sonde {
namespace {

// Rows as text, NULL as "-".
class Rows : public RowSink {
 public:
  void Columns(const std::vector<std::string>& names) override {
    columns = names;
  }
  bool Row(std::span<const SqlValue> cells) override {
    std::string row;
    for (const SqlValue& cell : cells) {
      if (&cell != &cells.front()) row += "|";
      if (cell.type == SqlValue::Type::kNull) row += "-";
      if (cell.type == SqlValue::Type::kInt) row += std::to_string(cell.number);
      if (cell.type == SqlValue::Type::kReal) row += std::to_string(cell.real);
      if (cell.type == SqlValue::Type::kText) row += cell.text;
    }
    rows.push_back(row);
    return true;
  }
  std::vector<std::string> columns;
  std::vector<std::string> rows;
};

struct SqlTest : testing::Test {
  explicit SqlTest() : trace(40'000, 21), store(trace.Open()) {
    database = Database::Open(store).Take();
  }

  std::vector<std::string> Query(const std::string& sql,
                                 QueryLimits limits = {}) {
    Rows sink;
    const auto summary = database->Query(sql, limits, sink);
    EXPECT_TRUE(summary.ok()) << summary.error().what;
    if (summary.ok()) cut = summary.value().cut;
    return sink.rows;
  }
  Error Fails(const std::string& sql, QueryLimits limits = {}) {
    Rows sink;
    const auto summary = database->Query(sql, limits, sink);
    EXPECT_FALSE(summary.ok()) << sql;
    return summary.ok() ? Error{} : summary.error();
  }
  // Count and sum of the durations of the slices that `wanted` accepts.
  template <typename Wanted>
  std::string Sum(Wanted wanted) {
    int64_t count = 0, sum = 0;
    for (const auto& placed : trace.events)
      if (placed.event.kind == Event::Kind::kSlice && wanted(placed)) {
        ++count;
        sum += placed.event.dur_ns;
      }
    return std::to_string(count) + "|" + (count ? std::to_string(sum) : "-");
  }

  StoredTrace trace;
  std::shared_ptr<const Store> store;
  std::unique_ptr<Database> database;
  QuerySummary::Cut cut = QuerySummary::Cut::kNo;
};

using Strings = std::vector<std::string>;

TEST_F(SqlTest, ConditionsGiveTheRowsTheyWouldWithoutHelp) {
  const std::string select = "SELECT count(*), sum(dur) FROM slice WHERE ";
  const int64_t middle = trace.end_ns / 2;
  const std::string m = std::to_string(middle);
  const auto begin = [](const auto& p) { return p.event.begin_ns; };
  EXPECT_EQ(Query(select + "1"), Strings{Sum([](auto&) { return true; })});
  EXPECT_EQ(Query(select + "track_id = 2"),
            Strings{Sum([](auto& p) { return p.track == 2; })});
  EXPECT_EQ(Query(select + "name = 'name3'"),
            Strings{Sum([](auto& p) { return p.event.name == 4; })});
  EXPECT_EQ(
      Query(select + "name_id = 5 AND track_id = 1"),
      Strings{Sum([](auto& p) { return p.event.name == 5 && p.track == 1; })});
  EXPECT_EQ(Query(select + "ts >= " + m),
            Strings{Sum([&](auto& p) { return begin(p) >= middle; })});
  EXPECT_EQ(Query(select + "ts > " + m + ".5 AND ts <= " + m + " + 1e5"),
            Strings{Sum([&](auto& p) {
              return begin(p) > middle && begin(p) <= middle + 100'000;
            })});
  EXPECT_EQ(Query(select + "ts BETWEEN 5000 AND 4000"), Strings{"0|-"});
  EXPECT_EQ(Query(select + "track_id = -1"), Strings{"0|-"});
  EXPECT_EQ(Query(select + "track_id = NULL"), Strings{"0|-"});
  EXPECT_EQ(Query(select + "name = 'nobody'"), Strings{"0|-"});
  EXPECT_EQ(Query(select + "depth = 2"),
            Strings{Sum([](auto& p) { return p.event.depth == 2; })});
}

TEST_F(SqlTest, GroupByNameEqualsASumOverTheEvents) {
  std::map<std::string, std::pair<int64_t, int64_t>> want;
  for (const auto& placed : trace.events) {
    if (placed.event.kind != Event::Kind::kSlice) continue;
    auto& sum = want["name" + std::to_string(placed.event.name - 1)];
    ++sum.first;
    sum.second += placed.event.dur_ns;
  }
  Strings rows;
  for (const auto& [name, sum] : want)
    rows.push_back(name + "|" + std::to_string(sum.first) + "|" +
                   std::to_string(sum.second));
  EXPECT_EQ(Query("SELECT name, count(*), sum(dur) FROM slice GROUP BY name"),
            rows);
  std::reverse(rows.begin(), rows.end());
  EXPECT_EQ(Query("SELECT name, count(*), sum(dur) FROM slice GROUP BY name "
                  "ORDER BY name DESC"),
            rows);
  EXPECT_EQ(Query("SELECT DISTINCT name_id FROM slice").size(), want.size());
  const Strings plan = Query(
      "EXPLAIN QUERY PLAN SELECT name, sum(dur) FROM slice GROUP BY name");
  EXPECT_EQ(plan.size(), 1u) << "SQLite must not have to sort";
}

// The same rows, whatever fits into memory: all, some names, not even one. The
// durations are long, so that rows are larger than was guessed, more names are
// begun than fit, and the last of them have to wait after all.
TEST(SqlGroupTest, GroupsAreWholeWhenMemoryIsShort) {
  auto bytes = std::make_shared<std::string>();
  auto writer = TraceWriter::CreateInMemory({}, bytes);
  constexpr uint32_t kNames = 8;
  constexpr int kEvents = 80'000;
  for (uint32_t i = 0; i < kNames; ++i) writer->Intern(std::to_string(i));
  const uint32_t track = writer->AddTrack({});
  for (int i = 0; i < kEvents; ++i) {
    Event event;
    event.dur_ns = (int64_t{1} << 40) + i;
    event.begin_ns = i - event.dur_ns;
    event.name = 1 + static_cast<uint32_t>(i) % kNames;
    writer->AddEvent(track, event);
  }
  ASSERT_TRUE(writer->Close().ok());
  const auto store = Store::OfBytes(bytes, "t").Take();
  std::vector<size_t> sizes = {size_t{64} << 20, 1};
  for (size_t kib = 20; kib <= 600; kib += 20) sizes.push_back(kib << 10);
  for (const size_t max_bytes : sizes) {
    SqlRequest request;
    request.group_by = kColName;
    request.columns_used = 1u << kColName | 1u << kColDur;
    EventFilter filter;
    filter.kind = Event::Kind::kSlice;
    GroupedEvents rows(*store, filter, request, max_bytes);
    int count = 0;
    while (rows.Next() == SQLITE_ROW) ++count;
    EXPECT_EQ(count, kEvents) << max_bytes;
  }
}

TEST_F(SqlTest, AnIdFindsItsSliceAgain) {
  const Strings all =
      Query("SELECT id, ts, dur, track_id, name FROM slice ORDER BY id");
  const Strings some = Query(
      "SELECT a.id, a.ts, a.dur, a.track_id, a.name FROM (SELECT id FROM slice "
      "WHERE id % 97 = 0) b JOIN slice a ON a.id = b.id ORDER BY a.id");
  ASSERT_GT(some.size(), 10u);
  for (const std::string& row : some)
    EXPECT_NE(std::find(all.begin(), all.end(), row), all.end());
}

TEST_F(SqlTest, InstantsAreNotSlices) {
  const size_t instants = static_cast<size_t>(std::count_if(
      trace.events.begin(), trace.events.end(), [](const auto& placed) {
        return placed.event.kind == Event::Kind::kInstant;
      }));
  EXPECT_EQ(Query("SELECT count(*), sum(dur) FROM instant"),
            Strings{std::to_string(instants) + "|0"});
  EXPECT_EQ(Query("SELECT (SELECT count(*) FROM instant) + "
                  "(SELECT count(*) FROM slice)"),
            Strings{std::to_string(trace.events.size())});
}

TEST_F(SqlTest, TopOpsIsTheStoresOwn) {
  const auto ops = store->TopOps({1000, trace.end_ns / 2}, 2);
  const Strings rows = Query(
      "SELECT name, count, total_ns, self_ns FROM "
      "top_ops(1000, " +
      std::to_string(trace.end_ns / 2) + ", 2)");
  ASSERT_EQ(rows.size(), ops.size());
  for (size_t i = 0; i < ops.size(); ++i)
    EXPECT_EQ(rows[i], std::string(store->Str(ops[i].name)) + "|" +
                           std::to_string(ops[i].count) + "|" +
                           std::to_string(ops[i].total_ns) + "|" +
                           std::to_string(ops[i].self_ns));
  EXPECT_EQ(Query("SELECT count(*) FROM top_ops()"), Strings{"8"});
}

TEST_F(SqlTest, IdleGapsLieBetweenOutermostSlices) {
  int64_t until = INT64_MAX, gaps = 0, sum = 0;
  for (const auto& placed : trace.events) {
    if (placed.track != 3 || placed.event.depth != 0 ||
        placed.event.kind != Event::Kind::kSlice)
      continue;
    const int64_t gap = placed.event.begin_ns - until;
    if (until != INT64_MAX && gap >= 20) {
      ++gaps;
      sum += gap;
    }
    until = placed.event.begin_ns + placed.event.dur_ns;
  }
  ASSERT_GT(gaps, 0);
  EXPECT_EQ(Query("SELECT count(*), sum(dur), min(track_id) FROM "
                  "idle_gaps(20, 3)"),
            Strings{std::to_string(gaps) + "|" + std::to_string(sum) + "|3"});
}

TEST_F(SqlTest, NothingCanBeChangedOrReached) {
  for (const char* sql :
       {"ATTACH '/tmp/x' AS y", "CREATE TABLE t(a)", "PRAGMA user_version = 3",
        "PRAGMA table_info(slice)", "DROP TABLE slice", "DELETE FROM slice",
        "INSERT INTO slice(ts) VALUES (1)", "UPDATE slice SET dur = 0",
        "SELECT load_extension('x')", "VACUUM INTO '/tmp/x'", "BEGIN",
        "SELECT * FROM sqlite_master", "SELECT * FROM pragma_database_list",
        "CREATE VIRTUAL TABLE x USING slice", "CREATE TEMP VIEW v AS SELECT 1",
        "SELECT writefile('/tmp/x', 'y')", "ANALYZE"})
    EXPECT_EQ(Fails(sql).kind, Error::Kind::kUsage) << sql;
  EXPECT_EQ(Query("SELECT count(*) FROM slice WHERE dur < 0"), Strings{"0"});
}

TEST_F(SqlTest, WrongQueriesSayWhatToDo) {
  EXPECT_NE(Fails("SELECT * FROM slices").hint.find("--tables"),
            std::string::npos);
  EXPECT_NE(Fails("SELECT durr FROM slice").hint.find("--tables"),
            std::string::npos);
  EXPECT_NE(Fails("SELECT 1; SELECT 2").what.find("more than one"),
            std::string::npos);
  EXPECT_NE(Fails("-- nothing").what.find("no SQL"), std::string::npos);
  EXPECT_NE(Fails("SELECT * FROM px()").what.find("which track"),
            std::string::npos);
  EXPECT_NE(Fails("SELECT * FROM px(1, 0, 9, 0)").what.find("n is from 1"),
            std::string::npos);
}

TEST_F(SqlTest, ALongQueryEndsAtItsLimitsWithTheRowsItHad) {
  using Cut = QuerySummary::Cut;
  QueryLimits limits;
  limits.timeout_ns = 50'000'000;
  EXPECT_EQ(Query("SELECT count(*) FROM slice a, slice b, slice c", limits),
            Strings{});
  EXPECT_EQ(cut, Cut::kTime);
  EXPECT_EQ(
      Query("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM "
            "n) SELECT i FROM n WHERE i < 3",
            limits),
      (Strings{"1", "2"}));
  EXPECT_EQ(cut, Cut::kTime);
  limits = {};
  limits.max_rows = 10;
  EXPECT_EQ(Query("SELECT * FROM slice", limits).size(), 10u);
  EXPECT_EQ(cut, Cut::kRows);
  EXPECT_EQ(Query("SELECT * FROM slice LIMIT 10", limits).size(), 10u);
  EXPECT_EQ(cut, Cut::kNo) << "ten rows are all there were";
}

TEST(SqlTablesTest, WhatWasNotCollectedIsNull) {
  auto bytes = std::make_shared<std::string>();
  auto writer = TraceWriter::CreateInMemory({}, bytes);
  Process process;
  process.number = 1;
  process.pid = 77;
  process.name = writer->Intern("cat");
  process.start_ns = 5;
  writer->PutProcess(process);
  Thread thread;
  thread.number = 2;
  thread.process = 1;
  thread.tid = 78;
  thread.cpu_ns = 0;
  writer->PutThread(thread);
  Track track;
  track.process = 1;
  track.thread = 2;
  track.source = writer->Intern("api");
  const uint32_t track_id = writer->AddTrack(track);
  Series series;
  series.group = 1;
  series.scope = Series::Scope::kThread;
  series.scope_id = 2;
  series.type = Series::Type::kDouble;
  series.name = writer->Intern("load");
  series.source = writer->Intern("itt");
  const uint32_t series_id = writer->AddSeries(series);
  for (int i = 0; i < 4; ++i) {
    writer->BeginTick(1, int64_t{1'000'000'000} * i);
    writer->SetDouble(series_id, i < 3 ? 1.5 : 4.5);
    writer->EndTick();
  }
  Event event;
  event.begin_ns = 10;
  event.dur_ns = 5;
  event.name = writer->Intern("work");
  event.args = writer->AddArgs(
      {{writer->Intern("bytes"), Arg::Type::kInt, 64, 0, 0},
       {writer->Intern("what"), Arg::Type::kString, 0, 0, event.name}});
  event.stack = writer->AddStack(
      {0, writer->AddFrame({writer->Intern("main"), 0, 0, 12, 0})});
  event.flow_out = 9;
  writer->AddEvent(track_id, event);
  event = Event();
  event.begin_ns = 20;
  event.flow_in = 9;
  event.flags = Event::kUnfinished;
  writer->AddEvent(track_id, event);
  writer->PutMeta("host", "here");
  writer->AddLoss({"max-size", "gone", 3, kNoTime, 8});
  ASSERT_TRUE(writer->Close().ok());
  auto database = Database::Open(Store::OfBytes(bytes, "t").Take()).Take();

  const std::pair<const char*, Strings> expected[] = {
      {"SELECT * FROM process", {"1|77|-|cat|-|5|-|running|-|0|-"}},
      {"SELECT * FROM thread", {"2|78|1|-|-|-|0"}},
      {"SELECT * FROM track", {"1|thread|-|1|2|2|api|-|-|0|-"}},
      {"SELECT * FROM series", {"1|load|-|-|gauge|thread|1|2|-|1|itt"}},
      {"SELECT * FROM counter ORDER BY ts",
       {"1|0|1.500000", "1|3000000000|4.500000"}},
      {"SELECT ts FROM counter WHERE series_id = 1 AND ts > 5 ORDER BY ts",
       {"3000000000"}},
      {"SELECT * FROM series_stats()",
       {"1|2|1.500000|4.500000|1.500000|1.500000|4.500000"}},
      {"SELECT id, name, arg_set_id, stack_id, flow_in, flow_out, unfinished "
       "FROM slice",
       {"0|work|1|1|-|9|0", "1|-|-|-|9|-|1"}},
      {"SELECT key, value FROM arg WHERE set_id = 1",
       {"bytes|64", "what|work"}},
      {"SELECT * FROM stack", {"1|-|main|-|-|12|-"}},
      {"SELECT * FROM flow", {"9|0|1"}},
      {"SELECT * FROM run", {"host|here"}},
      {"SELECT * FROM loss", {"max-size|gone|3|-|8|-"}},
      {"SELECT t.name, p.pid, s.name FROM slice s JOIN track k ON k.id = "
       "s.track_id JOIN thread t ON t.id = k.thread_id JOIN process p ON p.id "
       "= k.process_id WHERE s.dur > 0",
       {"-|77|work"}},
      {"SELECT name, count(*) FROM slice GROUP BY name", {"-|1", "work|1"}},
  };
  for (const auto& [sql, rows] : expected) {
    Rows sink;
    const auto summary = database->Query(sql, {}, sink);
    ASSERT_TRUE(summary.ok()) << sql << ": " << summary.error().what;
    EXPECT_EQ(sink.rows, rows) << sql;
  }
}

TEST(SqlTablesTest, APlainRowHasACellForEachField) {
  auto bytes = std::make_shared<std::string>();
  const auto writer = TraceWriter::CreateInMemory({}, bytes);
  Device device;
  device.source = writer->Intern("nvml");
  device.name = writer->Intern("A 100");
  writer->AddRow(device);
  device.index = 1;
  writer->AddRow(device);
  Module module;
  module.path = writer->Intern("/lib/libc.so.6");
  writer->AddRow(module);
  ASSERT_TRUE(writer->Close().ok());
  auto database = Database::Open(Store::OfBytes(bytes, "t").Take()).Take();
  Rows devices, modules;
  ASSERT_TRUE(database->Query("SELECT * FROM device", {}, devices).ok());
  EXPECT_EQ(devices.columns,
            (Strings{"id", "source", "vendor", "name", "uuid", "number"}));
  EXPECT_EQ(devices.rows,
            (Strings{"1|nvml|-|A 100|-|0", "2|nvml|-|A 100|-|1"}));
  ASSERT_TRUE(
      database->Query("SELECT * FROM module WHERE id = 1", {}, modules).ok());
  EXPECT_EQ(modules.rows, Strings{"1|/lib/libc.so.6|-"});
}

// Each chunk repeats all values at its begin; the table does not.
TEST(SqlTablesTest, ACounterHasARowWhereItChangedAndOneWhereItEnded) {
  auto bytes = std::make_shared<std::string>();
  auto writer = TraceWriter::CreateInMemory({}, bytes);
  std::vector<uint32_t> ids;
  Series series;
  for (uint32_t i = 0; i < 4; ++i) {
    series.group = 1 + i / 2;
    ids.push_back(writer->AddSeries(series));
  }
  for (int64_t tick = 0; tick < 40; ++tick) {
    for (uint32_t group = 1; group <= 2; ++group) {
      writer->BeginTick(group, tick * 10);
      const uint32_t first = ids[2 * (group - 1)], second = first + 1;
      writer->Set(first, tick / 7);
      if (tick == 25)
        writer->Gone(second);
      else if (tick < 25)
        writer->Set(second, 5);
      writer->EndTick();
    }
    if (tick % 4 == 3) writer->Seal();
  }
  ASSERT_TRUE(writer->Close().ok());
  const auto store = Store::OfBytes(bytes, "t").Take();
  ASSERT_GT(store->counter_chunks().size(), 15u);
  auto database = Database::Open(store).Take();
  const auto query = [&](const std::string& where) {
    Rows sink;
    EXPECT_TRUE(database
                    ->Query("SELECT * FROM counter WHERE " + where +
                                " ORDER BY series_id, ts",
                            {}, sink)
                    .ok());
    return sink.rows;
  };
  EXPECT_EQ(query("series_id = 1"), (Strings{"1|0|0", "1|70|1", "1|140|2",
                                             "1|210|3", "1|280|4", "1|350|5"}));
  EXPECT_EQ(query("series_id = 4"), (Strings{"4|0|5", "4|250|-"}));
  // A window that leaves out chunks shows the same rows.
  for (int64_t from = 0; from < 400; from += 15) {
    const std::string n = std::to_string(from);
    EXPECT_EQ(query("ts >= " + n), query("+ts >= " + n)) << from;
    EXPECT_EQ(
        query("series_id = 3 AND ts > " + n + " AND ts < " + n + " + 90"),
        query("+series_id = 3 AND +ts > " + n + " AND +ts < " + n + " + 90"))
        << from;
    // Rows found by either side are told apart by their ids.
    EXPECT_EQ(query("series_id = 1 OR ts = " + n),
              query("+series_id = 1 OR +ts = " + n))
        << from;
  }
  Rows sink;
  ASSERT_TRUE(database
                  ->Query("SELECT id FROM series WHERE id = 1 OR (id = 2 AND "
                          "+id < 9) ORDER BY id",
                          {}, sink)
                  .ok());
  EXPECT_EQ(sink.rows, (Strings{"1", "2"}));
}

TEST(SqlTablesTest, CountersHaveNoValueWhereAChunkWasLost) {
  auto bytes = std::make_shared<std::string>();
  auto writer = TraceWriter::CreateInMemory({}, bytes);
  Series row;
  row.group = 1;
  const uint32_t still = writer->AddSeries(row);
  for (int tick = 0; tick < 30; ++tick) {
    writer->BeginTick(1, tick * 10);
    writer->Set(still, 5);
    writer->EndTick();
    if (tick % 10 == 9) writer->Seal();
  }
  ASSERT_TRUE(writer->Close().ok());
  const auto store =
      Store::OfBytes(WithDamagedCounters(bytes, {1}), "t").Take();
  auto database = Database::Open(store).Take();
  for (const char* where : {"", " WHERE series_id = 1", " WHERE ts >= 0"}) {
    Rows sink;
    ASSERT_TRUE(
        database->Query(std::string("SELECT * FROM counter") + where, {}, sink)
            .ok());
    EXPECT_EQ(sink.rows, (Strings{"1|0|5", "1|90|-", "1|200|5"})) << where;
  }
}

}  // namespace
}  // namespace sonde
