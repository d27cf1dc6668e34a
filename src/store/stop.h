#ifndef SONDE_STORE_STOP_H_
#define SONDE_STORE_STOP_H_

#include <cstdint>

#include "base/time.h"

namespace sonde {

// While it lives, sums and pictures of this thread that take long end at a
// moment, with what they have by then; nothing of that is kept. Whoever set it
// looks at the clock afterwards.
class StopScope {
 public:
  explicit StopScope(int64_t at_ns) : before_(at_ns_) { at_ns_ = at_ns; }
  ~StopScope() { at_ns_ = before_; }
  StopScope(const StopScope&) = delete;

  // Asked once a chunk.
  static bool Asked() { return at_ns_ != INT64_MAX && NowNs() > at_ns_; }

 private:
  static inline thread_local int64_t at_ns_ = INT64_MAX;
  const int64_t before_;
};

}  // namespace sonde

#endif  // SONDE_STORE_STOP_H_
