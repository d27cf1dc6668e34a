// Asks rules about runs that were made up for tests.

#ifndef SONDE_ANALYZE_RULES_MADE_CASE_H_
#define SONDE_ANALYZE_RULES_MADE_CASE_H_

#include "analyze/rules/rules.h"

namespace sonde {

// What one rule says of a run, as its row in the table lets it.
inline Outcome Ask(RuleFunction rule, const Facts& facts) {
  return Case(facts).Of(rule);
}

}  // namespace sonde

#endif  // SONDE_ANALYZE_RULES_MADE_CASE_H_
