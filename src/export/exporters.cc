#include "export/exporter.h"

namespace sonde {

// Each is the end of a file of this folder.
using Export = Result<ExportSummary>(const Store&, const ExportOptions&);
Export ExportChrome, ExportCsv, ExportFirefox, ExportFlame, ExportFolded,
    ExportPai, ExportPprof, ExportSpeedscope, ExportSqlite, ExportText;

std::span<const ExportFormat> ExportFormats() {
  static constexpr ExportFormat kFormats[] = {
      {"chrome", "JSON for Perfetto, chrome://tracing and speedscope", ".json",
       false, ExportChrome},
      {"csv", "a directory of CSV files, or one of them by --table", "-csv",
       true, ExportCsv},
      {"firefox", "samples for the Firefox Profiler", ".firefox.json", false,
       ExportFirefox},
      {"flame", "a picture of the CPU time by stack, in SVG", ".svg", false,
       ExportFlame},
      {"folded", "stacks with their time, for flame graphs", ".folded", false,
       ExportFolded},
      {"pai", "what OpenPAI's profiler writes: CSV, advice, pictures", "-pai",
       false, ExportPai},
      {"pprof", "stacks with their time, for pprof", ".pb.gz", false,
       ExportPprof},
      {"speedscope", "samples for speedscope", ".speedscope.json", false,
       ExportSpeedscope},
      {"sqlite", "a database with the tables of `sonde query`", ".db", false,
       ExportSqlite},
      {"text", "the text form, for people, diffs and tests", ".txt", false,
       ExportText},
  };
  return kFormats;
}

const ExportFormat* FindExportFormat(std::string_view name) {
  for (const ExportFormat& format : ExportFormats())
    if (name == format.name) return &format;
  return nullptr;
}

std::vector<TableInfo> ExportTables() {
  std::vector<TableInfo> tables = Tables();
  std::erase_if(tables, [](const TableInfo& table) { return table.function; });
  return tables;
}

}  // namespace sonde
