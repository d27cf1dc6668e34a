#include "analyze/verdict/judge.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyze/rules/case.h"
#include "analyze/verdict/hot_place.h"
#include "analyze/verdict/plain_verdict.h"
#include "base/text.h"

namespace sonde {
namespace {

// What a finding weighs whose gain nobody can estimate.
constexpr double kUnknownGain = 0.1;
constexpr double kUnknownCriticalGain = 0.7;
// No run is without any time: from here on a gain is "nearly all".
constexpr double kNearlyAll = 0.95;

// How much more than its symptoms a cause weighs.
constexpr double kCauseFirst = 1.001;
double Weight(const Finding& finding) {
  const double unknown = finding.severity == Severity::kCritical
                             ? kUnknownCriticalGain
                             : kUnknownGain;
  return static_cast<double>(finding.severity) *
         (finding.gain ? finding.gain->share : unknown);
}

// A finding and the row of its rule.
struct Weighed {
  Finding finding;
  const Rule* rule;
  double weight;
};

int PlaceOf(const Weighed& one) {
  const bool critical = one.finding.severity == Severity::kCritical;
  switch (one.rule->place) {
    case Place::kEndsTheRun:
      return 0;
    case Place::kMayEndTheRun:
      return critical ? 0 : 1;
    case Place::kByWeight:
      return 1;
    case Place::kIdleAccelerator:
      return 2;
  }
  return 1;
}

bool DoesExplain(const Weighed& cause, const Weighed& symptom) {
  for (const Explained& one : cause.rule->explains)
    if (one.rule == symptom.rule->run)
      return !cause.finding.gain || cause.finding.gain->share >= one.least_gain;
  return false;
}

// Sorts findings by what they weigh. A cause weighs more than anything that the
// cause explains, or that this explains in turn.
void Rank(std::vector<Weighed>& all) {
  for (size_t round = 0; round < all.size(); ++round)
    for (Weighed& cause : all)
      for (const Weighed& symptom : all)
        if (DoesExplain(cause, symptom))
          cause.weight = std::max(cause.weight, kCauseFirst * symptom.weight);
  std::stable_sort(all.begin(), all.end(),
                   [](const Weighed& a, const Weighed& b) {
                     return PlaceOf(a) != PlaceOf(b) ? PlaceOf(a) < PlaceOf(b)
                                                     : a.weight > b.weight;
                   });
}

}  // namespace

// The words stand in the order of their enumerators.
const char* NameOf(Severity severity) {
  static constexpr const char* kWords[] = {"info", "warning", "critical"};
  static_assert(std::size(kWords) == static_cast<size_t>(Severity::kCritical) -
                                         static_cast<size_t>(Severity::kInfo) +
                                         1);
  return kWords[static_cast<size_t>(severity) -
                static_cast<size_t>(Severity::kInfo)];
}

const char* NameOf(Unit unit) {
  static constexpr const char* kWords[] = {
      "1", "share", "cores", "s", "1/s", "bytes", "bytes/s", "MHz", "C"};
  static_assert(std::size(kWords) == static_cast<size_t>(Unit::kCelsius) + 1);
  return kWords[static_cast<size_t>(unit)];
}

const char* NameOf(RuleState::State state) {
  static constexpr const char* kWords[] = {"found", "silent",
                                           "not enough data"};
  static_assert(std::size(kWords) ==
                static_cast<size_t>(RuleState::State::kNotEnoughData) + 1);
  return kWords[static_cast<size_t>(state)];
}

std::string PhraseGain(const Gain& gain) {
  const std::string most =
      gain.share >= kNearlyAll ? "nearly all" : FormatShare(gain.share);
  const std::string range =
      gain.from_share <= 0 || gain.from_share >= gain.share
          ? (gain.share >= kNearlyAll ? "" : "up to ") + most
          : fmt::format("{} to {}", FormatShare(gain.from_share), most);
  const std::string of =
      gain.of_ns > 0
          ? fmt::format("the {} that were judged", FormatDuration(gain.of_ns))
          : "the run's time";
  return fmt::format("{} of {}, {}", range, of, gain.how);
}

Judgement Judge(const Facts& facts, const std::vector<std::string>& names) {
  const Case about(facts);
  Judgement out;
  std::vector<Weighed> found;
  for (const Rule& rule : Rules()) {
    if (!names.empty() &&
        std::find(names.begin(), names.end(), rule.name) == names.end())
      continue;
    const Outcome& outcome = about.Of(rule.run);
    const auto state = !outcome.findings.empty() ? RuleState::State::kFound
                       : outcome.not_enough_data.empty()
                           ? RuleState::State::kSilent
                           : RuleState::State::kNotEnoughData;
    out.rules.push_back({&rule, state, outcome.not_enough_data});
    for (const Finding& finding : outcome.findings)
      found.push_back({finding, &rule, Weight(finding)});
  }
  Rank(found);
  const bool part =
      facts.JudgedNs() < kNearlyAll * static_cast<double>(facts.run.wall_ns);
  for (Weighed& one : found)
    if (part && one.finding.gain)
      one.finding.gain->of_ns = static_cast<int64_t>(facts.JudgedNs());
  for (Weighed& one : found) {
    PutHotPlace(facts, one.finding);
    out.findings.push_back(std::move(one.finding));
  }
  if (out.findings.empty()) {
    PlainVerdict plain = names.empty() ? PlainVerdictOf(about)
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
