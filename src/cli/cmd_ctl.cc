#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "collect/session/control.h"
#include "collect/session/session_dir.h"

namespace sonde {
namespace {

constexpr char kCtlHelp[] =
    R"(usage: sonde ctl REQUEST [--session TRACE|PID|DIR] [--json]

  sonde ctl status              what is being recorded, since when; of all
                                recordings, if there are several
  sonde ctl mark "epoch 3"      put a mark on the timeline, now
  sonde ctl pause               take no samples until `resume`
  sonde ctl resume
  sonde ctl stop                end the recording; the command goes on

  --session TRACE|PID|DIR
                  which recording, if there are several: its trace, the process
                  id of its `sonde run` or `sonde watch`, or its directory
  --json          the answer as JSON
  -h, --help      this text

Inside a recorded command, requests go to the command's own recording.
)";

constexpr char kSilent[] = "not answering";

bool IsNumber(const std::string& text) {
  return !text.empty() &&
         text.find_first_not_of("0123456789") == std::string::npos;
}

std::string List(const std::vector<SessionInfo>& sessions) {
  std::string out;
  for (const SessionInfo& s : sessions)
    out +=
        fmt::format("\n    --session {}  {}", s.pid, Printable(s.command, 60));
  return out;
}

Error NothingRecorded() {
  return {Error::Kind::kNotFound, "ctl: nothing is being recorded",
          "`sonde run -- COMMAND` starts a recording"};
}

// Whether both name one file, which need not be there.
bool SameFile(const std::string& a, const std::string& b) {
  const auto full = [](const std::string& path) {
    std::error_code failure;
    const auto out = std::filesystem::weakly_canonical(
        std::filesystem::absolute(path, failure), failure);
    return failure ? std::string() : out.string();
  };
  return !full(a).empty() && full(a) == full(b);
}

Result<SessionInfo> ChooseNamed(const std::string& wanted) {
  const std::vector<SessionInfo> live = LiveSessions();
  for (const SessionInfo& s : live)
    if (std::to_string(s.pid) == wanted || SameFile(s.trace, wanted)) return s;
  std::error_code failure;
  if (std::filesystem::is_directory(wanted, failure))
    return FindSession(wanted);
  return Error{Error::Kind::kNotFound,
               IsNumber(wanted) ? "ctl: process " + wanted + " records nothing"
                                : "ctl: " + Printable(wanted, 4096) +
                                      " is not being recorded",
               live.empty() ? "" : "these are:" + List(live)};
}

Result<SessionInfo> Choose(const std::string& wanted) {
  if (!wanted.empty()) return ChooseNamed(wanted);
  const char* own = ::secure_getenv("SONDE_SESSION");
  if (own && *own)
    if (auto session = FindSession(own); session.ok()) return session;
  const std::vector<SessionInfo> live = LiveSessions();
  if (live.size() == 1) return live[0];
  if (live.empty()) return NothingRecorded();
  return Error{Error::Kind::kUsage, "ctl: there are several recordings",
               "say which:" + List(live)};
}

// The recordings whose status is wanted: those that are named or meant, else
// all that live.
Result<std::vector<SessionInfo>> ChooseForStatus(const std::string& wanted) {
  auto one = Choose(wanted);
  if (one.ok()) return std::vector<SessionInfo>{one.Take()};
  if (!wanted.empty() || one.error().kind != Error::Kind::kUsage)
    return one.error();
  return LiveSessions();
}

int64_t FileSize(const std::string& path) {
  std::error_code failure;
  const auto bytes = std::filesystem::file_size(path, failure);
  return failure ? 0 : static_cast<int64_t>(bytes);
}

// What a recording says of itself, and what it takes on the disk: its newest
// part is in the journal.
Result<nlohmann::json> StatusOf(const SessionInfo& session) {
  TRY(const std::string answer, AskSession(session.dir, "status"));
  auto out = nlohmann::json::parse(answer, nullptr, false);
  if (!out.is_object())
    return Error{Error::Kind::kCorrupt, "ctl: the answer makes no sense"};
  out["trace_bytes"] =
      FileSize(session.trace) + FileSize(session.trace + ".journal");
  return out;
}

std::string StatusText(const nlohmann::json& status) {
  if (status.value("state", "") == kSilent)
    return fmt::format("{}, process {}\n  {}\n  {}", kSilent,
                       status.value("pid", int64_t{0}),
                       Printable(status.value("trace", ""), 4096),
                       Printable(status.value("command", "")));
  const std::string state = status.value("state", "");
  const int64_t processes = status.value("processes", int64_t{0});
  return fmt::format(
      "{}, {} since its start: {} live process{}, {} in {}\n  {}",
      state == "waiting" ? "waiting for its delay to end" : state,
      FormatDuration(status.value("elapsed_ns", int64_t{0})), processes,
      processes == 1 ? "" : "es", FormatBytes(status.value("trace_bytes", 0.0)),
      Printable(status.value("trace", ""), 4096),
      Printable(status.value("command", "")));
}

void PrintJson(const nlohmann::json& json) {
  std::puts(json.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace)
                .c_str());
}

