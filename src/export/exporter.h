// What turns a trace into a file of another tool. One file per format; the list
// is export/exporters.cc, the pages are docs/formats/NAME.md.

#ifndef SONDE_EXPORT_EXPORTER_H_
#define SONDE_EXPORT_EXPORTER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "store/sql.h"
#include "store/store.h"

namespace sonde {

// What the user asked for.
struct ExportOptions {
  std::string output;  // a path, or "-" for the standard output
  std::string table;   // one table only, for the formats that have tables
  bool force = false;  // replace what is there
  // Set from a signal handler: the export ends with an error and cleans up.
  const std::atomic<bool>* cancelled = nullptr;
  // Called now and then with the share that is done, if set.
  std::function<void(double)> progress;
};

// What was written.
struct ExportSummary {
  uint64_t slices = 0;
  uint64_t instants = 0;
  uint64_t counter_values = 0;
  uint64_t samples = 0;  // of stacks
  uint64_t bytes = 0;
  std::string missing;  // what this machine could not write, and what helps

  // Takes note of the rows of a table.
  void Count(std::string_view table, uint64_t rows) {
    if (table == "slice") slices = rows;
    if (table == "instant") instants = rows;
    if (table == "counter") counter_values = rows;
  }
};

// One format of `sonde export --to NAME`.
//
// run() either writes the whole output or leaves nothing new behind: a file
// appears under its name when it is complete. Damage found while reading is in
// the store's losses and, where the format has a place for it, in the output.
struct ExportFormat {
  const char* name;
  const char* summary;    // one line, for the help
  const char* extension;  // of the default output, put behind the trace's name
  bool has_tables;        // ExportOptions::table means something
  Result<ExportSummary> (*run)(const Store& store,
                               const ExportOptions& options);
};

std::span<const ExportFormat> ExportFormats();
// Null if there is no format of that name.
const ExportFormat* FindExportFormat(std::string_view name);

// The tables that formats with tables write: the tables of `sonde query`,
// without the functions.
std::vector<TableInfo> ExportTables();

}  // namespace sonde

#endif  // SONDE_EXPORT_EXPORTER_H_
