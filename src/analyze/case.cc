#include "analyze/case.h"

#include <algorithm>
#include <iterator>

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

bool Case::AcceleratorsWellUsed() const { return accelerators().WellUsed(); }

const Outcome& Case::Of(RuleFunction rule) const {
  return Keep<Outcome>(reinterpret_cast<Key>(rule),
                       [&] { return Ask(RowOf(rule)); });
}

Outcome Case::Ask(const Rule& rule) const {
  if (facts_.EndedInDelay()) return Outcome::NotEnough("nothing was sampled");
  for (const Rule& other : Rules())
    if (std::find(std::begin(other.replaces), std::end(other.replaces),
                  rule.run) != std::end(other.replaces) &&
        Found(other.run))
      return {};
  Outcome out = rule.run(*this);
  for (Finding& finding : out.findings) finding.rule = rule.name;
  return out;
}

}  // namespace sonde
