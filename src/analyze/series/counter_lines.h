#ifndef SONDE_ANALYZE_SERIES_COUNTER_LINES_H_
#define SONDE_ANALYZE_SERIES_COUNTER_LINES_H_

#include <memory>
#include <string>
#include <vector>

#include "analyze/series/series.h"
#include "analyze/series/span.h"
#include "store/counter_replay.h"

namespace sonde {

// A line to be read from a trace: the sum of series of one kind, each times a
// factor. Totals become rates per second.
struct LineSpec {
  struct Member {
    uint32_t series;
    double factor;
    auto operator<=>(const Member&) const = default;
  };

  std::string name;
  std::string unit;  // of the line, after factors and rates
  Series::Kind kind = Series::Kind::kGauge;
  // A value holds until the next, however late that comes. For what a program
  // sets when it pleases; what is sampled leaves a gap when sampling stops.
  bool holds = false;
  std::vector<Member> members;
};

// Reads lines on a replay of the counters, which others may share. A total of a
// process that began in the run counts from 0; another's growth is known from
// its second value on, also after a hole. A line has values while at least one
// of its members has; over a hole none has. The store must outlive it.
class LineReader {
 public:
  LineReader(const Store& store, const RunSpan& run, const Grid& grid,
             std::vector<LineSpec> specs);
  ~LineReader();

  void Join(CounterReplay& replay);
  // In the order of the specs. When the replay is over; once.
  std::vector<RegularSeries> Take();

 private:
  class Handler;
  std::unique_ptr<Handler> handler_;
};

// The lines of `specs`. Those that are the same, but for name and unit, as one
// of `read_specs` are taken from `read`; the rest is read in one replay.
std::vector<RegularSeries> ReadLines(
    const Store& store, const RunSpan& run, const Grid& grid,
    const std::vector<LineSpec>& specs,
    const std::vector<LineSpec>& read_specs = {},
    std::vector<RegularSeries> read = {});

}  // namespace sonde

#endif  // SONDE_ANALYZE_SERIES_COUNTER_LINES_H_
