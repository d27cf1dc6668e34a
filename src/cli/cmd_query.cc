// `sonde query`: SQL over a trace.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "analyze/verdict/finding_tables.h"
#include "base/shell_word.h"
#include "base/text.h"
#include "base/time.h"
#include "cli/commands.h"
#include "cli/newest.h"
#include "export/csv.h"
#include "export/output.h"
#include "store/sql.h"
#include "trace/fields.h"

namespace sonde {
namespace {

std::string Hex(std::string_view bytes) {
  std::string out;
  for (const char c : bytes)
    out += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return out;
}

// Prints rows as they come. Finish() closes what was begun, with the reason
// why it is not whole or null; it prints nothing if the query never began.
class Printer : public RowSink {
 public:
  virtual Status Finish(const char* cut) = 0;
};

// Rows as text in columns. The widths are those of the first rows, so that a
// long result can be printed while it is found.
class TablePrinter : public Printer {
 public:
  static constexpr size_t kRowsForWidths = 1000;
  static constexpr size_t kMaxWidth = 60;

  void Columns(const std::vector<std::string>& names) override {
    for (const std::string& name : names) {
      head_.push_back(Printable(name, kMaxWidth));
      widths_.push_back(Width(head_.back()));
    }
    numeric_.assign(names.size(), true);
  }

  bool Row(std::span<const SqlValue> cells) override {
    std::vector<std::string> row;
    for (size_t i = 0; i < cells.size(); ++i) {
      row.push_back(Show(cells[i]));
      if (!begun_) {
        widths_[i] = std::max(widths_[i], Width(row[i]));
        numeric_[i] = numeric_[i] && cells[i].type != SqlValue::Type::kText &&
                      cells[i].type != SqlValue::Type::kBlob;
      }
    }
    if (begun_) {
      Print(row);
      return true;
    }
    first_.push_back(std::move(row));
    if (first_.size() == kRowsForWidths) Begin();
    return true;
  }

  Status Finish(const char*) override {
    if (!begun_ && !head_.empty()) Begin();
    return Ok();
  }

 private:
  static std::string Show(const SqlValue& cell) {
    switch (cell.type) {
      case SqlValue::Type::kNull:
        return "-";
      case SqlValue::Type::kInt:
        return std::to_string(cell.number);
      case SqlValue::Type::kReal:
        return fmt::format("{:.6g}", cell.real);
      case SqlValue::Type::kText:
        return Printable(cell.text);
      case SqlValue::Type::kBlob:
        return Printable(Hex(cell.text));
    }
    return {};
  }
  // Characters, not bytes.
  static size_t Width(const std::string& text) {
    size_t width = 0;
    for (const char c : text)
      width += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
    return std::min(width, kMaxWidth);
  }

  void Begin() {
    begun_ = true;
    Print(head_);
    for (const auto& row : first_) Print(row);
    first_.clear();
  }
  void Print(const std::vector<std::string>& row) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const size_t have = Width(row[i]);
      const std::string space(widths_[i] > have ? widths_[i] - have : 0, ' ');
      if (i > 0) line += "  ";
      line += numeric_[i] ? space + row[i] : row[i] + space;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    std::puts(line.c_str());
  }

  std::vector<std::string> head_;
  std::vector<size_t> widths_;
  std::vector<bool> numeric_;
  std::vector<std::vector<std::string>> first_;
  bool begun_ = false;
};

// {"columns":[...],"rows":[[...],...],"cut":null}, a row a line.
class JsonPrinter : public Printer {
 public:
  void Columns(const std::vector<std::string>& names) override {
    std::string line = "{\"columns\":[";
    for (const std::string& name : names) {
      if (&name != &names.front()) line += ',';
      line += Text(name);
    }
    std::fputs((line + "],\"rows\":[").c_str(), stdout);
    begun_ = true;
  }
  bool Row(std::span<const SqlValue> cells) override {
    std::string line = first_ ? "\n[" : ",\n[";
    first_ = false;
    for (size_t i = 0; i < cells.size(); ++i) {
      if (i > 0) line += ',';
      line += Show(cells[i]);
    }
    std::fputs((line + "]").c_str(), stdout);
    return true;
  }
  Status Finish(const char* cut) override {
    if (begun_) fmt::print("\n],\"cut\":{}}}\n", cut ? Text(cut) : "null");
    return Ok();
  }

