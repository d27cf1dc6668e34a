#ifndef SONDE_COLLECT_TREE_MODEL_TREE_H_
#define SONDE_COLLECT_TREE_MODEL_TREE_H_

#include <map>
#include <optional>

#include "collect/tree/proc_scan.h"
#include "collect/tree/proc_world.h"
#include "collect/tree/process_tree.h"
#include "collect/tree/tree_model.h"

namespace sonde {

// A tree that knows its processes by a TreeModel, and completes it from /proc:
// what is the same however the tree learns of forks and exits.
class ModelTree : public ProcessTree {
 public:
  void NoteCpu(uint32_t process, uint32_t thread, int64_t now_ns,
               int64_t cpu_ns) override {
    model_.NoteCpu(process, thread, now_ns, cpu_ns);
  }
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

 protected:
  ModelTree(TraceWriter& out, const TreeModel::Options& options,
            bool follow_children = true)
      : model_(out, world_, options), scan_(model_, follow_children) {}

  ProcWorld world_;
  TreeModel model_;
  ProcScan scan_;
};

}  // namespace sonde

#endif  // SONDE_COLLECT_TREE_MODEL_TREE_H_
