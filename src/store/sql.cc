#include "store/sql.h"

#include <sqlite3.h>

#include <algorithm>
#include <cstring>

#include "store/sql_table.h"

namespace sonde {
namespace {

constexpr int kOpsBetweenLooks = 20'000;  // about a millisecond
constexpr char kListsTables[] = "`sonde query --tables` lists the tables";

struct CloseDb {
  void operator()(sqlite3* db) const { sqlite3_close(db); }
};
struct FinalizeStatement {
  void operator()(sqlite3_stmt* s) const { sqlite3_finalize(s); }
};
using TableList = std::vector<SqlTable>;
using Statement = std::unique_ptr<sqlite3_stmt, FinalizeStatement>;

// The gate: says of every step of a query, while it is compiled, whether it may
// be. There is nothing to harm in an empty database in memory, but SQLite can
// reach files, settings and code from SQL.
int Authorize(void* tables, int action, const char* first, const char* second,
              const char*, const char*) {
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_RECURSIVE:
      return SQLITE_OK;
    case SQLITE_READ: {
      // No column: a table that is counted, or a name the query itself made.
      if (!second || *second == '\0') return SQLITE_OK;
      for (const SqlTable& table : *static_cast<TableList*>(tables))
        if (std::strcmp(first, table.name) == 0) return SQLITE_OK;
      for (const char* safe : {"json_each", "json_tree"})
        if (std::strcmp(first, safe) == 0) return SQLITE_OK;
      return SQLITE_DENY;
    }
    case SQLITE_FUNCTION:
      for (const char* unsafe : {"load_extension", "fts3_tokenizer", "readfile",
                                 "writefile", "edit", "sqlite_log"})
        if (sqlite3_stricmp(second, unsafe) == 0) return SQLITE_DENY;
      return SQLITE_OK;
    default:
      return SQLITE_DENY;
  }
}

void SetLimits(sqlite3* db) {
  sqlite3_limit(db, SQLITE_LIMIT_LENGTH, 64 << 20);
  sqlite3_limit(db, SQLITE_LIMIT_SQL_LENGTH, 1 << 20);
  sqlite3_limit(db, SQLITE_LIMIT_EXPR_DEPTH, 500);
  sqlite3_limit(db, SQLITE_LIMIT_COMPOUND_SELECT, 100);
  sqlite3_limit(db, SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000);
  sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
  sqlite3_limit(db, SQLITE_LIMIT_TRIGGER_DEPTH, 1);
  sqlite3_limit(db, SQLITE_LIMIT_WORKER_THREADS, 0);
}

// SQLite's message, and what to do about it.
Error QueryError(sqlite3* db) {
  const std::string message = sqlite3_errmsg(db);
  Error error{Error::Kind::kUsage, "query: " + message};
  if (message.find("no such table") != std::string::npos)
    error.hint = kListsTables;
  else if (message.find("no such column") != std::string::npos)
    error.hint = "`sonde query TRACE --tables` lists the columns";
  else if (message.find("not authorized") != std::string::npos ||
           message.find("prohibited") != std::string::npos ||
           message.find("may not be modified") != std::string::npos)
    error.hint = "only SELECT over the trace's tables is possible";
  return error;
}

SqlValue CellOf(sqlite3_stmt* statement, int column) {
  switch (sqlite3_column_type(statement, column)) {
    case SQLITE_INTEGER:
      return static_cast<int64_t>(sqlite3_column_int64(statement, column));
    case SQLITE_FLOAT:
      return sqlite3_column_double(statement, column);
    case SQLITE_TEXT:
    case SQLITE_BLOB: {
      const bool text = sqlite3_column_type(statement, column) == SQLITE_TEXT;
      const auto* data =
          static_cast<const char*>(sqlite3_column_blob(statement, column));
      const int size = sqlite3_column_bytes(statement, column);
      SqlValue value(data ? std::string_view(data, static_cast<size_t>(size))
                          : std::string_view());
      if (!text) value.type = SqlValue::Type::kBlob;
      return value;
    }
    default:
      return {};
  }
}

}  // namespace

struct Database::State {
  std::shared_ptr<const Store> store;
  SqlDeadline deadline;
  TableList tables;
  std::unique_ptr<sqlite3, CloseDb> db;  // closed first
};

Database::Database(std::unique_ptr<State> state) : state_(std::move(state)) {}
Database::~Database() = default;

Result<std::unique_ptr<Database>> Database::Open(
    std::shared_ptr<const Store> store) {
  return Open(std::move(store), {});
}

Result<std::unique_ptr<Database>> Database::Open(
    std::shared_ptr<const Store> store, std::span<const SqlTable> more) {
  auto state = std::make_unique<State>();
  state->store = std::move(store);
  state->tables.assign(SqlTables().begin(), SqlTables().end());
  state->tables.insert(state->tables.end(), more.begin(), more.end());
  sqlite3* db = nullptr;
  const int rc = sqlite3_open_v2(
      ":memory:", &db,
      SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_NOMUTEX,
      nullptr);
  state->db.reset(db);
  if (rc != SQLITE_OK)
    return Error{Error::Kind::kIo,
                 std::string("SQLite does not open: ") + sqlite3_errstr(rc)};
  SetLimits(db);
  // Room for sorting before it goes to a temporary file.
  sqlite3_exec(db, "PRAGMA cache_size=-32768", nullptr, nullptr, nullptr);
  for (const SqlTable& table : state->tables) {
    // A table is declared when it is first named, which is a CREATE TABLE to
    // the authorizer. So each is named here, before there is one.
    sqlite3_stmt* first = nullptr;
    const std::string sql = std::string("SELECT 1 FROM ") + table.name;
    if (RegisterTable(db, table, *state->store, state->deadline) != SQLITE_OK ||
        sqlite3_prepare_v2(db, sql.c_str(), -1, &first, nullptr) != SQLITE_OK)
      return Error{Error::Kind::kIo,
                   std::string("SQLite: ") + sqlite3_errmsg(db)};
    sqlite3_finalize(first);
  }
  sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, nullptr);
  sqlite3_set_authorizer(db, &Authorize, &state->tables);
  sqlite3_progress_handler(
      db, kOpsBetweenLooks,
      [](void* deadline) {
        return static_cast<SqlDeadline*>(deadline)->passed() ? 1 : 0;
      },
      &state->deadline);
  return std::unique_ptr<Database>(new Database(std::move(state)));
}

