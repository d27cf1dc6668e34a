#ifndef SONDE_COLLECT_TREE_TREE_MODEL_H_
#define SONDE_COLLECT_TREE_TREE_MODEL_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/time.h"
#include "collect/tree/process_tree.h"
#include "trace/writer.h"

namespace sonde {

// One thing that happened to a task, however we learnt of it.
struct TaskRecord {
  enum class Kind : uint8_t {
    kFork,  // `tid` of process `pid` began; a new process if pid != ppid
    kComm,  // `tid` took the name `comm`
    kExec,  // `pid` runs a new image called `comm`
    kExit,  // `tid` ended
    kCpu,   // `tid` has used `value` ns of CPU: one part of several
  };

  Kind kind = Kind::kFork;
  int64_t time_ns = 0;
  pid_t pid = 0;
  pid_t tid = 0;
  pid_t ppid = 0;  // kFork: the process that forked
  pid_t ptid = 0;  // kFork: the thread that forked
  uint64_t value = 0;
  char comm[16] = {};
};

// What the model asks about the world as it is now. A fake answers in tests.
class TaskWorld {
 public:
  // A process as /proc shows it.
  struct State {
    bool ended = false;    // a zombie, or inside the kernel's exit path
    int64_t start_ns = 0;  // to about 10 ms
    std::optional<int> wait_status;
  };
  virtual ~TaskWorld() = default;

  // Nothing if there is no such process.
  virtual std::optional<State> Look(pid_t pid) = 0;
  // NUL between arguments; empty if not known (yet).
  virtual std::string Cmdline(pid_t pid) = 0;
  // How the process `number` ended, if that is known once it is gone.
  virtual std::optional<int> WaitStatus(uint32_t number) = 0;
  // The process `number` has come or is done with.
  virtual void Begun(uint32_t number, pid_t pid) = 0;
  virtual void Done(uint32_t number) = 0;
};

// Turns what happens to tasks into rows and slices of a trace, and knows who is
// alive.
//
//  - Records come nearly in the order of time: a record about a task whose fork
//    is not known waits two seconds for the fork.
//  - Memory is kept for tasks that live or have ended lately. The slice of an
//    image leaves something behind, so from a number on short processes have
//    no slice, which is counted as a loss. The rows of such processes have
//    their names, times and sums.
//  - A process ends with its last thread. Its leader may end long before.
//  - The kernel reports an exit that is none when a program gets other rights
//    by exec (setuid) and perf is detached: then the process is `detached`, and
//    the caller must tell what happens to the process.
//
// One thread. Does not own writer or world.
class TreeModel {
 public:
  struct Options {
    bool all_args = false;
    // How many kCpu records each thread gives at its end. 0: none.
    size_t cpu_parts = 0;
    int64_t cores = 1;
    // Nobody reports by perf: every process is detached from the start.
    bool detached = false;
    // Process 1 is a command that was started for this recording: its end is
    // told by RootEnded().
    bool launched = true;
  };

  // What is known of a process while it lives.
  struct Task {
    Process row;
    std::string image;           // name of the image that runs
    int64_t image_ns = kNoTime;  // since when
    int64_t exec_ns = kNoTime;   // its last exec
    bool renamed = false;        // by the program itself
    bool found = false;          // ran already when it was first seen
    bool detached = false;
    bool cpu_known = true;
    int64_t cpu_ns = 0;          // of threads that have ended
    size_t cpu_pending = 0;      // threads that have ended, their CPU to come
    int64_t noted_ns = kNoTime;  // when the sampler last read its CPU time
    int64_t noted_cpu_ns = 0;
  };

  TreeModel(TraceWriter& out, TaskWorld& world, const Options& options);

  // The command itself, number 1. First of all calls.
  void AddRoot(int64_t now_ns, pid_t pid);
  // A process that runs already, since `start_ns`. The image it runs is shown
  // from `since_ns` on. Not if its pid is known.
  void AddFound(int64_t start_ns, int64_t since_ns, pid_t pid, pid_t ppid,
                std::string_view comm);
  void Apply(const TaskRecord& record);

  // Reads the command lines and exit statuses that have become known. Call it
  // behind each batch of records.
  void Settle(int64_t now_ns);

  // The root was waited for. `leader_cpu_ns` is the CPU time of its first
  // thread, -1 if not known.
  void RootEnded(int64_t now_ns, int wait_status, int64_t leader_cpu_ns);
  // Process `number` is not there any more, though nobody said so.
  void Vanished(uint32_t number, int64_t now_ns);
  // From here on somebody else must tell about the process.
  void Detach(uint32_t number);
  // See ProcessTree. `thread` 0: the whole process.
  void NoteCpu(uint32_t process, uint32_t thread, int64_t now_ns,
               int64_t cpu_ns);
  // The recording ends.
  void Finish(int64_t now_ns);

  const std::map<uint32_t, ProcessTree::Live>& live() const { return live_; }
  const std::map<uint32_t, Task>& tasks() const { return tasks_; }
  // Nothing if no live process has this pid.
  const Task* FindPid(pid_t pid) const;
  // See ProcessTree.
  std::optional<ProcessTree::TaskState> StateOfPid(pid_t pid) const;
  std::optional<ProcessTree::TaskState> StateOf(uint32_t number) const;
  ProcessTree::ThreadState FindThread(uint32_t process, pid_t tid) const;
  void Rename(uint32_t process, uint32_t thread, std::string_view name);
  uint64_t changes() const { return changes_; }
  // How often perf was detached by an exec.
  uint64_t detached_execs() const { return detached_execs_; }
  // Processes ever, the command included.
  uint32_t processes() const { return next_process_ - 1; }

