// oversubscribed: do more threads want to run than there are cores for?
//
// Evidence: for at least kMostOfTheTime of the steady part the program's own
// threads that ran or were ready were kTimesCores of the cores it may use, or
// kNearly so (threads that are always ready are seen to wait a little less),
// and kMinThreads at least (two threads in half a core are not many), and they
// were taken off their core kMinSwitches times a second for each of these
// cores. Only its own threads count, and of their waiting only what they do to
// each other: a program that waits because others use the cores is not
// oversubscribed.

#include <fmt/format.h>

#include <algorithm>

#include "analyze/facts/pools.h"
#include "analyze/facts/steady_series.h"
#include "analyze/rules/command_groups.h"
#include "analyze/rules/rules.h"
#include "analyze/rules/weigh.h"

namespace sonde {
namespace {

constexpr double kTimesCores = 2;
constexpr double kNearly = 0.9;
constexpr double kMinThreads = 3;
constexpr double kMinSwitches = 10;  // a second and core
// Pools with fewer threads than this share of what wants to run are not all.
constexpr double kMostThreads = 0.6;

// Threads that ran or would have, without others on its cores: who waits for a
// core waits for those that have one, its own and others.
double Wanted(double own, double waiting, double machine, double capacity) {
  const double others = std::max(0.0, std::min(machine, capacity) - own);
  return own + (own + others > 0 ? waiting * own / (own + others) : waiting);
}

}  // namespace

Outcome Oversubscribed(const Case& about) {
  const Facts& facts = about.facts();
  const Steady& steady = about.steady();
  const SteadySeries& series = about.series();
  const SeriesView cpu = series.Find("tree_cpu");
  const SeriesView wait = series.Find("tree_wait");
  const SeriesView switched = series.Find("tree_switched");
  const SeriesView machine = series.Find("machine_cpu");

  const double capacity = *facts.run.capacity_cores;
  const bool limited = facts.run.cpu_limit_cores.value_or(0) == capacity;
  const double time = series.ShareWhere([&](size_t i) {
    return Wanted(cpu.At(i), wait.At(i), machine.At(i), capacity) >=
           std::max(kMinThreads, kNearly * kTimesCores * capacity);
  });
  if (time < kMostOfTheTime || switched.Mean() < kMinSwitches * capacity)
    return {};

  Finding f = FindingIn(steady.from_ns, steady.to_ns);
  const double wanted = cpu.Mean() + wait.Mean();
  std::vector<Pool> pools = about.pools();
  if (static_cast<double>(ThreadsIn(pools)) < kMostThreads * wanted)
    pools.clear();
  const std::string cores =
      fmt::format("{:g}{} core{}", capacity, limited ? " permitted" : "",
                  capacity == 1 ? "" : "s");
  f.summary =
      fmt::format("Too many threads: {} want to run at a time on {}.",
                  pools.empty()       ? fmt::format("{:.1f}", wanted)
                  : pools.size() == 1 ? fmt::format("{}", pools[0].threads)
                                      : CallPools(pools),
                  cores);
  Say(f,
      fmt::format("At least {:g} threads a core ran or were ready for {:.0f} "
                  "% of the steady time; {:.1f} of them were waiting.",
                  kNearly * kTimesCores, time * 100, wait.Mean()));
  Say(f, fmt::format("These threads were taken off their core {:.0f} times a "
                     "second.",
                     switched.Mean()));
  PutTime(f, time);
  PutNumber(f, "ready_threads", wanted, Unit::kCount);
  PutNumber(f, "waiting_threads", wait.Mean(), Unit::kCount);
  PutNumber(f, "allowed_cores", capacity, Unit::kCores);
  PutNumber(f, "switches", switched.Mean(), Unit::kPerSecond);
  const std::vector<CommandGroup> groups = GroupsByName(facts);
  if (!groups.empty()) {
    f.where = groups[0].Look();
    Say(f, "Most CPU time went to " + CallTop(groups) + ".");
  }
  f.advice = fmt::format(
      "The threads take turns on the cores, lose what is in the caches, and "
      "wait for each other's locks. Use as many threads as there are cores, "
      "in all pools together: {}.",
      FitPools(pools, capacity));
  f.confidence = SureOf(time, 0.95);
  return {{std::move(f)}, ""};
}

}  // namespace sonde
