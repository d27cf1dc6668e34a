#ifndef SONDE_COLLECT_TREE_PROC_SCAN_H_
#define SONDE_COLLECT_TREE_PROC_SCAN_H_

#include <map>
#include <string>
#include <vector>

#include "collect/tree/tree_model.h"

namespace sonde {

// Follows processes by looking at /proc again and again, where nobody tells.
// What lives and ends between two looks is not seen.
class ProcScan {
 public:
  // Without `follow_children`, somebody else finds new processes.
  explicit ProcScan(TreeModel& model, bool follow_children = true);

  // Looks at every process that is detached, and for its children.
  void Scan(int64_t now_ns);
  // Adds children and threads of any process that the model does not know.
  // Takes nothing away.
  void AddMissing(int64_t now_ns);
  // A process became another program at this time, which is not taken for one
  // more exec later. Nothing if no such process is known, or was seen to exec
  // since then.
  void NoteExec(pid_t pid, int64_t at_ns, std::string_view comm);

 private:
  struct Seen {
    uint64_t start_ticks = 0;
    uint64_t start_stack = 0;
    std::string comm;
    int64_t exec_seen_ns = INT64_MIN;  // when a look last told of an exec
  };

  bool Look(uint32_t number, int64_t now_ns);
  void AddThreads(const ProcessTree::Live& live, int64_t now_ns,
                  bool end_missing);
  void AddChildren(const ProcessTree::Live& live, int64_t now_ns);
  void AddChild(pid_t pid, pid_t ppid, int64_t now_ns);
  bool IsNew(pid_t zombie, pid_t ppid, uint64_t start_ticks) const;
  std::vector<pid_t> ChildrenOf(const ProcessTree::Live& live);
  void ReadParents();

  TreeModel& model_;
  const bool follow_children_;
  const bool has_children_file_;
  std::map<uint32_t, Seen> seen_;
  // Processes that were seen to end and that nobody has waited for yet, with
  // their start_ticks: such a process is not a new one.
  std::map<pid_t, uint64_t> zombies_;
  std::map<pid_t, std::vector<pid_t>> children_;  // where the file is missing
  std::vector<char> buffer_;
};

}  // namespace sonde

#endif  // SONDE_COLLECT_TREE_PROC_SCAN_H_
