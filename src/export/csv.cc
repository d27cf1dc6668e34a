#include "export/csv.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>

#include "base/fd.h"
#include "base/text.h"
#include "export/exporter.h"

namespace sonde {
namespace {

// `text` without what a terminal would obey; line ends and tabs are kept.
void AppendSafe(std::string_view text, std::string& out) {
  while (!text.empty()) {
    const size_t stop = text.find_first_of("\n\r\t");
    const std::string_view part = text.substr(0, stop);
    out += Printable(part, part.size());
    if (stop == std::string_view::npos) return;
    out += text[stop];
    text.remove_prefix(stop + 1);
  }
}

}  // namespace

void CsvRows::Columns(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (&name != &names.front()) out_.Text(",");
    Text(name);
  }
  out_.Text("\n");
}

bool CsvRows::Row(std::span<const SqlValue> cells) {
  for (const SqlValue& cell : cells) {
    if (&cell != &cells.front()) out_.Text(",");
    char* at = out_.Room(40);
    switch (cell.type) {
      case SqlValue::Type::kNull:
        break;
      case SqlValue::Type::kInt:
        out_.Advance(std::to_chars(at, at + 40, cell.number).ptr);
        break;
      case SqlValue::Type::kReal:
        if (std::isfinite(cell.real))
          out_.Advance(std::to_chars(at, at + 40, cell.real).ptr);
        break;
      case SqlValue::Type::kText:
        Text(cell.text);
        break;
      case SqlValue::Type::kBlob:
        for (const char c : cell.text)
          out_.Text(fmt::format("{:02x}", static_cast<unsigned char>(c)));
        break;
    }
  }
  out_.Text("\n");
  return !out_.failed();
}

void CsvRows::Text(std::string_view text) {
  safe_.clear();
  if (std::all_of(text.begin(), text.end(),
                  [](char c) { return c >= 0x20 && c < 0x7f; }))
    safe_ = text;
  else
    AppendSafe(text, safe_);
  const bool formula =
      !safe_.empty() &&
      std::string_view("=+-@\t\r").find(safe_[0]) != std::string_view::npos;
  if (!safe_.empty() && !formula &&
      safe_.find_first_of(",\"\r\n") == std::string::npos) {
    out_.Text(safe_);
    return;
  }
  out_.Text(formula ? "\"'" : "\"");
  for (size_t from = 0;;) {
    const size_t quote = safe_.find('"', from);
    out_.Text(std::string_view(safe_).substr(
        from, quote == std::string::npos ? quote : quote - from + 1));
    out_.Text("\"");
    if (quote == std::string::npos) break;
    from = quote + 1;
  }
}

namespace {

Status WriteTable(const Store& store, const std::string& table,
                  const std::string& path, const ExportOptions& options,
                  ExportSummary& summary) {
  TRY(auto out, Output::Create(path, options));
  CsvRows rows(*out);
  TRY(const uint64_t count, ScanTable(store, table, rows, options.cancelled));
  summary.Count(table, count);
  summary.bytes += out->bytes();
  return out->Commit();
}

}  // namespace

Result<ExportSummary> ExportCsv(const Store& store,
                                const ExportOptions& options) {
  ExportSummary summary;
  if (!options.table.empty()) {
    TRY_OK(WriteTable(store, options.table, options.output, options, summary));
    return summary;
  }
  if (options.output == "-")
    return Error{Error::Kind::kUsage,
                 "csv: several tables do not fit one output",
                 "--table NAME chooses one"};
  TRY_OK(CheckDirectory(options.output, options.force, "csv"));
  const bool made = ::mkdir(options.output.c_str(), 0700) == 0;
  if (!made && errno != EEXIST) return ErrnoError(options.output, errno);
  std::vector<std::string> written;
  double done = 0;
  const std::vector<TableInfo> tables = ExportTables();
  for (const TableInfo& table : tables) {
    const std::string path = options.output + "/" + table.name + ".csv";
    const Status status = WriteTable(store, table.name, path, options, summary);
    if (!status.ok()) {
      for (const std::string& file : written) ::unlink(file.c_str());
      if (made) ::rmdir(options.output.c_str());
      return status.error();
    }
    written.push_back(path);
    done += 1.0 / static_cast<double>(tables.size());
    if (options.progress) options.progress(done);
  }
  return summary;
}

}  // namespace sonde
