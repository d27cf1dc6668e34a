#ifndef SONDE_TRACE_COUNTER_CHUNK_H_
#define SONDE_TRACE_COUNTER_CHUNK_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/aggregate.h"
#include "trace/columns.h"
#include "trace/format.h"
#include "trace/model.h"

namespace sonde {

// A counter's value as 64 bits: the integer itself, or the bits of the double.
// The series' type says which.
inline uint64_t DoubleBits(double v) {
  uint64_t bits;
  std::memcpy(&bits, &v, sizeof(bits));
  return bits;
}
inline double ValueAsDouble(uint64_t bits, Series::Type type) {
  if (type == Series::Type::kInt)
    return static_cast<double>(static_cast<int64_t>(bits));
  double v;
  std::memcpy(&v, &bits, sizeof(v));
  return v;
}

// Ticks of one counter group, as they were sampled. A tick names only the
// series whose value changed since the tick before.
struct CounterTicks {
  struct Change {
    uint32_t series;
    uint64_t value;
  };
  std::vector<int64_t> time_ns;
  std::vector<uint32_t> changed_end;  // index into changes behind each tick
  std::vector<uint32_t> gone_end;     // index into gone behind each tick
  std::vector<Change> changes;
  std::vector<uint32_t> gone;  // series that have no value from this tick on

  size_t size() const { return time_ns.size(); }
  void Clear();
};

// What stands at the head of a counter chunk: enough to know whether its
// columns are worth reading.
struct CounterChunkInfo {
  uint32_t group = 0;
  uint32_t ticks = 0;
  uint32_t values = 0;
  uint64_t first_ordinal = 0;  // ticks of this group before this chunk
  int64_t begin_ns = 0;        // first tick
  int64_t end_ns = 0;          // last tick

  void Encode(ByteWriter& out) const;
  bool Decode(ByteReader& in);
};

// The ticks [begin, end) by series. A series that ends and comes back has two
// rows. `type_of` tells doubles from integers.
std::vector<SeriesAggregate> AggregatesOf(
    const CounterTicks& ticks, size_t begin, size_t end,
    const std::function<Series::Type(uint32_t)>& type_of);

// The payload of a kCounters frame for the ticks [begin, end). A series' first
// value in the payload is absolute, so a chunk can be read alone.
// `type_of` is for its summaries.
std::string EncodeCounterChunk(
    const CounterTicks& ticks, size_t begin, size_t end, bool summaries,
    const std::function<Series::Type(uint32_t)>& type_of,
    CompressionMemory& memory, CounterChunkInfo& info);

// Reads the payload of a kCounters frame; false if it is damaged.
class CounterChunkDecoder {
 public:
  bool Open(std::string_view payload);
  const CounterChunkInfo& info() const { return info_; }
  bool Decode(CounterTicks& out);
  // Empty for chunks of the journal.
  bool Aggregates(std::vector<SeriesAggregate>& out);

 private:
  CounterChunkInfo info_;
  ColumnReader columns_;
  std::string scratch_;
};

}  // namespace sonde

#endif  // SONDE_TRACE_COUNTER_CHUNK_H_
