// Series on equal windows: what every pattern is found in.

#ifndef SONDE_ANALYZE_SERIES_SERIES_H_
#define SONDE_ANALYZE_SERIES_SERIES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "store/store.h"

namespace sonde {

// Equal windows over a stretch of time; the last may reach beyond its end.
struct Grid {
  // An hour at ten samples a second in windows of two samples each: who takes
  // turns within a second is seen. More would cost time only.
  static constexpr size_t kMaxWindows = 20'000;

  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  int64_t step_ns = 1;

  // Windows as long as `period_ns`, the time between two samples, or longer if
  // there would be more than `max_windows`. No windows if there is no time.
  static Grid Over(int64_t begin_ns, int64_t end_ns, int64_t period_ns,
                   size_t max_windows = kMaxWindows);

  size_t size() const;
  int64_t TimeOf(size_t window) const {
    return begin_ns + static_cast<int64_t>(window) * step_ns;
  }
  double SecondsOf(double windows) const {
    return windows * static_cast<double>(step_ns) / 1e9;
  }
};

// The mean of one quantity in each window of a grid. A window that samples do
// not cover by half is not known; its value is then 0 and means nothing.
struct RegularSeries {
  std::string name;  // "tree_cpu"
  std::string unit;  // "cores", "bytes", "bytes/s", "share", or "" for a number
  Grid grid;
  std::vector<double> values;
  std::vector<uint8_t> known;

  size_t size() const { return values.size(); }
  size_t KnownCount() const;
  // Values of the known windows, in time order.
  std::vector<double> KnownValues() const;
  // Of the known windows; 0 of none.
  double Mean() const;
  // The windows [from, to).
  RegularSeries Part(size_t from, size_t to) const;
  // With several windows joined to one, so that there are at most
  // `max_windows`. A joined window is known if half of its parts are.
  RegularSeries Coarse(size_t max_windows) const;
  // From the first known window to behind the last; empty if none is known.
  std::pair<size_t, size_t> KnownRange() const;
};

// The mean of several, in each window of those that are known there. All lie on
// `grid`, or are empty.
RegularSeries MeanOfAll(const std::vector<const RegularSeries*>& all,
                        const Grid& grid, std::string name, std::string unit);

// The windows [first, second) in which there is work: from the first that has
// half of the level that a tenth of them exceeds, to the last. At most these
// shares of the windows are left out at the begin and at the end. Everything
// that is judged without its start-up and its winding down asks here.
std::pair<size_t, size_t> WorkingPart(const RegularSeries& series,
                                      double max_begin, double max_end);

// Joins another series of the same name, of another cgroup or disk. Bytes are
// summed. Of shares of time each window has the largest: a thread that two
// limits hold back is held back once, of two pressures the times may be the
// same, and one disk that is always busy is not helped by another that is idle.
void Join(RegularSeries& series, const RegularSeries& other);

// A stretch of time, window by window of a grid, for all that lasted as long.
// What lies outside the grid is left out.
class TimePieces {
 public:
  struct Piece {
    size_t window;
    double ns;
  };

  void Set(const Grid& grid, int64_t from_ns, int64_t to_ns);
  const std::vector<Piece>& pieces() const { return pieces_; }

 private:
  std::vector<Piece> pieces_;
};

// Collects amounts over stretches of time, in any order, and what is known of
// the time: the mean of a window is the amount by the time that is covered.
// What lies outside the grid is left out.
class WindowMeans {
 public:
  explicit WindowMeans(const Grid& grid);
  const Grid& grid() const { return grid_; }

  // Spread evenly. Costs as much as the stretch has windows.
  void Add(int64_t from_ns, int64_t to_ns, double amount);
  void Add(const TimePieces& stretch, double per_ns) {
    for (const TimePieces::Piece& p : stretch.pieces())
      amounts_[p.window] += per_ns * p.ns;
  }
  // Each moment may be covered once.
  void Cover(int64_t from_ns, int64_t to_ns);
  void Cover(const TimePieces& stretch) {
    for (const TimePieces::Piece& p : stretch.pieces())
      covered_[p.window] += p.ns;
  }
  // `scale`: a window's value for an amount of 1 per nanosecond. Nothing may be
  // added afterwards.
  RegularSeries Take(std::string name, std::string unit, double scale);

 private:
  Grid grid_;
  TimePieces stretch_;
  std::vector<double> amounts_, covered_;
};

// Makes a regular series of samples taken at any moments, in time order.
//
//  - A gauge holds its value until the next sample. A total's growth is spread
//    over the time since the sample before, and becomes a rate per second.
//  - Samples further apart than `max_gap_ns` leave a gap, as does a total that
//    falls because it began anew. A gap is not known; it is never 0.
//  - Samples that go back in time, and values that are no numbers or beyond
//    1e18, are left out.
class SeriesBuilder {
 public:
  SeriesBuilder(const Grid& grid, Series::Kind kind, int64_t max_gap_ns);

  void Add(int64_t time_ns, double value);
  // What comes next does not follow: there is a gap between, however short.
  void Break() { begun_ = false; }
  RegularSeries Take(std::string name, std::string unit);

 private:
  Series::Kind kind_;
  int64_t max_gap_ns_;
  WindowMeans means_;
  TimePieces stretch_;
  bool begun_ = false;
  int64_t last_ns_ = INT64_MIN;
  double last_ = 0;
};

// The known values without their straight trend (least squares) and mean. What
// is not known is 0.
std::vector<double> WithoutTrend(const RegularSeries& series);

// The same without spikes: the two highest values are brought down to the third
// and the two lowest up, or one spike would speak for the rest. Of fewer than
// ten values none is.
std::vector<double> WithoutTrendAndSpikes(const RegularSeries& series);

// The value below which a share `q` of the values lies; 0 of none.
double Quantile(std::vector<double> values, double q);

// How much values scatter from one to the next, as a standard deviation: jumps
// now and then, trends and slow waves do not count.
double NoiseOf(const std::vector<double>& values);

}  // namespace sonde

#endif  // SONDE_ANALYZE_SERIES_SERIES_H_
