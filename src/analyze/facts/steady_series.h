#ifndef SONDE_ANALYZE_FACTS_STEADY_SERIES_H_
#define SONDE_ANALYZE_FACTS_STEADY_SERIES_H_

#include <cstddef>
#include <functional>
#include <string_view>
#include <vector>

#include "analyze/facts/steady.h"
#include "analyze/series/run_series.h"

namespace sonde {

// One series in the steady part of a run. If it was not collected it has no
// known window.
class SeriesView {
 public:
  SeriesView() = default;
  explicit SeriesView(RegularSeries part) : part_(std::move(part)) {}

  bool collected() const { return part_.KnownCount() > 0; }
  const RegularSeries& part() const { return part_; }
  // The value of a window, counted from the first steady one.
  double At(size_t window, double unknown = 0) const;
  // Over the known windows; 0 of none.
  double Mean() const { return part_.Mean(); }
  double QuantileAt(double q) const;

 private:
  RegularSeries part_;
};

// The series of a run in its steady part, all on one grid.
class SteadySeries {
 public:
  // Keeps a reference to `facts`.
  SteadySeries(const Facts& facts, const Steady& steady);

  size_t size() const { return to_ - from_; }
  // The window that has the middle of a stretch of time.
  size_t WindowOf(int64_t from_ns, int64_t to_ns) const;
  SeriesView Find(std::string_view name) const;
  // Of a series on the grid of the run.
  SeriesView Of(const RegularSeries& series) const;
  // ComputingOf() the run.
  SeriesView Computing() const;
  // Share of the windows that `test` is true of; pauses do not count.
  double ShareWhere(const std::function<bool(size_t window)>& test) const;
  // The steady part by all that is judged: makes shares of the one gains.
  double OfRun() const { return of_judged_; }
  // Of psi_io, the machine's pressure, what the program's own threads can have
  // felt (OwnBlocked); all of it if their states were not collected.
  SeriesView OwnPressure() const;
  // What the disks did was the program's work: it moved at least 20 % of their
  // bytes (a file system with a journal writes three times what is small), and
  // 64 kB/s. Disks and pressure are those of the whole machine.
  bool OwnsDisks() const;

 private:
  size_t OnGrid(int64_t time_ns) const;

  const Facts& facts_;
  size_t from_ = 0, to_ = 0;
  std::vector<bool> known_;
  double of_judged_ = 0;
};

}  // namespace sonde

#endif  // SONDE_ANALYZE_FACTS_STEADY_SERIES_H_
