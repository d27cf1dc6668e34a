#include "analyze/judge.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyze/steady.h"
#include "base/text.h"
#include "base/time.h"

namespace sonde {
namespace {

// What a finding weighs whose gain nobody can estimate.
constexpr double kUnknownGain = 0.1;
// Below this many cores, a run mostly waits.
constexpr double kWaitingCores = 0.25;
constexpr double kSharedMachine = 0.25;
// A thread that is ready this much of the run, without a core, is held up.
constexpr double kHeldUp = 0.25;

double Weight(const Finding& finding) {
  return static_cast<double>(finding.severity) *
         (finding.gain ? finding.gain->share : kUnknownGain);
}

// "0.4 of 2 cores", or "0.4 cores" if nobody knows of how many.
std::string OfCores(const Facts& facts) {
  const double used = facts.run.cores_used.value_or(0);
  if (!facts.run.capacity_cores) return fmt::format("{:.2f} cores", used);
  return fmt::format("{:.2f} of {:g} cores", used, *facts.run.capacity_cores);
}

// The greatest share of the run for which a thread was ready to run, but no
// core was free for it.
double GreatestWait(const Facts& facts) {
  double ns = 0;
  for (const ProcessFacts& p : facts.processes)
    for (const ThreadFacts& t : p.threads)
      ns = std::max(ns, static_cast<double>(t.wait_ns.value_or(0)));
  return std::min(1.0, ns / static_cast<double>(facts.run.wall_ns));
}

std::string VerdictOfFacts(const Facts& facts, bool all_rules) {
  const char* const nothing =
      all_rules ? "No single limit found" : "The rules asked found nothing";
  const RunFacts& run = facts.run;
  if (facts.store->processes().empty() && facts.ticks == 0)
    return "Nothing was recorded of any process: there is nothing to judge.";
  const bool too_few = facts.ticks > 0 && facts.ticks <= kMinTicks;
  if (too_few && run.wall_ns >= kNsPerSec)
    return fmt::format("Ran {}, sampled {} time{}: too seldom to judge.",
                       FormatDuration(run.wall_ns), facts.ticks,
                       facts.ticks == 1 ? "" : "s");
  if (too_few || run.wall_ns < kMinWallNs)
    return fmt::format("Ran {}: too short to judge.",
                       FormatDuration(run.wall_ns));
  if (!run.cores_used)
    return fmt::format(
        "Ran {}, but no CPU times were collected: it cannot be judged.",
        FormatDuration(run.wall_ns));
  const double capacity =
      run.capacity_cores.value_or(std::max<double>(1, facts.machine.cores));
  const double other = facts.machine.other_cores.value_or(0);
  const double wait = GreatestWait(facts);
  if (wait >= kHeldUp && other >= kSharedMachine * capacity)
    return fmt::format(
        "Held up by other programs: they used {:.2f} cores, this one {}; a "
        "thread was ready for {:.0f} % of the run without getting a core.",
        other, OfCores(facts), wait * 100);
  if (*run.cores_used < kWaitingCores)
    return fmt::format("Mostly waiting: the program used {}.", OfCores(facts));
  if (other >= kSharedMachine * capacity)
    return fmt::format(
        "{}, but it was not alone: the program used {}, other programs {:.2f}.",
        nothing, OfCores(facts), other);
  return fmt::format("{}: the program used {}.", nothing, OfCores(facts));
}

}  // namespace

const char* NameOf(Severity severity) {
  switch (severity) {
    case Severity::kInfo:
      return "info";
    case Severity::kWarning:
      return "warning";
    case Severity::kCritical:
      return "critical";
  }
  return "info";
}

const char* NameOf(RuleState::State state) {
  switch (state) {
    case RuleState::State::kFound:
      return "found";
    case RuleState::State::kSilent:
      return "silent";
    case RuleState::State::kNotEnoughData:
      return "not enough data";
  }
  return "silent";
}

Judgement Judge(const Facts& facts, const std::vector<std::string>& names) {
  Judgement out;
  for (const Rule& rule : Rules()) {
    if (!names.empty() &&
        std::find(names.begin(), names.end(), rule.name) == names.end())
      continue;
    Outcome outcome = rule.run(facts);
    RuleState state{&rule, RuleState::State::kSilent, ""};
    if (!outcome.findings.empty())
      state.state = RuleState::State::kFound;
    else if (!outcome.not_enough_data.empty())
      state = {&rule, RuleState::State::kNotEnoughData,
               std::move(outcome.not_enough_data)};
    out.rules.push_back(std::move(state));
    for (Finding& finding : outcome.findings)
      out.findings.push_back(std::move(finding));
  }
  std::stable_sort(
      out.findings.begin(), out.findings.end(),
      [](const Finding& a, const Finding& b) { return Weight(a) > Weight(b); });
  out.verdict = out.findings.empty() ? VerdictOfFacts(facts, names.empty())
                                     : out.findings.front().summary;
  return out;
}

}  // namespace sonde
