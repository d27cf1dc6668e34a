#include "analyze/pattern/pattern.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "analyze/pattern/activity.h"
#include "analyze/pattern/cycle.h"
#include "analyze/pattern/period.h"
#include "analyze/pattern/trend.h"
#include "base/check.h"
#include "base/text.h"

namespace sonde {
namespace {

constexpr size_t kMinWindows = 24;
constexpr double kIdleShare = 0.02;   // of the full scale, but for a tenth
constexpr double kHeldWindow = 0.05;  // of a window: it was held back
constexpr double kMinHeld = 0.1;      // of the windows
constexpr double kHeldBand = 0.2;     // of the level: how still it is held
constexpr double kBelowFull = 0.95;
constexpr double kOneCoreFrom = 0.9, kOneCoreTo = 1.15;
constexpr double kOneCoreTime = 0.6;
constexpr double kMinCores = 1.5;
constexpr double kSteadyBand = 0.25;       // of the level
constexpr double kSteadyOfFull = 0.05;     // of the full scale
constexpr double kMinGrowth = 0.1;         // of the level
constexpr double kMinMemoryGrowth = 0.02;  // leaks are slow
constexpr double kMinSawTooth = 0.75;
constexpr double kMaxBurstDuty = 0.4;
constexpr double kMaxQuiet = 0.2;  // of the bursts' level
constexpr double kMinTwoLevels = 0.6;

// Share of `values` between two bounds.
double ShareWithin(const std::vector<double>& values, double from, double to) {
  const auto inside =
      std::count_if(values.begin(), values.end(),
                    [&](double v) { return v >= from && v <= to; });
  return values.empty()
             ? 0
             : static_cast<double>(inside) / static_cast<double>(values.size());
}

std::string Every(double seconds) {
  return "every " + FormatDuration(static_cast<int64_t>(seconds * 1e9));
}

// Tries one kind after the other, the most telling first. Each either decides
// and fills in `out_`, or leaves it alone.
class Namer {
 public:
  Namer(const RegularSeries& series, const PatternContext& context)
      : series_(series), context_(context), values_(series.KnownValues()) {}

  Pattern Name() {
    if (values_.size() < kMinWindows) {
      out_.text = fmt::format("only {} windows are known", values_.size());
      return out_;
    }
    out_.level = Quantile(values_, 0.5);
    out_.low = Quantile(values_, 0.05);
    out_.high = Quantile(values_, 0.95);
    if (Idle()) return out_;
    const std::optional<Period> period = PeriodOf(series_);
    if (period) out_.period_s = period->seconds;
    if (Throttled() || OneCore() || Trending() || Steady()) return out_;
    if (period) {
      Periodic(*period);
    } else if (!Bursts()) {
      Irregular();
    }
    return out_;
  }

 private:
  std::string Show(double value) const {
    return FormatValue(value, series_.unit);
  }
  // A line or a wave that is laid through values may lead beyond them; what is
  // said is said of values that were there.
  double Within(double value) const {
    const auto [min, max] = std::minmax_element(values_.begin(), values_.end());
    return std::clamp(value, *min, *max);
  }
  void Decide(PatternKind kind, double confidence, std::string text) {
    out_.kind = kind;
    out_.confidence = std::clamp(confidence, 0.0, 1.0);
    out_.text = std::move(text);
  }

  bool Idle() {
    const double most = kIdleShare * context_.full_scale.value_or(0);
    const double high = Quantile(values_, 0.9), low = Quantile(values_, 0.1);
    const auto busy = static_cast<size_t>(std::count_if(
        values_.begin(), values_.end(), [](double v) { return v != 0; }));
    // Two windows cannot be told from a spike.
    const bool hardly = busy <= std::max<size_t>(2, values_.size() / 100);
    if (!hardly && (most == 0 || high > most || low < -most)) return false;
    Decide(PatternKind::kIdle, hardly ? 1 : 1 - high / most / 2,
           busy == 0 ? "idle: always 0"
           : hardly
               ? "idle: 0 but for moments"
               : fmt::format("idle: {} at most, but for moments", Show(high)));
    return true;
  }

  bool Throttled() {
    const RegularSeries* held = context_.held_back;
    if (held == nullptr || (!context_.limit && !context_.full_scale))
      return false;
    CHECK(held->size() == series_.size());
    std::vector<double> levels;
    double known = 0;
    for (size_t i = 0; i < series_.size(); ++i) {
      if (!series_.known[i] || !held->known[i]) continue;
      ++known;
      if (held->values[i] >= kHeldWindow) levels.push_back(series_.values[i]);
    }
    const double share =
        known > 0 ? static_cast<double>(levels.size()) / known : 0;
    if (share < kMinHeld) return false;
    const double level = Quantile(levels, 0.5), top = Quantile(levels, 0.9);
    const bool below_full =
        !context_.full_scale || top <= kBelowFull * *context_.full_scale;
    const bool at_limit = !context_.limit || std::abs(top - *context_.limit) <=
                                                 kHeldBand * *context_.limit;
    if (!(level > 0) || top - level > kHeldBand * top || !below_full ||
        !at_limit)
      return false;
    out_.level = level;
    out_.high = top;
    Decide(
        PatternKind::kThrottled, 0.5 + share / 2,
        fmt::format("throttled: held at {}{} for {} of the time", Show(level),
                    context_.full_scale ? " of " + Show(*context_.full_scale)
                                        : std::string(),
                    FormatShare(share)));
    return true;
  }

