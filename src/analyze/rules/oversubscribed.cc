// oversubscribed: do more threads want to run than there are cores for?
//
// Evidence: for at least kMostOfTheTime of the steady part the program's own
// threads that ran or were ready were kTimesCores of the cores it may use, or
// kNearly so (threads that are always ready are seen to wait a little less),
// and kMinThreads at least (two threads in half a core are not many), and they
// were taken off their core kMinSwitches times a second for each of these
// cores. Only its own threads count: a program that waits because others use
// the cores is not oversubscribed.

#include <fmt/format.h>

#include <algorithm>

#include "analyze/accelerators.h"
#include "analyze/groups.h"
#include "analyze/rules/rules.h"
#include "analyze/rules/weigh.h"
#include "analyze/steady_series.h"
#include "base/text.h"

namespace sonde {
namespace {

constexpr double kTimesCores = 2;
constexpr double kNearly = 0.9;
constexpr double kMinThreads = 3;
constexpr double kMinSwitches = 10;  // a second and core

}  // namespace

Outcome Oversubscribed(const Facts& facts) {
  if (!facts.run.capacity_cores)
    return Outcome::NotEnough("how many cores it may use was not recorded");
  const Steady steady = SteadyOf(facts);
  if (!steady.not_enough_data.empty())
    return Outcome::NotEnough(steady.not_enough_data);
  // An accelerator that always works is what limits the run.
  if (AcceleratorsWellUsed(facts)) return {};
  const SteadySeries series(facts, steady);
  const SeriesView cpu = series.Find("tree_cpu");
  const SeriesView wait = series.Find("tree_wait");
  const SeriesView switched = series.Find("tree_switched");
  if (!wait.collected() || !switched.collected())
    return Outcome::NotEnough(
        "how long threads waited for a core, or how often they lost it, was "
        "not collected");

  const double capacity = *facts.run.capacity_cores;
  const double time = series.ShareWhere([&](size_t i) {
    return cpu.At(i) + wait.At(i) >=
           std::max(kMinThreads, kNearly * kTimesCores * capacity);
  });
  if (time < kMostOfTheTime || switched.Mean() < kMinSwitches * capacity)
    return {};

  Finding f = FindingOf("oversubscribed", steady);
  const std::string cores =
      fmt::format("{:g} core{}", capacity, capacity == 1 ? "" : "s");
  f.summary =
      fmt::format("Too many threads: {:.1f} want to run at a time on {}.",
                  cpu.Mean() + wait.Mean(), cores);
  Say(f,
      fmt::format("At least {:g} threads a core ran or were ready for {:.0f} "
                  "% of the steady time; {:.1f} of them were waiting.",
                  kNearly * kTimesCores, time * 100, wait.Mean()));
  Say(f, fmt::format("They were taken off their core {:.0f} times a second.",
                     switched.Mean()));
  const std::vector<CommandGroup> groups = GroupsByName(facts);
  if (!groups.empty()) {
    f.where = groups[0].Look();
    Say(f, "Most CPU time went to " + CallTop(groups) + ".");
  }
  f.advice = fmt::format(
      "They take turns on the cores, lose what is in the caches, and wait for "
      "each other's locks. Use as many threads as there are cores, in all "
      "pools together: OMP_NUM_THREADS={0:.0f} (also MKL_NUM_THREADS, "
      "OPENBLAS_NUM_THREADS), torch.set_num_threads({0:.0f}), fewer workers, "
      "make -j{0:.0f}.",
      std::max(1.0, capacity));
  f.confidence = SureOf(time, 0.95);
  return {{std::move(f)}, ""};
}

}  // namespace sonde
