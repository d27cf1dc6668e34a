// Do two resources take turns, each waiting for the other?

#ifndef SONDE_ANALYZE_PATTERN_ALTERNATION_H_
#define SONDE_ANALYZE_PATTERN_ALTERNATION_H_

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyze/series/series.h"

namespace sonde {

// How the ups and downs of two series lie to each other.
enum class Relation {
  kUnknown,    // one of them has no two levels, or too little is known
  kUnrelated,  // each goes its own way
  kTogether,   // up at the same time
  kShifted,    // one follows the other, and they overlap about as by chance
  kAlternate,  // one is up while the other is down
};

// What was found of two series. Shares are of the windows that both know.
struct Alternation {
  Relation relation = Relation::kUnknown;
  double confidence = 0;  // of the relation, 0 to 1
  // Of the common period, if both repeat in step.
  std::optional<double> period_s;
  double first_share = 0;  // time in which it is up
  double second_share = 0;
  double both_share = 0;  // up at the same time
  // Share of the time that would be saved, at most, if the shorter part of the
  // one ran beside the other.
  double gain = 0;
  std::string why;  // one sentence

  bool found() const { return relation == Relation::kAlternate; }
};

// Both series must be on one grid. Two series alternate if
//
//  - each goes up and down between two levels, the lower at most 60 % of the
//    higher, is up for 5 % of the time at least, at least three times, and not
//    for single windows only: what is faster than sampling cannot be judged;
//  - both are up together for at most half of the time that chance would give
//    (for square waves: within 45 degrees of opposition);
//  - and the turns are no chance: either both have the same period and keep
//    their phase from cycle to cycle, or their ups and downs are correlated by
//    less than -0.3 and at least 3.5 standard deviations (Fisher's), counted in
//    independent stretches, not in windows.
//
// Trends do not count: what rises while the other falls has taken no turns.
// Pass the steady part of a run; start-up and end are turns of another kind.
Alternation AlternationOf(const RegularSeries& first,
                          const RegularSeries& second);

// Several resources, of which at least two take turns.
struct Turns {
  std::vector<size_t> members;     // of what was passed; empty if none
  std::vector<double> shares;      // of each member: time in which it is up
  double overlap_share = 0;        // time in which two or more are up
  double none_share = 0;           // time in which none is
  double gain = 0;                 // of the time, at most, if all overlapped
  double confidence = 0;           // of the surest pair
  std::optional<double> period_s;  // of that pair
};

// The largest set in which every two alternate, or, of equally large ones, the
// one that gains most. At most eight series.
Turns TurnsOf(std::span<const RegularSeries> series);

}  // namespace sonde

#endif  // SONDE_ANALYZE_PATTERN_ALTERNATION_H_
