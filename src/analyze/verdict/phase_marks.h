#ifndef SONDE_ANALYZE_VERDICT_PHASE_MARKS_H_
#define SONDE_ANALYZE_VERDICT_PHASE_MARKS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "analyze/facts/facts.h"
#include "analyze/rules/rule.h"

namespace sonde {

// A stretch of the run, or a moment of it, that the pictures point out.
struct ChartMark {
  enum class Kind {
    kPhase,    // what the run did: start-up, steady ...
    kFinding,  // when what a rule found held
    kLoss,     // data of this time is missing
    kMark,     // a moment that a person named: from_ns is to_ns
  };

  Kind kind = Kind::kPhase;
  int64_t from_ns = 0;
  int64_t to_ns = 0;
  std::string label;  // one or two words
  std::string text;   // a sentence
};

// What is to be pointed out in the pictures of a run: its phases, the findings,
// losses with a time, and marks.
std::vector<ChartMark> MarksOf(const Facts& facts,
                               const std::vector<Finding>& findings);

// Leaves the first 100 marks of each kind. Returns "the first 100 of 250 marks,
// ..." of the kinds that had more.
std::string CutMarks(std::vector<ChartMark>& marks);

// "the first 32 of 40".
std::string FirstOf(size_t drawn, size_t all);

}  // namespace sonde

#endif  // SONDE_ANALYZE_VERDICT_PHASE_MARKS_H_