  bool OneCore() {
    if (!context_.one_core || !context_.full_scale ||
        *context_.full_scale < kMinCores * *context_.one_core)
      return false;
    const double core = *context_.one_core;
    const double share =
        ShareWithin(values_, kOneCoreFrom * core, kOneCoreTo * core);
    if (share < kOneCoreTime) return false;
    Decide(PatternKind::kOneCore, share,
           fmt::format("single-core-bound: {} of {} for {} of the time",
                       Show(out_.level), Show(*context_.full_scale),
                       FormatShare(share)));
    return true;
  }

  bool Trending() {
    const double least =
        (series_.unit == "bytes" ? kMinMemoryGrowth : kMinGrowth) *
        std::abs(out_.level);
    const auto trend = TrendOf(series_, least);
    if (!trend) return false;
    // From the middle of the first known window to that of the last.
    const auto [first, behind] = series_.KnownRange();
    const double seconds =
        series_.grid.SecondsOf(static_cast<double>(behind - first - 1));
    const double from = Within(trend->from), to = Within(trend->to);
    out_.low = std::min(from, to);
    out_.high = std::max(from, to);
    out_.slope_per_s = (trend->to - trend->from) / seconds;
    out_.steps = trend->steps;
    const char* const way = trend->to > trend->from ? "rises" : "falls";
    if (trend->steps > 0) {
      Decide(PatternKind::kStaircase, trend->confidence,
             fmt::format("staircase: {} from {} to {} in {} step{}", way,
                         Show(from), Show(to), trend->steps,
                         trend->steps == 1 ? "" : "s"));
    } else {
      Decide(
          PatternKind::kRamp, trend->confidence,
          fmt::format("ramp: {} all the time, from {} to {}, {} a second", way,
                      Show(from), Show(to), Show(std::abs(*out_.slope_per_s))));
    }
    return true;
  }

  bool Steady() {
    const double band = Quantile(values_, 0.9) - Quantile(values_, 0.1);
    const double most =
        std::max(kSteadyBand * std::abs(out_.level),
                 kSteadyOfFull * context_.full_scale.value_or(0));
    // What is 0 most of the time is not steady in the rest of it.
    if (band > most || most == 0) return false;
    Decide(PatternKind::kSteady, 1 - band / most / 2,
           fmt::format("steady at {}", Show(out_.level)));
    return true;
  }

  void Periodic(const Period& period) {
    const CycleShape shape = ShapeOf(series_, period);
    const Activity activity = ActivityOf(series_);
    out_.low = Within(shape.low);
    out_.high = Within(shape.high);
    const double best = std::max(shape.sine, shape.two_levels);
    if (shape.saw_tooth >= kMinSawTooth && shape.saw_tooth > best) {
      Decide(
          PatternKind::kSawTooth, period.strength * shape.saw_tooth,
          fmt::format("saw-tooth: {} between {} and {}, {}",
                      shape.climbs ? "climbs and drops" : "jumps and sinks",
                      Show(out_.low), Show(out_.high), Every(period.seconds)));
      return;
    }
    out_.duty = activity.share;
    if (activity.share <= kMaxBurstDuty &&
        activity.low <= kMaxQuiet * activity.high &&
        shape.two_levels >= shape.sine) {
      out_.low = activity.low;
      out_.high = activity.high;
      Decide(PatternKind::kBursts, period.strength,
             fmt::format("bursts: {} for {} of the time, {}", Show(out_.high),
                         FormatShare(*out_.duty), Every(period.seconds)));
      return;
    }
    Decide(PatternKind::kWave, period.strength * best,
           fmt::format("wave: up and down between {} and {}, {}",
                       Show(out_.low), Show(out_.high), Every(period.seconds)));
  }

  bool Bursts() {
    const Activity activity = ActivityOf(series_);
    if (activity.share <= 0 || activity.share > kMaxBurstDuty ||
        activity.low > kMaxQuiet * activity.high ||
        activity.explained < kMinTwoLevels)
      return false;
    out_.low = activity.low;
    out_.high = activity.high;
    out_.duty = activity.share;
    Decide(PatternKind::kBursts, activity.explained,
           fmt::format("bursts: {} for {} of the time, {} time{}, without a "
                       "period",
                       Show(out_.high), FormatShare(*out_.duty),
                       activity.episodes, activity.episodes == 1 ? "" : "s"));
    return true;
  }

  void Irregular() {
    // The more kinds were nearly it, the less sure; that is not measured.
    Decide(PatternKind::kIrregular, 0.5,
           fmt::format("irregular: between {} and {}, {} in the middle",
                       Show(out_.low), Show(out_.high), Show(out_.level)));
  }

  const RegularSeries& series_;
  const PatternContext& context_;
  const std::vector<double> values_;
  Pattern out_;
};

}  // namespace

std::string_view NameOf(PatternKind kind) {
  // In the order of the enumerators.
  static constexpr std::string_view kWords[] = {
      "unknown",  "idle", "steady",    "saw-tooth", "wave",
      "bursts",   "ramp", "staircase", "throttled", "single-core-bound",
      "irregular"};
  static_assert(std::size(kWords) ==
                static_cast<size_t>(PatternKind::kIrregular) + 1);
  return kWords[static_cast<size_t>(kind)];
}

std::string FormatValue(double value, std::string_view unit) {
  const std::string sign = value < 0 ? "-" : "";
  if (unit == "bytes") return sign + FormatBytes(std::abs(value));
  if (unit == "bytes/s") return sign + FormatBytes(std::abs(value)) + "/s";
  if (unit == "share") return FormatShare(value);
  if (unit == "1") unit = {};
  if (unit == "1/s") return fmt::format("{:.3g}/s", value);
  return fmt::format("{:.3g}{}{}", value, unit.empty() ? "" : " ", unit);
}

Pattern PatternOf(const RegularSeries& series, const PatternContext& context) {
  return Namer(series, context).Name();
}

}  // namespace sonde
