#ifndef SONDE_COLLECT_TREE_PROC_TREE_H_
#define SONDE_COLLECT_TREE_PROC_TREE_H_

#include <string>
#include <vector>

#include "collect/tree/model_tree.h"
#include "collect/tree/watch_target.h"

namespace sonde {

// The process tree by looking at /proc, for where perf is not permitted, and
// for processes that run already. Looks as often as it is polled, but never
// takes more than about 2 % of a core.
class ProcTree : public ModelTree {
 public:
  // `perf` says what stands in the way of perf.
  ProcTree(pid_t root, TraceWriter& out, const Options& options,
           const SourceState& perf);
  // `target` must live as long.
  ProcTree(const WatchTarget& target, TraceWriter& out, const Options& options);

  std::vector<int> wake_fds() const override { return {}; }
  void Poll(int64_t now_ns) override;
  void RootEnded(int64_t now_ns, int wait_status, const rusage& usage) override;
  void NoteExec(pid_t pid, int64_t at_ns, std::string_view comm) override {
    scan_.NoteExec(pid, at_ns, comm);
  }
  void Stop(int64_t now_ns) override;
  std::string source() const override { return "proc"; }
  std::vector<NotCollected> not_collected() const override { return {why_}; }

 private:
  void AddFound(int64_t now_ns);

  const WatchTarget* const target_ = nullptr;  // null: a command of our own
  int64_t since_ns_ = 0;
  NotCollected why_;
  std::vector<char> buffer_;
  int64_t next_scan_ns_ = 0;
};

}  // namespace sonde

#endif  // SONDE_COLLECT_TREE_PROC_TREE_H_
