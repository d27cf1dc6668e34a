// Times and amounts that may be absent or wrong, and the time that a run took.

#ifndef SONDE_ANALYZE_SERIES_SPAN_H_
#define SONDE_ANALYZE_SERIES_SPAN_H_

#include <cstdint>
#include <optional>
#include <string>

#include "store/store.h"

namespace sonde {

// A number that may not have been collected. Absent is not 0.
using MaybeNs = std::optional<int64_t>;
using MaybeNumber = std::optional<double>;

// Times and amounts of a trace are believed up to here (30 years in ns).
inline constexpr double kMaxValue = 1e18;

// to_ns - from_ns, 0 if that is negative or no time at all.
int64_t Elapsed(int64_t from_ns, int64_t to_ns);

// A number in a meta row. Nothing if absent, negative or not a number.
MaybeNumber MetaNumber(const Store& store, const std::string& key);
MaybeNs MetaNs(const Store& store, const std::string& key);

// When a run was recorded, and from when on it is judged.
struct RunSpan {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  int64_t wall_ns = 0;
  bool watched = false;  // it ran already, `sonde watch` came to it
  // When its delay or its start-up was over; what came before is not judged.
  // Absent if the whole run is judged.
  MaybeNs judged_from_ns;

  // Whether the verdict is about what began at this moment.
  bool Judges(int64_t from_ns) const {
    return !judged_from_ns || from_ns >= *judged_from_ns;
  }
  // True of a process or thread that began while it was recorded, so that its
  // totals counted from 0.
  bool Bore(int64_t start_ns) const;
};

}  // namespace sonde

#endif  // SONDE_ANALYZE_SERIES_SPAN_H_
