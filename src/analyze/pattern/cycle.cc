#include "analyze/pattern/cycle.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <vector>

#include "analyze/pattern/activity.h"

namespace sonde {
namespace {

// Mean of the detrended series by place in the cycle, 0 on average.
std::vector<double> Fold(const RegularSeries& series, const Period& period) {
  const auto bins = static_cast<size_t>(std::clamp(period.windows, 4.0, 40.0));
  std::vector<double> sums(bins), counts(bins);
  const std::vector<double> flat = WithoutTrend(series);
  for (size_t i = 0; i < series.size(); ++i) {
    if (!series.known[i]) continue;
    const double at = std::fmod(static_cast<double>(i) / period.windows, 1);
    const size_t bin =
        std::min(bins - 1, static_cast<size_t>(at * static_cast<double>(bins)));
    sums[bin] += flat[i];
    ++counts[bin];
  }
  double mean = 0;
  for (size_t b = 0; b < bins; ++b) {
    if (counts[b] > 0) sums[b] /= counts[b];
    mean += sums[b] / static_cast<double>(bins);
  }
  for (double& v : sums) v -= mean;
  return sums;
}

}  // namespace

CycleShape ShapeOf(const RegularSeries& series, const Period& period) {
  const std::vector<double> cycle = Fold(series, period);
  const size_t n = cycle.size();
  CycleShape out;
  double squares = 0;
  std::complex<double> first;
  for (size_t b = 0; b < n; ++b) {
    squares += cycle[b] * cycle[b];
    first += cycle[b] *
             std::polar(1.0, 2 * std::numbers::pi * static_cast<double>(b) /
                                 static_cast<double>(n));
  }
  if (!(squares > 0)) return out;
  out.sine = 2 * std::norm(first) / (static_cast<double>(n) * squares);
  TwoLevelThreshold(cycle, out.two_levels);
  // A line through the cycle, from each place on in turn.
  const double middle = static_cast<double>(n - 1) / 2;
  double line_squares = 0;
  for (size_t b = 0; b < n; ++b)
    line_squares += std::pow(static_cast<double>(b) - middle, 2);
  for (size_t shift = 0; shift < n; ++shift) {
    double product = 0;
    for (size_t b = 0; b < n; ++b)
      product += (static_cast<double>(b) - middle) * cycle[(b + shift) % n];
    const double explained = product * product / (line_squares * squares);
    if (explained <= out.saw_tooth) continue;
    out.saw_tooth = explained;
    out.climbs = product > 0;
  }
  const std::vector<double> values = series.KnownValues();
  double mean = 0;
  for (const double v : values) mean += v / static_cast<double>(values.size());
  out.low = mean + *std::min_element(cycle.begin(), cycle.end());
  out.high = mean + *std::max_element(cycle.begin(), cycle.end());
  return out;
}

}  // namespace sonde
