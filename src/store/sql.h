#ifndef SONDE_STORE_SQL_H_
#define SONDE_STORE_SQL_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/sql_value.h"
#include "store/store.h"

namespace sonde {

// Takes rows as they are found.
class RowSink {
 public:
  virtual ~RowSink() = default;
  virtual void Columns(const std::vector<std::string>& names) = 0;
  // False: that is enough.
  virtual bool Row(std::span<const SqlValue> cells) = 0;
};

// How much a query may cost.
struct QueryLimits {
  int64_t timeout_ns = 30'000'000'000;
  uint64_t max_rows = 1'000'000;
};

// How much of a query's answer was given.
struct QuerySummary {
  enum class Cut { kNo, kRows, kTime };  // by which limit

  uint64_t rows = 0;  // given to the sink
  Cut cut = Cut::kNo;
};

// A table as `sonde query --tables` shows it.
struct TableInfo {
  struct Column {
    std::string name;
    std::string type;
    bool key = false;        // each row has another value
    bool parameter = false;  // of a table function, in this order
  };
  std::string name;
  std::string what;
  std::vector<Column> columns;
  bool function = false;
};

struct SqlTable;  // store/sql_table.h

// Every table and table function of the store. `loss` stands behind the tables
// whose reading may find damage.
std::vector<TableInfo> Tables();
// The same of tables that a higher room has.
std::vector<TableInfo> Tables(std::span<const SqlTable> tables);

// Gives `sink` a whole table: the rows of SELECT * in the same order, several
// times faster. How many there were; fewer if `cancelled` was set meanwhile.
Result<uint64_t> ScanTable(const Store& store, std::string_view table,
                           RowSink& sink,
                           const std::atomic<bool>* cancelled = nullptr);

// SQL over the tables of a store, without loading them: SQLite reads them where
// they are.
//
//  - Only SELECT. Nothing can be written, attached, loaded or configured.
//  - A query ends at its limits, with QuerySummary::cut. The rows found by then
//    have been given.
//  - A damaged chunk gives no rows; Store::losses() has it afterwards.
//
// One thread at a time.
class Database {
 public:
  static Result<std::unique_ptr<Database>> Open(
      std::shared_ptr<const Store> store);
  // With tables of a higher room, of which it keeps a copy, besides.
  static Result<std::unique_ptr<Database>> Open(
      std::shared_ptr<const Store> store, std::span<const SqlTable> more);
  ~Database();

  Result<QuerySummary> Query(const std::string& sql, const QueryLimits& limits,
                             RowSink& sink);

 private:
  struct State;
  explicit Database(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace sonde

#endif  // SONDE_STORE_SQL_H_
