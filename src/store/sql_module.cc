// Speaks SQLite's virtual table protocol for every SqlTable. A plan goes from
// xBestIndex to xFilter as text:
// "used;group;descending;once;column:op,column:op,".

#include <cmath>
#include <cstdlib>
#include <cstring>

#include "store/sql_table.h"
#include "store/stop.h"

namespace sonde {
namespace {

struct Binding {
  const SqlTable* table;
  const Store* store;
  const SqlDeadline* deadline;
};

struct Vtab : sqlite3_vtab {
  Binding binding;
};

struct Cursor : sqlite3_vtab_cursor {
  std::unique_ptr<SqlRows> rows;
  bool at_end = true;
};

Cursor* Of(sqlite3_vtab_cursor* cursor) { return static_cast<Cursor*>(cursor); }

int Connect(sqlite3* db, void* aux, int, const char* const*, sqlite3_vtab** out,
            char**) {
  const Binding& binding = *static_cast<const Binding*>(aux);
  std::string sql = "CREATE TABLE x(";
  for (const SqlColumn& column : binding.table->columns) {
    if (sql.back() != '(') sql += ", ";
    sql += std::string(column.name) + " " + column.type;
    if (column.use & kUseParameter) sql += " HIDDEN";
  }
  sql += ")";
  const int rc = sqlite3_declare_vtab(db, sql.c_str());
  if (rc != SQLITE_OK) return rc;
  sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);
  auto* vtab = new Vtab();
  vtab->binding = binding;
  *out = vtab;
  return SQLITE_OK;
}

int Disconnect(sqlite3_vtab* vtab) {
  delete static_cast<Vtab*>(vtab);
  return SQLITE_OK;
}

bool IsRange(int op) {
  return op == SQLITE_INDEX_CONSTRAINT_GT || op == SQLITE_INDEX_CONSTRAINT_GE ||
         op == SQLITE_INDEX_CONSTRAINT_LT || op == SQLITE_INDEX_CONSTRAINT_LE;
}

// Chooses order or grouping if the query wants one that costs nothing.
void PlanOrder(const SqlTable& table, bool first_fixed,
               sqlite3_index_info* info, int* group_by) {
  if (info->nOrderBy != 1 || info->aOrderBy[0].iColumn < 0) return;
  const int column = info->aOrderBy[0].iColumn;
  const uint8_t use = table.columns[static_cast<size_t>(column)].use;
  if (use & kUseGroup) {
    // Groups come in the order of the names, which serves GROUP BY, DISTINCT
    // and ORDER BY alike.
    *group_by = column;
    info->orderByConsumed = 1;
    return;
  }
  if (info->aOrderBy[0].desc) return;
  if ((use & kUseOrder) || ((use & kUseOrderIfEq) && first_fixed))
    info->orderByConsumed = 1;
}

// DISTINCT over nothing but the column that is grouped by.
bool OneIsEnough(sqlite3_index_info* info, int group_by) {
  return group_by >= 0 && sqlite3_vtab_distinct(info) >= 2 &&
         info->colUsed == uint64_t{1} << group_by;
}

int BestIndex(sqlite3_vtab* vtab, sqlite3_index_info* info) {
  const Binding& binding = static_cast<Vtab*>(vtab)->binding;
  const SqlTable& table = *binding.table;
  std::string conditions;
  int arguments = 0;
  bool first_fixed = false;
  double rows = std::max(1.0, table.size(*binding.store));
  for (int i = 0; i < info->nConstraint; ++i) {
    const auto& constraint = info->aConstraint[i];
    if (constraint.iColumn < 0) continue;
    const uint8_t use =
        table.columns[static_cast<size_t>(constraint.iColumn)].use;
    const bool equal = constraint.op == SQLITE_INDEX_CONSTRAINT_EQ;
    if ((use & kUseParameter) && equal && !constraint.usable)
      return SQLITE_CONSTRAINT;  // another order of the joins has the value
    if (!constraint.usable) continue;
    if (!(equal && (use & (kUseEqual | kUseParameter))) &&
        !(IsRange(constraint.op) && (use & kUseRange)))
      continue;
    auto& usage = info->aConstraintUsage[i];
    usage.argvIndex = ++arguments;
    usage.omit = (use & kUseParameter) != 0;
    conditions += std::to_string(constraint.iColumn) + ":" +
                  std::to_string(constraint.op) + ",";
    if (use & kUseParameter) continue;
    if (equal && constraint.iColumn == 0) {
      rows = 1;
    } else {
      rows = std::max(1.0, rows / (equal ? 16 : 3));
    }
    first_fixed |= equal && constraint.iColumn == 0;
  }
  int group_by = -1;
  PlanOrder(table, first_fixed, info, &group_by);
  info->estimatedRows = static_cast<sqlite3_int64>(std::min(rows, 1e15));
  // What a scan costs even if nothing is found.
  info->estimatedCost = rows + 10;
  info->idxStr = sqlite3_mprintf(
      "%llx;%d;%d;%d;%s", static_cast<unsigned long long>(info->colUsed),
      group_by, group_by >= 0 && info->aOrderBy[0].desc ? 1 : 0,
      OneIsEnough(info, group_by) ? 1 : 0, conditions.c_str());
  if (!info->idxStr) return SQLITE_NOMEM;
  info->needToFreeIdxStr = 1;
  return SQLITE_OK;
}

int Open(sqlite3_vtab*, sqlite3_vtab_cursor** out) {
  *out = new Cursor();
  return SQLITE_OK;
}

int Close(sqlite3_vtab_cursor* cursor) {
  delete Of(cursor);
  return SQLITE_OK;
}

int Next(sqlite3_vtab_cursor* cursor) {
  const int rc = Of(cursor)->rows->Next();
  Of(cursor)->at_end = rc != SQLITE_ROW;
  return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

int Filter(sqlite3_vtab_cursor* cursor, int, const char* plan, int argc,
           sqlite3_value** argv) {
  const Binding& binding = static_cast<Vtab*>(cursor->pVtab)->binding;
  SqlRequest request;
  request.deadline = binding.deadline;
  char* at = nullptr;
  request.columns_used = std::strtoull(plan, &at, 16);
  request.group_by = static_cast<int>(std::strtol(at + 1, &at, 10));
  request.descending = std::strtol(at + 1, &at, 10) != 0;
  request.once = std::strtol(at + 1, &at, 10) != 0;
  ++at;
  for (int i = 0; i < argc; ++i) {
    SqlRequest::Condition condition;
    condition.column = static_cast<int>(std::strtol(at, &at, 10));
    condition.op = static_cast<int>(std::strtol(at + 1, &at, 10));
    ++at;
    condition.value = argv[i];
    request.conditions.push_back(condition);
    // Nothing is equal to NULL, greater or less: no need to look. A join on an
    // id that most rows do not have would go through the table for each.
    const SqlColumn& column =
        binding.table->columns[static_cast<size_t>(condition.column)];
    if (!(column.use & kUseParameter) &&
        sqlite3_value_type(condition.value) == SQLITE_NULL) {
      Of(cursor)->rows.reset();
      Of(cursor)->at_end = true;
      return SQLITE_OK;
    }
  }
  std::string error;
  const StopScope stop(binding.deadline->at_ns);
  Of(cursor)->rows = binding.table->open(*binding.store, request, error);
  if (!Of(cursor)->rows) {
    sqlite3_free(cursor->pVtab->zErrMsg);
    cursor->pVtab->zErrMsg =
        sqlite3_mprintf("%s: %s", binding.table->name, error.c_str());
    return SQLITE_ERROR;
  }
  return Next(cursor);
}

int Eof(sqlite3_vtab_cursor* cursor) { return Of(cursor)->at_end; }

int Column(sqlite3_vtab_cursor* cursor, sqlite3_context* out, int column) {
  const SqlValue cell = Of(cursor)->rows->Column(column);
  switch (cell.type) {
    case SqlValue::Type::kInt:
      sqlite3_result_int64(out, cell.number);
      break;
    case SqlValue::Type::kReal:
      sqlite3_result_double(out, cell.real);
      break;
    case SqlValue::Type::kText:
      sqlite3_result_text64(out, cell.text.data(), cell.text.size(),
                            cell.lasting ? SQLITE_STATIC : SQLITE_TRANSIENT,
                            SQLITE_UTF8);
      break;
    default:
      break;
  }
  return SQLITE_OK;
}

int RowId(sqlite3_vtab_cursor* cursor, sqlite3_int64* id) {
  *id = Of(cursor)->rows->Id();
  return SQLITE_OK;
}

constexpr sqlite3_module kSqliteModule = [] {
  sqlite3_module module = {};
  // Without xCreate a table is just there and cannot be created or dropped.
  module.xConnect = &Connect;
  module.xBestIndex = &BestIndex;
  module.xDisconnect = &Disconnect;
  module.xOpen = &Open;
  module.xClose = &Close;
  module.xFilter = &Filter;
  module.xNext = &Next;
  module.xEof = &Eof;
  module.xColumn = &Column;
  module.xRowid = &RowId;
  return module;
}();

// Rows that `next` makes one after the other.
class ListOfRows : public SqlRows {
 public:
  explicit ListOfRows(std::function<bool(std::vector<SqlValue>&)> next)
      : next_(std::move(next)) {}

  int Next() override {
    cells_.clear();
    return next_(cells_) ? SQLITE_ROW : SQLITE_DONE;
  }
  SqlValue Column(int column) override {
    const size_t at = static_cast<size_t>(column);
    return at < cells_.size() ? cells_[at] : SqlValue();  // NULL: a parameter
  }
  // Of what the row says, so that it is the same in every scan, whatever that
  // looks for: SQLite tells rows apart by it.
  int64_t Id() override {
    uint64_t id = 0;
    const auto mix = [&](size_t value) {
      id = (id ^ value) * 0x9e3779b97f4a7c15;
      id ^= id >> 29;
    };
    for (const SqlValue& cell : cells_) {
      mix(static_cast<size_t>(cell.type));
      mix(static_cast<size_t>(cell.number));
      mix(std::hash<double>()(cell.real));
      mix(std::hash<std::string_view>()(cell.text));
    }
    return static_cast<int64_t>(id);
  }

 private:
  std::function<bool(std::vector<SqlValue>&)> next_;
  std::vector<SqlValue> cells_;
};

}  // namespace

std::unique_ptr<SqlRows> ListRows(
    std::function<bool(std::vector<SqlValue>&)> next) {
  return std::make_unique<ListOfRows>(std::move(next));
}

std::optional<int64_t> SqlRequest::Equal(int column) const {
  for (const Condition& c : conditions)
    if (c.column == column && c.op == SQLITE_INDEX_CONSTRAINT_EQ) {
      if (sqlite3_value_type(c.value) == SQLITE_INTEGER)
        return sqlite3_value_int64(c.value);
      if (sqlite3_value_type(c.value) == SQLITE_FLOAT) {
        const double v = sqlite3_value_double(c.value);
        if (v == std::floor(v) && std::fabs(v) < 9e18)
          return static_cast<int64_t>(v);
      }
    }
  return std::nullopt;
}

std::optional<std::string_view> SqlRequest::EqualText(int column) const {
  for (const Condition& c : conditions)
    if (c.column == column && c.op == SQLITE_INDEX_CONSTRAINT_EQ &&
        sqlite3_value_type(c.value) == SQLITE_TEXT) {
      const auto* text =
          reinterpret_cast<const char*>(sqlite3_value_text(c.value));
      if (text)
        return std::string_view(
            text, static_cast<size_t>(sqlite3_value_bytes(c.value)));
    }
  return std::nullopt;
}

TimeRange SqlRequest::Range(int column) const {
  TimeRange range;
  for (const Condition& c : conditions) {
    if (c.column != column) continue;
    const int type = sqlite3_value_type(c.value);
    if (type != SQLITE_INTEGER && type != SQLITE_FLOAT) continue;
    int64_t low = 0, high = 0;  // whole numbers around the value
    if (type == SQLITE_INTEGER) {
      low = high = sqlite3_value_int64(c.value);
    } else {
      const double v = sqlite3_value_double(c.value);
      if (!(std::fabs(v) < 9e18)) continue;
      low = static_cast<int64_t>(std::floor(v));
      high = static_cast<int64_t>(std::ceil(v));
    }
    const int64_t behind = high == INT64_MAX ? high : high + 1;
    const bool equal = c.op == SQLITE_INDEX_CONSTRAINT_EQ;
    if (equal || c.op == SQLITE_INDEX_CONSTRAINT_GT ||
        c.op == SQLITE_INDEX_CONSTRAINT_GE)
      range.begin_ns = std::max(range.begin_ns, low);
    if (equal || c.op == SQLITE_INDEX_CONSTRAINT_LT ||
        c.op == SQLITE_INDEX_CONSTRAINT_LE)
      range.end_ns = std::min(range.end_ns, behind);
  }
  return range;
}

int RegisterTable(sqlite3* db, const SqlTable& table, const Store& store,
                  const SqlDeadline& deadline) {
  return sqlite3_create_module_v2(
      db, table.name, &kSqliteModule, new Binding{&table, &store, &deadline},
      [](void* binding) { delete static_cast<Binding*>(binding); });
}

}  // namespace sonde