 private:
  // How long records wait for what should have come before them.
  static constexpr int64_t kPatienceNs = 2 * kNsPerSec;
  // /proc tells a start to a clock tick (10 ms), rounded down.
  static constexpr int64_t kSameStartNs = 30 * kNsPerMs;
  static constexpr size_t kMostOrphans = 200'000;
  // Tracks of images, beyond which only long ones get one.
  static constexpr uint64_t kManyTracks = 4096;
  static constexpr int64_t kShortImageNs = kNsPerSec;

  // A thread that has ended and whose CPU records are still to come.
  struct EndedThread {
    Thread row;
    size_t parts = 0;
    int64_t cpu_ns = 0;
  };
  // A process that has ended, while not all is known of it.
  struct EndedProcess {
    Task task;
    bool status_open = false;
  };

  static uint32_t CopyOf(const Task& task);
  void NewProcess(int64_t time_ns, pid_t pid, const Task* parent,
                  uint32_t name);
  void NewThread(Task& task, int64_t time_ns, pid_t tid, uint32_t name);
  void Fork(const TaskRecord& record);
  void Exec(const TaskRecord& record);
  void Comm(const TaskRecord& record);
  void Exit(const TaskRecord& record);
  void Cpu(const TaskRecord& record);
  void EndThread(Task& task, pid_t tid, int64_t time_ns, bool cpu_comes);
  void EndProcess(uint32_t number, int64_t time_ns);
  void CloseImage(Task& task, int64_t time_ns, uint8_t flags);
  void CountWithoutSlice(const Task& task, int64_t time_ns);
  // What perf counted, held to what the sampler read and to the time there was.
  int64_t Believable(int64_t counted_ns, int64_t noted_ns, int64_t noted_cpu_ns,
                     int64_t start_ns, int64_t end_ns, int64_t cores) const;
  void ThreadCpuDone(uint32_t process, int64_t cpu_ns);
  void PublishEnded(EndedProcess& ended);
  bool FalseExit(const Task& task, int64_t time_ns);
  void FindStatus(EndedProcess& ended);
  // Names a thread that has ended lately.
  void RenameLate(uint32_t thread, uint32_t name);
  // Keeps a record about a task that is not known yet.
  void Orphan(const TaskRecord& record) {
    if (orphans_.size() < kMostOrphans) orphans_.push_back(record);
  }
  void Replay(pid_t pid);
  void Sweep(int64_t now_ns);
  void Expire(int64_t now_ns);
  Task* Find(pid_t pid);
  uint32_t ThreadNumber(uint32_t process, pid_t tid) const;
  static void SetExit(Process& row, int wait_status);
  static uint64_t Key(pid_t pid, pid_t tid) {
    return static_cast<uint64_t>(static_cast<uint32_t>(pid)) << 32 |
           static_cast<uint32_t>(tid);
  }

  TraceWriter& out_;
  TaskWorld& world_;
  const Options options_;
  const uint32_t root_;  // number of the command; 0 if there is none
  uint32_t next_process_ = 1, next_thread_ = 1;
  uint64_t changes_ = 0;
  int64_t next_sweep_ns_ = 0;
  uint64_t detached_execs_ = 0;

  std::map<uint32_t, Task> tasks_;  // alive, by number
  std::map<uint32_t, ProcessTree::Live> live_;
  std::unordered_map<pid_t, uint32_t> by_pid_;
  std::unordered_map<uint32_t, Thread> threads_;  // alive, by number
  // Numbers of living threads by process and tid.
  std::map<std::pair<uint32_t, pid_t>, uint32_t> by_tid_;
  // When the sampler last read a living thread, and what; by number.
  std::unordered_map<uint32_t, std::pair<int64_t, int64_t>> noted_threads_;
  std::unordered_map<uint64_t, EndedThread> ended_threads_;  // by Key()
  std::map<uint32_t, EndedProcess> ended_;
  std::unordered_map<uint32_t, uint32_t> tracks_;
  uint64_t tracks_made_ = 0;
  Loss without_slice_;
  std::optional<size_t> without_slice_handle_;
  std::vector<TaskRecord> orphans_;       // about tasks not known yet
  std::map<uint32_t, int> want_cmdline_;  // number, tries
  // Ended a short while ago.
  std::unordered_map<pid_t, uint32_t> lately_;  // the last one of a pid
  std::map<uint32_t, ProcessTree::TaskState> late_;
  std::map<std::pair<uint32_t, pid_t>, ProcessTree::ThreadState> late_threads_;
  std::unordered_map<uint32_t, Thread> late_rows_;  // of these, by number
  // Threads that named themselves, and what the kernel calls them.
  std::unordered_map<uint32_t, uint32_t> renamed_;
  Thread root_leader_;  // its CPU time comes with RootEnded
};

}  // namespace sonde

#endif  // SONDE_COLLECT_TREE_TREE_MODEL_H_
