#ifndef SONDE_ANALYZE_PATTERN_CHANGE_POINTS_H_
#define SONDE_ANALYZE_PATTERN_CHANGE_POINTS_H_

#include <cstddef>
#include <vector>

#include "analyze/series/series.h"

namespace sonde {

// A stretch of windows in which a series keeps its level.
struct Segment {
  size_t from = 0;  // windows [from, to)
  size_t to = 0;
  double level = 0;  // median of its known windows
};

// What counts as a change.
struct ChangeOptions {
  // Shorter stretches are not segments, but spikes.
  size_t min_windows = 5;
  // Smaller changes of level are no changes. Nothing smaller than twice the
  // noise of the series is one either.
  double min_change = 0;
};

// Cuts a series where its level changes. The segments cover all windows, in
// order, gaps included; one segment if nothing changes, none if nothing is
// known.
//
// Seeded binary segmentation: intervals of all lengths are asked for their best
// cut, and the shortest that is sure of its own is believed first, so that a
// short dip in a long calm is found as well as a step. O(n log n).
std::vector<Segment> SegmentsOf(const RegularSeries& series,
                                const ChangeOptions& options = {});

}  // namespace sonde

#endif  // SONDE_ANALYZE_PATTERN_CHANGE_POINTS_H_
