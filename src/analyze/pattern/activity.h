#ifndef SONDE_ANALYZE_PATTERN_ACTIVITY_H_
#define SONDE_ANALYZE_PATTERN_ACTIVITY_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analyze/series/series.h"

namespace sonde {

// A series as on and off: the two levels between which it goes up and down.
// Every series has two; whether they mean anything is for the caller to see, by
// how far they are apart.
struct Activity {
  double low = 0;  // medians of the two classes
  double high = 0;
  double explained = 0;       // share of the variance that is between the two
  std::vector<uint8_t> on;    // by window; 0 where not known
  double share = 0;           // of the known windows: on
  size_t episodes = 0;        // stretches of on
  double median_windows = 0;  // length of such a stretch
};

// The windows are told apart by Otsu's threshold on the values without their
// straight trend and spikes; one that lies less than a
// tenth of the distance beyond it does not end a stretch.
Activity ActivityOf(const RegularSeries& series);

// Otsu's threshold: the mean of the two levels that explain most of the
// variance. `explained` is that share, 0 of a constant.
double TwoLevelThreshold(std::vector<double> values, double& explained);

}  // namespace sonde

#endif  // SONDE_ANALYZE_PATTERN_ACTIVITY_H_
