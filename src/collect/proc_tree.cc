#include "collect/proc_tree.h"

#include <algorithm>

#include "base/time.h"

namespace sonde {
namespace {

constexpr int64_t kScanEveryNs = 20 * kNsPerMs;
// A look that takes long is followed by a long rest.
constexpr int64_t kRestFactor = 50;

}  // namespace

ProcTree::ProcTree(pid_t root, TraceWriter& out, const Options& options,
                   NotCollected why)
    : model_(out, world_,
             {.all_args = options.all_args,
              .cpu_parts = 0,
              .cores = 1,
              .detached = true}),
      scan_(model_),
      why_(std::move(why)) {
  model_.AddRoot(NowNs(), root);
  scan_.Scan(NowNs());
}

void ProcTree::Poll(int64_t now_ns) {
  if (now_ns < next_scan_ns_) return;
  const int64_t before_ns = NowNs();
  scan_.Scan(now_ns);
  model_.Settle(now_ns);
  const int64_t took_ns = NowNs() - before_ns;
  next_scan_ns_ = now_ns + std::max(kScanEveryNs, took_ns * kRestFactor);
}

void ProcTree::RootEnded(int64_t now_ns, int wait_status, const rusage&) {
  // The kernel's sum for a process that was waited for contains the children
  // it waited for, seen or not: its own share is not known.
  model_.RootEnded(now_ns, wait_status, -1);
}

void ProcTree::Finish(int64_t now_ns) {
  scan_.Scan(now_ns);
  model_.Finish(now_ns);
}

}  // namespace sonde
