#ifndef SONDE_COLLECT_SESSION_STEADY_WATCH_H_
#define SONDE_COLLECT_SESSION_STEADY_WATCH_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"

namespace sonde {

// When the start-up of a program was over, if ever, and the reason: "the CPU
// has kept 3.5 cores for 3.00 s".
struct SteadyWork {
  std::optional<int64_t> from_ns;  // nothing: the start-up never ended
  std::string why;
};

// Says while a program runs that it does now what it was started for: the
// program's start-up is over and its level stays.
//
//  - The level is that of the accelerator once it works, else the CPU's. While
//    an accelerator is there and idle, the CPU is not believed for 30 s: the
//    program may still be loading.
//  - The program is steady if two stretches of time after each other, each a
//    fifth of the time so far but at least 1.5 s, have means within 15 %, are
//    at least half of the highest second so far, and I/O neither doubles nor
//    halves between them (below 1 MB/s I/O does not matter). A program that
//    works in steps is steady when the stretches are a few steps long.
//  - An accelerator that falls silent tells nothing of the time before: the
//    watch begins anew.
//  - The watch cannot look ahead: a long start-up at one level is taken for
//    steady work.
//
// Keeps at most 1024 moments, however long it watches. Not thread-safe.
class SteadyWatch {
 public:
  // After `give_up_ns` without a steady level the watch says so and ends.
  explicit SteadyWatch(int64_t give_up_ns = 120 * kNsPerSec)
      : give_up_ns_(give_up_ns) {}

  // What was used since the last call: cores of the whole tree, share of the
  // accelerators' time (nothing if there is none), bytes read and written a
  // second. The first call only begins. Returns once what was found.
  std::optional<SteadyWork> Add(int64_t now_ns, double cpu_cores,
                                std::optional<double> accelerator_share,
                                double io_bytes_per_s);

 private:
  // Integrals over the time from the first call.
  struct Sums {
    int64_t time_ns = 0;
    double cpu = 0, accelerator = 0, io = 0;
  };

  Sums At(int64_t time_ns) const;
  // Means of a stretch of time.
  Sums Mean(int64_t from_ns, int64_t to_ns) const;
  void Keep(const Sums& newest);
  std::optional<SteadyWork> Judge(int64_t now_ns);

  int64_t give_up_ns_;
  int64_t begin_ns_ = 0;
  std::vector<Sums> moments_;
  int64_t apart_ns_ = 0;  // moments are kept no closer than this
  bool has_accelerator_ = false;
  double most_cpu_ = 0, most_accelerator_ = 0;  // of a second
  bool done_ = false;
};

}  // namespace sonde

#endif  // SONDE_COLLECT_SESSION_STEADY_WATCH_H_