 private:
  // Bytes that are no text become U+FFFD: JSON has nothing for them.
  static std::string Text(std::string_view text) {
    return nlohmann::json(std::string(text))
        .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
  static std::string Show(const SqlValue& cell) {
    switch (cell.type) {
      case SqlValue::Type::kNull:
        return "null";
      case SqlValue::Type::kInt:
        return std::to_string(cell.number);
      case SqlValue::Type::kReal:
        return std::isfinite(cell.real) ? nlohmann::json(cell.real).dump()
                                        : "null";
      case SqlValue::Type::kText:
        return Text(cell.text);
      case SqlValue::Type::kBlob:
        return Text(Hex(cell.text));
    }
    return "null";
  }
  bool begun_ = false;
  bool first_ = true;
};

// As `sonde export --to csv` writes it.
class CsvPrinter : public Printer {
 public:
  explicit CsvPrinter(std::unique_ptr<Output> out)
      : out_(std::move(out)), rows_(*out_) {}

  void Columns(const std::vector<std::string>& names) override {
    rows_.Columns(names);
  }
  bool Row(std::span<const SqlValue> cells) override {
    return rows_.Row(cells);
  }
  Status Finish(const char*) override { return out_->Commit(); }

 private:
  const std::unique_ptr<Output> out_;
  CsvRows rows_;
};

Result<std::unique_ptr<Printer>> MakePrinter(bool json, bool csv) {
  if (csv) {
    TRY(auto out, Output::Create("-", {}));
    return std::unique_ptr<Printer>(new CsvPrinter(std::move(out)));
  }
  if (json) return std::unique_ptr<Printer>(new JsonPrinter());
  return std::unique_ptr<Printer>(new TablePrinter());
}

void PrintTables(const std::vector<TableInfo>& tables) {
  for (const TableInfo& table : tables) {
    std::string parameters, columns;
    for (const TableInfo::Column& column : table.columns) {
      std::string& list = column.parameter ? parameters : columns;
      if (!list.empty()) list += ", ";
      list += column.name;
    }
    std::printf("%s%s: %s\n    %s\n", table.name.c_str(),
                table.function ? ("(" + parameters + ")").c_str() : "",
                table.what.c_str(), columns.c_str());
  }
}

// What a trace has series of, each name once.
void PrintSeries(const Store& store) {
  std::map<std::array<std::string, 4>, size_t> rows;
  const auto scope = [&](const Series& row) -> std::string {
    const auto first = static_cast<size_t>(Series::Scope::kMachine);
    return store.OfProgram(row)
               ? "program"
               : std::string(kScopes[static_cast<size_t>(row.scope) - first]);
  };
  for (const auto& [id, row] : store.series())
    ++rows[{scope(row), Printable(store.Str(row.name), 60),
            Printable(store.Str(row.unit), 20),
            row.kind == Series::Kind::kTotal ? "total" : "gauge"}];
  fmt::print("series of {}: scope, name, unit, kind, how many\n",
             Printable(store.path(), 4096));
  for (const auto& [row, count] : rows)
    fmt::print("    {:8} {:28} {:6} {} {}\n", row[0], row[1], row[2], row[3],
               count);
}

// Something to ask a trace that it has an answer to.
const char* Example(const Store& store) {
  const ChunkList& chunks = store.event_chunks();
  if (std::any_of(chunks.begin(), chunks.end(), [&](const FrameRef& chunk) {
        return store.OfTheProgram(chunk.events.track);
      }))
    return "SELECT * FROM top_ops() LIMIT 10";
  if (!store.processes().empty())
    return "SELECT id, name, cpu_ns FROM process ORDER BY cpu_ns DESC LIMIT 10";
  if (!store.series().empty())
    return "SELECT name, label, unit FROM series LIMIT 10";
  return "SELECT * FROM run";
}

// The tables, and the series of the trace that is named or newest here.
Result<int> TellTables(const Args& words) {
  if (words.size() > 1)
    return Error{Error::Kind::kUsage, "query: --tables takes one trace",
                 "sonde query run.sonde --tables"};
  const auto path = words.empty() ? NewestTrace() : words[0];
  const auto store = path.ok() ? Store::Open(path.value()) : path.error();
  if (!words.empty() && !store.ok()) return store.error();
  PrintTables(Tables());
  PrintTables(Tables(FindingTables(nullptr)));
  if (store.ok())
    PrintSeries(*store.value());
  else
    std::puts("`sonde query TRACE --tables` lists the series of a trace too.");
  return 0;
}

}  // namespace

Result<int> RunQuery(const Args& args) {
  CLI::App app("Ask a trace in SQL.", "query");
  Args words;
  bool json = false, csv = false, tables = false;
  uint64_t limit = QueryLimits().max_rows;
  std::string timeout = "30";
  app.add_option("words", words,
                 "[TRACE] SQL; without TRACE the newest *.sonde here");
  app.add_flag("--tables", tables,
               "List the tables, their columns, and a trace's series");
  auto* json_flag = app.add_flag("--json", json, "Print JSON");
  app.add_flag("--csv", csv, "Print CSV")->excludes(json_flag);
  app.add_option("--limit", limit, "Print at most this many rows");
  app.add_option("--timeout", timeout, "Stop after this long, e.g. 5s");
  TRY(const bool go, ParseArgs(app, args));
  if (!go) return 0;
  if (tables) return TellTables(words);
  if (words.empty() || words.size() > 2)
    return Error{Error::Kind::kUsage, "query takes a trace and one SQL text",
                 "sonde query run.sonde 'SELECT * FROM process LIMIT 10'"};
  const auto timeout_ns = ParseDuration(timeout, kNsPerSec);
  if (!timeout_ns)
    return Error{Error::Kind::kUsage, "--timeout " + timeout + ": not a time",
                 "for example --timeout 5s"};
  if (words.size() == 1) {
    if (LooksLikeTracePath(words[0])) {
      TRY(const auto store, Store::Open(words[0]));
      return Error{Error::Kind::kUsage, "query: what about " + words[0] + "?",
                   fmt::format("sonde query {} '{}'", ShellWord(words[0], 4096),
                               Example(*store))};
    }
    TRY(const std::string newest, NewestTrace());
    words.insert(words.begin(), newest);
  }
  TRY(const auto store, Store::Open(words[0]));
  TRY(const auto database, Database::Open(store, FindingTables(store)));

  using Cut = QuerySummary::Cut;
  TRY(const auto printer, MakePrinter(json, csv));
  const auto asked = database->Query(words[1], {*timeout_ns, limit}, *printer);
  const Cut cut = asked.ok() ? asked.value().cut : Cut::kNo;
  const Status printed = printer->Finish(!asked.ok()         ? "error"
                                         : cut == Cut::kRows ? "limit"
                                         : cut == Cut::kTime ? "timeout"
                                                             : nullptr);
  std::fflush(stdout);  // the rows first, then what is to be said about them
  TRY(const QuerySummary summary, asked);
  if (!printed.ok()) return printed.error();
  if (cut == Cut::kRows)
    fmt::print(stderr, "sonde: {} rows shown, there are more (--limit)\n",
               summary.rows);
  if (cut == Cut::kTime)
    fmt::print(stderr,
               "sonde: {} rows shown, then the time limit of {} was reached "
               "(--timeout)\n",
               summary.rows, FormatDuration(*timeout_ns));
  // Also what was found while the answer was read.
  if (const auto losses = store->losses(); !losses.empty())
    fmt::print(stderr,
               "sonde: the trace is not complete: {} {}, the first: {}\n",
               losses.size(), losses.size() == 1 ? "loss" : "losses",
               Printable(losses[0].detail));
  return cut == Cut::kTime ? 1 : 0;
}

}  // namespace sonde
