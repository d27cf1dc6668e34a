#ifndef SONDE_COLLECT_TREE_PERF_TREE_H_
#define SONDE_COLLECT_TREE_PERF_TREE_H_

#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "collect/perf/perf_ring.h"
#include "collect/tree/model_tree.h"

namespace sonde {

// The process tree as the kernel reports it through perf: every fork, exec and
// exit of the command and its descendants, on whichever CPU.
//
// Each CPU has its own ring. Records are put in the order of their times: one
// younger than a millisecond waits, since an older one may still be on its way.
class PerfTree : public ModelTree {
 public:
  static Result<std::unique_ptr<PerfTree>> Open(pid_t root, TraceWriter& out,
                                                const Options& options);
  ~PerfTree() override;

  std::vector<int> wake_fds() const override { return {epoll_.get()}; }
  void Poll(int64_t now_ns) override;
  void RootEnded(int64_t now_ns, int wait_status, const rusage& usage) override;
  void Stop(int64_t now_ns) override;
  std::string source() const override { return "perf"; }
  std::vector<NotCollected> not_collected() const override;

 private:
  PerfTree(pid_t root, TraceWriter& out, const Options& options,
           std::vector<PerfRing> rings, std::vector<PerfRing> cpu_rings,
           Fd own_cpu);

  void Drain(int64_t now_ns, int64_t up_to_ns);
  // Takes what is new in these rings; how many records are lost.
  uint64_t Take(std::vector<PerfRing>& rings);
  void NoteLoss(uint64_t count, int64_t now_ns, const char* detail);
  void CheckAlive(int64_t now_ns);
  void ArmWakeups(int64_t now_ns);
  void WatchRings(bool on);

  TraceWriter& out_;
  std::vector<PerfRing> rings_;      // forks, names, exits; one for each CPU
  std::vector<PerfRing> cpu_rings_;  // CPU times of threads that have ended
  Fd own_cpu_;                       // CPU time of the command's first thread
  int64_t own_cpu_before_ns_ = 0;
  Fd epoll_, timer_;
  bool watching_ = false;
  bool timer_armed_ = false;
  std::vector<TaskRecord> pending_;
  int64_t last_drain_ns_ = 0;
  int64_t last_wake_ns_ = 0;
  int64_t next_scan_ns_ = 0;
  int64_t next_check_ns_ = 0;
  std::vector<uint32_t> missing_;  // not there at the last check
  Loss loss_;
  std::optional<size_t> loss_handle_;
  size_t loss_rows_ = 0;
  std::string cpu_why_;  // why there are no CPU times, if so
};

}  // namespace sonde

#endif  // SONDE_COLLECT_TREE_PERF_TREE_H_
