#ifndef SONDE_COLLECT_GPU_SILENCE_H_
#define SONDE_COLLECT_GPU_SILENCE_H_

#include <cstdint>
#include <string_view>

#include "trace/writer.h"

namespace sonde {

// When somebody did not answer, as losses `device-silent`: each silence is one
// of its own, from the last answer to the next, or to the end of the recording.
//
// Of one that is silent now and then, kMostLosses are told apart; the last of
// them is then all that follow, the times between them included.
class Silence {
 public:
  // Once more there was no answer; the last one came at `since_ns`. `what` says
  // what is counted.
  void Add(TraceWriter& out, std::string_view what, int64_t since_ns,
           int64_t now_ns);
  // The silence lasts, if there is one.
  void Last(TraceWriter& out, int64_t now_ns);
  // There is an answer.
  void End(TraceWriter& out, int64_t now_ns);

  static constexpr int kMostLosses = 32;

 private:
  Loss loss_;
  size_t handle_ = 0;  // of loss_
  bool lasts_ = false;
  int losses_ = 0;
};

}  // namespace sonde

#endif  // SONDE_COLLECT_GPU_SILENCE_H_
