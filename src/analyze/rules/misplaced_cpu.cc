// misplaced_cpu: do its threads wait for a core while others are free?
//
// Evidence: for at least kMinTime of the steady part of the run, threads were
// ready without getting a core (kWaiting cores' worth of them) while at least
// kFree of a core had nothing to do. That is only so where threads may not go
// to the free cores: an affinity mask (taskset, numactl, a batch system, MPI),
// the program's own pinning, or NUMA placement. A container's CPU limit holds
// threads back as well; with one that is less than the mask allows, or that was
// reached, the rule is silent.

#include <fmt/format.h>

#include <algorithm>

#include "analyze/facts/pools.h"
#include "analyze/facts/steady_series.h"
#include "analyze/rules/rules.h"
#include "analyze/rules/weigh.h"
#include "analyze/series/run_series.h"

namespace sonde {
namespace {

constexpr double kWaiting = 0.50;
constexpr double kFree = 0.75;
constexpr double kMinTime = 0.60;

}  // namespace

Outcome MisplacedCpu(const Case& about) {
  const Facts& facts = about.facts();
  const RunFacts& run = facts.run;
  const Steady& steady = about.steady();
  const RegularSeries* const waiting = facts.series->Find("tree_wait");
  const RegularSeries* const busy = facts.series->Find("machine_cpu");
  if (run.cpu_limit_cores && run.allowed_cores &&
      *run.cpu_limit_cores < *run.allowed_cores)
    return {};
  for (const CgroupFacts& cgroup : facts.cgroups)
    if (cgroup.throttled_periods.value_or(0) > 0) return {};
  const double steal = facts.machine.steal_cores.value_or(0);
  double yes = 0, all = 0, waited = 0, free = 0;
  for (size_t i = 0; i < waiting->size(); ++i) {
    const int64_t at_ns = waiting->grid.TimeOf(i);
    if (!waiting->known[i] || !busy->known[i] || at_ns < steady.from_ns ||
        at_ns >= steady.to_ns)
      continue;
    ++all;
    const double left = facts.machine.cores - busy->values[i] - steal;
    if (waiting->values[i] < kWaiting || left < kFree) continue;
    ++yes;
    waited += waiting->values[i];
    free += left;
  }
  if (all == 0 || yes / all < kMinTime) return {};
  waited /= yes;
  free /= yes;

  Finding f = FindingIn(steady.from_ns, steady.to_ns);
  f.severity = Severity::kCritical;
  const double used = std::max(0.01, run.cores_used.value_or(1));
  f.summary = fmt::format(
      "Threads wait for cores ({:.1f} threads at a time) while {:.1f} cores "
      "are free that these threads may not use.",
      waited, free);
  Say(f,
      fmt::format("For {:.0f} % of the steady time threads were ready without "
                  "a core while {:.2f} of {} cores idled.",
                  yes / all * 100, free, facts.machine.cores));
  if (run.allowed_cores && run.cores && *run.allowed_cores < *run.cores)
    SayOfRun(f, facts,
             fmt::format("The program was started with leave to use {:g} of "
                         "{:g} cores.",
                         *run.allowed_cores, *run.cores));
  PutTime(f, yes / all);
  PutNumber(f, "waiting_threads", waited, Unit::kCount);
  PutNumber(f, "free_cores", free, Unit::kCores);
  PutNumber(f, "allowed_cores", run.allowed_cores, Unit::kCores);
  double switched = 0;
  for (const ProcessFacts& p : facts.processes)
    switched += p.involuntary_switches.value_or(0);
  if (switched > 0 && run.wall_ns > 0)
    SayOfRun(f, facts,
             fmt::format("The program's threads were taken off their core "
                         "{:.0f} times a second.",
                         switched / (static_cast<double>(run.wall_ns) / 1e9)));
  f.advice =
      "Something pins the program to few cores. `taskset -cp PID` shows to "
      "which; look for taskset, numactl, OMP_PROC_BIND, KMP_AFFINITY, "
      "GOMP_CPU_AFFINITY, `srun --cpus-per-task` and MPI's --bind-to, and "
      "give the program the cores that it has threads for. If the pinning is "
      "meant, start fewer threads: OMP_NUM_THREADS, "
      "DataLoader(num_workers=...).";
  const double more = std::min(waited, free);
  if (!MaySpin(about.pools(), used))
    f.gain = Gain{yes / all * more / (used + more) * about.series().OfRun(),
                  "if the threads that waited had run on the free cores"};
  f.confidence = 0.8;
  return {{std::move(f)}, ""};
}

}  // namespace sonde
