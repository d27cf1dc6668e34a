#include "analyze/pattern/trend.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "analyze/pattern/change_points.h"

namespace sonde {
namespace {

constexpr double kMinQuarter = 0.15;     // of the whole growth
constexpr double kMaxScatter = 1;        // of the whole growth
constexpr double kOneWay = 0.8;          // of all steps, by size
constexpr double kMinStep = 0.08;        // of the range
constexpr double kMaxInnerGrowth = 0.3;  // of the whole: growth between steps
constexpr size_t kMaxSteps = 40;

// What nine tenths of the values lie apart.
double Scatter(const std::vector<double>& values) {
  return Quantile(values, 0.95) - Quantile(values, 0.05);
}

// What a part of the series grows by, by least squares.
double GrowthOf(const RegularSeries& part) {
  const std::vector<double> flat = WithoutTrend(part);
  // The trend is what was taken off, but for the mean.
  double first = 0, last = 0;
  bool begun = false;
  for (size_t i = 0; i < part.size(); ++i) {
    if (!part.known[i]) continue;
    last = part.values[i] - flat[i];
    if (!begun) first = last;
    begun = true;
  }
  return last - first;
}

std::optional<Trend> RampOf(const RegularSeries& series, double least) {
  const std::vector<double> values = series.KnownValues();
  const size_t n = values.size();
  std::array<double, 4> quarters;
  for (size_t q = 0; q < 4; ++q)
    quarters[q] =
        Quantile({values.begin() + static_cast<ptrdiff_t>(q * n / 4),
                  values.begin() + static_cast<ptrdiff_t>((q + 1) * n / 4)},
                 0.5);
  const double growth = GrowthOf(series);
  if (!(std::abs(growth) >= least) || growth == 0) return std::nullopt;
  for (size_t q = 0; q < 3; ++q)
    if ((quarters[q + 1] - quarters[q]) / growth < kMinQuarter)
      return std::nullopt;
  const std::vector<double> flat = WithoutTrend(series);
  std::vector<double> residual;
  for (size_t i = 0; i < series.size(); ++i)
    if (series.known[i]) residual.push_back(flat[i]);
  const double scatter = Scatter(residual) / std::abs(growth);
  if (scatter > kMaxScatter) return std::nullopt;
  const double middle = Quantile(values, 0.5);
  return Trend{middle - growth / 2, middle + growth / 2, 0, 1 - scatter / 2};
}

std::optional<Trend> StaircaseOf(const RegularSeries& series, double least) {
  const std::vector<double> values = series.KnownValues();
  ChangeOptions options;
  options.min_windows = std::max<size_t>(5, values.size() / 100);
  options.min_change =
      kMinStep * (Quantile(values, 0.99) - Quantile(values, 0.01));
  const std::vector<Segment> parts = SegmentsOf(series, options);
  if (parts.size() < 2 || parts.size() > kMaxSteps + 1) return std::nullopt;
  double ways = 0, inner = 0;
  std::vector<double> residual;
  for (size_t i = 0; i < parts.size(); ++i) {
    for (size_t w = parts[i].from; w < parts[i].to; ++w)
      if (series.known[w])
        residual.push_back(series.values[w] - parts[i].level);
    if (i > 0) ways += std::abs(parts[i].level - parts[i - 1].level);
    inner += std::abs(GrowthOf(series.Part(parts[i].from, parts[i].to)));
  }
  const double growth = parts.back().level - parts.front().level;
  const double one_way = std::abs(growth) / ways;
  const double moves = inner / std::abs(growth);
  if (!(std::abs(growth) >= least) || one_way < kOneWay ||
      moves > kMaxInnerGrowth ||
      Scatter(residual) > kMaxScatter * std::abs(growth))
    return std::nullopt;
  return Trend{parts.front().level, parts.back().level, parts.size() - 1,
               one_way * (1 - moves)};
}

}  // namespace

std::optional<Trend> TrendOf(const RegularSeries& series, double least) {
  // A ramp can be cut into steps, but they would not keep still.
  if (const auto steps = StaircaseOf(series, least)) return steps;
  return RampOf(series, least);
}

}  // namespace sonde
