#ifndef SONDE_ANALYZE_PLAIN_VERDICT_H_
#define SONDE_ANALYZE_PLAIN_VERDICT_H_

#include <string>

#include "analyze/facts.h"

namespace sonde {

// What is said of a run of which no rule has found anything, and what to do
// next. Both are safe to print and never empty.
struct PlainVerdict {
  std::string verdict, advice;
};

// `all_rules`: all of them were asked.
PlainVerdict PlainVerdictOf(const Facts& facts, bool all_rules);

}  // namespace sonde

#endif  // SONDE_ANALYZE_PLAIN_VERDICT_H_
