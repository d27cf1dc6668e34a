// A SQLite database of the tables of `sonde query`, with indexes. Written
// without a journal under another name and moved in place when complete, so
// there is never half a database under the name asked for.

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <memory>

#include "base/fd.h"
#include "base/text.h"
#include "export/exporter.h"
#include "export/output.h"

namespace sonde {
namespace {

struct CloseDb {
  void operator()(sqlite3* db) const { sqlite3_close(db); }
};
struct Finalize {
  void operator()(sqlite3_stmt* s) const { sqlite3_finalize(s); }
};

constexpr const char* kIndexes =
    "CREATE INDEX slice_ts ON slice(ts);"
    "CREATE INDEX slice_track ON slice(track_id, ts);"
    "CREATE INDEX slice_name ON slice(name);"
    "CREATE INDEX instant_ts ON instant(ts);"
    "CREATE INDEX counter_series ON counter(series_id, ts);"
    "CREATE INDEX arg_set ON arg(set_id);"
    "CREATE INDEX thread_process ON thread(process_id);"
    "CREATE INDEX flow_from ON flow(from_slice);";

Error DbError(sqlite3* db, const std::string& path) {
  Error error{Error::Kind::kIo, path + ": " + sqlite3_errmsg(db)};
  if (sqlite3_errcode(db) == SQLITE_FULL)
    error.hint = "make room, or name another place with -o";
  return error;
}

// Text that SQLite can compare and measure: valid UTF-8 without NULs.
std::string_view Utf8(std::string_view text, std::string& scratch) {
  bool clean = true;
  for (const char c : text) clean &= c > 0;
  if (clean) return text;
  scratch.clear();
  while (!text.empty()) {
    const size_t length = text[0] == 0 ? 0 : Utf8Length(text);
    scratch += length == 0 ? "\xef\xbf\xbd" : text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return scratch;
}

// Puts rows into a table by its INSERT statement.
class SqliteRows : public RowSink {
 public:
  SqliteRows(sqlite3_stmt* statement, const std::atomic<bool>* cancelled)
      : statement_(statement), cancelled_(cancelled) {}

  void Columns(const std::vector<std::string>&) override {}
  bool Row(std::span<const SqlValue> cells) override {
    for (size_t i = 0; i < cells.size(); ++i)
      failed_ |= Bind(static_cast<int>(i + 1), cells[i]) != SQLITE_OK;
    if (!failed_ && sqlite3_step(statement_) != SQLITE_DONE) failed_ = true;
    sqlite3_reset(statement_);
    if (cancelled_ && cancelled_->load(std::memory_order_relaxed))
      failed_ = true;
    return !failed_;
  }

  bool failed() const { return failed_; }

 private:
  int Bind(int column, const SqlValue& cell) {
    switch (cell.type) {
      case SqlValue::Type::kInt:
        return sqlite3_bind_int64(statement_, column, cell.number);
      case SqlValue::Type::kReal:
        return sqlite3_bind_double(statement_, column, cell.real);
      case SqlValue::Type::kText: {
        const std::string_view text = Utf8(cell.text, scratch_);
        // The cell outlives the row, the scratch copy does not.
        return sqlite3_bind_text64(
            statement_, column, text.data(), text.size(),
            text.data() == scratch_.data() ? SQLITE_TRANSIENT : SQLITE_STATIC,
            SQLITE_UTF8);
      }
      default:
        return sqlite3_bind_null(statement_, column);
    }
  }

  sqlite3_stmt* statement_;
  const std::atomic<bool>* cancelled_;
  std::string scratch_;
  bool failed_ = false;
};

Status WriteDb(const Store& store, sqlite3* db, const ExportOptions& options,
               ExportSummary& summary) {
  const auto exec = [&](const std::string& sql) -> Status {
    if (sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
      return DbError(db, options.output);
    return Ok();
  };
  TRY_OK(
      exec("PRAGMA page_size=16384; PRAGMA journal_mode=OFF;"
           "PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE;"
           "PRAGMA cache_size=-16384; PRAGMA temp_store=FILE; BEGIN"));
  const auto interrupted = [&] {
    return Error{Error::Kind::kIo,
                 options.output + ": interrupted, nothing was kept"};
  };
  // For the indexes, which take long without a row.
  sqlite3_progress_handler(
      db, 100'000,
      [](void* cancelled) {
        return cancelled && *static_cast<const std::atomic<bool>*>(cancelled)
                   ? 1
                   : 0;
      },
      const_cast<std::atomic<bool>*>(options.cancelled));
  double done = 0;
  const std::vector<TableInfo> tables = ExportTables();
  for (const TableInfo& table : tables) {
    std::string columns, marks;
    for (const TableInfo::Column& column : table.columns) {
      if (!columns.empty()) columns += ", ", marks += ",";
      columns += fmt::format("\"{}\" {}", column.name, column.type);
      if (column.key) columns += " PRIMARY KEY";
      marks += "?";
    }
    TRY_OK(exec(fmt::format("CREATE TABLE {} ({})", table.name, columns)));
    sqlite3_stmt* raw = nullptr;
    if (sqlite3_prepare_v2(
            db,
            fmt::format("INSERT INTO {} VALUES ({})", table.name, marks)
                .c_str(),
            -1, &raw, nullptr) != SQLITE_OK)
      return DbError(db, options.output);
    const std::unique_ptr<sqlite3_stmt, Finalize> statement(raw);
    SqliteRows rows(raw, options.cancelled);
    TRY(const uint64_t count,
        ScanTable(store, table.name, rows, options.cancelled));
    if (options.cancelled && *options.cancelled) return interrupted();
    if (rows.failed()) return DbError(db, options.output);
    summary.Count(table.name, count);
    done += 1.0 / static_cast<double>(tables.size() + 1);
    if (options.progress) options.progress(done);
  }
  const Status indexed = exec(std::string(kIndexes) + "COMMIT");
  if (options.cancelled && *options.cancelled) return interrupted();
  return indexed;
}

}  // namespace

Result<ExportSummary> ExportSqlite(const Store& store,
                                   const ExportOptions& options) {
  if (options.output == "-")
    return Error{Error::Kind::kUsage,
                 "sqlite: a database cannot be written to a pipe",
                 "name a file with -o"};
  TRY_OK(CheckReplace(options.output, options.force));
  const std::string partial = PartialName(options.output);
  // Ours alone before SQLite opens it.
  Fd fd(::open(partial.c_str(),
               O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd.valid()) return ErrnoError(options.output, errno);
  fd.Reset();
  ExportSummary summary;
  sqlite3* raw = nullptr;
  const int code =
      sqlite3_open_v2(partial.c_str(), &raw, SQLITE_OPEN_READWRITE, nullptr);
  std::unique_ptr<sqlite3, CloseDb> db(raw);
  Status status = code == SQLITE_OK ? WriteDb(store, raw, options, summary)
                                    : Status(DbError(raw, options.output));
  db.reset();
  struct stat info;
  if (status.ok() && ::stat(partial.c_str(), &info) == 0)
    summary.bytes = static_cast<uint64_t>(info.st_size);
  if (status.ok()) status = MoveInPlace(partial, options.output, options.force);
  if (!status.ok()) {
    ::unlink(partial.c_str());
    return status.error();
  }
  return summary;
}

}  // namespace sonde