Result<QuerySummary> Database::Query(const std::string& sql,
                                     const QueryLimits& limits, RowSink& sink) {
  sqlite3* const db = state_->db.get();
  const int64_t now = NowNs();
  state_->deadline.at_ns =
      limits.timeout_ns < INT64_MAX - now ? now + limits.timeout_ns : INT64_MAX;
  sqlite3_stmt* raw = nullptr;
  const char* tail = nullptr;
  const int prepared =
      sql.size() > (1 << 20)
          ? SQLITE_TOOBIG
          : sqlite3_prepare_v2(db, sql.data(), static_cast<int>(sql.size()),
                               &raw, &tail);
  const Statement statement(raw);
  if (prepared == SQLITE_TOOBIG)
    return Error{Error::Kind::kUsage, "query: too long"};
  if (prepared != SQLITE_OK) return QueryError(db);
  if (!raw)
    return Error{Error::Kind::kUsage, "query: there is no SQL in it",
                 "for example: SELECT * FROM process"};
  const std::string_view rest(
      tail, static_cast<size_t>(sql.data() + sql.size() - tail));
  if (rest.find_first_not_of(" \t\r\n;") != std::string_view::npos)
    return Error{Error::Kind::kUsage, "query: more than one statement",
                 "one SELECT at a time"};
  if (!sqlite3_stmt_readonly(raw))
    return Error{Error::Kind::kUsage, "query: it would change something",
                 "only SELECT over the trace's tables is possible"};

  const int width = sqlite3_column_count(raw);
  std::vector<std::string> names;
  for (int i = 0; i < width; ++i) {
    const char* name = sqlite3_column_name(raw, i);
    names.emplace_back(name ? name : "");
  }
  QuerySummary summary;
  std::vector<SqlValue> cells;
  for (bool first = true;; first = false) {
    const int rc = sqlite3_step(raw);
    const bool failed = rc != SQLITE_ROW && rc != SQLITE_DONE;
    const bool late =
        failed && (rc == SQLITE_INTERRUPT || state_->deadline.passed());
    if (failed && !late) return QueryError(db);
    // A query that fails at once, by a parameter of a function, has no answer.
    if (first) sink.Columns(names);
    if (rc == SQLITE_DONE) return summary;
    if (late) {
      summary.cut = QuerySummary::Cut::kTime;
      return summary;
    }
    if (summary.rows == limits.max_rows) {
      summary.cut = QuerySummary::Cut::kRows;
      return summary;
    }
    cells.clear();
    for (int i = 0; i < width; ++i) cells.push_back(CellOf(raw, i));
    ++summary.rows;
    if (!sink.Row(cells)) return summary;
  }
}

std::vector<TableInfo> Tables() { return Tables(SqlTables()); }

std::vector<TableInfo> Tables(std::span<const SqlTable> tables) {
  std::vector<TableInfo> out;
  for (const SqlTable& table : tables) {
    TableInfo info{table.name, table.what, {}};
    for (const SqlColumn& column : table.columns) {
      const bool parameter = (column.use & kUseParameter) != 0;
      info.function |= parameter;
      info.columns.push_back(
          {column.name, column.type, (column.use & kUseKey) != 0, parameter});
    }
    out.push_back(std::move(info));
  }
  return out;
}

Result<uint64_t> ScanTable(const Store& store, std::string_view name,
                           RowSink& sink, const std::atomic<bool>* cancelled) {
  const auto tables = SqlTables();
  const auto table =
      std::find_if(tables.begin(), tables.end(),
                   [&](const SqlTable& t) { return name == t.name; });
  std::string error = "no table called '" + std::string(name) + "'";
  const SqlDeadline deadline{INT64_MAX, cancelled};
  SqlRequest request;
  request.deadline = &deadline;
  const auto rows =
      table == tables.end() ? nullptr : table->open(store, request, error);
  if (!rows && cancelled != nullptr && *cancelled) return 0;
  if (!rows) return Error{Error::Kind::kUsage, error, kListsTables};
  std::vector<std::string> names;
  for (const SqlColumn& column : table->columns)
    if (!(column.use & kUseParameter)) names.push_back(column.name);
  sink.Columns(names);
  std::vector<SqlValue> cells(names.size());
  uint64_t count = 0;
  while (rows->Next() == SQLITE_ROW) {
    for (size_t i = 0; i < cells.size(); ++i)
      cells[i] = rows->Column(static_cast<int>(i));
    ++count;
    if (!sink.Row(cells)) break;
  }
  return count;
}

}  // namespace sonde
