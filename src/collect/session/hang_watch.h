#ifndef SONDE_COLLECT_SESSION_HANG_WATCH_H_
#define SONDE_COLLECT_SESSION_HANG_WATCH_H_

#include <cstdint>
#include <deque>

#include "collect/sample/sampled_run.h"

namespace sonde {

// Says when a tree has stood still for a given time: less than 1 % of a core
// and 4 KiB/s of storage on average, and no accelerator worked. Says so once;
// again only after it has worked for a while. One thread.
class HangWatch {
 public:
  // 0: never.
  explicit HangWatch(int64_t hang_ns) : hang_ns_(hang_ns) {}

  // After each tick: what the tree has used so far. True if it has just been
  // found to hang.
  bool Add(int64_t now_ns, const SampledRun::Used& used);
  // What comes next has nothing to do with what was: the recording was paused.
  void StartOver() { past_.clear(); }

 private:
  struct Moment {
    int64_t ns = 0, cpu_ns = 0;
    uint64_t io_bytes = 0;
  };

  const int64_t hang_ns_;
  std::deque<Moment> past_;  // of the last hang_ns_, ten of them
  bool hangs_ = false;
};

}  // namespace sonde

#endif  // SONDE_COLLECT_SESSION_HANG_WATCH_H_
