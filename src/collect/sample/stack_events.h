#ifndef SONDE_COLLECT_SAMPLE_STACK_EVENTS_H_
#define SONDE_COLLECT_SAMPLE_STACK_EVENTS_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "collect/bpf/frame_walker.h"
#include "collect/gatherer.h"
#include "collect/perf/perf_ring.h"
#include "collect/perf/stack_record.h"
#include "collect/tree/process_tree.h"
#include "collect/tree/tree_model.h"

namespace sonde {

// Whether stacks can be sampled by perf here; tries it on ourselves.
SourceState CheckStackEvents();

// How many events may be open where so many descriptors may: a quarter of them,
// and 4096 at most.
size_t MostStackEvents(uint64_t descriptors);

// The perf events that sample stacks, and for each CPU a ring that all events
// of this CPU write to. A ring's own event is ours and samples nothing, so that
// no ring ends with a target.
//
//  - A command that waits for its exec has one event for each CPU, and all that
//    the command will start inherits them.
//  - Of processes that run already, each thread has one for each CPU. What they
//    start inherits those. Who comes in another way is found by
//    AttachRunning(), again and again.
//  - Or there is one event for each CPU that samples whoever runs there. That
//    wants root, or CAP_PERFMON.
//  - No thread is attached that has the events already: who is heard of by a
//    record of one of the events has them, and a thread that nobody has heard
//    of for 50 ms has none. Only in the microseconds in which its creator is
//    attached a thread may begin with some of the events and without a record;
//    if it sleeps then, it is sampled twice later.
//  - Nobody is stopped and nobody gets a signal. With this object, all events
//    are gone.
//
// `walker`, wherever it is asked for, may be null: then each sample wakes who
// waits for its ring. Else its stub is put on the events; if that fails, they
// sample without.
//
// One thread.
class StackEvents {
 public:
  StackEvents(double hz, size_t most_events);

  // The first of all calls. Only once. `large`: more of each stack is copied,
  // if so much memory may be locked.
  Status OpenRings(bool large);
  // What a sample takes in a ring.
  size_t record_bytes() const { return StackRecordBytes(copy_bytes_); }
  // Of OpenRings(), in the order of cpus().
  std::vector<PerfRing>& rings() { return rings_; }
  const std::vector<PerfRing>& rings() const { return rings_; }
  const std::vector<int>& cpus() const { return cpus_; }

  Status AttachCommand(pid_t root, FrameWalker* walker);
  // Then others need no events, and those they had are closed.
  Status AttachMachine(FrameWalker* walker);
  // Whether each thread of `live` may have its events. If not, they are left
  // out: to open some and close them again takes seconds where they all burn.
  bool HasRoomFor(const std::map<uint32_t, ProcessTree::Live>& live);
  // Attaches to the threads of `live` that have no events: to all at the first
  // time, and after Detach().
  void AttachRunning(const std::map<uint32_t, ProcessTree::Live>& live,
                     int64_t now_ns, FrameWalker* walker);
  // Whether AttachRunning() has somebody to wait for.
  bool waits() const { return !strange_.empty(); }

  // What the rings of processes that run already tell besides samples, in the
  // order of time, and whom they sample.
  void Hear(const TaskRecord& record, int64_t now_ns);
  void HearSample(pid_t tid, int64_t now_ns);

  void Enable(bool on);
  // Closes all events. The rings stay.
  void Detach();
  // Detach(), and the rings are gone.
  void Close();

  size_t count() const;  // of descriptors
  bool machine() const { return machine_; }
  // Some have been attached, and live.
  bool attached() const { return !groups_.empty(); }
  // Threads that found no room, now.
  size_t left_out() const { return left_out_; }
  // As an Error: how many there may be, and the cure.
  Error TooMany() const;
  // The first thread that may not be attached.
  const std::optional<Error>& denied() const { return denied_; }
  // Why the walker could not be put on an event.
  const std::optional<Error>& not_walked() const { return not_walked_; }

 private:
  enum class Kind { kCommand, kThread, kCpu };
  // What is closed together: when none of its threads lives.
  struct Group {
    std::vector<Fd> events;
  };
  struct Known {
    uint32_t group = 0;  // 0: not known which
    int64_t since_ns = 0;
    bool ended = false;
  };

  Result<Fd> Open(Kind kind, pid_t tid, size_t cpu, FrameWalker* walker);
  Status AttachAll(Kind kind, pid_t tid, FrameWalker* walker,
                   std::vector<Fd>& out);
  void AttachProcess(const ProcessTree::Live& process,
                     const std::vector<pid_t>& tids, int64_t now_ns,
                     FrameWalker* walker);
  void Deny(pid_t pid, const Error& error);
  void ForgetEnded(const std::map<uint32_t, ProcessTree::Live>& live,
                   int64_t now_ns);

  const double hz_;
  const std::vector<int> cpus_;
  size_t most_;
  std::vector<PerfRing> rings_;
  uint32_t copy_bytes_ = 0;  // of a stack, with each sample
  bool with_kernel_ = true;
  bool machine_ = false;
  bool fresh_ = true;  // nobody was attached yet
  uint32_t next_group_ = 1;
  std::map<uint32_t, Group> groups_;
  std::unordered_map<pid_t, Known> threads_;
  std::unordered_map<pid_t, int64_t> strange_;  // unheard of, seen since then
  std::unordered_set<pid_t> refused_;
  int64_t next_forget_ns_ = 0;
  size_t left_out_ = 0;
  std::optional<Error> denied_, not_walked_;
};

}  // namespace sonde

#endif  // SONDE_COLLECT_SAMPLE_STACK_EVENTS_H_
