#ifndef SONDE_COLLECT_SAMPLE_TICKS_H_
#define SONDE_COLLECT_SAMPLE_TICKS_H_

#include <cstdint>

namespace sonde {

// The moments at which to sample: start, start + interval, start + 2 intervals
// and so on. A late tick does not move the later ones, and ticks that were
// missed are skipped, not made up for.
class Ticks {
 public:
  Ticks(int64_t start_ns, int64_t interval_ns)
      : next_ns_(start_ns), interval_ns_(interval_ns) {}

  int64_t next_ns() const { return next_ns_; }
  bool Due(int64_t now_ns) const { return now_ns >= next_ns_; }

  // Takes the tick that is due and returns how many before it were missed.
  int64_t Take(int64_t now_ns) {
    const int64_t missed = (now_ns - next_ns_) / interval_ns_;
    next_ns_ += (missed + 1) * interval_ns_;
    return missed;
  }

  // No tick before `until_ns`; those left out are not missed.
  void RestUntil(int64_t until_ns) {
    if (until_ns <= next_ns_) return;
    next_ns_ +=
        (until_ns - next_ns_ + interval_ns_ - 1) / interval_ns_ * interval_ns_;
  }

 private:
  int64_t next_ns_;
  int64_t interval_ns_;
};

}  // namespace sonde

#endif  // SONDE_COLLECT_SAMPLE_TICKS_H_
