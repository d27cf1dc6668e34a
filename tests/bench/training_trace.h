#ifndef SONDE_BENCH_TRAINING_TRACE_H_
#define SONDE_BENCH_TRAINING_TRACE_H_

#include <cstdint>
#include <vector>

#include "trace/writer.h"

namespace sonde {

// A made-up recording of a training job that has the shape of real ones: 8
// ranks with 4 tracks each (two host threads, two device queues), the same step
// over and over with jitter, 30 names, slices nested to depth 3, now and then
// an instant, and counters sampled beside them. The same for the same numbers,
// on every machine.
//
// An event is one slice, one instant or one value of a counter.
class TrainingTrace {
 public:
  static constexpr uint32_t kRanks = 8;
  static constexpr uint32_t kTracksPerRank = 4;
  static constexpr uint32_t kTracks = kRanks * kTracksPerRank;
  static constexpr uint32_t kNames = 30;

  // Makes at least `events` events, whole steps, in memory.
  explicit TrainingTrace(uint64_t events, uint64_t seed = 1);

  // Feeds everything to `writer` `times` times, one behind the other in time.
  void WriteTo(TraceWriter& writer, uint32_t times = 1) const;

  uint64_t events() const { return events_; }

 private:
  // An event as it is fed: in the order of the ends.
  struct Record {
    uint32_t gap_ns;  // since the end of the one before on this track
    uint32_t dur_ns;
    uint8_t name;
    uint8_t depth;
    uint8_t track;
    bool instant;
  };

  std::vector<Record> records_;
  // Ticks come behind the record of this place.
  std::vector<size_t> tick_places_;
  std::vector<int64_t> tick_values_;  // kSeries for each tick
  uint64_t events_ = 0;
  int64_t length_ns_ = 0;
};

}  // namespace sonde

#endif  // SONDE_BENCH_TRAINING_TRACE_H_
