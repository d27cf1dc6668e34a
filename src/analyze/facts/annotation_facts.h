#ifndef SONDE_ANALYZE_FACTS_ANNOTATION_FACTS_H_
#define SONDE_ANALYZE_FACTS_ANNOTATION_FACTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "store/store.h"

namespace sonde {

// Annotated slices of one name.
struct SliceFacts {
  std::string name;
  uint64_t count = 0;
  uint64_t total_ns = 0;
  int64_t self_ns = 0;
  uint64_t p50_ns = 0;
  uint64_t p99_ns = 0;
  double share = 0;  // of the self times of all names

  uint64_t mean_ns() const { return count == 0 ? 0 : total_ns / count; }
};

// The same of one row of the timeline: a thread, or one the program made.
struct TrackSlices {
  uint32_t process = 0;  // numbers; 0: none
  uint32_t thread = 0;
  uint32_t track = 0;              // id of the row
  std::string name;                // of the row, else of its thread
  int64_t self_ns = 0;             // of all its slices
  std::vector<SliceFacts> slices;  // most self time first
};

// A counter the program keeps.
struct CounterFacts {
  uint32_t process = 0;
  std::string name;
  std::string unit;
  uint64_t values = 0;
  double min = 0, max = 0, last = 0;
  double mean = 0;  // over the time it was kept; of one value, that value
};

// What the programs of a recording said about themselves.
struct AnnotationFacts {
  // Of the host, most self time first. Queues of devices, which work beside the
  // host, are only among the tracks.
  std::vector<SliceFacts> slices;
  std::vector<TrackSlices> tracks;     // likewise
  std::vector<CounterFacts> counters;  // by process and name
  // Beyond the first kMostCounters of the trace, which no program has: a file
  // may name half a million.
  uint64_t counters_left_out = 0;
  static constexpr size_t kMostCounters = 100'000;
};

AnnotationFacts AnnotationsOf(const Store& store);

}  // namespace sonde

#endif  // SONDE_ANALYZE_FACTS_ANNOTATION_FACTS_H_
