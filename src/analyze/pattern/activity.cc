#include "analyze/pattern/activity.h"

#include <algorithm>
#include <cmath>

namespace sonde {
namespace {

// Of the distance between the levels: what a window must lie beyond the
// threshold to change from on to off or back.
constexpr double kHysteresis = 0.1;

double MedianWhere(const RegularSeries& series, const std::vector<uint8_t>& on,
                   uint8_t wanted) {
  std::vector<double> values;
  for (size_t i = 0; i < series.size(); ++i)
    if (series.known[i] && on[i] == wanted) values.push_back(series.values[i]);
  return Quantile(std::move(values), 0.5);
}

void CountEpisodes(const RegularSeries& series, Activity& out) {
  std::vector<double> lengths;
  double length = 0, on = 0, known = 0;
  for (size_t i = 0; i < series.size(); ++i) {
    known += series.known[i];
    on += out.on[i];
    if (out.on[i]) {
      ++length;
    } else if (length > 0) {
      lengths.push_back(length);
      length = 0;
    }
  }
  if (length > 0) lengths.push_back(length);
  out.share = known > 0 ? on / known : 0;
  out.episodes = lengths.size();
  out.median_windows = Quantile(std::move(lengths), 0.5);
}

}  // namespace

double TwoLevelThreshold(std::vector<double> values, double& explained) {
  explained = 0;
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double n = static_cast<double>(values.size());
  double sum = 0, squares = 0;
  for (const double v : values) sum += v;
  const double mean = sum / n;
  for (const double v : values) squares += (v - mean) * (v - mean);
  double below = 0, best = 0, threshold = values.front();
  for (size_t i = 0; i + 1 < values.size(); ++i) {
    below += values[i] - mean;
    if (values[i] == values[i + 1]) continue;
    const double left = static_cast<double>(i + 1), right = n - left;
    // Between-class sum of squares; the two means balance around 0.
    const double between = below * below * n / (left * right);
    if (between <= best) continue;
    best = between;
    threshold = mean + (below / left - below / right) / 2;
  }
  if (squares > 0) explained = std::min(1.0, best / squares);
  return threshold;
}

Activity ActivityOf(const RegularSeries& series) {
  Activity out;
  out.on.resize(series.size());
  const std::vector<double> level = WithoutTrendAndSpikes(series);
  std::vector<double> known;
  for (size_t i = 0; i < series.size(); ++i)
    if (series.known[i]) known.push_back(level[i]);
  const double middle = TwoLevelThreshold(known, out.explained);
  std::vector<double> above, below;
  for (const double v : known) (v > middle ? above : below).push_back(v);
  const double distance =
      Quantile(std::move(above), 0.5) - Quantile(std::move(below), 0.5);
  bool on = false, begun = false;
  for (size_t i = 0; i < series.size(); ++i) {
    if (!series.known[i]) continue;
    const double far = level[i] - middle;
    if (!begun || std::abs(far) > kHysteresis * distance) on = far > 0;
    begun = true;
    out.on[i] = on;
  }
  CountEpisodes(series, out);
  out.low = MedianWhere(series, out.on, 0);
  out.high = MedianWhere(series, out.on, 1);
  return out;
}

}  // namespace sonde
