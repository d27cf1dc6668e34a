#ifndef SONDE_ANALYZE_SERIES_GAPS_H_
#define SONDE_ANALYZE_SERIES_GAPS_H_

#include <cstdint>
#include <unordered_map>

#include "store/store.h"

namespace sonde {

// How far apart two ticks of a group may be before what lies between them is
// not known: collection was paused, or lost. The limit is a second, or five of
// the usual distances between ticks if that is more. Everything that lays
// counters on a grid asks here, so that pictures and patterns have the same
// gaps.
class Gaps {
 public:
  explicit Gaps(const Store& store);

  // The longest time that is none.
  int64_t Longest(uint32_t group) const;
  // The same of all groups.
  int64_t Longest() const;

 private:
  std::unordered_map<uint32_t, int64_t> longest_;  // by group
};

}  // namespace sonde

#endif  // SONDE_ANALYZE_SERIES_GAPS_H_
