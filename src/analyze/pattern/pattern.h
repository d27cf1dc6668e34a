#ifndef SONDE_ANALYZE_PATTERN_PATTERN_H_
#define SONDE_ANALYZE_PATTERN_PATTERN_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "analyze/series/series.h"

namespace sonde {

// What a series looks like. docs/patterns.md says how each is decided.
enum class PatternKind {
  kUnknown,    // too little is known
  kIdle,       // nothing happens
  kSteady,     // one level
  kSawTooth,   // climbs and drops (or the other way round), again and again
  kWave,       // any other regular up and down
  kBursts,     // quiet, with short times of activity
  kRamp,       // climbs or falls all the time; of memory: a leak
  kStaircase,  // climbs or falls in steps
  kThrottled,  // held at a level from outside
  kOneCore,    // one core's worth of many
  kIrregular,  // none of these
};

// What a pattern needs is seen in as many windows; more would only cost time.
inline constexpr size_t kPatternWindows = 4096;

// "saw-tooth": the word for reports and tables.
std::string_view NameOf(PatternKind kind);

// What is known about a series besides its values. Everything may be absent;
// then the kinds that need it are not decided.
struct PatternContext {
  // The most it could be: the cores the program may use, 1 for a share. Without
  // it only what is always 0 is idle.
  std::optional<double> full_scale;
  // What one core adds to it, 1 for a series in cores. For kOneCore, which
  // needs full_scale as well.
  std::optional<double> one_core;
  // Where it is held if it is held back: the container's CPU limit, a power
  // cap's clock. For kThrottled, which needs this or full_scale.
  std::optional<double> limit;
  // Share of each window (0 to 1) in which it was held back, on the same grid:
  // throttled time of the cgroup by the time that passed, or the share of
  // samples in which the device gave a reason. For kThrottled.
  const RegularSeries* held_back = nullptr;
};

// What a series is called, how sure that is, and the numbers behind it.
struct Pattern {
  PatternKind kind = PatternKind::kUnknown;
  double confidence = 0;  // 0 to 1
  double level = 0;       // median
  double low = 0;         // levels it goes between, or begins and ends with
  double high = 0;
  std::optional<double> period_s;     // if it repeats, whatever its kind
  std::optional<double> slope_per_s;  // of kRamp and kStaircase
  std::optional<double> duty;         // share of the time up: kWave, kBursts
  size_t steps = 0;                   // of kStaircase
  std::string text;                   // one sentence with numbers
};

// Never fails: what fits nothing is irregular, what is hardly known unknown.
Pattern PatternOf(const RegularSeries& series, const PatternContext& context);

// A value with its unit: "3.8 cores", "1.50 GB/s", "41.0 %", "12/s".
std::string FormatValue(double value, std::string_view unit);

}  // namespace sonde

#endif  // SONDE_ANALYZE_PATTERN_PATTERN_H_
