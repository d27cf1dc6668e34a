#include "collect/sample/sampled_run.h"

#include <algorithm>
#include <utility>

#include "base/time.h"

namespace sonde {
namespace {

constexpr int64_t kMachineEveryNs = 100 * kNsPerMs;

}  // namespace

SampledRun::SampledRun(TraceWriter& writer, ProcessTree& process_tree,
                       double rate, std::string cgroup_text)
    : out(writer),
      tree(process_tree),
      rate_hz(rate),
      cgroup(std::move(cgroup_text)),
      slack_ns(static_cast<int64_t>(0.3e9 / std::max(rate, 1.0))),
      // The other half is for the processes still to come: their pidfds.
      budget{FdBudget::FromLimits().left / 2},
      places(tree, !cgroup.empty()),
      native(writer) {}

void SampledRun::BeginTick(int64_t now_ns) {
  machine_due = now_ns + slack_ns >= next_machine_ns_;
  if (!machine_due) return;
  next_machine_ns_ = now_ns + kMachineEveryNs;
  places.Look();
}

const char* NameOf(StacksBy by) {
  constexpr const char* kNames[] = {"best", "proc", "perf", "bpf"};
  return kNames[static_cast<size_t>(by)];
}

}  // namespace sonde
