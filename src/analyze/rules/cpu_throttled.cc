// cpu_throttled: does the container's CPU limit hold it back?
//
// Evidence: the kernel's account of the cgroup. Its tasks stood still for more
// than kMinTime of the time because its share of a period was used up, in at
// least kMinPeriods of the periods. That is exact: no threshold on CPU use is
// needed, and a program that stays below its limit on average is found too.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analyze/facts/pools.h"
#include "analyze/rules/rules.h"
#include "analyze/rules/weigh.h"
#include "base/text.h"

namespace sonde {
namespace {

constexpr double kMinTime = 0.05;
constexpr double kMinPeriods = 0.05;

double PeriodsOf(const CgroupFacts& c) {
  return c.periods.value_or(0) > 0
             ? std::min(1.0, c.throttled_periods.value_or(0) / *c.periods)
             : 0;
}

}  // namespace

Outcome CpuThrottled(const Case& about) {
  const Facts& facts = about.facts();
  const CgroupFacts* held = nullptr;
  for (const CgroupFacts& c : facts.cgroups) {
    if (c.throttled_ns.value_or(0) >
        (held != nullptr ? *held->throttled_ns : 0))
      held = &c;
  }
  if (held == nullptr) return {};
  const int64_t known_ns =
      held->covered_ns > 0 ? held->covered_ns : facts.run.wall_ns;
  const double wall = static_cast<double>(known_ns);
  const double waited = static_cast<double>(*held->throttled_ns);
  const double periods = PeriodsOf(*held);
  if (waited <= kMinTime * wall || periods < kMinPeriods) return {};

  Finding f = FindingIn(facts.run.begin_ns, facts.run.end_ns);
  const MaybeNumber cores =
      held->cpu_limit_cores ? held->cpu_limit_cores : facts.run.cpu_limit_cores;
  const std::string limit =
      cores ? fmt::format(" of {:g} core{}", *cores, *cores == 1 ? "" : "s")
            : "";
  f.summary = fmt::format(
      "Held back by its CPU limit{}: the container was throttled in {} of the "
      "periods.",
      limit, FormatShare(periods));
  Say(f,
      fmt::format("Cgroup {} stood still in {:.0f} of {:.0f} periods, for {} "
                  "of CPU time in {} (summed over its cores).",
                  Printable(held->path, 60), *held->throttled_periods,
                  *held->periods, FormatDuration(*held->throttled_ns),
                  FormatDuration(known_ns)));
  const double used =
      static_cast<double>(held->cpu_ns.value_or(facts.run.cpu_ns.value_or(0)));
  Say(f, fmt::format("The cgroup used {:.2f} cores on average.", used / wall));
  const std::vector<Pool> pools = about.pools();
  PutNumber(f, "throttled_periods", periods, Unit::kShare);
  PutNumber(f, "throttled", waited / 1e9, Unit::kSeconds);
  PutNumber(f, "own_cores", used / wall, Unit::kCores);
  PutNumber(f, "limit_cores", cores, Unit::kCores);
  const bool crowded = cores && static_cast<double>(ThreadsIn(pools)) >
                                    std::max(1.0, std::floor(*cores));
  if (crowded) Say(f, fmt::format("{} want to run.", CallPools(pools)));
  f.advice = fmt::format(
      "The program has work to do, but its share of the time is used up. "
      "Raise the limit (docker update --cpus N, resources.limits.cpu in "
      "Kubernetes, cpu.max of the cgroup), or use no more threads than the "
      "limit allows{}. Many threads use up a period's share at its beginning "
      "and then all stand still.",
      crowded ? ": " + FitPools(pools, *cores) : "");
  const double share =
      waited / (waited + used) * std::min(1.0, wall / facts.JudgedNs());
  PutGain(f, share, "if the program had run while it was throttled");
  if (crowded && MaySpin(pools, *cores)) f.gain.reset();
  f.confidence = 0.95;
  return {{std::move(f)}, ""};
}

}  // namespace sonde
