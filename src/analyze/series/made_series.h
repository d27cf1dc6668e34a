// Series made up for tests and benchmarks: what is in them is known, because it
// is written here.

#ifndef SONDE_ANALYZE_SERIES_MADE_SERIES_H_
#define SONDE_ANALYZE_SERIES_MADE_SERIES_H_

#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <numbers>
#include <random>
#include <string>
#include <utility>

#include "analyze/series/series.h"
#include "base/time.h"

namespace sonde {

// A value by window.
using Shape = std::function<double(double window)>;

// Windows of a tenth of a second; noise is uniform, up to `noise` either way.
inline RegularSeries MadeSeries(size_t windows, const Shape& shape,
                                double noise = 0, uint32_t seed = 1,
                                std::string unit = "") {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> error(-1, 1);
  RegularSeries out;
  out.name = "made";
  out.unit = std::move(unit);
  out.grid.step_ns = 100 * kNsPerMs;
  out.grid.end_ns = static_cast<int64_t>(windows) * out.grid.step_ns;
  for (size_t i = 0; i < windows; ++i) {
    const double wanted = shape(static_cast<double>(i));
    out.values.push_back(wanted + noise * error(random));
    out.known.push_back(1);
  }
  return out;
}

inline Shape Flat(double level) {
  return [=](double) { return level; };
}

// `phase` in parts of a period: 0.5 is opposition.
inline Shape Sine(double period, double low, double high, double phase = 0) {
  return [=](double t) {
    return (low + high) / 2 +
           (high - low) / 2 *
               std::sin(2 * std::numbers::pi * (t / period + phase));
  };
}

// High for the first `duty` of each period.
inline Shape Square(double period, double low, double high, double phase = 0,
                    double duty = 0.5) {
  return [=](double t) {
    const double in_period = std::fmod(t / period + phase, 1);
    return in_period < duty ? high : low;
  };
}

// Climbs and falls at once.
inline Shape SawTooth(double period, double low, double high) {
  return
      [=](double t) { return low + (high - low) * std::fmod(t / period, 1); };
}

inline Shape Line(double at_0, double per_window) {
  return [=](double t) { return at_0 + per_window * t; };
}

// High for the first half of each cycle; a cycle is a period long, or up to
// `jitter` of it longer or shorter.
inline Shape JitteredSquare(double period, double jitter, double low,
                            double high, uint32_t seed) {
  auto random = std::make_shared<std::mt19937>(seed);
  auto begin = std::make_shared<double>(0);
  auto length = std::make_shared<double>(period);
  return [=](double t) {
    while (t >= *begin + *length) {
      *begin += *length;
      *length = period * std::uniform_real_distribution<double>(
                             1 - jitter, 1 + jitter)(*random);
    }
    return t < *begin + *length / 2 ? high : low;
  };
}

// On or off for stretches of random length, `mean` windows on average.
inline Shape Telegraph(double mean, double low, double high, uint32_t seed) {
  auto random = std::make_shared<std::mt19937>(seed);
  auto on = std::make_shared<bool>(false);
  return [=](double) {
    if (std::uniform_real_distribution<double>(0, mean)(*random) < 1)
      *on = !*on;
    return *on ? high : low;
  };
}

// Noise that remembers a share `memory` of itself from window to window.
inline Shape RedNoise(double memory, double mean, double step, uint32_t seed) {
  auto random = std::make_shared<std::mt19937>(seed);
  auto value = std::make_shared<double>(0);
  return [=](double) {
    *value =
        *value * memory + std::normal_distribution<double>(0, step)(*random);
    return mean + *value;
  };
}

// CPU and accelerator in percent, as a loader and a trainer that wait for each
// other (or do not) would show: five cycles of 100 windows, noise of 20 and 5.
struct MadePair {
  static constexpr size_t kWindows = 500;
  static constexpr double kPeriod = 100;
  static constexpr uint32_t kSeeds = 200;

  RegularSeries cpu, accelerator;

  static MadePair Of(const Shape& cpu, const Shape& accelerator,
                     uint32_t seed) {
    return {MadeSeries(kWindows, cpu, 20, 2 * seed),
            MadeSeries(kWindows, accelerator, 5, 2 * seed + 1)};
  }
  static MadePair Alternating(uint32_t seed) {
    return Of(Square(kPeriod, 50, 350), Square(kPeriod, 5, 95, 0.5), seed);
  }
  static MadePair Together(uint32_t seed) {
    return Of(Square(kPeriod, 50, 350), Square(kPeriod, 5, 95), seed);
  }
  // Nothing but noise, over the whole range.
  static MadePair Noise(uint32_t seed) {
    return {MadeSeries(kWindows, Flat(200), 200, 2 * seed),
            MadeSeries(kWindows, Flat(50), 50, 2 * seed + 1)};
  }
};

}  // namespace sonde

#endif  // SONDE_ANALYZE_SERIES_MADE_SERIES_H_
