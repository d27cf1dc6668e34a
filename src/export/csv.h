#ifndef SONDE_EXPORT_CSV_H_
#define SONDE_EXPORT_CSV_H_

#include <string>
#include <string_view>

#include "export/output.h"
#include "store/sql.h"

namespace sonde {

// Rows as CSV after RFC 4180, but lines end with a line feed alone. NULL is an
// empty cell, the empty string is "".
//
// A spreadsheet runs a cell that begins with = + - @, a tab or a carriage
// return as a formula; such text gets an apostrophe in front. What a terminal
// would obey, and bytes that are not UTF-8, become \xNN. docs/formats/csv.md.
class CsvRows : public RowSink {
 public:
  explicit CsvRows(Output& out) : out_(out) {}

  void Columns(const std::vector<std::string>& names) override;
  bool Row(std::span<const SqlValue> cells) override;

 private:
  void Text(std::string_view text);

  Output& out_;
  std::string safe_;
};

}  // namespace sonde

#endif  // SONDE_EXPORT_CSV_H_
