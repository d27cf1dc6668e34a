// The tables of a trace, row by row, for the formats that have tables. Names
// and columns are those of `sonde query`; docs/formats/sqlite.md lists them.

#ifndef SONDE_EXPORT_TABLES_H_
#define SONDE_EXPORT_TABLES_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "export/exporter.h"
#include "store/store.h"

namespace sonde {

// Takes the cells of a table from left to right. Text is as it stands in the
// trace: any bytes.
class TableSink {
 public:
  virtual ~TableSink() = default;
  virtual void Null() = 0;
  virtual void Int(int64_t value) = 0;
  virtual void Real(double value) = 0;
  virtual void Text(std::string_view text) = 0;
  // False: stop, nothing more can be written.
  virtual bool EndRow() = 0;

  // What is 0, empty or not known stays empty in the table.
  void Id(uint64_t id) { id == 0 ? Null() : Int(static_cast<int64_t>(id)); }
  void Time(int64_t ns) { ns == kNoTime ? Null() : Int(ns); }
  void Name(std::string_view text) { text.empty() ? Null() : Text(text); }
};

// A column as other programs see it.
struct TableColumn {
  const char* name;
  const char* type;  // as in SQL: INTEGER, REAL, TEXT, or "" for any
};

// One table. `rows` gives all of it to the sink; slice, instant and counter are
// read chunk by chunk.
struct ExportTable {
  const char* name;
  std::span<const TableColumn> columns;
  void (*rows)(const Store& store, TableSink& sink);
};

// `loss` comes last: reading the others may find damage.
std::span<const ExportTable> ExportTables();
// Null if there is none of that name.
const ExportTable* FindExportTable(std::string_view name);

}  // namespace sonde

#endif  // SONDE_EXPORT_TABLES_H_
