#include "analyze/rules/case.h"

#include <algorithm>

namespace sonde {
namespace {

const Rule& RowOf(RuleFunction run) {
  const auto all = Rules();
  const auto at = std::find_if(all.begin(), all.end(), [&](const Rule& rule) {
    return rule.run == run;
  });
  CHECK(at != all.end());
  return *at;
}

bool OfAccelerators(const Rule& rule) {
  return rule.part == Part::kAccelerators ||
         rule.part == Part::kSteadyAccelerators;
}

bool OfSteadyPart(const Rule& rule) {
  return rule.part == Part::kSteady || rule.part == Part::kSteadyAccelerators;
}

}  // namespace

const Steady& Case::steady() const {
  return Once(+[](const Case& about) { return SteadyOf(about.facts()); });
}

const SteadySeries& Case::series() const {
  return Once(+[](const Case& about) {
    return SteadySeries(about.facts(), about.steady());
  });
}

const std::vector<Pool>& Case::pools() const {
  return Once(+[](const Case& about) {
    return PoolsOf(about.facts(), about.steady());
  });
}

const Accelerators& Case::accelerators() const {
  return Once(+[](const Case& about) { return AcceleratorsOf(about.facts()); });
}

const Outcome& Case::Of(RuleFunction rule) const {
  return Keep<Outcome>(reinterpret_cast<Key>(rule),
                       [&] { return Ask(RowOf(rule)); });
}

std::string Case::Missing(Input alternatives) const {
  return MissingFrom({facts_, steady(), series(), accelerators()},
                     alternatives);
}

// Why the part of the run that the rule judges, or what it needs, is not there.
std::string Case::CannotJudge(const Rule& rule) const {
  if (OfAccelerators(rule) && !accelerators().not_enough_data.empty())
    return accelerators().not_enough_data;
  std::string missing;
  for (const Input one : rule.needs)
    if (missing.empty()) missing = Missing(one);
  // In a run that was hardly sampled most is missing, but that is not why.
  if (OfSteadyPart(rule) || !missing.empty())
    if (!steady().not_enough_data.empty()) return steady().not_enough_data;
  if (missing.empty() && rule.place == Place::kIdleAccelerator &&
      HeldUpByOthers(facts_))
    return "other programs held the run up";
  return missing;
}

// It is no question of this run, or what limits the run is known.
bool Case::IsSilent(const Rule& rule) const {
  return (rule.concerns != nullptr && !rule.concerns(*this)) ||
         (OfAccelerators(rule) && accelerators().used.empty()) ||
         (rule.if_accelerators_wait && AcceleratorsWellUsed());
}

bool Case::IsReplaced(const Rule& rule) const {
  for (const Rule& other : Rules())
    for (const RuleFunction replaced : other.replaces)
      if (replaced == rule.run && Found(other.run)) return true;
  return false;
}

Outcome Case::Ask(const Rule& rule) const {
  if (facts_.EndedInDelay()) return Outcome::NotEnough("nothing was sampled");
  if (IsSilent(rule)) return {};
  if (std::string why = CannotJudge(rule); !why.empty())
    return Outcome::NotEnough(std::move(why));
  if (IsReplaced(rule)) return {};
  Outcome out = rule.run(*this);
  for (Finding& finding : out.findings) finding.rule = rule.name;
  return out;
}

}  // namespace sonde
