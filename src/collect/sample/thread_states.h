#ifndef SONDE_COLLECT_SAMPLE_THREAD_STATES_H_
#define SONDE_COLLECT_SAMPLE_THREAD_STATES_H_

#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "collect/proc/proc_file.h"
#include "collect/sample/task_state.h"

namespace sonde {

// A new value of a process, or of one of its threads if that is not null.
struct StateChange {
  ProcessState* process;
  ThreadState* thread;
  size_t counter;  // a ProcessCounter or a ThreadCounter
  uint64_t value;
};

// Looks at what threads do that do not run: which are blocked in the kernel,
// state D, mostly for a disk, and in which system call the others sleep.
//
//  - It is an estimate. How long a thread was off the cores is known from its
//    times; whether it slept or was blocked then, the next look tells at which
//    it is off them. Looks alone would mislead: when we get a core has to do
//    with who has just left it. A look stands for two seconds at most.
//  - Ten looks a second at most, and about 1/1000 of a core: if there are more
//    threads to look at, their processes take turns. A thread that sleeps and
//    has not run since sleeps still, and is not looked at.
//  - Not each D is for a disk. A parent that waits for the exec of its vfork
//    child, a thread that changes its address space, and a page fault of a
//    thread that has no major ones are left out, where the system call can be
//    read. Where it cannot, each D counts, and sync_ns is absent.
//
// One thread.
class ThreadStates {
 public:
  // `proc` is where the processes' folders are.
  explicit ThreadStates(std::string proc = "/proc") : proc_(std::move(proc)) {}

  // Looks at what is due. CPU clocks of the processes are those of this tick;
  // files read at `files_ns` are of this tick too. `slack_ns` is how early a
  // tick may come. The changes are valid until the next call.
  std::span<const StateChange> Tick(int64_t now_ns, int64_t slack_ns,
                                    int64_t files_ns,
                                    std::map<uint32_t, ProcessState>& processes,
                                    FdBudget& budget);

  // The system call of some thread could not be read, for want of rights.
  bool denied() const { return denied_; }

  // Whose system calls the numbers are: the meta row `syscalls`.
  static const char* NumbersOf();

 private:
  enum class Wait { kNone, kOther, kStorage, kSync };

  bool AtRest(const ProcessState& process) const;
  void Look(ProcessState& process, FdBudget& budget);
  bool ReadState(ProcessState& process, ThreadState& thread, FdBudget& budget);
  struct Seen {
    Wait wait = Wait::kNone;
    int64_t blocked_ns = 0;  // that it adds
  };
  Seen LookAt(ProcessState& process, ThreadState& thread, FdBudget& budget);
  int64_t TimeBlocked(ThreadState& thread, bool blocked) const;
  Wait WhyBlocked(ProcessState& process, ThreadState& thread, bool faulted);
  std::optional<int64_t> AskCall(ProcessState& process, ThreadState& thread);
  bool WantsCall(const ThreadState& thread) const;
  void Tell(ProcessState& process, ThreadState* thread, size_t counter,
            int64_t value, int64_t& told);
  const char* Path(pid_t pid, pid_t tid, const char* name);

  const std::string proc_;
  int64_t now_ns_ = 0;
  int64_t files_ns_ = 0;
  int asks_left_ = 0;     // in the look that goes on
  int64_t since_ns_ = 0;  // what the look that goes on stands for
  int64_t next_ns_ = 0;
  int64_t last_ns_ = 0;
  int64_t credit_ns_ = 0;
  uint32_t last_looked_ = 0;  // the number of a process
  bool denied_ = false;
  std::vector<StateChange> changes_;
  std::vector<char> buffer_;
  fmt::memory_buffer path_;
};

}  // namespace sonde

#endif  // SONDE_COLLECT_SAMPLE_THREAD_STATES_H_
