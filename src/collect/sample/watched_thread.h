#ifndef SONDE_COLLECT_SAMPLE_WATCHED_THREAD_H_
#define SONDE_COLLECT_SAMPLE_WATCHED_THREAD_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "collect/proc/proc_file.h"
#include "collect/proc/process_files.h"

namespace sonde {

// A thread whose time is divided among the places at which it was seen. How
// long it ran, was ready, and slept is the kernel's account; looks only tell
// where.
//
//  - What it ran since it was last seen running belongs to the place where it
//    is next seen running, what it slept to the place where it is next seen
//    asleep.
//  - A thread that was seen asleep and has not been on a core since sleeps at
//    that place still.
//
// One thread. Give its files back with Close().
class WatchedThread {
 public:
  // What it did before `now_ns` is not counted.
  WatchedThread(uint32_t number, pid_t pid, pid_t tid, int64_t now_ns);

  uint32_t number() const { return number_; }
  pid_t tid() const { return tid_; }
  // Since when it is watched.
  int64_t since_ns() const { return since_ns_; }
  // As its process numbers it.
  pid_t own_tid(std::vector<char>& buffer);

  enum class Seen {
    kGone,
    kRuns,    // or is ready to
    kSleeps,  // somewhere: see SleepsAt()
    kStill,   // sleeps where it did when last seen
  };
  Seen Look(int64_t now_ns, FdBudget& budget, std::vector<char>& buffer);
  // It has not run since the last look, as its process's clock says.
  void SleepsOn(int64_t now_ns);
  bool sleeps() const { return sleeps_; }

  // Where Look() has seen it asleep: the system call (-1: none, or not known),
  // and the place in its code, 0 if that is not known.
  const BlockedAt& at() const { return at_; }
  // It has not been on a core since Look().
  bool SleepsYet(FdBudget& budget, std::vector<char>& buffer);
  // Where it was seen asleep, after Look() has said so. What it slept is now of
  // this place.
  void SleepsAt(uint32_t stack, uint8_t flags);
  uint32_t wait_stack() const { return wait_stack_; }
  uint8_t wait_flags() const { return wait_flags_; }

  // How long it ran, and how long it slept at the place where it was last seen
  // asleep, and is in no sample yet. It then counts as told.
  uint64_t TakeRan();
  uint64_t TakeSlept(int64_t now_ns);
  // When sleep was last told.
  int64_t told_ns() const { return told_ns_; }
  // Forgets what was not told.
  void Drop();

  void Close(FdBudget& budget);

 private:
  std::optional<SchedStat> ReadTimes(FdBudget& budget,
                                     std::vector<char>& buffer);
  bool Ask(int64_t now_ns, FdBudget& budget, std::vector<char>& buffer,
           bool& has_run);
  Seen ReadState(FdBudget& budget, std::vector<char>& buffer);

  uint32_t number_;
  pid_t pid_, tid_;
  pid_t own_tid_ = 0;  // 0: not asked yet
  ProcFile schedstat_, syscall_;
  bool asked_ = false;
  SchedStat last_;
  int64_t since_ns_, asked_ns_, told_ns_;
  uint64_t ran_ns_ = 0;
  int64_t loose_ns_ = 0;  // slept, nobody knows where; below 0: told too soon
  uint64_t slept_ns_ = 0;
  bool sleeps_ = false;
  BlockedAt at_;
  uint32_t wait_stack_ = 0;
  uint8_t wait_flags_ = 0;
};

}  // namespace sonde

#endif  // SONDE_COLLECT_SAMPLE_WATCHED_THREAD_H_
