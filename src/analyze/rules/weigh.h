// How the rules grade their findings, so that all do it alike.

#ifndef SONDE_ANALYZE_RULES_WEIGH_H_
#define SONDE_ANALYZE_RULES_WEIGH_H_

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>

#include "analyze/facts/steady.h"
#include "analyze/rules/rule.h"

namespace sonde {

// How advice ends where no function is known.
inline constexpr char kFindFunctions[] =
    "Find its hottest functions and use vectorised libraries.";

// What a rule asks of the run must hold for this share of the steady time.
inline constexpr double kMostOfTheTime = 0.60;
// A gain from here on is worth doing something about today.
inline constexpr double kCriticalGain = 0.70;

// How sure something is that held for `time` of the steady time: `most` if it
// always did.
inline double SureOf(double time, double most) {
  return most *
         std::clamp(0.6 + 0.4 * (time - kMostOfTheTime) / (1 - kMostOfTheTime),
                    0.0, 1.0);
}

// A warning about a stretch of time.
inline Finding FindingIn(int64_t from_ns, int64_t to_ns) {
  Finding f;
  f.severity = Severity::kWarning;
  f.from_ns = from_ns;
  f.to_ns = to_ns;
  return f;
}

// A fact about the time that the finding is about.
inline void Say(Finding& f, std::string text) {
  f.evidence.push_back({std::move(text), f.from_ns, f.to_ns});
}

// A fact about the whole run.
inline void SayOfRun(Finding& f, const Facts& facts, std::string text) {
  f.evidence.push_back({std::move(text), facts.run.begin_ns, facts.run.end_ns});
}

// A number that the sentences of a finding tell, if it is known.
inline void PutNumber(Finding& f, std::string_view name,
                      const MaybeNumber& value, Unit unit) {
  if (value && std::isfinite(*value)) f.numbers.push_back({name, *value, unit});
}

// For how much of the steady time the finding held.
inline void PutTime(Finding& f, double share) {
  PutNumber(f, "time", share, Unit::kShare);
}

inline void PutGain(Finding& f, double share, std::string how,
                    double from_share = 0) {
  f.gain = Gain{std::clamp(share, 0.0, 1.0), std::move(how), from_share};
  f.severity =
      share >= kCriticalGain ? Severity::kCritical : Severity::kWarning;
}

// The process that has most of something; null if none has any.
inline const ProcessFacts* WhoHasMost(const Facts& facts,
                                      double (*of)(const ProcessFacts&)) {
  const ProcessFacts* best = nullptr;
  for (const ProcessFacts& p : facts.processes)
    if (of(p) > (best != nullptr ? of(*best) : 0)) best = &p;
  return best;
}

inline void PutWhere(Finding& f, const ProcessFacts& process) {
  f.where.process = process.row.number;
  f.where.pid = process.row.pid;
  f.where.process_name = process.name;
  f.where.cmdline = process.cmdline;
}

}  // namespace sonde

#endif  // SONDE_ANALYZE_RULES_WEIGH_H_
