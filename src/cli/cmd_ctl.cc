#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "collect/control.h"
#include "collect/session_dir.h"

namespace sonde {
namespace {

constexpr char kHelp[] =
    R"(usage: sonde ctl REQUEST [--session DIR|PID] [--json]

  sonde ctl status              what is being recorded, since when
  sonde ctl mark "epoch 3"      put a mark on the timeline, now
  sonde ctl pause               take no samples until `resume`
  sonde ctl resume
  sonde ctl stop                end the recording; the command goes on

  --session DIR|PID  which recording, if there are several: its directory, or
                     the process id of its `sonde run`
  --json             the answer as JSON
  -h, --help         this text

Inside a recorded command, its own recording is meant.
)";

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

Result<SessionInfo> Choose(const std::string& wanted) {
  if (!wanted.empty() && !IsNumber(wanted)) return FindSession(wanted);
  const char* own = ::secure_getenv("SONDE_SESSION");
  if (wanted.empty() && own && *own)
    if (auto session = FindSession(own); session.ok()) return session;
  const std::vector<SessionInfo> live = LiveSessions();
  if (wanted.empty()) {
    if (live.size() == 1) return live[0];
    if (live.empty())
      return Error{Error::Kind::kNotFound, "ctl: nothing is being recorded",
                   "`sonde run -- COMMAND` starts a recording"};
    return Error{Error::Kind::kUsage, "ctl: there are several recordings",
                 "say which:" + List(live)};
  }
  for (const SessionInfo& s : live)
    if (std::to_string(s.pid) == wanted) return s;
  return Error{Error::Kind::kNotFound,
               "ctl: process " + wanted + " records nothing",
               live.empty() ? "" : "these do:" + List(live)};
}

std::string StatusText(const nlohmann::json& status) {
  return fmt::format("{} for {}: {} live processes, {} in {}\n  {}",
                     status.value("state", ""),
                     FormatDuration(status.value("elapsed_ns", int64_t{0})),
                     status.value("processes", int64_t{0}),
                     FormatBytes(status.value("trace_bytes", 0.0)),
                     Printable(status.value("trace", ""), 4096),
                     Printable(status.value("command", "")));
}

}  // namespace

Result<int> RunCtl(const Args& args) {
  std::string verb, session;
  std::vector<std::string> text;
  bool json = false, help = false;
  CLI::App app("", "ctl");
  app.set_help_flag();
  app.add_option("request", verb);
  app.add_option("text", text);
  app.add_option("--session", session);
  app.add_flag("--json", json);
  app.add_flag("-h,--help", help);
  TRY(const bool parsed, ParseArgs(app, args));
  if (!parsed || help) {
    std::fputs(kHelp, stdout);
    return 0;
  }
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
  TRY(const SessionInfo chosen, Choose(session));
  TRY(const std::string answer,
      AskSession(chosen.dir, verb == "mark" ? verb + " " + text[0] : verb));

  nlohmann::json out = {{"ok", true}};
  if (verb == "status") {
    out = nlohmann::json::parse(answer, nullptr, false);
    if (!out.is_object())
      return Error{Error::Kind::kCorrupt, "ctl: the answer makes no sense"};
  }
  if (verb == "stop") out["trace"] = chosen.trace;
  if (json) {
    std::puts(out.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace)
                  .c_str());
  } else if (verb == "status") {
    std::puts(StatusText(out).c_str());
  } else if (verb == "stop") {
    std::printf("stopped: %s\n", Printable(chosen.trace, 4096).c_str());
  }
  return 0;
}

}  // namespace sonde
