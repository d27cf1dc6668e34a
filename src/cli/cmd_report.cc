#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>

#include "cli/commands.h"
#include "cli/newest.h"
#include "cli/report.h"
#include "cli/report_json.h"
#include "cli/report_text.h"

namespace sonde {
namespace {

// Colour only for a person who has not refused it (no-color.org's variable).
bool WantsBold() {
  const char* const no_color = std::getenv("NO_COLOR");
  return ::isatty(STDOUT_FILENO) == 1 &&
         (no_color == nullptr || no_color[0] == '\0');
}

}  // namespace

Result<int> RunReport(const Args& args) {
  std::string path;
  std::vector<std::string> rules;
  bool json = false, brief = false;
  TextOptions text;
  CLI::App app("Says what limited a program, on what evidence, and what to do.",
               "report");
  app.add_option("TRACE", path, "a trace; without it, the newest here");
  app.add_flag("--json", json, "for machines (docs/report-json.md)");
  app.add_flag("--brief", brief, "at most 25 lines, as `sonde run` ends with");
  app.add_option("--rule", rules, "ask only this rule; may be repeated")
      ->allow_extra_args(false);
  app.add_option("--top", text.top, "rows of each table")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  TRY(const bool go_on, ParseArgs(app, args));
  if (!go_on) return 0;
  if (path.empty()) {
    TRY(path, NewestTrace());
  }
  TRY(const Report report, MakeReport(path, rules));
  text.bold = WantsBold();
  const std::string out = json    ? ReportJson(report)
                          : brief ? SummaryText(report)
                                  : ReportText(report, text);
  if (std::fwrite(out.data(), 1, out.size(), stdout) != out.size() ||
      std::fflush(stdout) != 0)
    return Error{Error::Kind::kIo, "standard output: cannot write"};
  return 0;
}

}  // namespace sonde
