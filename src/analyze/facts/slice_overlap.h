#ifndef SONDE_ANALYZE_FACTS_SLICE_OVERLAP_H_
#define SONDE_ANALYZE_FACTS_SLICE_OVERLAP_H_

#include <cstdint>

#include "store/store.h"

namespace sonde {

// How long the outermost slices of two rows of the timeline took, and how long
// both at the same time.
struct SliceOverlap {
  double a_ns = 0, b_ns = 0;
  double both_ns = 0;  // of each of them
};

// Reads the times of both rows, as far as they lie before `until_ns`. At most
// the first million slices of a row count.
SliceOverlap OverlapOf(const Store& store, uint32_t track_a, uint32_t track_b,
                       int64_t until_ns = INT64_MAX);

}  // namespace sonde

#endif  // SONDE_ANALYZE_FACTS_SLICE_OVERLAP_H_
