#include "export/chart/scale.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "analyze/pattern/pattern.h"

namespace sonde {
namespace {

constexpr double kLeastLength = 1e-300;  // of an axis

// 1, 2 or 5 times a power of ten, not less than `step`.
double RoundStep(double step) {
  if (!(step > 0) || !std::isfinite(step)) return 1;
  const double power = std::pow(10, std::floor(std::log10(step)));
  if (!std::isnormal(power)) return 1;
  for (const double digit : {1.0, 2.0, 5.0})
    if (digit * power >= step * (1 - 1e-9)) return digit * power;
  return 10 * power;
}

}  // namespace

double Scale::Share(double value) const {
  if (!(high > low)) return 0;
  return std::clamp((value - low) / (high - low), 0.0, 1.0);
}

Scale RoundScale(double low, double high, size_t ticks) {
  if (!std::isfinite(low) || !std::isfinite(high - low)) low = high = 0;
  // A step between values that are hardly apart could be 0.
  if (!(high - low > kLeastLength)) high = low + 1;
  const double step =
      RoundStep((high - low) / static_cast<double>(std::max<size_t>(ticks, 1)));
  Scale out;
  out.low = std::floor(low / step + 1e-9) * step;
  out.high = std::ceil(high / step - 1e-9) * step;
  const auto count = static_cast<size_t>((out.high - out.low) / step + 0.5);
  for (size_t i = 0; i <= count; ++i)
    out.ticks.push_back(out.low + static_cast<double>(i) * step);
  return out;
}

Scale ScaleOf(const ChartPlot& plot) {
  double low = 0, high = 0;
  for (const RegularSeries& line : plot.lines)
    for (size_t i = 0; i < line.size(); ++i) {
      if (!line.known[i]) continue;
      low = std::min(low, line.values[i]);
      high = std::max(high, line.values[i]);
    }
  // A little more than can be is what measuring does.
  if (plot.full_scale && high >= *plot.full_scale / 4 &&
      high <= *plot.full_scale * 1.05)
    high = *plot.full_scale;
  return RoundScale(low, high, 4);
}

Scale TimeScale(int64_t length_ns, size_t ticks) {
  static constexpr std::array<double, 12> kSteps = {
      60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400};
  const double length = static_cast<double>(length_ns) / 1e9;
  const double least = length / static_cast<double>(std::max<size_t>(ticks, 1));
  double step = RoundStep(least);
  if (step > 30) {
    const auto at = std::lower_bound(kSteps.begin(), kSteps.end(), least);
    step = at != kSteps.end() ? *at : std::ceil(least / 86400) * 86400;
  }
  Scale out{0, length, {}};
  for (double t = 0; t <= length * (1 + 1e-9); t += step)
    out.ticks.push_back(t);
  return out;
}

std::string TimeLabel(double seconds, const Scale& scale) {
  const double step = scale.ticks.size() > 1 ? scale.ticks[1] : 1;
  if (seconds <= 0) return "0";
  if (step >= 3600) return fmt::format("{:g} h", seconds / 3600);
  if (step >= 60 && scale.high >= 2 * 3600) {
    const auto minutes = static_cast<int64_t>(seconds / 60 + 0.5);
    return fmt::format("{}:{:02} h", minutes / 60, minutes % 60);
  }
  if (step >= 60) return fmt::format("{:g} min", seconds / 60);
  return step < 1e-3 ? fmt::format("{:.4g} ms", seconds * 1e3)
                     : fmt::format("{:.6g} s", seconds);
}

std::string ValueLabel(double value, const std::string& unit) {
  if (unit.starts_with("bytes")) return FormatValue(value, unit);
  if (unit == "share") return fmt::format("{:.6g} %", value * 100);
  // Anything too small to be a value is what is left of a difference.
  if (std::abs(value) < 1e-12) value = 0;
  return fmt::format("{:.6g}{}{}", value, unit.empty() ? "" : " ", unit);
}

std::vector<Pixels> PixelsOf(const RegularSeries& line, size_t columns) {
  const size_t count = std::min(columns, line.size());
  std::vector<Pixels> out(count);
  for (size_t i = 0; i < line.size(); ++i) {
    if (!line.known[i]) continue;
    Pixels& column = out[i * count / line.size()];
    column.low =
        column.known ? std::min(column.low, line.values[i]) : line.values[i];
    column.high =
        column.known ? std::max(column.high, line.values[i]) : line.values[i];
    column.known = true;
  }
  return out;
}

}  // namespace sonde
