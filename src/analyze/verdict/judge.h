#ifndef SONDE_ANALYZE_VERDICT_JUDGE_H_
#define SONDE_ANALYZE_VERDICT_JUDGE_H_

#include <string>
#include <vector>

#include "analyze/facts/facts.h"
#include "analyze/rules/rule.h"

namespace sonde {

// The verdict on a run.
struct Judgement {
  std::string verdict;            // one sentence, safe to print
  std::string advice;             // what to do next about it; never empty
  std::vector<Finding> findings;  // what matters most first
  std::vector<RuleState> rules;   // those that were asked, in their order
};

// Asks the rules named, or all of them if `names` is empty. Names that are no
// rule's are passed over. Findings are ranked by severity times gain, but one
// that explains another comes before it; the verdict and its advice are the
// first one's; if there is none, the facts', or what the rules named said.
Judgement Judge(const Facts& facts, const std::vector<std::string>& names = {});

}  // namespace sonde

#endif  // SONDE_ANALYZE_VERDICT_JUDGE_H_
