#ifndef SONDE_COLLECT_TREE_PROCESS_TREE_H_
#define SONDE_COLLECT_TREE_PROCESS_TREE_H_

#include <sys/resource.h>
#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collect/gatherer.h"
#include "trace/writer.h"

namespace sonde {

class WatchTarget;

extern const SourceInfo kProcessTreeSource, kCpuAtExitSource;

// The command and everything it starts, followed from outside: every fork, exec
// and exit, each as it happened, as rows and slices of the trace.
//
//  - A process is known by the number given here (the command is 1), never by
//    its pid: pids are used again.
//  - Every process is seen or counted: what the kernel dropped becomes a
//    `perf-lost` loss, and the tree is then completed from /proc.
//  - CPU time of processes and threads that have ended, however short they
//    lived, is counted by perf's task clock where that is permitted. When tasks
//    of the tree hand the core to each other the kernel may charge the wrong
//    one; what the sampler read (NoteCpu) bounds that error to the time since
//    its last reading.
//  - An image is a slice from its exec to the next exec or the exit. A copy of
//    its parent that never execs, or lives 10 ms before it does, is one as
//    well.
//  - Nothing happens in the target.
//
// One thread. Does not own the writer.
class ProcessTree : public Gatherer {
 public:
  struct Options {
    bool use_perf = true;   // false: /proc only, as where perf is forbidden
    bool all_args = false;  // record whole command lines of children
  };

  // A process that has not ended. The sampler reads its files.
  struct Live {
    uint32_t number = 0;
    pid_t pid = 0;
    std::vector<std::pair<uint32_t, pid_t>> threads;  // number (rising), tid
  };

  // What is known of a process of the tree.
  struct TaskState {
    uint32_t number = 0;
    bool alive = true;
    int64_t end_ns = kNoTime;   // kNoTime while it is alive
    int64_t exec_ns = kNoTime;  // its last exec, if it did while recorded
    // The process that forked it, as long as it runs the program of that one.
    // 0 if that was not seen.
    uint32_t copy_of = 0;
  };

  struct ThreadState {
    uint32_t number = 0;
    int64_t end_ns = kNoTime;  // kNoTime while it is alive
  };

  // `root` has been forked and waits before its exec.
  static std::unique_ptr<ProcessTree> Follow(pid_t root, TraceWriter& out,
                                             const Options& options);
  // Processes that run already. `target` must live as long.
  static std::unique_ptr<ProcessTree> Watch(const WatchTarget& target,
                                            TraceWriter& out,
                                            const Options& options);
  // These descriptors become readable when there is something to Poll(), more
  // seldom when very many processes start. May be empty.
  virtual std::vector<int> wake_fds() const = 0;

  // Takes in what has happened. Cheap when nothing has. Also while the
  // recording is paused.
  void Poll(int64_t now_ns) override = 0;

  // The command ended; it has been waited for with this result.
  virtual void RootEnded(int64_t now_ns, int wait_status,
                         const rusage& usage) = 0;

  // The sampler read the CPU time of a process, or of a thread of it (else 0).
  virtual void NoteCpu(uint32_t process, uint32_t thread, int64_t now_ns,
                       int64_t cpu_ns) = 0;

  // The recording ends. Everything still alive is marked as running.
  void Stop(int64_t now_ns) override = 0;

  // A process of the tree that is alive, or was until a few seconds ago.
  virtual std::optional<TaskState> FindPid(pid_t pid) const = 0;
  virtual std::optional<TaskState> FindNumber(uint32_t number) const = 0;
  // A thread, likewise. The number is 0 if there is no thread of this tid.
  virtual ThreadState FindThread(uint32_t process, pid_t tid) const = 0;
  // The program calls itself, or its thread (else 0), by this name.
  virtual void Rename(uint32_t process, uint32_t thread,
                      std::string_view name) = 0;

  // It is known by other means that the process lived at this time.
  virtual void NoteLife(uint32_t process, int64_t at_ns) {
    (void)process, (void)at_ns;
  }

  // It is known by other means that the process became another program at this
  // time. Changes nothing if that is known already.
  virtual void NoteExec(pid_t pid, int64_t at_ns, std::string_view comm) {
    (void)pid, (void)at_ns, (void)comm;
  }

  // By number. Valid until the next Poll() or NoteExec().
  virtual const std::map<uint32_t, Live>& live() const = 0;
  // Grows whenever live() has changed, or one of them has become another
  // program: a reader that saw this number has seen all.
  virtual uint64_t changes() const = 0;

  // "perf" or "proc".
  virtual std::string source() const = 0;
};

}  // namespace sonde

#endif  // SONDE_COLLECT_TREE_PROCESS_TREE_H_
