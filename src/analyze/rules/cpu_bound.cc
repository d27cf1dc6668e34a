// cpu_bound: does it use all the cores it may use?
//
// Evidence: for at least kMinTime of the steady part of the run the program's
// processes kept kBusy of the cores they may use busy. If they may use the
// whole machine, a window also counts in which nothing was left idle and the
// program had the most of it (kMinOwn): somebody else's crumbs do not make it
// less bound. If it had less, its threads must have been ready for kBusy of the
// cores: then it would fill them alone. But threads that hand a lock to each
// other are ready as well while they queue for a core: where most of
// them gave up their core every other millisecond, or about one core's worth
// ran and most were seen waiting for a thread (MayTakeTurns), nobody knows, and
// the rule is silent. It is silent, too, about cores that mostly others used,
// or that the hypervisor took away.

#include <fmt/format.h>

#include <algorithm>

#include "analyze/facts/neighbours.h"
#include "analyze/facts/pools.h"
#include "analyze/facts/sleepers.h"
#include "analyze/facts/steady_series.h"
#include "analyze/rules/command_groups.h"
#include "analyze/rules/rules.h"
#include "analyze/rules/weigh.h"
#include "base/text.h"

namespace sonde {
namespace {

constexpr double kBusy = 0.90;
constexpr double kMinTime = 0.60;
constexpr double kMinOwn = 0.60;
constexpr double kMinOwnIfReady = 0.25;
constexpr double kOneAtATime = 1.15;  // cores
constexpr double kWorks = 0.02;       // of the CPU time: a thread that works
constexpr double kGivesUp = 500;      // times in a second of CPU time
// Others, steal and the kernel are worth a sentence from here on.
constexpr double kNotableCores = 0.1;
constexpr double kNotableKernel = 0.3;

// Share of the CPU time that was spent in the kernel, where both are known.
MaybeNumber KernelShare(const Facts& facts) {
  double user = 0, system = 0;
  for (const ProcessFacts& p : facts.processes) {
    if (!p.user_ns || !p.system_ns) continue;
    user += static_cast<double>(*p.user_ns);
    system += static_cast<double>(*p.system_ns);
  }
  if (user + system <= 0) return std::nullopt;
  return system / (user + system);
}

// One process has nearly all the CPU time, and at least half of its threads
// that work wait for something again and again or, where it used about one
// core, were last seen waiting for another thread.
bool MayTakeTurns(const Facts& facts, double own_cores) {
  const bool about_one = own_cores <= kOneAtATime;
  for (const ProcessFacts& p : facts.processes) {
    if (p.cpu_share.value_or(0) < kBusy) continue;
    size_t working = 0, waiting = 0;
    for (const ThreadFacts& t : p.threads) {
      if (t.cpu_share.value_or(0) < kWorks) continue;
      ++working;
      const double cpu_s = static_cast<double>(t.cpu_ns.value_or(0)) / 1e9;
      waiting += (about_one && WaitsForThread(*facts.store, t)) ||
                         t.voluntary_switches.value_or(0) > kGivesUp * cpu_s
                     ? 1
                     : 0;
    }
    return working > 1 && 2 * waiting >= working;
  }
  return false;
}

}  // namespace

Outcome CpuBound(const Case& about) {
  const Facts& facts = about.facts();
  const RunFacts& run = facts.run;
  const Steady& steady = about.steady();

  const double capacity = *run.capacity_cores;
  // With fewer than all cores, the machine's idle time may be the others'.
  const bool whole_machine = run.cores && capacity >= *run.cores;
  const SteadySeries& series = about.series();
  const SeriesView waiting = series.Find("tree_wait");
  const auto saturated = [&](const CpuWindow& w) {
    if (w.tree_cores >= kBusy * capacity) return true;
    if (!whole_machine || !w.machine_known ||
        w.busy_cores + w.steal_cores < kBusy * capacity)
      return false;
    const double ready =
        w.tree_cores + waiting.At(series.WindowOf(w.from_ns, w.to_ns));
    return w.tree_cores >= kMinOwn * capacity ||
           (w.tree_cores >= kMinOwnIfReady * capacity &&
            ready >= kBusy * capacity);
  };
  const double time = steady.ShareWhere(saturated);
  if (time < kMinTime) return {};

  const auto mean = [&](double CpuWindow::*field) {
    return steady.MeanWhere(saturated,
                            [&](const CpuWindow& w) { return w.*field; });
  };
  // Rounding of clocks and what is spread evenly may lead beyond what is there.
  const double own = std::min(capacity, mean(&CpuWindow::tree_cores));
  const bool had_less = own < kMinOwn * capacity;
  if (own < kBusy * capacity && MayTakeTurns(facts, own)) return {};
  const double steal = mean(&CpuWindow::steal_cores);
  const double others = facts.machine.other_cores.value_or(0);
  const bool limited = run.cpu_limit_cores && run.allowed_cores &&
                       *run.cpu_limit_cores < *run.allowed_cores;

  Finding f = FindingIn(steady.from_ns, steady.to_ns);
  const std::string cores =
      fmt::format("{:g} {}core{}", capacity, limited ? "permitted " : "",
                  capacity == 1 ? "" : "s");
  const bool crowded = had_less && others >= steal;
  f.summary = fmt::format(
      "Limited by the CPU: the program kept {:.2f} of {} busy{}.", own, cores,
      !had_less ? ""
      : crowded ? " and had work for all of them; other programs had the rest"
                : " and had work for all of them; the hypervisor had the rest");
  Say(f, fmt::format("At least {:.0f} % of {} were busy{} for {:.0f} % of the "
                     "steady time.",
                     kBusy * 100, cores,
                     !had_less ? ""
                     : crowded ? ", with other programs' work,"
                               : " or taken away by the hypervisor",
                     time * 100));
  const std::vector<CommandGroup> groups = GroupsByName(facts);
  if (!groups.empty())
    SayOfRun(f, facts, "Most CPU time went to " + CallTop(groups) + ".");
  if (others >= kNotableCores)
    SayOfRun(f, facts, OthersUsed(facts, others) + " meanwhile.");
  if (steal >= kNotableCores)
    Say(f, fmt::format("The hypervisor kept {:.2f} cores for others (steal).",
                       steal));
  const double kernel = KernelShare(facts).value_or(0);
  if (kernel >= kNotableKernel)
    SayOfRun(
        f, facts,
        fmt::format("{} of the CPU time was spent in the kernel, not in the "
                    "program's own code.",
                    FormatShare(kernel)));
  PutTime(f, time);
  PutNumber(f, "own_cores", own, Unit::kCores);
  PutNumber(f, "allowed_cores", capacity, Unit::kCores);
  PutNumber(f, "other_cores", facts.machine.other_cores, Unit::kCores);
  PutNumber(f, "steal_cores", steal, Unit::kCores);
  PutNumber(f, "kernel_share", KernelShare(facts), Unit::kShare);
  const double estimated =
      run.cpu_ns.value_or(0) > 0
          ? static_cast<double>(run.unattributed_cpu_ns.value_or(0)) /
                static_cast<double>(*run.cpu_ns)
          : 0;
  if (estimated >= 0.1)
    SayOfRun(
        f, facts,
        fmt::format("{} of the CPU time belongs to processes that could not "
                    "be followed; when they ran is estimated.",
                    FormatShare(estimated)));

  f.advice =
      crowded
          ? AdviceOnNeighbours(facts) +
                " After that: every core works, so make the work smaller or "
                "the machine larger."
          : "Every core works, so more threads will not help: make the work "
            "smaller or the machine larger.";
  if (!groups.empty() && groups[0].cpu_share > 0) {
    f.where = groups[0].Look();
    f.advice += fmt::format(
        " Most of it is {}: use optimised libraries or lower precision, or "
        "give the work to an accelerator.{}",
        groups[0].Call(), AdviceOnShort(groups[0]));
  }
  if (limited) {
    f.advice += fmt::format(
        " The container may use only {:g} of {:g} cores: raising its CPU limit "
        "is the quickest remedy.",
        *run.cpu_limit_cores, *run.allowed_cores);
    if (!MaySpin(about.pools(), capacity))
      f.gain = Gain{time * series.OfRun() *
                        (1 - *run.cpu_limit_cores / *run.allowed_cores),
                    "if the work spread over all cores without the limit"};
  } else if (others >= kNotableCores && own + others > 0 &&
             !MaySpin(about.pools(), capacity)) {
    f.gain =
        Gain{time * series.OfRun() * std::min(1.0, others / (own + others)),
             "if the other programs' cores were free"};
  }
  f.confidence =
      std::min(0.95, 0.5 + 0.5 * (time - kMinTime) / (1 - kMinTime)) *
      (1 - std::min(0.5, estimated));
  return {{std::move(f)}, ""};
}

}  // namespace sonde
