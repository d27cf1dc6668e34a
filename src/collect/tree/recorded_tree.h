#ifndef SONDE_COLLECT_TREE_RECORDED_TREE_H_
#define SONDE_COLLECT_TREE_RECORDED_TREE_H_

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "collect/tree/process_tree.h"
#include "trace/copy.h"

namespace sonde {

// The tree of a recording whose collector is dead, as its trace left it, and
// what can still be found out: who lives on, who ended when.
//
//  - The end of a process that has ended since is not known. Its row says the
//    last time at which the process is known to have lived.
//  - Nothing is followed: there is nothing to Poll().
//
// One thread. Does not own the writer.
class RecordedTree : public ProcessTree {
 public:
  // `rows` were copied into `out`, which made `copied` of them.
  RecordedTree(TraceWriter& out, const AllRows& rows, const Copied& copied);

  // A process that nobody saw begin; its number.
  uint32_t Adopt(pid_t pid, uint32_t parent, int64_t start_ns);
  // How many of the tree are alive, and the last sign of life of the others.
  size_t alive() const { return live_.size(); }
  int64_t last_ns() const { return last_ns_; }

  // Writes rows and images of all that had no end.
  void Stop(int64_t now_ns) override;

  std::optional<TaskState> FindPid(pid_t pid) const override;
  std::optional<TaskState> FindNumber(uint32_t number) const override;
  ThreadState FindThread(uint32_t process, pid_t tid) const override;
  void Rename(uint32_t process, uint32_t thread,
              std::string_view name) override;
  void NoteLife(uint32_t process, int64_t at_ns) override;
  const std::map<uint32_t, Live>& live() const override { return live_; }

  std::vector<int> wake_fds() const override { return {}; }
  void Poll(int64_t) override {}
  void RootEnded(int64_t, int, const rusage&) override {}
  void NoteCpu(uint32_t, uint32_t, int64_t, int64_t) override {}
  uint64_t changes() const override { return 0; }
  std::string source() const override { return "trace"; }

 private:
  bool Open(const Process& row) const {
    return row.exit == Process::Exit::kRunning && row.end_ns == kNoTime;
  }

  TraceWriter& out_;
  const int64_t last_seen_ns_;  // by the collector
  std::map<uint32_t, Process> processes_;
  std::map<uint32_t, Thread> threads_;
  std::map<uint32_t, uint32_t> tracks_;         // of images, by process
  std::map<uint32_t, int64_t> last_image_ns_;   // end of the last, by process
  std::map<uint32_t, int64_t> life_ns_;         // last sign of it, by process
  std::unordered_map<pid_t, uint32_t> by_pid_;  // the newest of a pid
  std::map<std::pair<uint32_t, pid_t>, uint32_t> by_tid_;
  std::map<uint32_t, Live> live_;
  int64_t last_ns_ = kNoTime;
};

}  // namespace sonde

#endif  // SONDE_COLLECT_TREE_RECORDED_TREE_H_
