#include "analyze/series/series.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "analyze/series/span.h"
#include "base/check.h"

namespace sonde {
namespace {

void CutExtremes(std::vector<double>& values) {
  // Fewer than the cycles that a period needs.
  constexpr ptrdiff_t kCut = 2;
  if (values.size() < 10) return;
  std::vector<double> sorted = values;
  std::nth_element(sorted.begin(), sorted.begin() + kCut, sorted.end());
  const double least = sorted[kCut];
  std::nth_element(sorted.begin(), sorted.end() - 1 - kCut, sorted.end());
  const double most = *(sorted.end() - 1 - kCut);
  for (double& v : values) v = std::clamp(v, least, most);
}

}  // namespace

Grid Grid::Over(int64_t begin_ns, int64_t end_ns, int64_t period_ns,
                size_t max_windows) {
  CHECK(max_windows > 0);
  const int64_t length = Elapsed(begin_ns, end_ns);
  const auto most = static_cast<int64_t>(max_windows);
  const int64_t least_step = length / most + (length % most != 0 ? 1 : 0);
  const int64_t step = std::max<int64_t>({period_ns, least_step, 1});
  // The last window may reach beyond the end, but not beyond time.
  int64_t beyond;
  if (__builtin_add_overflow(begin_ns + length, step, &beyond))
    return {begin_ns, begin_ns, 1};
  return {begin_ns, begin_ns + length, step};
}

size_t Grid::size() const {
  const int64_t length = Elapsed(begin_ns, end_ns);
  return static_cast<size_t>(length / step_ns +
                             (length % step_ns != 0 ? 1 : 0));
}

size_t RegularSeries::KnownCount() const {
  return static_cast<size_t>(std::count(known.begin(), known.end(), 1));
}

std::vector<double> RegularSeries::KnownValues() const {
  std::vector<double> out;
  out.reserve(size());
  for (size_t i = 0; i < size(); ++i)
    if (known[i]) out.push_back(values[i]);
  return out;
}

double RegularSeries::Mean() const {
  double sum = 0, count = 0;
  for (size_t i = 0; i < size(); ++i) {
    if (!known[i]) continue;
    sum += values[i];
    ++count;
  }
  return count > 0 ? sum / count : 0;
}

RegularSeries RegularSeries::Part(size_t from, size_t to) const {
  to = std::min(to, size());
  from = std::min(from, to);
  RegularSeries out{name, unit, grid, {}, {}};
  out.grid.begin_ns = grid.TimeOf(from);
  out.grid.end_ns =
      std::min(grid.TimeOf(to), std::max(grid.end_ns, grid.TimeOf(from)));
  out.values.assign(values.begin() + static_cast<ptrdiff_t>(from),
                    values.begin() + static_cast<ptrdiff_t>(to));
  out.known.assign(known.begin() + static_cast<ptrdiff_t>(from),
                   known.begin() + static_cast<ptrdiff_t>(to));
  return out;
}

RegularSeries RegularSeries::Coarse(size_t max_windows) const {
  const size_t join = (size() + max_windows - 1) / max_windows;
  if (join <= 1) return *this;
  RegularSeries out{name, unit, grid, {}, {}};
  out.grid.step_ns *= static_cast<int64_t>(join);
  for (size_t from = 0; from < size(); from += join) {
    const RegularSeries part = Part(from, std::min(size(), from + join));
    const bool is_known = 2 * part.KnownCount() >= part.size();
    out.values.push_back(is_known ? part.Mean() : 0);
    out.known.push_back(is_known ? 1 : 0);
  }
  return out;
}

std::pair<size_t, size_t> WorkingPart(const RegularSeries& series,
                                      double max_begin, double max_end) {
  size_t from = 0, to = series.size();
  constexpr double kWorkLevel = 0.5;
  const std::vector<double> levels = series.KnownValues();
  if (levels.empty()) return {from, to};
  const double work = Quantile(levels, 0.9) * kWorkLevel;
  const auto works = [&](size_t i) {
    return series.known[i] && series.values[i] >= work;
  };
  const auto most = [&](double share) {
    return static_cast<size_t>(share * static_cast<double>(series.size()));
  };
  while (from < most(max_begin) && !works(from)) ++from;
  while (to > from + 1 && series.size() - to < most(max_end) && !works(to - 1))
    --to;
  return {from, to};
}

void Join(RegularSeries& series, const RegularSeries& other) {
  const bool summed = series.unit == "bytes";
  for (size_t i = 0; i < series.size(); ++i) {
    if (!other.known[i]) continue;
    // What is not known is 0 in a series.
    series.values[i] = summed ? series.values[i] + other.values[i]
                              : std::max(series.values[i], other.values[i]);
    series.known[i] = 1;
  }
}

std::pair<size_t, size_t> RegularSeries::KnownRange() const {
  size_t from = 0, to = size();
  while (from < to && !known[from]) ++from;
  while (to > from && !known[to - 1]) --to;
  return {from, to};
}

RegularSeries MeanOfAll(const std::vector<const RegularSeries*>& all,
                        const Grid& grid, std::string name, std::string unit) {
  RegularSeries out{std::move(name), std::move(unit), grid, {}, {}};
  out.values.resize(grid.size());
  out.known.resize(grid.size());
  for (size_t i = 0; i < grid.size(); ++i) {
    double sum = 0, count = 0;
    for (const RegularSeries* const one : all) {
      if (i >= one->size() || !one->known[i]) continue;
      sum += one->values[i];
      ++count;
    }
    out.known[i] = count > 0;
    if (count > 0) out.values[i] = sum / count;
  }
  return out;
}

WindowMeans::WindowMeans(const Grid& grid)
    : grid_(grid), amounts_(grid.size()), covered_(grid.size()) {}

void TimePieces::Set(const Grid& grid, int64_t from_ns, int64_t to_ns) {
  pieces_.clear();
  from_ns = std::max(from_ns, grid.begin_ns);
  to_ns = std::min(to_ns, grid.end_ns);
  if (from_ns >= to_ns) return;
  auto window = static_cast<size_t>((from_ns - grid.begin_ns) / grid.step_ns);
  while (from_ns < to_ns) {
    const int64_t until = std::min(to_ns, grid.TimeOf(window + 1));
    pieces_.push_back({window++, static_cast<double>(until - from_ns)});
    from_ns = until;
  }
}

void WindowMeans::Add(int64_t from_ns, int64_t to_ns, double amount) {
  const int64_t elapsed = Elapsed(from_ns, to_ns);
  if (elapsed == 0) return;
  stretch_.Set(grid_, from_ns, to_ns);
  Add(stretch_, amount / static_cast<double>(elapsed));
}

void WindowMeans::Cover(int64_t from_ns, int64_t to_ns) {
  stretch_.Set(grid_, from_ns, to_ns);
  Cover(stretch_);
}

RegularSeries WindowMeans::Take(std::string name, std::string unit,
                                double scale) {
  RegularSeries out{std::move(name), std::move(unit), grid_, {}, {}};
  out.values = std::move(amounts_);
  out.known.resize(out.values.size());
  for (size_t i = 0; i < out.values.size(); ++i) {
    const auto length = static_cast<double>(
        std::min(grid_.step_ns, grid_.end_ns - grid_.TimeOf(i)));
    out.known[i] = covered_[i] >= length / 2;
    out.values[i] = out.known[i] ? out.values[i] / covered_[i] * scale : 0;
  }
  return out;
}

SeriesBuilder::SeriesBuilder(const Grid& grid, Series::Kind kind,
                             int64_t max_gap_ns)
    : kind_(kind), max_gap_ns_(max_gap_ns), means_(grid) {}

void SeriesBuilder::Add(int64_t time_ns, double value) {
  if (!(std::abs(value) <= kMaxValue) || time_ns <= last_ns_) return;
  const bool follows = std::exchange(begun_, true);
  const int64_t before_ns = std::exchange(last_ns_, time_ns);
  const double before = std::exchange(last_, value);
  const int64_t elapsed = Elapsed(before_ns, time_ns);
  const double growth = value - before;
  const bool total = kind_ == Series::Kind::kTotal;
  if (!follows || elapsed == 0 || elapsed > max_gap_ns_ ||
      (total && growth < 0))
    return;
  stretch_.Set(means_.grid(), before_ns, time_ns);
  means_.Add(stretch_, total ? growth / static_cast<double>(elapsed) : before);
  means_.Cover(stretch_);
}

RegularSeries SeriesBuilder::Take(std::string name, std::string unit) {
  return means_.Take(std::move(name), std::move(unit),
                     kind_ == Series::Kind::kTotal ? 1e9 : 1);
}

std::vector<double> WithoutTrend(const RegularSeries& series) {
  double n = 0, t_sum = 0, v_sum = 0;
  for (size_t i = 0; i < series.size(); ++i) {
    if (!series.known[i]) continue;
    ++n;
    t_sum += static_cast<double>(i);
    v_sum += series.values[i];
  }
  std::vector<double> out(series.size());
  if (n == 0) return out;
  const double t_mean = t_sum / n, v_mean = v_sum / n;
  double tt = 0, tv = 0;
  for (size_t i = 0; i < series.size(); ++i) {
    if (!series.known[i]) continue;
    const double t = static_cast<double>(i) - t_mean;
    tt += t * t;
    tv += t * (series.values[i] - v_mean);
  }
  const double slope = tt > 0 ? tv / tt : 0;
  for (size_t i = 0; i < series.size(); ++i)
    if (series.known[i])
      out[i] =
          series.values[i] - v_mean - slope * (static_cast<double>(i) - t_mean);
  return out;
}

std::vector<double> WithoutTrendAndSpikes(const RegularSeries& series) {
  RegularSeries out = series;
  out.values = WithoutTrend(series);
  // A spike is seen when the trend is gone, the trend when spikes are cut.
  for (int round = 0; round < 2; ++round) {
    CutExtremes(out.values);
    out.values = WithoutTrend(out);
  }
  return std::move(out.values);
}

double Quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  const auto at = values.begin() +
                  static_cast<ptrdiff_t>(
                      std::lround(q * static_cast<double>(values.size() - 1)));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

double NoiseOf(const std::vector<double>& values) {
  if (values.size() < 2) return 0;
  std::vector<double> steps(values.size() - 1);
  for (size_t i = 0; i + 1 < values.size(); ++i)
    steps[i] = std::abs(values[i + 1] - values[i]);
  // 1.4826: from the median deviation to the standard one, of a normal
  // distribution. A difference of two has the variance of both.
  return 1.4826 * Quantile(std::move(steps), 0.5) / std::sqrt(2.0);
}

}  // namespace sonde
