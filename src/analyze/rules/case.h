#ifndef SONDE_ANALYZE_RULES_CASE_H_
#define SONDE_ANALYZE_RULES_CASE_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "analyze/facts/accelerators.h"
#include "analyze/facts/facts.h"
#include "analyze/facts/inputs.h"
#include "analyze/facts/pools.h"
#include "analyze/facts/steady_series.h"
#include "analyze/rules/rule.h"
#include "base/check.h"

namespace sonde {

// One run before the rules: its facts, and what was worked out from them.
//
//  - Everything is worked out when it is first asked for, and once.
//  - What a rule says of the run is remembered, too: rules ask each other here.
//    Two that ask each other are a bug and stop the program.
//
// Keeps a reference to the facts, which must not change meanwhile. References
// that a case returns live as long as the case. For one thread.
class Case {
 public:
  explicit Case(const Facts& facts) : facts_(facts) {}
  Case(const Case&) = delete;
  Case& operator=(const Case&) = delete;

  const Facts& facts() const { return facts_; }
  const Steady& steady() const;
  const SteadySeries& series() const;
  const std::vector<Pool>& pools() const;  // of the steady part
  const Accelerators& accelerators() const;
  bool AcceleratorsWellUsed() const { return accelerators().WellUsed(); }
  bool Has(Input alternatives) const { return Missing(alternatives).empty(); }

  // What a rule says as far as its row lets it, with the rule's name in the
  // findings.
  const Outcome& Of(RuleFunction rule) const;
  bool Found(RuleFunction rule) const { return !Of(rule).findings.empty(); }

  // What `make` returns for this case; for things that several rules of a file
  // use.
  template <typename T>
  const T& Once(T (*make)(const Case& about)) const {
    return Keep<T>(reinterpret_cast<Key>(make), [&] { return make(*this); });
  }

 private:
  using Key = void (*)();

  template <typename T, typename Make>
  const T& Keep(Key key, Make make) const {
    const auto [at, first] = kept_.try_emplace(key);
    if (first) at->second = std::make_shared<T>(make());
    CHECK(at->second != nullptr);  // else it is asked for while it is made
    return *static_cast<const T*>(at->second.get());
  }
  std::string Missing(Input alternatives) const;
  std::string CannotJudge(const Rule& rule) const;
  bool IsSilent(const Rule& rule) const;
  bool IsReplaced(const Rule& rule) const;
  Outcome Ask(const Rule& rule) const;

  const Facts& facts_;
  mutable std::map<Key, std::shared_ptr<void>> kept_;
};

}  // namespace sonde

#endif  // SONDE_ANALYZE_RULES_CASE_H_
