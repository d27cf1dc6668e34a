#include "analyze/pattern/period.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "analyze/pattern/autocorrelation.h"

namespace sonde {
namespace {

constexpr double kMinCycles = 3;
constexpr size_t kMinLag = 4;
// What a peak must rise above the trough before it, in standard deviations of
// the autocorrelation of noise. The highest and the lowest of some hundred lags
// are 6 to 7 apart by chance.
constexpr double kMinRiseSigmas = 9;
constexpr double kMinRise = 0.5;
constexpr double kMinHeight = 0.25;
// The same for noise with a memory, of which fewer values are independent.
constexpr double kMinHeightSigmas = 2.8;
// Of the highest peak: what an earlier one needs to be the fundamental.
constexpr double kAsHigh = 0.8;
// Of the first peak: the least that those at its multiples must rise.
constexpr double kEcho = 0.6;

// By the weights 1, 2, 1: a pulse of one window every 20.5 windows is as alike
// to itself after 20 and 21 as after 41.
void Smooth(RegularSeries& p) {
  const std::vector<double> v = p.values;
  for (size_t i = 0; i < v.size(); ++i) {
    if (!p.known[i]) continue;
    double sum = 2 * v[i], weight = 2;
    for (const size_t j : {i - 1, i + 1}) {
      if (j >= v.size() || !p.known[j]) continue;
      sum += v[j];
      weight += 1;
    }
    p.values[i] = sum / weight;
  }
}

// How many values of noise with this short memory weigh as one (Bartlett).
double Memory(const Autocorrelation& like) {
  double sum = 1;
  for (size_t k = 1; k < like.at.size() && like.at[k] > 0; ++k)
    sum += 2 * like.at[k] * like.at[k];
  return sum;
}

// A peak of the autocorrelation; `rise` is above the lowest point before it.
struct Peak {
  size_t lag = 0;
  double height = 0;
  double rise = 0;
};

class PeakFinder {
 public:
  explicit PeakFinder(const Autocorrelation& like) : like_(like) {
    lowest_ = like.at;
    for (size_t k = 1; k < lowest_.size(); ++k)
      lowest_[k] = std::min(lowest_[k], lowest_[k - 1]);
  }

  double Rise(size_t lag) const { return like_.at[lag] - lowest_[lag]; }

  // The first peak that is about as high as the highest up to max_lag.
  Peak First(size_t max_lag) const {
    double highest = 0;
    for (size_t k = kMinLag; k <= max_lag; ++k)
      highest = std::max(highest, Rise(k));
    size_t k = kMinLag;
    while (k <= max_lag && Rise(k) < kAsHigh * highest) ++k;
    size_t best = k;
    for (; k <= max_lag && Rise(k) > highest / 2; ++k)
      if (Rise(k) > Rise(best)) best = k;
    if (highest <= 0 || best > max_lag) return {};
    return {best, like_.at[best], Rise(best)};
  }

  // The highest point within a tenth of a period of `lag`, with its place
  // between the lags. Nothing if there is none to look at.
  std::optional<double> Near(double lag, double period, double& rise) const {
    const double reach = std::max(1.0, period / 10);
    const auto from = static_cast<size_t>(std::lround(lag - reach));
    const auto to = static_cast<size_t>(std::lround(lag + reach));
    if (from < 1 || to + 1 >= like_.at.size()) return std::nullopt;
    size_t best = from;
    for (size_t k = from; k <= to; ++k)
      if (like_.at[k] > like_.at[best]) best = k;
    rise = Rise(best);
    // The top of the parabola through it and its neighbours.
    const double a = like_.at[best - 1], b = like_.at[best],
                 c = like_.at[best + 1];
    const double bend = a - 2 * b + c;
    const double shift = bend < 0 ? 0.5 * (a - c) / bend : 0;
    return static_cast<double>(best) + std::clamp(shift, -0.5, 0.5);
  }

 private:
  const Autocorrelation& like_;
  std::vector<double> lowest_;  // up to each lag
};

}  // namespace

std::optional<Period> PeriodOf(const RegularSeries& series) {
  // Gaps at the ends are not part of it.
  const auto [begin, end] = series.KnownRange();
  RegularSeries p = series.Part(begin, end);
  const size_t count = p.KnownCount();
  if (count < kMinPeriodWindows) return std::nullopt;
  double most = 0, squares = 0;
  for (const double v : p.KnownValues()) most = std::max(most, std::abs(v));
  p.values = WithoutTrendAndSpikes(p);
  for (const double v : p.values) squares += v * v;
  // What is left of a constant or a ramp is rounding.
  if (squares <= 1e-18 * most * most * static_cast<double>(count))
    return std::nullopt;
  Smooth(p);

  const size_t span = p.values.size();
  const auto max_lag =
      static_cast<size_t>(static_cast<double>(span) / kMinCycles);
  const Autocorrelation like =
      AutocorrelationOf(p.values, p.known, span * 3 / 4);
  const PeakFinder peaks(like);
  const Peak first = peaks.First(max_lag);
  if (first.lag == 0 || like.pairs[first.lag] < kMinPeriodWindows / 2)
    return std::nullopt;
  // Smoothing by 1, 2, 1 leaves half of the independent values.
  const double sigma = std::sqrt(2 / like.pairs[first.lag]);
  const double memory_sigma = std::sqrt(Memory(like) / like.pairs[first.lag]);
  if (first.height < std::max(kMinHeight, kMinHeightSigmas * memory_sigma) ||
      first.rise < std::max(kMinRise, kMinRiseSigmas * sigma))
    return std::nullopt;

  double windows = static_cast<double>(first.lag);
  double rise = 0;
  if (const auto at = peaks.Near(windows, windows, rise)) windows = *at;
  // What repeats once repeats again. The later a multiple, the better it tells
  // the length.
  for (int multiple = 2; multiple <= 8; ++multiple) {
    const double lag = windows * multiple;
    const auto at = peaks.Near(lag, windows, rise);
    if (!at) break;
    if (rise < kEcho * first.rise) {
      if (multiple <= 3) return std::nullopt;
      break;
    }
    windows = *at / multiple;
  }
  Period out;
  out.windows = windows;
  out.seconds = series.grid.SecondsOf(windows);
  out.cycles = static_cast<double>(span) / windows;
  out.strength = std::clamp(first.height, 0.0, 1.0);
  return out;
}

}  // namespace sonde
