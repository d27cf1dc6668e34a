#include "collect/sample/process_stacks.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "base/text.h"
#include "base/time.h"
#include "collect/proc/pids.h"
#include "collect/proc/proc_file.h"
#include "collect/stacks/python_finder.h"

namespace sonde {
namespace {

std::string TaskFile(pid_t pid, pid_t tid, const char* name) {
  return ReadText(fmt::format("/proc/{}/task/{}/{}", pid, tid, name));
}

std::optional<ThreadStack> LookAtThread(pid_t pid, pid_t tid) {
  const std::string text = TaskFile(pid, tid, "stat");
  const auto stat = ParseProcessStat(text);
  if (!stat) return std::nullopt;
  ThreadStack out;
  out.tid = tid;
  out.name = std::string(stat->comm);
  out.state = stat->state;
  out.call = ParseSyscall(TaskFile(pid, tid, "syscall"));
  if (const auto times = ParseSchedStat(TaskFile(pid, tid, "schedstat"))) {
    out.cpu_ns = static_cast<int64_t>(times->run_ns);
  } else {
    const int64_t tick_ns = kNsPerSec / std::max(::sysconf(_SC_CLK_TCK), 1L);
    out.cpu_ns =
        static_cast<int64_t>(stat->user_ticks + stat->system_ticks) * tick_ns;
  }
  return out;
}

bool HasEnded(const ThreadStack& thread) {
  return thread.state == 'Z' || thread.state == 'X';
}

// Gives each thread of Python to the thread of the kernel that it is.
void MatchThreads(std::vector<PythonThread> python, ProcessStacks& out) {
  std::map<pid_t, ThreadStack*> by_own_tid;
  for (ThreadStack& thread : out.threads) {
    const auto own = ParseOwnPid(TaskFile(out.pid, thread.tid, "status"));
    by_own_tid[own.value_or(thread.tid)] = &thread;
  }
  const bool only_one = python.size() == 1 && out.threads.size() == 1;
  for (PythonThread& thread : python) {
    const auto found = by_own_tid.find(thread.own_tid);
    if (found != by_own_tid.end())
      found->second->python.push_back(std::move(thread));
    else if (only_one)
      out.threads[0].python.push_back(std::move(thread));
    else
      out.unmatched.push_back(std::move(thread));
  }
}

// When a process was started, in CLOCK_REALTIME, or a little before.
int64_t StartedNs(pid_t pid) {
  const std::string text = ReadText(fmt::format("/proc/{}/stat", pid));
  const auto stat = ParseProcessStat(text);
  if (!stat) return INT64_MAX;
  const int64_t tick_ns = kNsPerSec / std::max(::sysconf(_SC_CLK_TCK), 1L);
  return ClockNs(CLOCK_REALTIME) - ClockNs(CLOCK_BOOTTIME) +
         static_cast<int64_t>(stat->start_ticks) * tick_ns - kNsPerSec;
}

CodeFrame FrameOfPython(const PythonFrame& frame) {
  CodeFrame out;
  out.function = frame.function;
  out.file = frame.file;
  out.line = static_cast<uint32_t>(std::max(frame.line, 0));
  return out;
}

CodeFrame Named(CodeFrame frame, const PlaceName& name) {
  frame.function = name.function;
  frame.file = name.file;
  frame.line = name.line;
  return frame;
}

// A function without a name: where it is.
CodeFrame Unnamed(CodeFrame frame) {
  frame.function =
      frame.place
          ? fmt::format("{}+{:#x}",
                        frame.module.substr(frame.module.rfind('/') + 1),
                        frame.place->address)
          : fmt::format("{:#x}", frame.pc);
  return frame;
}

// Names of code that processes have made, by process and address.
using MadeNames = std::map<pid_t, std::map<uint64_t, PlaceName>>;

void NameAllMadeCode(MadeNames& made) {
  constexpr int64_t kMostNs = 2 * kNsPerSec;
  const int64_t until_ns = NowNs() + kMostNs;
  for (auto& [pid, names] : made) {
    std::vector<uint64_t> addresses;
    for (const auto& [address, name] : names) addresses.push_back(address);
    std::vector<PlaceName> found = NameMade(MadeCode::Of(pid), addresses,
                                            StartedNs(pid), NowNs() < until_ns);
    auto name = names.begin();
    for (PlaceName& one : found) (name++)->second = std::move(one);
  }
}

// Each frame becomes those of the functions that were put into it, and its own.
void PutNames(const NamedPlaces& named, const MadeNames& made, pid_t pid,
              std::vector<CodeFrame>& frames) {
  std::vector<CodeFrame> out;
  for (CodeFrame& frame : frames) {
    if (!frame.native) {
      out.push_back(std::move(frame));
    } else if (!frame.place) {
      out.push_back(Named(frame, made.at(pid).at(frame.pc)));
    } else if (const auto names = named.names.find(*frame.place);
               names != named.names.end()) {
      for (const PlaceName& name : names->second)
        out.push_back(Named(frame, name));
    } else {
      out.push_back(Unnamed(frame));
    }
  }
  frames = std::move(out);
}

}  // namespace

// The process that is read.
struct StackReader::Target {
  Target(pid_t of, CodeFiles& files) : pid(of), code(of, files) {}

