#include "collect/stacks/process_stacks.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "base/time.h"
#include "collect/proc/pids.h"
#include "collect/proc/proc_file.h"
#include "collect/proc/process_files.h"

namespace sonde {
namespace {

std::optional<ThreadStack> LookAtThread(const std::string& folder, pid_t tid) {
  const std::string text = ReadText(folder + "stat");
  const auto stat = ParseProcessStat(text);
  if (!stat) return std::nullopt;
  ThreadStack out;
  out.tid = tid;
  out.name = std::string(stat->comm);
  out.state = stat->state;
  out.call = ParseSyscall(ReadText(folder + "syscall"));
  if (const auto times = ParseSchedStat(ReadText(folder + "schedstat"))) {
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
    const auto own = ParseOwnPid(
        ReadText(fmt::format("/proc/{}/task/{}/status", out.pid, thread.tid)));
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

}  // namespace

Result<ProcessStacks> ReadProcessStacks(pid_t pid) {
  ProcessStacks out;
  out.pid = pid;
  const std::string folder = fmt::format("/proc/{}/", pid);
  out.command = ShortCommand(ParseCmdline(ReadText(folder + "cmdline")));
  std::vector<PythonThread> python;
  auto found = PythonProcess::Find(pid);
  if (found.ok()) {
    PythonProcess process = found.Take();
    out.python = process.python();
    auto stacks = process.ReadStacks();
    if (stacks.ok()) {
      out.complete = stacks.value().complete;
      python = stacks.Take().threads;
    } else {
      out.why_not = stacks.error();
    }
  } else {
    out.why_not = found.error();
  }
  std::vector<pid_t> tids = NumbersIn(folder + "task");
  std::sort(tids.begin(), tids.end());
  for (const pid_t tid : tids)
    if (auto thread = LookAtThread(fmt::format("{}task/{}/", folder, tid), tid))
      out.threads.push_back(std::move(*thread));
  if (std::all_of(out.threads.begin(), out.threads.end(), HasEnded))
    return Error{Error::Kind::kNotFound,
                 fmt::format("process {} has ended", pid)};
  if (out.command.empty()) out.command = out.threads[0].name;
  MatchThreads(std::move(python), out);
  return out;
}

}  // namespace sonde
