#ifndef SONDE_COLLECT_RING_FOREIGN_CLOCK_H_
#define SONDE_COLLECT_RING_FOREIGN_CLOCK_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

#include "collect/ring/state_archive.h"

namespace sonde {

// A clock of somebody else (a device, another machine) as nanoseconds of ours.
//
// Linear between pairs read at the same moment, and on beyond them as fast as
// next to them. With one pair it runs at the speed it claims. Holds 100,000
// pairs; later ones are left out.
class ForeignClock {
 public:
  // `ticks_per_s` is 0 if it is not known: then nanoseconds are assumed.
  explicit ForeignClock(uint64_t ticks_per_s = 0)
      : ns_per_tick_(ticks_per_s ? 1e9 / static_cast<double>(ticks_per_s) : 1) {
  }

  // Ignored unless its value is greater than the last one's.
  void Add(uint64_t value, int64_t ns) {
    if (pairs_.empty() || (value > pairs_.back().value &&
                           ns >= pairs_.back().ns && pairs_.size() < kMost))
      pairs_.push_back({value, ns});
  }

  // The newest pairs are enough for what is still to come.
  void Archive(StateArchive& archive) {
    std::vector<Pair> newest(
        std::ssize(pairs_) > kSaved ? pairs_.end() - kSaved : pairs_.begin(),
        pairs_.end());
    archive.Double(ns_per_tick_);
    archive.Each(newest, [&](Pair& pair) {
      archive.Number(pair.value);
      archive.Time(pair.ns);
    });
    if (archive.writing()) return;
    if (!(ns_per_tick_ > 0 && ns_per_tick_ <= 1e12)) archive.Refuse();
    if (!archive.ok()) ns_per_tick_ = 1;
    pairs_.clear();
    for (const Pair& pair : newest) Add(pair.value, pair.ns);
  }

  // Without a pair, the value itself.
  int64_t ToNs(uint64_t value) const {
    if (pairs_.empty()) return static_cast<int64_t>(value & INT64_MAX);
    const auto behind = std::upper_bound(
        pairs_.begin(), pairs_.end(), value,
        [](uint64_t want, const Pair& pair) { return want < pair.value; });
    const size_t at = behind == pairs_.begin()
                          ? 0
                          : static_cast<size_t>(behind - pairs_.begin()) - 1;
    const size_t other = at + 1 < pairs_.size() ? at + 1 : at - (at > 0);
    double slope = ns_per_tick_;
    if (other != at)
      slope = static_cast<double>(pairs_[other].ns - pairs_[at].ns) /
              Distance(pairs_[at].value, pairs_[other].value);
    const double away = Distance(pairs_[at].value, value) * slope;
    return pairs_[at].ns +
           static_cast<int64_t>(std::clamp(away, -kFarthest, kFarthest));
  }

 private:
  struct Pair {
    uint64_t value;
    int64_t ns;
  };
  static constexpr size_t kMost = 100'000;
  static constexpr ptrdiff_t kSaved = 64;
  static constexpr double kFarthest = 4e18;

  static double Distance(uint64_t from, uint64_t to) {
    return to >= from ? static_cast<double>(to - from)
                      : -static_cast<double>(from - to);
  }

  double ns_per_tick_;
  std::vector<Pair> pairs_;
};

}  // namespace sonde

#endif  // SONDE_COLLECT_RING_FOREIGN_CLOCK_H_
