#include "collect/tree/proc_world.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/time.h"
#include "collect/proc/proc_file.h"
#include "collect/proc/process_files.h"

namespace sonde {
namespace {

// The first version of what PIDFD_GET_INFO fills in (Linux 6.13); our headers
// may be older. The exit status came with Linux 6.15.
struct PidfdInfo {
  uint64_t mask;
  uint64_t cgroup_id;
  uint32_t pid, tgid, ppid;
  uint32_t ids[8];
  int32_t exit_code;
};
static_assert(sizeof(PidfdInfo) == 64);
constexpr uint64_t kInfoExit = 1 << 3;

constexpr size_t kMostPidfds = 1024;
constexpr size_t kLongestCmdline = 64 << 10;

Fd OpenPidfd(pid_t pid) {
  return Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

// May we see what /proc hides from other users? A zombie's exit code then is
// shown as 0.
bool MayLookInto(pid_t pid) {
  char target[8];
  return ::readlink(fmt::format("/proc/{}/cwd", pid).c_str(), target,
                    sizeof(target)) >= 0 ||
         (errno != EACCES && errno != EPERM);
}

}  // namespace

int64_t StartNs(uint64_t start_ticks) {
  static const int64_t ticks_per_s = std::max(1L, ::sysconf(_SC_CLK_TCK));
  const int64_t since_boot_ns =
      static_cast<int64_t>(std::min<uint64_t>(start_ticks, 1ull << 52)) *
      (kNsPerSec / ticks_per_s);
  return since_boot_ns - (ClockNs(CLOCK_BOOTTIME) - NowNs());
}

std::optional<int> PidfdWaitStatus(int pidfd) {
  PidfdInfo info = {};
  info.mask = kInfoExit;
  if (::ioctl(pidfd, _IOWR(0xff, 11, PidfdInfo), &info) != 0 ||
      (info.mask & kInfoExit) == 0)
    return std::nullopt;
  return info.exit_code;
}

ProcWorld::ProcWorld()
    : limit_(std::min(kMostPidfds, FdBudget::FromLimits().left / 4)) {}

void ProcWorld::Foresee(pid_t pid) {
  if (pidfds_.size() + foreseen_.size() >= limit_) return;
  if (Fd fd = OpenPidfd(pid); fd.valid()) foreseen_[pid] = std::move(fd);
}

void ProcWorld::Begun(uint32_t number, pid_t pid) {
  if (auto node = foreseen_.extract(pid)) {
    pidfds_[number] = std::move(node.mapped());
  } else if (pidfds_.size() + foreseen_.size() < limit_) {
    if (Fd fd = OpenPidfd(pid); fd.valid()) pidfds_[number] = std::move(fd);
  }
}

void ProcWorld::Done(uint32_t number) { pidfds_.erase(number); }

std::optional<int> ProcWorld::WaitStatus(uint32_t number) {
  const auto at = pidfds_.find(number);
  if (at == pidfds_.end()) return std::nullopt;
  return PidfdWaitStatus(at->second.get());
}

std::optional<TaskWorld::State> ProcWorld::Look(pid_t pid) {
  const auto stat = ParseProcessStat(
      ReadOnce(fmt::format("/proc/{}/stat", pid).c_str(), buffer_));
  if (!stat) return std::nullopt;
  State state;
  state.ended = stat->state == 'Z' || stat->state == 'X' || stat->exiting;
  state.start_ns = StartNs(stat->start_ticks);
  if (stat->wait_status && (*stat->wait_status != 0 || MayLookInto(pid)))
    state.wait_status = stat->wait_status;
  return state;
}

std::string ProcWorld::Cmdline(pid_t pid) {
  const std::string_view text =
      ReadOnce(fmt::format("/proc/{}/cmdline", pid).c_str(), buffer_);
  return std::string(text.substr(0, kLongestCmdline));
}

}  // namespace sonde
