#include <langinfo.h>
#include <locale.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "analyze/verdict/charts.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/newest.h"
#include "export/chart/files.h"
#include "export/output.h"
#include "report/curves.h"
#include "report/html.h"
#include "report/json.h"
#include "report/report.h"
#include "report/text.h"

namespace sonde {
namespace {

// What was asked for besides the text of TextOptions.
struct Asked {
  std::string path, charts, html;
  std::vector<std::string> rules;
  bool json = false, brief = false, force = false;
  bool curves = ::isatty(STDOUT_FILENO) == 1;
};

// Colour only for a person who has not refused it (no-color.org's variable).
bool WantsColour() {
  const char* const no_color = std::getenv("NO_COLOR");
  return ::isatty(STDOUT_FILENO) == 1 &&
         (no_color == nullptr || no_color[0] == '\0');
}

// What the terminal on the standard output takes; a pipe takes 80 columns. The
// locale says whether it takes Unicode.
CurveOptions CurvesHere() {
  CurveOptions out;
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    out.columns = size.ws_col;
  if (const locale_t here = ::newlocale(LC_CTYPE_MASK, "", locale_t{});
      here != locale_t{}) {
    out.unicode = ::nl_langinfo_l(CODESET, here) == std::string_view("UTF-8");
    ::freelocale(here);
  }
  return out;
}

Status WritePictures(const Report& report, const Charts& charts,
                     const Asked& asked) {
  if (!asked.charts.empty()) {
    TRY(const auto files, WriteCharts(charts, asked.charts, asked.force));
    std::string names;
    for (const std::string& file : files)
      names += (names.empty() ? "" : ", ") + file.substr(file.rfind('/') + 1);
    std::fprintf(
        stderr, "wrote %s/: %s\n", Printable(asked.charts).c_str(),
        names.empty() ? "nothing, for nothing was sampled" : names.c_str());
  }
  if (asked.html.empty()) return Ok();
  // The name is not given by -o, as Output would have it.
  if (std::error_code failure;
      asked.html != "-" && !asked.force &&
      std::filesystem::is_regular_file(asked.html, failure))
    return Error{Error::Kind::kUsage,
                 Printable(asked.html) + ": exists already",
                 "--force, or another name"};
  ExportOptions options;
  options.force = asked.force;
  TRY(auto out, Output::Create(asked.html, options));
  out->Text(ReportHtml(report, charts));
  TRY_OK(out->Commit());
  if (asked.html != "-")
    std::fprintf(stderr, "wrote %s\n", Printable(asked.html).c_str());
  return Ok();
}

}  // namespace

Result<int> RunReport(const Args& args) {
  Asked asked;
  TextOptions text;
  CLI::App app("Says what limited a program, on what evidence, and what to do.",
               "report");
  app.add_option("TRACE", asked.path, "a trace (default: the newest here)");
  app.add_flag("--json", asked.json, "for machines (docs/report-json.md)");
  app.add_flag("--brief", asked.brief,
               "at most 25 lines, as `sonde run` ends with");
  app.add_option("--rule", asked.rules, "ask only this rule; may be repeated")
      ->allow_extra_args(false);
  app.add_option("--top", text.top, "rows of each table")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  app.add_option("--html", asked.html,
                 "write the report as one page for a browser")
      ->type_name("FILE");
  app.add_option("--charts", asked.charts,
                 "write the curves as SVG files into this directory")
      ->type_name("DIR");
  app.add_flag("--curves,!--no-curves", asked.curves,
               "draw curves in the text (default: on a terminal)");
  app.add_flag("--force", asked.force,
               "replace files that --html or --charts find");
  TRY(const bool go_on, ParseArgs(app, args));
  if (!go_on) return 0;
  if (asked.html == "-" && asked.json)
    return Error{Error::Kind::kUsage,
                 "--json and --html -: both want the standard output"};
  if (asked.path.empty()) {
    TRY(asked.path, NewestTrace());
  }
  text.bold = WantsColour();
  const bool curves = asked.curves && !asked.json && !asked.brief;
  const bool draws = curves || !asked.html.empty() || !asked.charts.empty();
  ChartLines lines;
  TRY(const Report report,
      MakeReport(asked.path, asked.rules, draws ? &lines : nullptr));
  Charts charts;
  if (draws) charts = ChartsOf(report.facts, report.judgement.findings, &lines);
  TRY_OK(WritePictures(report, charts, asked));
  if (asked.html == "-") return 0;
  if (curves) {
    CurveOptions options = CurvesHere();
    options.colour = text.bold;
    text.curves = CurveLines(charts, options);
  }
  const std::string out = asked.json    ? ReportJson(report)
                          : asked.brief ? SummaryText(report)
                                        : ReportText(report, text);
  if (std::fwrite(out.data(), 1, out.size(), stdout) != out.size() ||
      std::fflush(stdout) != 0)
    return Error{Error::Kind::kIo, "standard output: cannot write"};
  return 0;
}

}  // namespace sonde
