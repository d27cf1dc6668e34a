#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/fd.h"
#include "collect/perf/perf_ring.h"
#include "collect/tree/proc_world.h"
#include "collect/tree/process_tree.h"
#include "collect/tree/task_events.h"

namespace sonde {
namespace {

// Opens the event on ourselves, as `sonde run` does on the command.
SourceState CheckPerf(TaskEvent event, std::string detail) {
  const auto ring = PerfRing::Open(AttrOf(event), ::getpid(), 0, 8);
  return ring.ok() ? SourceState::Works(std::move(detail))
                   : ExplainPerf(ring.error());
}

SourceState CheckTree() {
  return CheckPerf(TaskEvent::kTree, "every fork, exec and exit, by perf");
}

SourceState CheckCpuTimes() {
  return CheckPerf(TaskEvent::kCpu,
                   "CPU time of every thread at its end, by perf");
}

SourceState CheckExitStatus() {
  const pid_t child = ::fork();
  if (child < 0) return SourceState::Fails("fork: cannot try", "");
  if (child == 0) ::_exit(42);
  const Fd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (pidfd.valid() && PidfdWaitStatus(pidfd.get()) == status)
    return SourceState::Works(
        "of every descendant that lives a few milliseconds");
  return SourceState::Fails(
      "the kernel tells it only of zombies (pidfd info is newer)",
      "use Linux 6.15 or newer");
}

}  // namespace

constexpr SourceInfo kProcessTreeSource = {
    "process tree", "start, exec and end of every process", CheckTree};
constexpr SourceInfo kCpuAtExitSource = {
    "CPU times at exit", "CPU time of processes however short", CheckCpuTimes};

namespace {

constexpr SourceInfo kSources[] = {
    kProcessTreeSource,
    kCpuAtExitSource,
    {"exit status", "how descendants ended", CheckExitStatus},
};

}  // namespace

extern const GathererInfo kTreeGatherer = {kSources};

}  // namespace sonde
