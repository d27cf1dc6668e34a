// What a name cost, over a chunk, a window or a whole trace: enough for a table
// of the most expensive names without looking at a single event.

#ifndef SONDE_TRACE_AGGREGATE_H_
#define SONDE_TRACE_AGGREGATE_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "trace/bytes.h"

namespace sonde {

// Counts of durations in buckets a quarter of an octave wide. Sparse: only
// buckets that were hit, ascending.
class Histogram {
 public:
  static constexpr int kBuckets = 252;

  static uint32_t BucketOf(uint64_t ns) {
    if (ns < 4) return static_cast<uint32_t>(ns);
    const uint32_t log = 63 - static_cast<uint32_t>(__builtin_clzll(ns));
    return (log - 1) * 4 + ((ns >> (log - 2)) & 3);
  }
  // The smallest duration of a bucket.
  static uint64_t LowerBound(uint32_t bucket) {
    if (bucket < 4) return bucket;
    return uint64_t{4 + (bucket & 3)} << (bucket / 4 - 1);
  }

  void Add(uint32_t bucket, uint64_t count);
  void Merge(const Histogram& other);
  const std::vector<std::pair<uint8_t, uint64_t>>& buckets() const {
    return buckets_;
  }

 private:
  std::vector<std::pair<uint8_t, uint64_t>> buckets_;
};

// All slices and instants of one name. Times are nanoseconds.
struct NameAggregate {
  uint32_t name = 0;
  uint64_t count = 0;
  uint64_t sum = 0;
  uint64_t min = UINT64_MAX;
  uint64_t max = 0;
  int64_t self = 0;  // sum less what the slices inside took
  Histogram durations;

  // The duration that `share` of all do not exceed, as if those of a bucket lay
  // evenly in it; right within 25 %, and never outside min and max. 0 if empty.
  uint64_t Quantile(double share) const;
  void Merge(const NameAggregate& other);
  void Encode(ByteWriter& out) const;
  // False if the bytes are not one.
  bool Decode(ByteReader& in);
};

// One series of counters over a chunk.
struct SeriesAggregate {
  uint32_t series = 0;
  uint64_t count = 0;  // values stored
  int64_t first_ns = 0;
  int64_t last_ns = 0;
  double first = 0, last = 0, min = 0, max = 0;
  double integral = 0;  // value times seconds it held, to the chunk's last tick

  void Encode(ByteWriter& out) const;
  bool Decode(ByteReader& in);
};

}  // namespace sonde

#endif  // SONDE_TRACE_AGGREGATE_H_
