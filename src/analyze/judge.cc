#include "analyze/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "analyze/plain_verdict.h"
#include "base/text.h"

namespace sonde {
namespace {

// What a finding weighs whose gain nobody can estimate.
constexpr double kUnknownGain = 0.1;
constexpr double kUnknownCriticalGain = 0.7;
// No run is without any time: from here on a gain is "nearly all".
constexpr double kNearlyAll = 0.95;

// A cause and what it makes look like a limit of its own; or what it is, and
// the details that say why.
struct Explains {
  std::string_view cause, symptom;
  double least_gain = 0;  // of the cause; with less they are two things
};
constexpr Explains kExplains[] = {
    {"oversubscribed", "cpu_bound"},
    {"cpu_throttled", "cpu_bound"},
    {"cpu_throttled", "one_core_bound"},
    {"cpu_throttled", "oversubscribed"},
    {"small_files", "cpu_bound"},
    {"small_files", "one_core_bound"},
    {"small_files", "disk_bound"},
    {"swapping", "disk_bound"},
    {"swapping", "small_files"},
    {"memory_leak", "swapping"},
    {"page_cache_thrash", "disk_bound"},
    {"page_cache_thrash", "input_storage_bound"},
    {"page_cache_thrash", "small_files"},
    {"page_cache_thrash", "alternating"},
    {"page_cache_thrash", "one_core_bound"},
    {"heap_too_small", "cpu_bound"},
    {"heap_too_small", "one_core_bound"},
    {"heap_too_small", "oversubscribed"},
    {"heap_too_small", "alternating"},
    {"spawn_storm", "cpu_bound"},
    {"spawn_storm", "one_core_bound"},
    {"spawn_storm", "oversubscribed"},
    {"spawn_storm", "small_files"},
    {"spawn_storm", "disk_bound"},
    {"spawn_storm", "alternating"},
    {"cpu_throttled", "heap_too_small"},
    {"cpu_throttled", "spawn_storm"},
    {"alternating", "one_core_bound"},
    {"alternating", "disk_bound"},
    {"alternating", "network_bound"},
    {"alternating", "interpreter_bound"},
    {"checkpoint_stall", "alternating"},
    {"checkpoint_stall", "disk_bound"},
    {"checkpoint_stall", "one_core_bound", 0.3},
    {"checkpoint_stall", "cpu_bound", 0.1},
    {"input_bound", "input_cpu_saturated"},
    {"input_bound", "input_storage_bound"},
    {"input_bound", "input_storage_latency"},
    {"input_cpu_saturated", "cpu_bound"},
    {"input_storage_bound", "disk_bound"},
    {"input_storage_latency", "small_files"},
    {"input_bound", "cpu_bound"},
    {"input_bound", "one_core_bound"},
    {"input_bound", "disk_bound"},
    {"input_bound", "small_files"},
    {"input_bound", "alternating"},
    {"interpreter_bound", "one_core_bound"},
    {"misplaced_cpu", "input_cpu_saturated"},
    {"misplaced_cpu", "input_bound"},
    {"misplaced_cpu", "interpreter_bound"},
    {"misplaced_cpu", "cpu_bound"},
    {"misplaced_cpu", "one_core_bound"},
};
// How much more than its symptoms a cause weighs.
constexpr double kCauseFirst = 1.001;
// An accelerator that has little to do: whatever else is found says why.
constexpr std::string_view kIdleAccelerator[] = {
    "gpu_fluctuating", "problem_too_small", "gpu_underused",
    "gpu_memory_full_gpu_free", "gpu_and_memory_free"};

// What ended a part of the run, or will: how fast it was comes after that.
constexpr std::string_view kEndsTheRun[] = {"out_of_memory", "shm_full",
                                            "memory_leak"};

bool EndsTheRun(const Finding& finding) {
  if (finding.rule == "hung") return true;
  return finding.severity == Severity::kCritical &&
         std::find(std::begin(kEndsTheRun), std::end(kEndsTheRun),
                   finding.rule) != std::end(kEndsTheRun);
}

bool TellsAnIdleAccelerator(const Finding& finding) {
  return std::find(std::begin(kIdleAccelerator), std::end(kIdleAccelerator),
                   finding.rule) != std::end(kIdleAccelerator);
}

double Weight(const Finding& finding) {
  const double unknown = finding.severity == Severity::kCritical
                             ? kUnknownCriticalGain
                             : kUnknownGain;
  return static_cast<double>(finding.severity) *
         (finding.gain ? finding.gain->share : unknown);
}

// Sorts findings by what they weigh. A cause weighs more than anything that it
// explains, or that this explains in turn. What ends the run comes before all,
// idle accelerators come last.
void Rank(std::vector<Finding>& findings) {
  struct Weighed {
    Finding finding;
    double weight;
    int place;
  };
  std::vector<Weighed> all;
  for (Finding& f : findings) {
    const double weight = Weight(f);
    const int place = EndsTheRun(f) ? 0 : TellsAnIdleAccelerator(f) ? 2 : 1;
    all.push_back({std::move(f), weight, place});
  }
  for (size_t round = 0; round < all.size(); ++round)
    for (const Explains& e : kExplains)
      for (Weighed& cause : all)
        for (const Weighed& symptom : all)
          if (cause.finding.rule == e.cause &&
              symptom.finding.rule == e.symptom &&
              (!cause.finding.gain ||
               cause.finding.gain->share >= e.least_gain))
            cause.weight = std::max(cause.weight, kCauseFirst * symptom.weight);
  std::stable_sort(
      all.begin(), all.end(), [](const Weighed& a, const Weighed& b) {
        return a.place != b.place ? a.place < b.place : a.weight > b.weight;
      });
  for (size_t i = 0; i < all.size(); ++i)
    findings[i] = std::move(all[i].finding);
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

std::string PhraseGain(const Gain& gain) {
  const std::string most =
      gain.share >= kNearlyAll ? "nearly all" : FormatShare(gain.share);
  const std::string range =
      gain.from_share <= 0 || gain.from_share >= gain.share
          ? (gain.share >= kNearlyAll ? "" : "up to ") + most
          : fmt::format("{} to {}", FormatShare(gain.from_share), most);
  return fmt::format("{} of the run's time, {}", range, gain.how);
}

Judgement Judge(const Facts& facts, const std::vector<std::string>& names) {
  Judgement out;
  for (const Rule& rule : Rules()) {
    if (!names.empty() &&
        std::find(names.begin(), names.end(), rule.name) == names.end())
      continue;
    Outcome outcome = facts.EndedInDelay()
                          ? Outcome::NotEnough("nothing was sampled")
                          : rule.run(facts);
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
  Rank(out.findings);
  if (out.findings.empty()) {
    PlainVerdict plain = names.empty() ? PlainVerdictOf(facts)
                                       : VerdictOfAsked(facts, out.rules);
    out.verdict = std::move(plain.verdict);
    out.advice = std::move(plain.advice);
  } else {
    out.verdict = out.findings.front().summary;
    out.advice = out.findings.front().advice;
  }
  return out;
}

}  // namespace sonde
