#ifndef SONDE_COLLECT_TREE_PROC_TREE_H_
#define SONDE_COLLECT_TREE_PROC_TREE_H_

#include <memory>
#include <string>
#include <vector>

#include "collect/tree/proc_scan.h"
#include "collect/tree/proc_world.h"
#include "collect/tree/process_tree.h"
#include "collect/tree/tree_model.h"
#include "collect/tree/watch_target.h"

namespace sonde {

// The process tree by looking at /proc, for where perf is not permitted, and
// for processes that run already. Looks as often as it is polled, but never
// takes more than about 2 % of a core.
class ProcTree : public ProcessTree {
 public:
  // `perf` says what stands in the way of perf.
  ProcTree(pid_t root, TraceWriter& out, const Options& options,
           const SourceState& perf);
  // `target` must live as long.
  ProcTree(const WatchTarget& target, TraceWriter& out, const Options& options);

  std::vector<int> wake_fds() const override { return {}; }
  void Poll(int64_t now_ns) override;
  void RootEnded(int64_t now_ns, int wait_status, const rusage& usage) override;
  void NoteCpu(uint32_t process, uint32_t thread, int64_t now_ns,
               int64_t cpu_ns) override {
    model_.NoteCpu(process, thread, now_ns, cpu_ns);
  }
  void Stop(int64_t now_ns) override;
  std::optional<TaskState> FindPid(pid_t pid) const override {
    return model_.StateOfPid(pid);
  }
  std::optional<TaskState> FindNumber(uint32_t number) const override {
    return model_.StateOf(number);
  }
  ThreadState FindThread(uint32_t process, pid_t tid) const override {
    return model_.FindThread(process, tid);
  }
  void Rename(uint32_t process, uint32_t thread,
              std::string_view name) override {
    model_.Rename(process, thread, name);
  }
  const std::map<uint32_t, Live>& live() const override {
    return model_.live();
  }
  uint64_t changes() const override { return model_.changes(); }
  std::string source() const override { return "proc"; }
  std::vector<NotCollected> not_collected() const override { return {why_}; }

 private:
  void AddFound(int64_t now_ns);

  const WatchTarget* const target_ = nullptr;  // null: a command of our own
  int64_t since_ns_ = 0;
  ProcWorld world_;
  TreeModel model_;
  ProcScan scan_;
  NotCollected why_;
  std::vector<char> buffer_;
  int64_t next_scan_ns_ = 0;
};

}  // namespace sonde

#endif  // SONDE_COLLECT_TREE_PROC_TREE_H_
