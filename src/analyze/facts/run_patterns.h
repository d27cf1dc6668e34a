#ifndef SONDE_ANALYZE_FACTS_RUN_PATTERNS_H_
#define SONDE_ANALYZE_FACTS_RUN_PATTERNS_H_

#include <vector>

#include "analyze/facts/facts.h"
#include "analyze/pattern/pattern.h"
#include "analyze/pattern/phases.h"

namespace sonde {

// What is known about the full scale and limit of a series of the run, without
// what held the series back.
PatternContext ContextOf(const Facts& facts, const RegularSeries& series);

// One of the run's series, and what it looks like.
struct SeriesShape {
  const RegularSeries* series = nullptr;  // of facts.series
  Pattern pattern;
};

// How a run went over time: its phases, and the pattern of each series. Points
// into the facts it was made of.
struct RunShape {
  Phases phases;
  std::vector<SeriesShape> series;  // in the order of facts.series
};

RunShape ShapeOf(const Facts& facts);

// The phases in one line: "start-up 2.10 s, steady 58.0 s with 7 checkpoints".
// Empty if there are none.
std::string PhrasePhases(const Phases& phases);

}  // namespace sonde

#endif  // SONDE_ANALYZE_FACTS_RUN_PATTERNS_H_
