// checkpoint_stall: does it stand still while it saves?
//
// Evidence: kMinTimes dips and more of what the run mainly uses (accelerator or
// CPU, without the kernel's work: that is the saving itself) in which it writes
// several times what it writes otherwise (analyze/pattern/phases.h), together
// kMinShare of the run. From kMaxShare on it is not the odd checkpoint: if
// computing and writing take turns, `alternating` tells of it.

#include <fmt/format.h>

#include <algorithm>

#include "analyze/pattern/phases.h"
#include "analyze/rules/rules.h"
#include "analyze/rules/weigh.h"
#include "analyze/scan.h"
#include "analyze/steady_series.h"
#include "base/text.h"

namespace sonde {
namespace {

constexpr size_t kMinTimes = 2;
constexpr double kMinShare = 0.05;
constexpr double kMaxShare = 0.27;

}  // namespace

Outcome CheckpointStall(const Facts& facts) {
  const Steady steady = SteadyOf(facts);
  if (!steady.not_enough_data.empty())
    return Outcome::NotEnough(steady.not_enough_data);
  const RunSeries& series = *facts.series;
  const RegularSeries* const written = series.Find("tree_write") != nullptr
                                           ? series.Find("tree_write")
                                           : series.Find("disk_write");
  if (written == nullptr)
    return Outcome::NotEnough("what was written was not collected");
  const RegularSeries computing = JudgedOf(facts, ComputingOf(series));
  const Phases phases = PhasesOf({computing.size() > 0 ? &computing : nullptr,
                                  series.Find("accelerator"), written});
  if (!phases.not_enough_data.empty())
    return Outcome::NotEnough(phases.not_enough_data);

  int64_t stalled_ns = 0, longest_ns = 0;
  std::vector<const Phase*> stalls;
  for (const Phase& phase : phases.list) {
    if (phase.kind != Phase::Kind::kCheckpoint) continue;
    const int64_t ns = Elapsed(phase.from_ns, phase.to_ns);
    stalled_ns += ns;
    longest_ns = std::max(longest_ns, ns);
    stalls.push_back(&phase);
  }
  const double share =
      static_cast<double>(stalled_ns) / static_cast<double>(facts.run.wall_ns);
  if (stalls.size() < kMinTimes || share < kMinShare) return {};
  if (share >= kMaxShare && !Alternating(facts).findings.empty()) return {};

  Finding f = FindingOf("checkpoint_stall", steady);
  const char* const what =
      phases.main == series.Find("accelerator") ? "accelerator" : "CPU";
  f.summary =
      fmt::format("Stands still while it saves: {} times, {} of the run.",
                  stalls.size(), FormatShare(share));
  Say(f, fmt::format("The {} had less to do {} times while much was written, "
                     "for {} together and {} at most.",
                     what, stalls.size(), FormatDuration(stalled_ns),
                     FormatDuration(longest_ns)));
  f.evidence.push_back({"The first of them: " + stalls[0]->reason + ".",
                        stalls[0]->from_ns, stalls[0]->to_ns});
  f.advice =
      "Save in the background: copy the state to memory, go on, and let "
      "another thread write it (in PyTorch: "
      "torch.distributed.checkpoint.async_save). Or save less often, less (no "
      "optimizer state where it is not needed), or to a faster disk.";
  PutGain(f, share, "estimated as if it went on while it saves");
  f.confidence = 0.8;
  return {{std::move(f)}, ""};
}

}  // namespace sonde
