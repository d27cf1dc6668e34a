#ifndef SONDE_ANALYZE_LINE_READER_H_
#define SONDE_ANALYZE_LINE_READER_H_

#include <span>
#include <string>
#include <vector>

#include "analyze/facts.h"
#include "analyze/pattern/series.h"

namespace sonde {

// A line to be read from a trace: the sum of series of one kind, each times a
// factor. Totals become rates per second.
struct LineSpec {
  struct Member {
    uint32_t series;
    double factor;
  };

  std::string name;
  std::string unit;  // of the line, after factors and rates
  Series::Kind kind = Series::Kind::kGauge;
  // A value holds until the next, however late that comes. For what a program
  // sets when it pleases; what is sampled leaves a gap when sampling stops.
  bool holds = false;
  std::vector<Member> members;
};

// The lines on a grid, in the order of the specs. Reads each counter chunk
// once. A total of a process that began in the run counts from 0; another's
// growth is known from its second value on. A line has values while at least
// one of its members has.
std::vector<RegularSeries> ReadLines(const Facts& facts, const Grid& grid,
                                     std::span<const LineSpec> specs);

}  // namespace sonde

#endif  // SONDE_ANALYZE_LINE_READER_H_
