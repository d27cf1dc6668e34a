// `sonde stacks`: where the threads of a running program are now.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/stack_text.h"
#include "collect/proc/pids.h"
#include "collect/sample/process_stacks.h"
#include "collect/tree/watch_target.h"

namespace sonde {
namespace {

// Somebody waits for the answer.
constexpr NamingLimits kNamingLimits = {.all_ns = 5 * kNsPerSec,
                                        .file_ns = 3 * kNsPerSec};

constexpr char kStacksHelp[] = R"(usage: sonde stacks PID [OPTIONS]

  sonde stacks 1234            the threads of process 1234, and where each is
  sonde stacks 1234 --tree     also of the processes that it started
  sonde stacks $(pgrep -n -f train.py)

Shows each thread of a running process: what the thread waits for or that it
runs, its CPU time, and its functions, the innermost first: of CPython 3.8 to
3.14, and of a thread that sleeps native ones too. The process is not stopped,
and does not notice.

  --tree      also the descendants of the process
  --json      for machines: one JSON object
  -h, --help  this text
)";

nlohmann::json StackJson(const PythonThread& thread) {
  nlohmann::json frames = nlohmann::json::array();
  for (const PythonFrame& frame : thread.frames) {
    nlohmann::json row = {{"function", frame.function}, {"file", frame.file}};
    row["line"] = frame.line > 0 ? nlohmann::json(frame.line) : nullptr;
    frames.push_back(std::move(row));
  }
  return {{"ident", thread.ident},
          {"holds_gil", thread.holds_gil},
          {"approximate", thread.approximate},
          {"cut", thread.cut},
          {"frames", std::move(frames)}};
}

nlohmann::json StacksJson(const std::vector<PythonThread>& threads) {
  nlohmann::json out = nlohmann::json::array();
  for (const PythonThread& thread : threads) out.push_back(StackJson(thread));
  return out;
}

nlohmann::json TextOrNull(const std::string& text) {
  return text.empty() ? nlohmann::json() : nlohmann::json(text);
}

nlohmann::json FramesJson(const std::vector<CodeFrame>& frames) {
  nlohmann::json out = nlohmann::json::array();
  for (const CodeFrame& frame : frames)
    out.push_back({{"function", frame.function},
                   {"file", TextOrNull(frame.file)},
                   {"line", frame.line > 0 ? nlohmann::json(frame.line)
                                           : nlohmann::json()},
                   {"module", TextOrNull(frame.module)},
                   {"language", frame.native ? "native" : "python"}});
  return out;
}

nlohmann::json ProcessJson(const ProcessStacks& process) {
  nlohmann::json out = {{"pid", process.pid},
                        {"command", process.command},
                        {"python", nullptr},
                        {"error", nullptr},
                        {"complete", process.complete},
                        {"threads", nlohmann::json::array()},
                        {"unmatched", StacksJson(process.unmatched)}};
  if (process.python)
    out["python"] = {{"version", process.python->version},
                     {"file", process.python->file}};
  if (process.why_not && !HasNoPython(process))
    out["error"] = process.why_not->what;
  for (const ThreadStack& thread : process.threads) {
    const std::string wait = WaitOf(thread);
    nlohmann::json row = {{"tid", thread.tid},
                          {"name", thread.name},
                          {"state", WordsOf(thread.state).word},
                          {"waits", TextOrNull(wait)},
                          {"frames", FramesJson(thread.frames)},
                          {"approximate", thread.approximate},
                          {"cut", thread.cut},
                          {"stacks", StacksJson(thread.python)}};
    row["cpu_ns"] =
        thread.cpu_ns ? nlohmann::json(*thread.cpu_ns) : nlohmann::json();
    out["threads"].push_back(std::move(row));
  }
  return out;
}

Result<pid_t> PidOf(const std::string& text) {
  const bool number = text.find_first_not_of("0123456789") == std::string::npos;
  const int64_t pid =
      !text.empty() && number && text.size() < 10 ? std::stoll(text) : 0;
  if (pid <= 0)
    return Error{Error::Kind::kUsage,
                 text.empty() ? "stacks: of which process?"
                              : "stacks: the number of a process is wanted, "
                                "not '" +
                                    Printable(text) + "'",
                 "`pgrep -n -f train.py` finds it"};
  // Says what is no process that runs.
  TRY(const WatchTarget target, WatchTarget::Process(static_cast<pid_t>(pid)));
  return target.pid();
}

}  // namespace

Result<int> RunStacks(const Args& args) {
  std::string wanted;
  bool tree = false, json = false, help = false;
  CLI::App app("", "stacks");
  app.set_help_flag();
  app.add_option("PID", wanted);
  app.add_flag("--tree", tree);
  app.add_flag("--json", json);
  app.add_flag("-h,--help", help);
  TRY(const bool parsed, ParseArgs(app, args));
  if (!parsed || help) {
    std::fputs(kStacksHelp, stdout);
    return 0;
  }
  TRY(const pid_t root, PidOf(wanted));
  StackReader reader;
  std::vector<ProcessStacks> all;
  for (const pid_t pid : tree ? TreeOf(root) : std::vector<pid_t>{root}) {
    auto read = reader.Read(pid);
    if (read.ok())
      all.push_back(read.Take());
    else if (pid == root)
      return read.error();  // another one has just ended
  }
  reader.Name(all, kNamingLimits);
  nlohmann::json list = nlohmann::json::array();
  std::optional<Error> failed;
  for (const ProcessStacks& process : all) {
    const pid_t pid = process.pid;
    if (pid == root && process.why_not && !HasNoPython(process))
      failed = process.why_not;
    if (json) {
      list.push_back(ProcessJson(process));
    } else {
      if (pid != root) std::puts("");
      // Of the process that was asked for, main() prints the error.
      PrintStacks(stdout, process, pid != root);
    }
  }
  if (json) {
    const nlohmann::json out = {{"version", 1}, {"processes", std::move(list)}};
    std::puts(out.dump(2, ' ', false, nlohmann::json::error_handler_t::replace)
                  .c_str());
  }
  std::fflush(stdout);  // before the error
  if (failed) return *failed;
  return 0;
}

}  // namespace sonde
