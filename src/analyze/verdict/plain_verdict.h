#ifndef SONDE_ANALYZE_VERDICT_PLAIN_VERDICT_H_
#define SONDE_ANALYZE_VERDICT_PLAIN_VERDICT_H_

#include <string>
#include <vector>

#include "analyze/rules/case.h"
#include "analyze/rules/rule.h"

namespace sonde {

// What is said of a run of which no rule has found anything, and what to do
// next. Both are safe to print and never empty.
struct PlainVerdict {
  std::string verdict, advice;
};

// If all rules were asked.
PlainVerdict PlainVerdictOf(const Case& about);

// If only these were: what they said, and nothing of what others might say.
PlainVerdict VerdictOfAsked(const Facts& facts,
                            const std::vector<RuleState>& asked);

}  // namespace sonde

#endif  // SONDE_ANALYZE_VERDICT_PLAIN_VERDICT_H_
