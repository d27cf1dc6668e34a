// How a table of the store is shown to SQLite. A table says which conditions on
// which columns it can use; one piece of code (sql_module.cc) speaks SQLite's
// protocol for all of them; the store's own are listed in sql_tables.cc, and a
// higher room gives its tables to Database::Open().

#ifndef SONDE_STORE_SQL_TABLE_H_
#define SONDE_STORE_SQL_TABLE_H_

#include <sqlite3.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/time.h"
#include "store/sql_value.h"
#include "store/store.h"

namespace sonde {

// What a table can do with a column. Conditions are a help, not a promise:
// SQLite checks every row again, so a table may give rows too many.
enum SqlColumnUse : uint8_t {
  kUseEqual = 1,  // = on this column saves work
  kUseRange = 2,  // so does < <= > >=
  kUseOrder = 4,  // rows come in ascending order of it
  kUseOrderIfEq =
      8,           // they do once the table's first kUseEqual column is fixed
  kUseGroup = 16,  // rows can be had with equal values together, in order
  kUseParameter = 32,  // hidden: a parameter of a table function
  kUseKey = 64         // no two rows have the same
};

// A column, and what SQLite may leave to the table; `use` of SqlColumnUse.
struct SqlColumn {
  const char* name;
  const char* type;
  uint8_t use = 0;
};

// When a query must have ended. Long loops ask it once a chunk.
struct SqlDeadline {
  int64_t at_ns = INT64_MAX;
  const std::atomic<bool>* cancelled = nullptr;  // or null
  bool passed() const {
    return (cancelled != nullptr && *cancelled) || NowNs() > at_ns;
  }
};

// What one scan of a table is asked for.
struct SqlRequest {
  struct Condition {
    int column;
    int op;  // SQLITE_INDEX_CONSTRAINT_EQ, _GT, _LE, _LT, _GE
    sqlite3_value* value;
  };

  std::vector<Condition> conditions;
  uint64_t columns_used = ~uint64_t{0};  // bit 63: column 63 and later
  int group_by = -1;                     // a kUseGroup column, or -1
  bool descending = false;               // of the groups
  bool once = false;                     // one row of each group is enough
  const SqlDeadline* deadline = nullptr;

  // True, with a word on it, if the query must have ended.
  bool Late(std::string& error) const {
    if (!deadline || !deadline->passed()) return false;
    error = "out of time";
    return true;
  }
  bool Uses(int column) const {
    return (columns_used >> (column < 63 ? column : 63) & 1) != 0;
  }
  // The value a column must be equal to, if there is such a condition on a
  // whole number. A parameter that is absent or NULL gives nothing.
  std::optional<int64_t> Equal(int column) const;
  // The same for text. A view into SQLite's value.
  std::optional<std::string_view> EqualText(int column) const;
  // The tightest window the conditions allow; it may be a little too wide.
  TimeRange Range(int column) const;
};

// One scan. Next() comes before the first row. Column() and Id() are about the
// row Next() went to.
class SqlRows {
 public:
  virtual ~SqlRows() = default;
  // SQLITE_ROW, SQLITE_DONE or an error (SQLITE_INTERRUPT: out of time).
  virtual int Next() = 0;
  virtual SqlValue Column(int column) = 0;
  virtual int64_t Id() = 0;
};

using SqlOpen = std::unique_ptr<SqlRows>(const Store&, const SqlRequest&,
                                         std::string&);

// A table or table function as SQLite sees it.
struct SqlTable {
  const char* name;
  const char* what;  // one line
  std::span<const SqlColumn> columns;
  // About how many rows there are.
  double (*size)(const Store& store);
  // Null with a message in `error` if the parameters make no sense.
  std::function<SqlOpen> open;
};

// Every table and table function of the store.
std::span<const SqlTable> SqlTables();

// Makes `table` readable in `db`. The three must live as long as `db`.
int RegisterTable(sqlite3* db, const SqlTable& table, const Store& store,
                  const SqlDeadline& deadline);

// A scan of few rows: `next` fills in the cells of the next row and returns
// false behind the last. Views in cells must hold until the row after.
std::unique_ptr<SqlRows> ListRows(
    std::function<bool(std::vector<SqlValue>&)> next);

// The same for rows that are there already: `fill` makes the cells of one. All
// scans of a table may share them: a query can open any number.
template <typename Rows, typename Fill>
std::unique_ptr<SqlRows> SharedRows(std::shared_ptr<const Rows> kept,
                                    Fill fill) {
  return ListRows(
      [kept, at = kept->begin(), fill](std::vector<SqlValue>& row) mutable {
        if (at == kept->end()) return false;
        row = fill(*at++);
        return true;
      });
}
// Rows of this scan alone.
template <typename Rows, typename Fill>
std::unique_ptr<SqlRows> RowsOf(Rows rows, Fill fill) {
  return SharedRows(std::make_shared<const Rows>(std::move(rows)), fill);
}
// Rows that live as long as the database.
template <typename Rows, typename Fill>
std::unique_ptr<SqlRows> RowsIn(const Rows& rows, Fill fill) {
  return SharedRows(std::shared_ptr<const Rows>(std::shared_ptr<void>(), &rows),
                    fill);
}

// NULL for `none`, else the number.
inline SqlValue IdOrNull(uint64_t id) {
  return id == 0 ? SqlValue() : SqlValue(static_cast<int64_t>(id));
}
inline SqlValue TimeOrNull(int64_t ns) {
  return ns == kNoTime ? SqlValue() : SqlValue(ns);
}
inline SqlValue TextOrNull(const Store& store, uint32_t id) {
  return id == 0 ? SqlValue() : SqlValue(store.Str(id), true);
}

// Sums in a damaged trace may be beyond what SQL can count.
inline int64_t Clamped(uint64_t v) {
  return v > INT64_MAX ? INT64_MAX : static_cast<int64_t>(v);
}

// A table for each plain kind of row (trace/fields.h), with a column for each
// field.
std::vector<SqlTable> PlainRowTables();

// Openers of the other tables, for sql_tables.cc.
SqlOpen OpenSlices, OpenInstants, OpenCounters;              // events
SqlOpen OpenSeries, OpenThreads, OpenProcesses, OpenTracks;  // small tables
SqlOpen OpenSamples, OpenNotCollected, OpenStacks, OpenArgs, OpenLosses,
    OpenRun, OpenClocks, OpenFlows;
SqlOpen OpenTopOps, OpenPixels, OpenIdleGaps, OpenSeriesStats;  // functions

}  // namespace sonde

#endif  // SONDE_STORE_SQL_TABLE_H_