Result<int> TellStatus(const std::string& wanted, bool json) {
  TRY(const std::vector<SessionInfo> chosen, ChooseForStatus(wanted));
  nlohmann::json all = nlohmann::json::array();
  for (const SessionInfo& session : chosen) {
    auto status = StatusOf(session);
    if (!status.ok() && chosen.size() == 1) return status.error();
    if (status.ok())
      all.push_back(status.Take());
    else if (FindSession(session.dir).ok())  // else it has just ended
      all.push_back({{"state", kSilent},
                     {"pid", session.pid},
                     {"command", session.command},
                     {"trace", session.trace}});
  }
  if (all.empty()) return NothingRecorded();
  if (json) {
    // One recording stands at the top as well: most often there is one.
    nlohmann::json out =
        all.size() == 1 ? all[0] : nlohmann::json(nlohmann::json::object());
    out["sessions"] = std::move(all);
    PrintJson(out);
    return 0;
  }
  for (const nlohmann::json& one : all) {
    if (all.size() > 1)
      fmt::print("--session {}  ", one.value("pid", int64_t{0}));
    std::puts(StatusText(one).c_str());
  }
  return 0;
}

}  // namespace

Result<int> RunCtl(const Args& args) {
  std::string verb, session;
  std::vector<std::string> text;
  bool json = false;
  CLI::App app("", "ctl");
  app.add_option("request", verb);
  app.add_option("text", text);
  app.add_option("--session", session);
  app.add_flag("--json", json);
  TRY(const bool go_on, ParseArgs(app, args, kCtlHelp));
  if (!go_on) return 0;
  const bool known = verb == "pause" || verb == "resume" || verb == "mark" ||
                     verb == "stop" || verb == "status";
  if (!known)
    return Error{Error::Kind::kUsage,
                 verb.empty() ? "ctl: what is to be done?"
                              : "ctl: no request called '" + verb + "'",
                 "one of: status, mark TEXT, pause, resume, stop"};
  if ((verb == "mark") != (text.size() == 1))
    return Error{Error::Kind::kUsage,
                 verb == "mark" ? "ctl: mark takes one text"
                                : "ctl: " + verb + " takes no text",
                 "sonde ctl mark \"epoch 3\""};
  if (verb == "status") return TellStatus(session, json);
  TRY(const SessionInfo chosen, Choose(session));
  TRY_OK(AskSession(chosen.dir, verb == "mark" ? verb + " " + text[0] : verb));
  if (json) {
    nlohmann::json out = {{"ok", true}};
    if (verb == "stop") out["trace"] = chosen.trace;
    PrintJson(out);
  } else if (verb == "stop") {
    std::printf("stopped: %s\n", Printable(chosen.trace, 4096).c_str());
  }
  return 0;
}

}  // namespace sonde
