// CSV after RFC 4180: CRLF is not used, quotes are doubled. NULL is an empty
// cell, the empty string is "".
//
// A spreadsheet runs a cell that begins with = + - @, a tab or a carriage
// return as a formula; such text gets an apostrophe in front. What a terminal
// would obey, and bytes that are not UTF-8, become \xNN. docs/formats/csv.md.

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>

#include "base/fd.h"
#include "base/text.h"
#include "export/exporter.h"
#include "export/output.h"
#include "export/tables.h"

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

class CsvSink : public TableSink {
 public:
  explicit CsvSink(Output& out) : out_(out) {}

  void Header(const ExportTable& table) {
    for (const TableColumn& column : table.columns) {
      Separate();
      out_.Text(column.name);
    }
    EndRow();
    rows_ = 0;
  }

  void Null() override { Separate(); }
  void Int(int64_t value) override {
    Separate();
    char* at = out_.Room(24);
    out_.Advance(std::to_chars(at, at + 24, value).ptr);
  }
  void Real(double value) override {
    Separate();
    if (!std::isfinite(value)) return;
    char* at = out_.Room(40);
    out_.Advance(std::to_chars(at, at + 40, value).ptr);
  }
  void Text(std::string_view text) override {
    Separate();
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
  bool EndRow() override {
    out_.Text("\n");
    first_ = true;
    ++rows_;
    return !out_.failed();
  }

  uint64_t rows() const { return rows_; }

 private:
  void Separate() {
    if (!first_) out_.Text(",");
    first_ = false;
  }

  Output& out_;
  std::string safe_;
  bool first_ = true;
  uint64_t rows_ = 0;
};

Status WriteTable(const Store& store, const ExportTable& table,
                  const std::string& path, const ExportOptions& options,
                  ExportSummary& summary) {
  TRY(auto out, Output::Create(path, options));
  CsvSink sink(*out);
  sink.Header(table);
  table.rows(store, sink);
  const std::string_view name = table.name;
  if (name == "slice") summary.slices = sink.rows();
  if (name == "instant") summary.instants = sink.rows();
  if (name == "counter") summary.counter_values = sink.rows();
  summary.bytes += out->bytes();
  return out->Commit();
}

Status CheckDirectory(const std::string& path, const ExportOptions& options) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0) return Ok();
  if (!S_ISDIR(info.st_mode))
    return Error{Error::Kind::kUsage, path + ": is not a directory",
                 "csv writes a directory; --table NAME writes one file"};
  if (!options.force)
    return Error{Error::Kind::kUsage, path + ": exists already",
                 "--force replaces the files in it, -o names another"};
  return Ok();
}

}  // namespace

Result<ExportSummary> ExportCsv(const Store& store,
                                const ExportOptions& options) {
  ExportSummary summary;
  if (!options.table.empty()) {
    const ExportTable* table = FindExportTable(options.table);
    if (!table)
      return Error{Error::Kind::kUsage,
                   "no table called '" + options.table + "'",
                   "`sonde export --help` lists them"};
    TRY_OK(WriteTable(store, *table, options.output, options, summary));
    return summary;
  }
  if (options.output == "-")
    return Error{Error::Kind::kUsage,
                 "csv: several tables do not fit one output",
                 "--table NAME chooses one"};
  TRY_OK(CheckDirectory(options.output, options));
  const bool made = ::mkdir(options.output.c_str(), 0700) == 0;
  if (!made && errno != EEXIST) return ErrnoError(options.output, errno);
  std::vector<std::string> written;
  double done = 0;
  for (const ExportTable& table : ExportTables()) {
    const std::string path = options.output + "/" + table.name + ".csv";
    const Status status = WriteTable(store, table, path, options, summary);
    if (!status.ok()) {
      for (const std::string& file : written) ::unlink(file.c_str());
      if (made) ::rmdir(options.output.c_str());
      return status.error();
    }
    written.push_back(path);
    done += 1.0 / static_cast<double>(ExportTables().size());
    if (options.progress) options.progress(done);
  }
  return summary;
}

}  // namespace sonde
