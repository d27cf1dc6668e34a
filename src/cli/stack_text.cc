#include "cli/stack_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "analyze/facts/sleepers.h"
#include "base/text.h"
#include "base/time.h"
#include "collect/sample/thread_states.h"

namespace sonde {
namespace {

constexpr size_t kMostProcesses = 16;
// For reading, and for naming what was read.
constexpr int64_t kMostHangNs = kNsPerSec;

// Letters of /proc/PID/task/TID/stat. One that is running and one that waits
// for a core have the same letter.
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

void PrintFrame(std::FILE* out, const std::string& function,
                const std::string& file, int64_t line) {
  fmt::print(out, "    {}", function);
  if (!file.empty() && line > 0)
    fmt::print(out, " ({}:{})", file, line);
  else if (!file.empty())
    fmt::print(out, " ({})", file);
  fmt::print(out, "\n");
}

void PrintEnd(std::FILE* out, bool cut, bool approximate) {
  if (cut) fmt::print(out, "    ... and callers that were not read\n");
  if (approximate)
    fmt::print(out, "    (approximate: the thread ran on while it was read)\n");
}

void PrintFrames(std::FILE* out, const PythonThread& thread) {
  for (const PythonFrame& frame : thread.frames)
    PrintFrame(out, frame.function, frame.file, frame.line);
  PrintEnd(out, thread.cut, thread.approximate);
}

void PrintFrames(std::FILE* out, const ThreadStack& thread) {
  for (const CodeFrame& frame : thread.frames)
    PrintFrame(out, frame.function,
               frame.file.empty() ? frame.module : frame.file, frame.line);
  PrintEnd(out, thread.cut, thread.approximate);
}

void PrintThread(std::FILE* out, const ThreadStack& thread, bool of_python) {
  std::string line =
      fmt::format("thread {} ({}): {}", thread.tid, Printable(thread.name, 40),
                  WordsOf(thread.state).text);
  if (const std::string wait = WaitOf(thread); !wait.empty())
    line += (wait.starts_with("in ") ? " " : ", waits ") + wait;
  if (thread.cpu_ns) line += "; CPU time " + FormatDuration(*thread.cpu_ns);
  for (const PythonThread& python : thread.python)
    if (python.holds_gil) line += "; holds the GIL";
  fmt::print(out, "{}\n", line);
  PrintFrames(out, thread);
  // The first that has frames is in those of the thread.
  bool is_first = true;
  for (const PythonThread& python : thread.python)
    if (!python.frames.empty() && !std::exchange(is_first, false))
      PrintFrames(out, python);
  if (of_python && thread.frames.empty() && !thread.approximate)
    fmt::print(out, "    no Python frames\n");
}

}  // namespace

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

void PrintStacks(std::FILE* out, const ProcessStacks& process,
                 bool with_error) {
  std::string line = fmt::format("process {}: {}", process.pid,
                                 Printable(process.command, 120));
  if (process.python) line += ", Python " + process.python->version;
  if (HasNoPython(process)) line += ", no Python found";
  fmt::print(out, "{}\n", line);
  if (process.why_not && !HasNoPython(process) && with_error)
    fmt::print(out, "no Python frames: {}{}{}\n", process.why_not->what,
               process.why_not->hint.empty() ? "" : "; ",
               process.why_not->hint);
  const bool of_python = process.python && !process.why_not;
  for (const ThreadStack& thread : process.threads)
    PrintThread(out, thread, of_python);
  for (const PythonThread& thread : process.unmatched) {
    fmt::print(out, "thread {:#x} of Python: its number is not known{}\n",
               thread.ident, thread.holds_gil ? "; holds the GIL" : "");
    PrintFrames(out, thread);
  }
  if (!process.complete)
    fmt::print(out, "Not all threads of Python could be read.\n");
}

void PrintHang(const std::vector<pid_t>& pids, const std::string& for_time) {
  fmt::print(stderr,
             "sonde: the program has done nothing for {}; its threads stand "
             "here:\n",
             for_time);
  const size_t shown = std::min(pids.size(), kMostProcesses);
  // Whoever calls has other things to do.
  const int64_t until_ns = NowNs() + kMostHangNs;
  StackReader reader;
  std::vector<ProcessStacks> all;
  size_t done = 0;
  for (; done < shown && NowNs() < until_ns; ++done)
    if (auto read = reader.Read(pids[done]); read.ok())
      all.push_back(read.Take());
  reader.Name(all, {.all_ns = kMostHangNs, .file_ns = kMostHangNs / 2});
  for (const ProcessStacks& process : all) PrintStacks(stderr, process, true);
  if (done < pids.size())
    fmt::print(stderr, "and {} more processes\n", pids.size() - done);
}

}  // namespace sonde
