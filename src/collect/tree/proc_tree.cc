#include "collect/tree/proc_tree.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "base/time.h"
#include "collect/proc/proc_file.h"
#include "collect/proc/process_files.h"

namespace sonde {
namespace {

constexpr int64_t kProcScanEveryNs = 20 * kNsPerMs;
// A look that takes long is followed by a long rest.
constexpr int64_t kRestFactor = 50;

// What we have started ourselves asks devices for us, and so does what that
// starts. None of it is ever known, so `parents` leads from it to us.
bool IsOurs(pid_t pid, const std::map<pid_t, pid_t>& parents) {
  // Looks at different moments, with a pid used again, may make a circle.
  for (size_t steps = 0; steps <= parents.size(); ++steps) {
    if (pid == ::getpid()) return true;
    const auto at = parents.find(pid);
    if (at == parents.end()) return false;
    pid = at->second;
  }
  return false;
}

}  // namespace

ProcTree::ProcTree(pid_t root, TraceWriter& out, const Options& options,
                   const SourceState& perf)
    : ModelTree(out, {.all_args = options.all_args,
                      .cpu_parts = 0,
                      .cores = 1,
                      .detached = true}),
      why_(
          Missing(kProcessTreeSource,
                  perf.why + "; processes that lived only a moment are missing",
                  perf.cure)) {
  model_.AddRoot(NowNs(), root);
  scan_.Scan(NowNs());
}

ProcTree::ProcTree(const WatchTarget& target, TraceWriter& out,
                   const Options& options)
    : ModelTree(out,
                {.all_args = options.all_args,
                 .cpu_parts = 0,
                 .cores = 1,
                 .detached = true,
                 .launched = false},
                target.follows_children()),
      target_(&target),
      since_ns_(NowNs()),
      why_(Missing(kProcessTreeSource,
                   "processes that run already are followed by looking at "
                   "/proc; those that lived only a moment are missing",
                   "sonde run -- COMMAND")) {
  AddFound(since_ns_);
  scan_.Scan(NowNs());
}

// Takes in the processes of the target that are not known yet, parents before
// their children.
void ProcTree::AddFound(int64_t now_ns) {
  struct Found {
    uint64_t start_ticks;
    pid_t pid, ppid;
    std::string comm;
  };
  std::vector<Found> fresh;
  std::map<pid_t, pid_t> parents;  // of those that are not known
  for (const pid_t pid : target_->Processes()) {
    if (model_.FindPid(pid) != nullptr) continue;
    const auto stat = ParseProcessStat(
        ReadOnce(fmt::format("/proc/{}/stat", pid).c_str(), buffer_));
    if (!stat) continue;
    parents[pid] = stat->ppid;
    if (stat->kernel || stat->state == 'Z' || stat->state == 'X') continue;
    fresh.push_back(
        {stat->start_ticks, pid, stat->ppid, std::string(stat->comm)});
  }
  std::erase_if(fresh,
                [&](const Found& one) { return IsOurs(one.pid, parents); });
  std::stable_sort(fresh.begin(), fresh.end(),
                   [](const Found& a, const Found& b) {
                     return std::pair(a.start_ticks, a.pid) <
                            std::pair(b.start_ticks, b.pid);
                   });
  for (const Found& one : fresh)
    model_.AddFound(std::min(now_ns, StartNs(one.start_ticks)), since_ns_,
                    one.pid, one.ppid, one.comm);
}

void ProcTree::Poll(int64_t now_ns) {
  if (now_ns < next_scan_ns_) return;
  // Not by the time of day: we may have been stopped in the midst of it.
  const int64_t before_ns = ClockNs(CLOCK_THREAD_CPUTIME_ID);
  if (target_ != nullptr && !target_->follows_children()) AddFound(now_ns);
  scan_.Scan(now_ns);
  model_.Settle(now_ns);
  const int64_t took_ns = ClockNs(CLOCK_THREAD_CPUTIME_ID) - before_ns;
  next_scan_ns_ = now_ns + std::max(kProcScanEveryNs, took_ns * kRestFactor);
}

void ProcTree::RootEnded(int64_t now_ns, int wait_status, const rusage&) {
  // The kernel's sum for a process that was waited for contains the children
  // it waited for, seen or not: its own share is not known.
  model_.RootEnded(now_ns, wait_status, -1);
}

void ProcTree::Stop(int64_t now_ns) {
  scan_.Scan(now_ns);
  model_.Finish(now_ns);
}

std::unique_ptr<ProcessTree> ProcessTree::Watch(const WatchTarget& target,
                                                TraceWriter& out,
                                                const Options& options) {
  return std::make_unique<ProcTree>(target, out, options);
}

}  // namespace sonde
