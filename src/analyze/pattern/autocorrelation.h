#ifndef SONDE_ANALYZE_PATTERN_AUTOCORRELATION_H_
#define SONDE_ANALYZE_PATTERN_AUTOCORRELATION_H_

#include <cstdint>
#include <span>
#include <vector>

namespace sonde {

// How alike a series is to itself some windows later.
struct Autocorrelation {
  std::vector<double> at;     // by lag; at[0] is 1, or 0 of a constant
  std::vector<double> pairs;  // how many pairs of known windows each rests on
};

// By lags from 0 to max_lag, in O(n log n). Unbiased: each lag is divided by
// its own number of pairs, so a late peak is as high as an early one. Windows
// that are not known belong to no pair. The mean must have been taken off.
Autocorrelation AutocorrelationOf(std::span<const double> values,
                                  std::span<const uint8_t> known,
                                  size_t max_lag);

}  // namespace sonde

#endif  // SONDE_ANALYZE_PATTERN_AUTOCORRELATION_H_
