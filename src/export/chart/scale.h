// The numbers on the axes of a chart, and where a line goes in its field.

#ifndef SONDE_EXPORT_CHART_SCALE_H_
#define SONDE_EXPORT_CHART_SCALE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "analyze/verdict/charts.h"

namespace sonde {

// The values of one axis: its ends and round ones between and at them.
struct Scale {
  double low = 0;
  double high = 1;
  std::vector<double> ticks;

  // 0 at the low end, 1 at the high end, never outside.
  double Share(double value) const;
};

// An axis with at most about `ticks` round values (1, 2 or 5 times a power of
// ten apart) that takes in both ends. Never empty: ends that are as good as
// equal are taken to be 1 apart, and of those that are no numbers, or too far
// apart for one, it is 0 to 1.
Scale RoundScale(double low, double high, size_t ticks);

// The axis of a plot: from 0, or from its least value if that is negative, to
// its greatest, or to the full scale if that is near: a quarter of it is
// reached, and no more than it by more than a twentieth.
Scale ScaleOf(const ChartPlot& plot);

// Times from 0 to `length_ns`, in steps of round seconds, minutes or hours; the
// last tick is within.
Scale TimeScale(int64_t length_ns, size_t ticks);
// "2.5 s", "3 min", "1:30 h": a value of TimeScale.
std::string TimeLabel(double seconds, const Scale& scale);

// "2.5 GB/s", "40 %", "1500 MHz": a round value with its unit.
std::string ValueLabel(double value, const std::string& unit);

// What a column of pixels shows of a line: the least and the greatest of the
// known windows in it.
struct Pixels {
  bool known = false;
  double low = 0;
  double high = 0;
};

// One for each of `columns` equal parts of the grid. With fewer windows than
// columns, there are as many as windows.
std::vector<Pixels> PixelsOf(const RegularSeries& line, size_t columns);

}  // namespace sonde

#endif  // SONDE_EXPORT_CHART_SCALE_H_
