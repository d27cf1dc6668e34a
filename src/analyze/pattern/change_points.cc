#include "analyze/pattern/change_points.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

namespace sonde {
namespace {

// Of the test statistic, in standard deviations. The largest of n values of
// noise is about sqrt(2 ln n), 4.5 of 20000; intervals overlap, and the noise
// is only estimated.
constexpr double kSureOver = 1.6;
// From one length of interval to the next.
constexpr double kShrink = 0.70710678118654752;
constexpr double kMinChangeNoises = 2;

// The known windows alone, spikes taken out, and where each came from.
struct Compact {
  std::vector<double> values;
  std::vector<size_t> window;
  double noise = 0;
};

// The middle one of five, so that up to two windows in a row cannot move it.
std::vector<double> WithoutSpikes(const std::vector<double>& values) {
  std::vector<double> out = values;
  for (size_t i = 2; i + 2 < values.size(); ++i) {
    std::array<double, 5> five;
    std::copy_n(values.begin() + static_cast<ptrdiff_t>(i) - 2, 5,
                five.begin());
    std::nth_element(five.begin(), five.begin() + 2, five.end());
    out[i] = five[2];
  }
  // At the ends there are no five.
  if (out.size() >= 5) {
    out[0] = out[1] = out[2];
    out[out.size() - 1] = out[out.size() - 2] = out[out.size() - 3];
  }
  return out;
}

struct Interval {
  size_t from, to;
};

// Intervals of every length, each half over the one before.
std::vector<Interval> SeededIntervals(size_t n, size_t shortest) {
  std::vector<Interval> out;
  double length = static_cast<double>(n);
  while (length >= static_cast<double>(shortest)) {
    const auto size = static_cast<size_t>(std::ceil(length));
    const size_t count = size >= n ? 1
                                   : 2 * static_cast<size_t>(std::ceil(
                                             static_cast<double>(n) / length)) -
                                         1;
    for (size_t i = 0; i < count; ++i) {
      const size_t from = count == 1 ? 0 : i * (n - size) / (count - 1);
      out.push_back({from, std::min(n, from + size)});
    }
    length *= kShrink;
  }
  // Shortest first.
  std::reverse(out.begin(), out.end());
  return out;
}

class Cutter {
 public:
  Cutter(const Compact& data, const ChangeOptions& options)
      : data_(data), options_(options), sums_(data.values.size() + 1) {
    for (size_t i = 0; i < data.values.size(); ++i)
      sums_[i + 1] = sums_[i] + data.values[i];
    sure_ = kSureOver *
            std::sqrt(2 * std::log(static_cast<double>(data.values.size())));
  }

  // Where to cut, in order.
  std::vector<size_t> Cuts() const {
    std::set<size_t> cuts;
    const size_t shortest = 2 * options_.min_windows;
    for (const Interval& all : SeededIntervals(data_.values.size(), shortest)) {
      const auto inside = cuts.upper_bound(all.from);
      if (inside != cuts.end() && *inside < all.to) continue;
      if (const size_t cut = BestCut(all.from, all.to); cut != 0)
        cuts.insert(cut);
    }
    return Placed(cuts);
  }

  double Mean(size_t from, size_t to) const {
    return (sums_[to] - sums_[from]) / static_cast<double>(to - from);
  }

 private:
  // A short interval knows that there is a change better than where. Between
  // its neighbours each cut finds its place.
  std::vector<size_t> Placed(const std::set<size_t>& cuts) const {
    std::vector<size_t> out(cuts.begin(), cuts.end());
    for (size_t i = 0; i < out.size(); ++i) {
      const size_t from = i == 0 ? 0 : out[i - 1];
      const size_t to = i + 1 == out.size() ? data_.values.size() : out[i + 1];
      if (const size_t cut = BestCut(from, to); cut != 0) out[i] = cut;
    }
    return out;
  }

  // 0 if no cut of this interval is sure.
  size_t BestCut(size_t from, size_t to) const {
    size_t best = 0;
    double most = 0;
    for (size_t cut = from + options_.min_windows;
         cut + options_.min_windows <= to; ++cut) {
      const double left = static_cast<double>(cut - from),
                   right = static_cast<double>(to - cut);
      const double step = std::abs(Mean(cut, to) - Mean(from, cut));
      const double statistic = step * std::sqrt(left * right / (left + right));
      if (statistic <= most) continue;
      most = statistic;
      best = cut;
    }
    if (best == 0 || most < sure_ * data_.noise) return 0;
    const double step = std::abs(Mean(best, to) - Mean(from, best));
    return step >= options_.min_change ? best : 0;
  }

  const Compact& data_;
  const ChangeOptions& options_;
  std::vector<double> sums_;
  double sure_ = 0;
};

double MedianOf(const std::vector<double>& values, size_t from, size_t to) {
  return Quantile({values.begin() + static_cast<ptrdiff_t>(from),
                   values.begin() + static_cast<ptrdiff_t>(to)},
                  0.5);
}

// Takes away the cuts between levels that differ by too little, the least
// difference first.
void Merge(std::vector<Segment>& parts, const std::vector<double>& values,
           double min_change) {
  while (parts.size() > 1) {
    size_t least = 0;
    double step = INFINITY;
    for (size_t i = 0; i + 1 < parts.size(); ++i) {
      const double here = std::abs(parts[i + 1].level - parts[i].level);
      if (here < step) {
        step = here;
        least = i;
      }
    }
    if (step >= min_change) return;
    parts[least].to = parts[least + 1].to;
    parts[least].level = MedianOf(values, parts[least].from, parts[least].to);
    parts.erase(parts.begin() + static_cast<ptrdiff_t>(least) + 1);
  }
}

}  // namespace

std::vector<Segment> SegmentsOf(const RegularSeries& series,
                                const ChangeOptions& options) {
  Compact data;
  for (size_t i = 0; i < series.size(); ++i) {
    if (!series.known[i]) continue;
    data.values.push_back(series.values[i]);
    data.window.push_back(i);
  }
  if (data.values.empty()) return {};
  const std::vector<double> raw = data.values;
  data.values = WithoutSpikes(raw);
  double most = 0;
  for (const double v : raw) most = std::max(most, std::abs(v));
  // Rounding is noise too, or a constant would be full of changes.
  data.noise = std::max(NoiseOf(raw), 1e-9 * most);

  const Cutter cutter(data, options);
  std::vector<Segment> parts;
  size_t from = 0;
  for (const size_t cut : cutter.Cuts()) {
    parts.push_back({from, cut, MedianOf(raw, from, cut)});
    from = cut;
  }
  parts.push_back({from, raw.size(), MedianOf(raw, from, raw.size())});
  Merge(parts, raw,
        std::max(options.min_change, kMinChangeNoises * data.noise));
  for (Segment& part : parts) {
    part.to = part.to == raw.size() ? series.size() : data.window[part.to];
    part.from = part.from == 0 ? 0 : data.window[part.from];
  }
  return parts;
}

}  // namespace sonde
