#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/fd.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/summary.h"
#include "collect/session/recover.h"
#include "collect/session/session_dir.h"
#include "trace/reader.h"

namespace sonde {
namespace {

constexpr char kRecoverHelp[] = R"(usage: sonde recover [TRACE] [OPTIONS]

  sonde recover                 finish the recording that was killed
  sonde recover train.sonde     finish the recording of this trace
  sonde recover --list          list the recordings that were killed

When `sonde run` or `sonde watch` itself is killed, the recorded programs go on,
and the recording until then is safe. `sonde recover` puts together the trace,
its journal, and what programs have recorded about themselves since. That part
lies in memory until the machine is started anew or a day has passed. Programs
that still run go on, and record no more.

  -o, --output FILE  write the whole trace to FILE, leave the old one as it is
  --force            overwrite FILE if it exists
  --list             only list what can be recovered
  --quiet            print nothing
  --json             the result as JSON
  -h, --help         this text

Exit status: 0 done, 1 could not, 2 asked wrongly.
)";

// The one path of a file, whatever links lead to it.
std::string OnlyPath(const std::string& path) {
  std::error_code error;
  const auto only = std::filesystem::weakly_canonical(path, error);
  return error ? path : only.string();
}

std::string ListTraces(const std::vector<SessionInfo>& sessions) {
  std::string out;
  for (const SessionInfo& s : sessions)
    out += fmt::format("\n    {}  ({})", Printable(s.trace),
                       Printable(s.command, 60));
  return out;
}

// Whether its trace is still to be finished; another may have taken its place.
bool Unfinished(const SessionInfo& session) {
  const auto reader = TraceReader::Open(session.trace);
  return reader.ok() && !reader.value().finished();
}

// The trace that is meant, and its session if there still is one.
struct Wanted {
  std::string trace;
  std::optional<SessionInfo> session;
};

Result<Wanted> ChooseDead(const std::string& trace) {
  const std::string path = trace.empty() ? "" : OnlyPath(trace);
  std::vector<SessionInfo> dead = DeadSessions(path);
  if (!trace.empty()) {
    Wanted wanted{path, std::nullopt};
    for (const SessionInfo& s : dead)
      if (OnlyPath(s.trace) == path) wanted.session = s;
    return wanted;
  }
  std::erase_if(dead, [](const SessionInfo& s) { return !Unfinished(s); });
  if (dead.size() == 1) return Wanted{OnlyPath(dead[0].trace), dead[0]};
  if (dead.empty())
    return Error{Error::Kind::kNotFound, "recover: no recording was killed",
                 "name a trace that has no end: sonde recover FILE.sonde"};
  return Error{Error::Kind::kUsage, "recover: several recordings were killed",
               "say which:" + ListTraces(dead)};
}

void PrintList(bool json) {
  std::vector<SessionInfo> dead = DeadSessions("");
  std::erase_if(dead, [](const SessionInfo& s) { return !Unfinished(s); });
  if (!json) {
    if (dead.empty()) std::puts("no recording was killed");
    for (const SessionInfo& s : dead)
      std::printf("%s  (%s)\n", Printable(s.trace).c_str(),
                  Printable(s.command, 60).c_str());
    return;
  }
  nlohmann::json rows = nlohmann::json::array();
  for (const SessionInfo& s : dead)
    rows.push_back(
        {{"trace", s.trace}, {"command", s.command}, {"session", s.dir}});
  std::puts(rows.dump(2, ' ', true, nlohmann::json::error_handler_t::replace)
                .c_str());
}

void Tell(const Recovered& result, const std::string& trace, bool json) {
  if (json) {
    nlohmann::json row = {{"trace", trace},
                          {"records", result.records},
                          {"running", result.running},
                          {"rings_missing", nullptr}};
    if (!result.rings_why.empty()) row["rings_missing"] = result.rings_why;
    std::puts(row.dump(2, ' ', true, nlohmann::json::error_handler_t::replace)
                  .c_str());
    return;
  }
  std::fprintf(stderr, "sonde: recovered %s\n", Printable(trace).c_str());
  if (result.rings_why.empty() && result.records > 0)
    std::fprintf(stderr, "  %llu record%s of programs taken from their rings\n",
                 static_cast<unsigned long long>(result.records),
                 result.records == 1 ? "" : "s");
  else if (!result.rings_why.empty())
    std::fprintf(stderr, "  what programs recorded last is missing: %s\n",
                 result.rings_why.c_str());
  if (result.running > 0)
    std::fprintf(
        stderr, "  %zu process%s still run%s, and %s not recorded any more\n",
        result.running, result.running == 1 ? "" : "es",
        result.running == 1 ? "s" : "", result.running == 1 ? "is" : "are");
}

}  // namespace

Result<int> RunRecover(const Args& args) {
  CLI::App app("", "recover");
  std::string trace, output;
  bool force = false, list = false, quiet = false, json = false;
  app.add_option("trace", trace);
  app.add_option("-o,--output", output);
  app.add_flag("--force", force);
  app.add_flag("--list", list);
  app.add_flag("--quiet", quiet);
  app.add_flag("--json", json);
  TRY(const bool go_on, ParseArgs(app, args, kRecoverHelp));
  if (!go_on) return 0;
  if (list) {
    PrintList(json);
    return 0;
  }
  TRY(const Wanted wanted, ChooseDead(trace));
  TRY(const TraceReader reader, TraceReader::Open(wanted.trace));
  if (reader.finished())
    return Error{Error::Kind::kUsage,
                 Printable(wanted.trace) +
                     ": is whole, there is nothing to "
                     "recover",
                 "sonde report " + Printable(wanted.trace)};
  std::optional<SessionDir> dir;
  if (wanted.session) {
    TRY(auto taken, SessionDir::TakeOver(wanted.session->dir));
    dir.emplace(std::move(taken));
  }
  const std::string to = output.empty() ? wanted.trace : OnlyPath(output);
  if (to != wanted.trace && !force && std::filesystem::exists(to))
    return Error{Error::Kind::kUsage, Printable(to) + ": exists",
                 "--force overwrites it"};
  if (std::error_code error; std::filesystem::exists(to, error) &&
                             !std::filesystem::is_regular_file(to, error))
    return Error{Error::Kind::kUsage, Printable(to) + ": is not a file",
                 "name one with -o"};
  RaiseFileLimit();
  auto result = Recover(wanted.trace, dir ? &*dir : nullptr, to);
  // What could not be written can be tried again.
  if (dir && (!result.ok() || to != wanted.trace)) dir->Keep();
  if (!result.ok()) return result.error();
  const bool left = dir && !dir->Remove();
  if (quiet) return 0;
  if (left) std::fputs(LeftLine(dir->path()).c_str(), stderr);
  Tell(result.value(), to, json);
  if (json) return 0;
  TRY(const std::string summary, Summary(to));
  std::fputs(summary.c_str(), stderr);
  return 0;
}

}  // namespace sonde