  pid_t pid;
  ProcessCode code;
  std::optional<PythonProcess> python;
  std::optional<Interpreter> interpreter;
};

std::optional<StackReader::Asleep> StackReader::WhereAsleep(pid_t pid,
                                                            pid_t tid) {
  const auto at = ParseBlockedAt(TaskFile(pid, tid, "syscall"));
  if (!at || at->sp == 0) return std::nullopt;
  const auto times = ParseSchedStat(TaskFile(pid, tid, "schedstat"));
  return Asleep{*at, times ? times->slices : 0};
}

CodeFrame StackReader::FrameOf(const NativeFrame& native) const {
  CodeFrame out;
  out.native = true;
  const uint64_t back = native.is_return_address ? 1 : 0;
  out.pc = native.pc - back;
  if (native.file == nullptr) return out;
  out.place = CodePlace{native.file->number(), native.address - back};
  out.module = Printable(native.file->path(), PlaceName::kMostFileChars);
  return out;
}

// Puts native_ and what Python says of the thread into its frames.
void StackReader::Merge(const Target& target, ThreadStack& thread) {
  thread.frames.clear();
  thread.approximate =
      std::any_of(thread.python.begin(), thread.python.end(),
                  [](const PythonThread& one) { return one.approximate; });
  const auto python =
      std::find_if(thread.python.begin(), thread.python.end(),
                   [](const PythonThread& one) { return !one.frames.empty(); });
  const bool whole = native_.end == UnwindEnd::kComplete;
  if (python == thread.python.end() || !target.interpreter) {
    for (const NativeFrame& one : native_.frames)
      thread.frames.push_back(FrameOf(one));
    thread.cut = !native_.frames.empty() && !whole;
    return;
  }
  MergeStacks(native_, python->raw, *target.interpreter, merged_);
  for (const MergedFrame& one : merged_.frames)
    if (!one.python)
      thread.frames.push_back(FrameOf(native_.frames[one.index]));
    else if (one.index < python->frames.size())
      thread.frames.push_back(FrameOfPython(python->frames[one.index]));
  // What calls the outermost function of a Python is not shown anyway.
  thread.cut = python->cut || (!native_.frames.empty() && !whole &&
                               !target.interpreter->is_program);
}

void StackReader::ReadFrames(Target& target, std::optional<Asleep> before,
                             ThreadStack& thread) {
  bool moved = false;
  for (int tries = 0; tries < kMostTries; ++tries) {
    if (tries > 0) {
      // It may have mapped more code by now, or run another program.
      target.code.Changed();
      before = WhereAsleep(target.pid, thread.tid);
      if (const auto look = LookAtThread(target.pid, thread.tid)) {
        thread.state = look->state;
        thread.call = look->call;
      }
      if (target.python && !thread.python.empty()) {
        PythonThread& python = thread.python.front();
        auto again = target.python->Sample({python.own_tid});
        if (again.ok() && again.value().size() == 1) {
          const bool holds_gil = python.holds_gil;
          python = std::move(again.Take().front());
          python.holds_gil = holds_gil;
        }
      }
    }
    native_.frames.clear();
    if (before) sleeping_.Read(target.code, before->at, native_);
    moved = before != WhereAsleep(target.pid, thread.tid);
    if (!moved) break;
  }
  Merge(target, thread);
  if (moved && !native_.frames.empty()) thread.approximate = true;
}

Result<ProcessStacks> StackReader::Read(pid_t pid) {
  ProcessStacks out;
  out.pid = pid;
  const std::string folder = fmt::format("/proc/{}/", pid);
  out.command = ShortCommand(ParseCmdline(ReadText(folder + "cmdline")));
  Target target(pid, files_);
  auto found = PythonProcess::Find(pid);
  std::vector<pid_t> tids = NumbersIn(folder + "task");
  std::sort(tids.begin(), tids.end());
  // A thread that is there afterwards was there when its Python was read.
  std::unordered_map<pid_t, std::optional<Asleep>> before;
  for (const pid_t tid : tids) before[tid] = WhereAsleep(pid, tid);
  std::vector<PythonThread> python;
  if (found.ok()) {
    target.python = found.Take();
    out.python = target.python->python();
    target.interpreter =
        InterpreterOf(*out.python, ProgramOf(pid), LooksLikePython(pid));
    auto stacks = target.python->ReadStacks();
    if (stacks.ok()) {
      out.complete = stacks.value().complete;
      python = stacks.Take().threads;
    } else {
      out.why_not = stacks.error();
    }
  } else {
    out.why_not = found.error();
  }
  for (const pid_t tid : tids)
    if (auto thread = LookAtThread(pid, tid))
      out.threads.push_back(std::move(*thread));
  if (std::all_of(out.threads.begin(), out.threads.end(), HasEnded))
    return Error{Error::Kind::kNotFound,
                 fmt::format("process {} has ended", pid)};
  if (out.command.empty()) out.command = out.threads[0].name;
  MatchThreads(std::move(python), out);
  for (ThreadStack& thread : out.threads)
    ReadFrames(target, before[thread.tid], thread);
  return out;
}

void StackReader::Name(std::vector<ProcessStacks>& all,
                       const NamingLimits& limits) {
  std::vector<CodePlace> places;
  MadeNames made;
  for (const ProcessStacks& process : all)
    for (const ThreadStack& thread : process.threads)
      for (const CodeFrame& frame : thread.frames)
        if (frame.place)
          places.push_back(*frame.place);
        else if (frame.native)
          made[process.pid].try_emplace(frame.pc);
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  NamedPlaces named;
  if (!places.empty()) named = NamePlaces(files_, places, limits);
  NameAllMadeCode(made);
  for (ProcessStacks& process : all)
    for (ThreadStack& thread : process.threads)
      PutNames(named, made, process.pid, thread.frames);
}

}  // namespace sonde
