#ifndef SONDE_COLLECT_TREE_PROC_WORLD_H_
#define SONDE_COLLECT_TREE_PROC_WORLD_H_

#include <string>
#include <unordered_map>
#include <vector>

#include "base/fd.h"
#include "collect/tree/tree_model.h"

namespace sonde {

// Nanoseconds of CLOCK_MONOTONIC for a start time in clock ticks since boot, as
// /proc/PID/stat has it.
int64_t StartNs(uint64_t start_ticks);

// How the process behind a pidfd ended, as wait() would say. Nothing while it
// is not waited for, or where the kernel does not tell (before Linux 6.15).
std::optional<int> PidfdWaitStatus(int pidfd);

// Answers the model's questions from /proc and from pidfds.
//
// A pidfd is kept for each process that lives, up to a limit: it tells the exit
// status of one that is gone.
class ProcWorld : public TaskWorld {
 public:
  ProcWorld();

  // A process has just been forked and will be Begun() soon. The earlier its
  // pidfd is opened, the more short lives are caught.
  void Foresee(pid_t pid);
  // None that was foreseen is to come any more.
  void ForgetForeseen() { foreseen_.clear(); }

  std::optional<State> Look(pid_t pid) override;
  std::string Cmdline(pid_t pid) override;
  std::optional<int> WaitStatus(uint32_t number) override;
  void Begun(uint32_t number, pid_t pid) override;
  void Done(uint32_t number) override;

 private:
  size_t limit_ = 0;
  std::unordered_map<pid_t, Fd> foreseen_;
  std::unordered_map<uint32_t, Fd> pidfds_;
  std::vector<char> buffer_;
};

}  // namespace sonde

#endif  // SONDE_COLLECT_TREE_PROC_WORLD_H_
