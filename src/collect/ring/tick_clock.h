#ifndef SONDE_COLLECT_RING_TICK_CLOCK_H_
#define SONDE_COLLECT_RING_TICK_CLOCK_H_

#include <cstdint>
#include <vector>

namespace sonde {

// The processor's counter: TSC on x86-64, the virtual counter on arm64.
uint64_t ReadTicks();

// Whether ticks can stand for time here: the counter runs at one speed on all
// cores, and the kernel has not found otherwise.
bool TicksAreTime();

// Ticks as nanoseconds of CLOCK_MONOTONIC.
//
//  - Linear between pairs of both clocks that were read at the same moment.
//    Take a pair after the records have been read: then every one of them lies
//    between two.
//  - Monotone: a later tick never has an earlier time, also when pairs are
//    added in between.
//  - Ticks outside the pairs become the first or the last one's time: what a
//    target made up cannot lie outside the recording.
class TickClock {
 public:
  struct Pair {
    uint64_t ticks = 0;
    int64_t ns = 0;
  };

  // Reads both clocks now.
  void Take();
  // Ignored unless both are later than those of the last pair.
  void Add(const Pair& pair);

  int64_t ToNs(uint64_t ticks) const;

  // The pairs of the last `span_ns`, and the one before, at least `step_ns`
  // apart: for a clock of another process that goes on from there.
  std::vector<Pair> Newest(int64_t span_ns, int64_t step_ns) const;

 private:
  struct Point {
    uint64_t ticks;
    int64_t ns;
    uint64_t scale;  // of the line to the next point
  };
  void Thin();

  std::vector<Point> points_;
};

}  // namespace sonde

#endif  // SONDE_COLLECT_RING_TICK_CLOCK_H_
