// `sonde stacks`: where the threads of a running program are now.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "analyze/facts/sleepers.h"
#include "base/text.h"
#include "cli/commands.h"
#include "collect/proc/pids.h"
#include "collect/sample/thread_states.h"
#include "collect/stacks/process_stacks.h"
#include "collect/tree/watch_target.h"

namespace sonde {
namespace {

constexpr char kStacksHelp[] = R"(usage: sonde stacks PID [OPTIONS]

  sonde stacks 1234            the threads of process 1234, and where each is
  sonde stacks 1234 --tree     also of the processes that it started
  sonde stacks $(pgrep -n -f train.py)

Shows each thread of a running process: what the thread waits for or that it
runs, its CPU time, and its Python functions, the innermost first. The process is
not stopped, and does not notice. CPython 3.8 to 3.14.

  --tree      also the descendants of the process
  --json      for machines: one JSON object
  -h, --help  this text
)";

// Letters of /proc/PID/task/TID/stat. One that is running and one that waits
// for a core have the same letter.
struct StateWord {
  char letter;
  const char* word;  // of --json
  const char* text;
};
constexpr StateWord kStateWords[] = {
    {'R', "runnable", "running or runnable"},
    {'S', "asleep", "asleep"},
    {'I', "asleep", "asleep"},
    {'D', "blocked", "blocked in the kernel"},
    {'T', "stopped", "stopped by a signal"},
    {'t', "stopped", "stopped by a debugger"},
    {'Z', "ended", "ended"},
    {'X', "ended", "ended"},
};

StateWord WordsOf(char state) {
  for (const StateWord& one : kStateWords)
    if (one.letter == state) return one;
  return {state, "unknown", "in an unknown state"};
}

// What a thread that does not run waits for; empty if that is not known.
std::string WaitOf(const ThreadStack& thread) {
  if (thread.state == 'R' || !thread.call || *thread.call < 0) return "";
  const std::string_view wait =
      CallWait(ThreadStates::NumbersOf(), static_cast<double>(*thread.call));
  return wait.empty() ? fmt::format("in system call {}", *thread.call)
                      : std::string(wait);
}

bool HasNoPython(const ProcessStacks& process) {
  return process.why_not && !process.python &&
         process.why_not->kind == Error::Kind::kNotFound;
}

std::string FrameText(const PythonFrame& frame) {
  return frame.line > 0
             ? fmt::format("{} ({}:{})", frame.function, frame.file, frame.line)
             : fmt::format("{} ({})", frame.function, frame.file);
}

void PrintFrames(const PythonThread& thread) {
  for (const PythonFrame& frame : thread.frames)
    fmt::print("    {}\n", FrameText(frame));
  if (thread.cut) fmt::print("    ... and callers that were not read\n");
  if (thread.approximate)
    fmt::print("    (approximate: the thread ran on while it was read)\n");
}

void PrintThread(const ThreadStack& thread, bool of_python) {
  std::string line =
      fmt::format("thread {} ({}): {}", thread.tid, Printable(thread.name, 40),
                  WordsOf(thread.state).text);
  if (const std::string wait = WaitOf(thread); !wait.empty())
    line += (wait.starts_with("in ") ? " " : ", waits ") + wait;
  if (thread.cpu_ns) line += "; CPU time " + FormatDuration(*thread.cpu_ns);
  size_t frames = 0;
  for (const PythonThread& python : thread.python) {
    if (python.holds_gil) line += "; holds the GIL";
    frames += python.frames.size() + (python.approximate ? 1 : 0);
  }
  fmt::print("{}\n", line);
  for (const PythonThread& python : thread.python) PrintFrames(python);
  if (of_python && frames == 0) fmt::print("    no Python frames\n");
}

void PrintProcess(const ProcessStacks& process, bool asked_for) {
  std::string line = fmt::format("process {}: {}", process.pid,
                                 Printable(process.command, 120));
  if (process.python) line += ", Python " + process.python->version;
  if (HasNoPython(process)) line += ", no Python found";
  fmt::print("{}\n", line);
  // Of the process that was asked for, main() prints the error.
  if (process.why_not && !HasNoPython(process) && !asked_for)
    fmt::print("no Python frames: {}{}{}\n", process.why_not->what,
               process.why_not->hint.empty() ? "" : "; ",
               process.why_not->hint);
  const bool of_python = process.python && !process.why_not;
  for (const ThreadStack& thread : process.threads)
    PrintThread(thread, of_python);
  for (const PythonThread& thread : process.unmatched) {
    fmt::print("thread {:#x} of Python: its number is not known{}\n",
               thread.ident, thread.holds_gil ? "; holds the GIL" : "");
    PrintFrames(thread);
  }
  if (!process.complete)
    fmt::print("Not all threads of Python could be read.\n");
}

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
                          {"stacks", StacksJson(thread.python)}};
    row["waits"] = wait.empty() ? nlohmann::json() : nlohmann::json(wait);
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
  nlohmann::json list = nlohmann::json::array();
  std::optional<Error> failed;
  for (const pid_t pid : tree ? TreeOf(root) : std::vector<pid_t>{root}) {
    const auto read = ReadProcessStacks(pid);
    if (!read.ok()) {
      if (pid == root) return read.error();
      continue;  // has just ended
    }
    const ProcessStacks& process = read.value();
    if (pid == root && process.why_not && !HasNoPython(process))
      failed = process.why_not;
    if (json) {
      list.push_back(ProcessJson(process));
    } else {
      if (pid != root) std::puts("");
      PrintProcess(process, pid == root);
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
