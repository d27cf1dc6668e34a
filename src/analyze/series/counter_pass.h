#ifndef SONDE_ANALYZE_SERIES_COUNTER_PASS_H_
#define SONDE_ANALYZE_SERIES_COUNTER_PASS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/series/series.h"
#include "analyze/series/span.h"
#include "store/counter_replay.h"

namespace sonde {

// Whether a network counter is of the command's own namespace, by its label:
// those of others that have an interface of the same name end with "@" and a
// number. The same bytes may pass both.
inline bool OfOwnNetwork(std::string_view label) {
  return label.find('@') == std::string_view::npos;
}

// A regular series, and the counters that it is the sum of.
struct CounterSum {
  std::string name;
  const char* unit;
  Series::Scope scope;
  std::string_view counter;
  double scale;  // from one unit of the counter per nanosecond
  // Only those of one process, thread or device; only those of one label.
  std::optional<uint32_t> scope_id = std::nullopt;
  std::optional<std::string> label = std::nullopt;
  // Not those of other networks than the command's: they may carry the same.
  bool own_network = false;
  // Other than 0: a value is a set of bits, and counts as 1 if it has one of
  // these, else as 0. A counter is part of every such sum that it fits.
  uint32_t bits = 0;
};

// Makes these sums on a replay of the counters, which others may share. A
// counter is part of the first sum that it fits. A hole is not known. Memory is
// that of the windows. The store must outlive it.
class CounterSums {
 public:
  CounterSums(const Store& store, const RunSpan& run, const Grid& grid,
              std::vector<CounterSum> sums);
  ~CounterSums();

  // The replay must go a little beyond the grid's end: Reach().
  void Join(CounterReplay& replay);
  // In the order of the sums. When the replay is over; once.
  std::vector<RegularSeries> Take();

  // The time of the chunks that sums on this grid need.
  static TimeRange Reach(const Store& store, const Grid& grid);

 private:
  class Handler;
  std::unique_ptr<Handler> handler_;
};

}  // namespace sonde

#endif  // SONDE_ANALYZE_SERIES_COUNTER_PASS_H_
