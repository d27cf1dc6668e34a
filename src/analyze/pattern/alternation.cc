#include "analyze/pattern/alternation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>

#include "analyze/pattern/activity.h"
#include "analyze/pattern/autocorrelation.h"
#include "analyze/pattern/period.h"
#include "base/check.h"
#include "base/text.h"

namespace sonde {
namespace {

constexpr size_t kWindowsForTurns = 40;
constexpr double kMinUp = 0.05;        // share of the time
constexpr double kMaxLowToHigh = 0.6;  // or it is never down
constexpr size_t kMinEpisodes = 3;
constexpr double kMinEpisodeWindows = 2;
constexpr double kMaxOverlap = 0.5;   // of what chance would give
constexpr double kSamePeriod = 0.04;  // relative
constexpr double kMinLock = 0.8;      // 1: the same phase in every cycle
constexpr double kTogetherDeg = 45;
constexpr double kMinCorrelation = 0.3;
constexpr double kMinSigmas = 3.5;
constexpr double kMinTurns = 2.5;  // fewer are a change, which comes once

// Two series as on and off, in the windows that both know.
struct Pair {
  RegularSeries first, second;
  Activity a, b;
  double n = 0;
};

// Why a series cannot take turns; empty if it can.
std::string NoTurns(const RegularSeries& series, const Activity& activity) {
  const std::string name = series.name.empty() ? "one series" : series.name;
  if (activity.explained == 0) return name + " does not change";
  if (activity.low > kMaxLowToHigh * activity.high)
    return name + " is never far down";
  if (activity.share < kMinUp) return name + " is hardly ever up";
  if (activity.episodes < kMinEpisodes)
    return fmt::format("{} goes up only {} time{}", name, activity.episodes,
                       activity.episodes == 1 ? "" : "s");
  if (activity.median_windows < kMinEpisodeWindows)
    return name + " changes faster than it was sampled";
  return "";
}

// Correlation of the two as on and off: -1 if exactly one is on, always.
double Correlation(double first, double second, double both) {
  const double spread = first * (1 - first) * second * (1 - second);
  return spread > 0 ? (both - first * second) / std::sqrt(spread) : 0;
}

std::vector<double> Centred(const Activity& activity) {
  std::vector<double> out(activity.on.begin(), activity.on.end());
  for (double& v : out) v -= activity.share;
  return out;
}

// How often it went up, where what is short beside the others hardly counts.
double TurnsTaken(const Activity& activity) {
  double length = 0, sum = 0, squares = 0;
  for (size_t i = 0; i <= activity.on.size(); ++i) {
    if (i < activity.on.size() && activity.on[i]) {
      ++length;
      continue;
    }
    sum += length;
    squares += length * length;
    length = 0;
  }
  return squares > 0 ? sum * sum / squares : 0;
}

// How many independent windows the correlation rests on (Bartlett): as many
// fewer as each stays as it is for a while. A rhythm makes them seem fewer yet,
// since two with the same period may meet by chance; but each turn that both
// take is two, an up and a down.
double IndependentWindows(const Pair& p) {
  const size_t lags = p.first.size() / 4;
  const Autocorrelation a =
      AutocorrelationOf(Centred(p.a), p.first.known, lags);
  const Autocorrelation b =
      AutocorrelationOf(Centred(p.b), p.second.known, lags);
  double sum = 1;
  for (size_t k = 1; k <= lags; ++k) sum += 2 * a.at[k] * b.at[k];
  return std::max(p.n / std::max(1.0, sum),
                  2 * std::min(TurnsTaken(p.a), TurnsTaken(p.b)));
}

// The mean over all cycles of the phase between the two, weighted by how much
// both move: its argument is the phase, its length (1 at most) says whether the
// phase is kept.
std::complex<double> PhaseLock(const Pair& p, double period) {
  const std::vector<double> a = Centred(p.a), b = Centred(p.b);
  std::complex<double> sum;
  double weights = 0;
  for (double begin = 0; begin + period <= static_cast<double>(a.size());
       begin += period) {
    std::complex<double> of_a, of_b;
    const auto last = static_cast<size_t>(begin + period);
    for (auto i = static_cast<size_t>(begin); i < last; ++i) {
      if (!p.first.known[i]) continue;
      const auto turn = std::polar(
          1.0, -2 * std::numbers::pi * static_cast<double>(i) / period);
      of_a += a[i] * turn;
      of_b += b[i] * turn;
    }
    const std::complex<double> between = of_a * std::conj(of_b);
    sum += between;
    weights += std::abs(between);
  }
  return weights > 0 ? sum / weights : sum;
}

// By the phase at a period that both have. False if they do not keep it.
bool JudgePeriodic(const Pair& p, const Period& a, const Period& b,
                   Alternation& out) {
  const double period = (a.windows + b.windows) / 2;
  const std::complex<double> lock = PhaseLock(p, period);
  const double kept = std::abs(lock);
  if (kept < kMinLock) return false;
  const double phase =
      std::fmod(std::arg(lock) * 180 / std::numbers::pi + 360, 360);
  out.period_s = p.first.grid.SecondsOf(period);
  const double apart = std::min(phase, 360 - phase);
  const double chance = out.first_share * out.second_share;
  const double overlap = out.both_share / chance;
  const std::string every = fmt::format(
      "every {}", FormatDuration(static_cast<int64_t>(*out.period_s * 1e9)));
  if (apart >= kTogetherDeg && overlap <= kMaxOverlap) {
    out.relation = Relation::kAlternate;
    out.confidence =
        kept * (1 - overlap / 2) * std::sqrt(a.strength * b.strength);
    out.why = fmt::format("one is up while the other is down, {}", every);
  } else if (apart < kTogetherDeg) {
    out.relation = Relation::kTogether;
    out.confidence = kept * std::sqrt(a.strength * b.strength);
    out.why = fmt::format("both go up together, {}", every);
  } else {
    out.relation = Relation::kShifted;
    out.confidence = kept * std::sqrt(a.strength * b.strength);
    out.why =
        fmt::format("one follows the other by {:.0f} degrees, {}; they overlap",
                    apart, every);
  }
  return true;
}

// By the correlation of on and off, if there is no common rhythm.
void JudgeCorrelation(const Pair& p, Alternation& out) {
  const double correlation =
      Correlation(out.first_share, out.second_share, out.both_share);
  // Fisher: near 1 or -1 it takes few of them to be sure.
  const double sigmas = std::atanh(std::clamp(correlation, -0.99, 0.99)) *
                        std::sqrt(std::max(0.0, IndependentWindows(p) - 3));
  const double overlap = out.both_share / (out.first_share * out.second_share);
  const bool sure = std::abs(correlation) >= kMinCorrelation &&
                    std::abs(sigmas) >= kMinSigmas &&
                    std::min(TurnsTaken(p.a), TurnsTaken(p.b)) >= kMinTurns;
  // 10 sigmas leave no doubt.
  out.confidence = std::min(1.0, std::abs(sigmas) / 10);
  if (sure && correlation < 0 && overlap <= kMaxOverlap) {
    out.relation = Relation::kAlternate;
    out.confidence *= 1 - overlap / 2;
    out.why = "one is up while the other is down, without a period";
  } else if (sure && correlation > 0) {
    out.relation = Relation::kTogether;
    out.why = "both go up together, without a period";
  } else if (!sure && std::abs(correlation) >= kMinCorrelation) {
    out.relation = Relation::kUnknown;
    out.confidence = 0;
    out.why = "they went up and down too seldom to tell it from chance";
  } else {
    out.relation = Relation::kUnrelated;
    out.confidence = 1 - std::abs(correlation);
    out.why = "they overlap about as by chance";
  }
}

Pair PairOf(const RegularSeries& first, const RegularSeries& second) {
  CHECK(first.size() == second.size() &&
        first.grid.step_ns == second.grid.step_ns);
  Pair p{first, second, {}, {}, 0};
  for (size_t i = 0; i < first.size(); ++i) {
    const uint8_t both = first.known[i] & second.known[i];
    p.first.known[i] = p.second.known[i] = both;
    p.n += both;
  }
  p.a = ActivityOf(p.first);
  p.b = ActivityOf(p.second);
  return p;
}

}  // namespace

Alternation AlternationOf(const RegularSeries& first,
                          const RegularSeries& second) {
  const Pair p = PairOf(first, second);
  Alternation out;
  if (p.n < static_cast<double>(kWindowsForTurns)) {
    out.why = "too little is known of both at the same time";
    return out;
  }
  out.first_share = p.a.share;
  out.second_share = p.b.share;
  for (size_t i = 0; i < p.first.size(); ++i)
    out.both_share += p.a.on[i] & p.b.on[i];
  out.both_share /= p.n;
  out.why = NoTurns(first, p.a);
  if (out.why.empty()) out.why = NoTurns(second, p.b);
  if (!out.why.empty()) return out;

  const std::optional<Period> a = PeriodOf(p.first), b = PeriodOf(p.second);
  const double ratio = a && b ? a->windows / b->windows : 0;
  const bool same = std::abs(ratio - 1) <= kSamePeriod;
  if (a && b && !same) {
    out.relation = Relation::kUnrelated;
    out.confidence = std::sqrt(a->strength * b->strength);
    out.why =
        fmt::format("one repeats every {}, the other every {}",
                    FormatDuration(static_cast<int64_t>(a->seconds * 1e9)),
                    FormatDuration(static_cast<int64_t>(b->seconds * 1e9)));
  } else if (!a || !b || !JudgePeriodic(p, *a, *b, out)) {
    JudgeCorrelation(p, out);
  }
  out.confidence = std::clamp(out.confidence, 0.0, 1.0);
  if (out.found())
    out.gain = std::min(out.first_share, out.second_share) - out.both_share;
  return out;
}

namespace {

// Shares of a set of series, by the windows that all of them know.
void Account(std::span<const RegularSeries> series, Turns& turns) {
  std::vector<Activity> activity;
  for (const size_t member : turns.members)
    activity.push_back(ActivityOf(series[member]));
  turns.shares.assign(turns.members.size(), 0);
  double n = 0;
  for (size_t i = 0; i < series[turns.members[0]].size(); ++i) {
    size_t up = 0;
    bool known = true;
    for (size_t m = 0; m < activity.size(); ++m) {
      known &= series[turns.members[m]].known[i] != 0;
      up += activity[m].on[i];
    }
    if (!known) continue;
    ++n;
    turns.overlap_share += up >= 2;
    turns.none_share += up == 0;
    for (size_t m = 0; m < activity.size(); ++m)
      turns.shares[m] += activity[m].on[i];
  }
  if (n == 0) return;
  for (double& share : turns.shares) share /= n;
  turns.overlap_share /= n;
  turns.none_share /= n;
  turns.gain = std::max(
      0.0, 1 - turns.none_share -
               *std::max_element(turns.shares.begin(), turns.shares.end()));
}

}  // namespace

Turns TurnsOf(std::span<const RegularSeries> series) {
  constexpr size_t kMost = 8;
  CHECK(series.size() <= kMost);
  std::vector<Alternation> pairs(kMost * kMost);
  const auto pair = [&](size_t i, size_t j) -> Alternation& {
    return pairs[std::min(i, j) * kMost + std::max(i, j)];
  };
  for (size_t i = 0; i < series.size(); ++i)
    for (size_t j = i + 1; j < series.size(); ++j)
      pair(i, j) = AlternationOf(series[i], series[j]);

  Turns best;
  for (uint32_t set = 0; set < 1u << series.size(); ++set) {
    Turns turns;
    for (size_t i = 0; i < series.size(); ++i)
      if (set >> i & 1) turns.members.push_back(i);
    if (turns.members.size() < std::max<size_t>(2, best.members.size()))
      continue;
    bool all = true;
    for (const size_t i : turns.members) {
      for (const size_t j : turns.members) {
        if (i >= j) continue;
        all &= pair(i, j).found();
        if (pair(i, j).confidence <= turns.confidence) continue;
        turns.confidence = pair(i, j).confidence;
        turns.period_s = pair(i, j).period_s;
      }
    }
    if (!all) continue;
    Account(series, turns);
    if (turns.members.size() > best.members.size() || turns.gain > best.gain)
      best = std::move(turns);
  }
  return best;
}

}  // namespace sonde
