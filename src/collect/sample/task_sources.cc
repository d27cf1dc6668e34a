#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

#include "base/fd.h"
#include "collect/proc/process_files.h"
#include "collect/sample/task_sampler.h"

namespace sonde {
namespace {

// Whether a file of our own can be read and understood.
template <typename Parse>
SourceState CheckFile(const char* path, Parse parse, const char* detail,
                      const char* cure) {
  const auto text = ReadFile(path);
  if (text.ok() && parse(text.value())) return SourceState::Works(detail);
  return SourceState::Fails(
      text.ok() ? std::string(path) + ": not understood" : text.error().what,
      cure);
}

SourceState CheckTimes() {
  return CheckFile("/proc/self/schedstat", ParseSchedStat,
                   "CPU and waiting time of each thread",
                   "use a kernel with CONFIG_SCHED_INFO");
}

SourceState CheckIo() {
  return CheckFile("/proc/self/io", ParseProcessIo,
                   "bytes and calls of each process, from /proc/PID/io",
                   "use a kernel with CONFIG_TASK_IO_ACCOUNTING");
}

SourceState CheckPss() {
  return CheckFile("/proc/self/smaps_rollup", ParsePssBytes,
                   "every 10 s at most, from /proc/PID/smaps_rollup",
                   "use Linux 4.14 or newer");
}

// Asks a child, as a recording does: of ourselves everything may be read.
SourceState CheckStates() {
  const pid_t child = ::fork();
  if (child < 0) return SourceState::Fails("fork: cannot try", "");
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) ::pause();
  }
  const std::string folder = fmt::format("/proc/{0}/task/{0}/", child);
  const auto stat = ReadFile(folder + "stat");
  const auto call = ReadFile(folder + "syscall");
  ::kill(child, SIGKILL);
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  if (!stat.ok() || !ParseProcessStat(stat.value()))
    return SourceState::Fails("/proc/PID/task/TID/stat cannot be read",
                              "mount -t proc proc /proc");
  if (!call.ok())
    return SourceState::Fails(
        "/proc/PID/task/TID/syscall cannot be read: which threads are blocked "
        "is known, for what is not",
        "sysctl kernel.yama.ptrace_scope=1, or run sonde as root");
  return SourceState::Works(
      "time blocked, for disks or not, and where threads sleep");
}

constexpr SourceInfo kTimesSource = {
    "thread times", "CPU and waiting time of threads", CheckTimes};
constexpr SourceInfo kStatesSource = {
    "thread states", "threads blocked for disks, and where others sleep",
    CheckStates};
constexpr SourceInfo kIoSource = {
    "process I/O", "bytes read and written by each process", CheckIo};
constexpr SourceInfo kPssSource = {
    "PSS", "memory of each process, shared pages shared", CheckPss};
constexpr SourceInfo kTaskSources[] = {kTimesSource, kStatesSource, kIoSource,
                                       kPssSource};

}  // namespace

std::vector<NotCollected> TaskSampler::not_collected() const {
  std::vector<NotCollected> out;
  const auto denied = [&](bool is, const SourceInfo& source, const char* file) {
    if (is)
      out.push_back(
          Missing(source, std::string(file) + " of a process with other rights",
                  "run sonde as root"));
  };
  denied(io_denied_, kIoSource, "/proc/PID/io");
  denied(states_.denied(), kStatesSource, "/proc/PID/task/TID/syscall");
  denied(pss_denied_, kPssSource, "/proc/PID/smaps_rollup");
  return out;
}

extern const GathererInfo kTaskGatherer = {kTaskSources, Make<TaskSampler>};

}  // namespace sonde
