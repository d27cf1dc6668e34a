// sonde export [TRACE] --to FORMAT [-o FILE]

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <cstdio>

#include "base/text.h"
#include "base/time.h"
#include "cli/commands.h"
#include "cli/newest.h"
#include "export/exporter.h"
#include "export/json_text.h"
#include "store/store.h"

namespace sonde {
namespace {

std::atomic<bool> g_cancelled{false};

void Cancel(int) { g_cancelled = true; }

// An export that is interrupted removes what it began, so it must live a little
// longer than the signal. A reader that went away is an error, not a death.
void WatchSignals() {
  struct sigaction action = {};
  action.sa_handler = Cancel;
  action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
}

// Says how far it is, on a terminal and only if it takes more than two seconds.
class ProgressLine {
 public:
  ProgressLine() : tty_(::isatty(STDERR_FILENO) != 0), begun_ns_(NowNs()) {}
  ~ProgressLine() {
    if (shown_) std::fputs("\r\x1b[K", stderr);
  }
  void operator()(double share) {
    const int64_t now = NowNs();
    if (!tty_ || now - begun_ns_ < 2 * kNsPerSec ||
        now - last_ns_ < kNsPerSec / 10)
      return;
    last_ns_ = now;
    shown_ = true;
    std::fprintf(stderr, "\rexporting %3.0f %%", share * 100);
  }

 private:
  bool tty_;
  bool shown_ = false;
  int64_t begun_ns_;
  int64_t last_ns_ = 0;
};

std::string Names(auto list) {
  std::string names;
  for (const auto& one : list)
    names += (names.empty() ? "" : ", ") + std::string(one.name);
  return names;
}

// "runs/a.sonde" to "runs/a" + extension.
std::string DefaultOutput(const std::string& trace, const ExportFormat& format,
                          const std::string& table) {
  std::string stem = trace;
  if (stem.ends_with(".sonde")) stem.resize(stem.size() - 6);
  return table.empty() ? stem + format.extension : stem + "." + table + ".csv";
}

std::string SummaryJson(const std::string& format, const std::string& output,
                        const ExportSummary& summary, size_t losses) {
  std::string json = "{\"format\":";
  AppendQuoted(format, json);
  json += ",\"output\":";
  AppendQuoted(output, json);
  json += fmt::format(
      ",\"slices\":{},\"instants\":{},\"counter_values\":{},\"samples\":{},"
      "\"bytes\":{},\"losses\":{}}}\n",
      summary.slices, summary.instants, summary.counter_values, summary.samples,
      summary.bytes, losses);
  return json;
}

}  // namespace

Result<int> RunExport(const Args& args) {
  std::string trace, to;
  ExportOptions options;
  bool json = false;
  CLI::App app{"Writes a trace in a form that other tools read.", "export"};
  app.add_option("TRACE", trace, "a trace (default: the newest here)");
  app.add_option("--to", to, "one of: " + Names(ExportFormats()))
      ->required()
      ->type_name("FORMAT");
  app.add_option("-o,--output", options.output,
                 "where to; - is the standard output")
      ->type_name("FILE");
  app.add_option("--table", options.table,
                 "csv: this table only, one of: " + Names(ExportTables()))
      ->type_name("NAME");
  app.add_flag("--force", options.force, "replace what is there");
  app.add_flag("--json", json, "say what was written as JSON on stdout");
  std::string footer = "Formats:\n";
  for (const ExportFormat& format : ExportFormats())
    footer += fmt::format("  {:<10} {}\n", format.name, format.summary);
  app.footer(footer);
  TRY(const bool go_on, ParseArgs(app, args));
  if (!go_on) return 0;

  const ExportFormat* format = FindExportFormat(to);
  if (!format)
    return Error{Error::Kind::kUsage, "no format called '" + to + "'",
                 "there are: " + Names(ExportFormats())};
  if (!options.table.empty() && !format->has_tables)
    return Error{Error::Kind::kUsage,
                 "--table: " + to + " has no tables to choose from"};
  if (options.output == "-" && json)
    return Error{Error::Kind::kUsage,
                 "--json and -o -: both want the standard output"};
  if (trace.empty()) {
    TRY(trace, NewestTrace());
  }
  TRY(const auto store, Store::Open(trace));
  if (options.output.empty())
    options.output = DefaultOutput(trace, *format, options.table);

  WatchSignals();
  options.cancelled = &g_cancelled;
  ExportSummary summary;
  {
    ProgressLine line;
    options.progress = [&](double share) { line(share); };
    TRY(summary, format->run(*store, options));
  }
  const std::vector<Loss> losses = store->losses();
  if (!summary.missing.empty())
    std::fprintf(stderr, "sonde: %s\n", summary.missing.c_str());
  if (json) {
    const std::string text =
        SummaryJson(to, options.output, summary, losses.size());
    std::fputs(text.c_str(), stdout);
    return 0;
  }
  const std::string what =
      summary.samples > 0 ? fmt::format("{} samples", summary.samples)
                          : fmt::format("{} slices, {} counter values",
                                        summary.slices, summary.counter_values);
  fmt::print(
      stderr, "wrote {} ({}, {})\n",
      options.output == "-" ? "the standard output" : Printable(options.output),
      what, FormatBytes(static_cast<double>(summary.bytes)));
  if (!losses.empty())
    std::fprintf(stderr, "  the trace is not complete: %zu %s, the first: %s\n",
                 losses.size(), losses.size() == 1 ? "loss" : "losses",
                 Printable(losses[0].detail).c_str());
  return 0;
}

}  // namespace sonde
