#ifndef SONDE_COLLECT_BPF_FRAME_WALKER_H_
#define SONDE_COLLECT_BPF_FRAME_WALKER_H_

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "collect/gatherer.h"
#include "collect/stacks/python_layout.h"
#include "collect/stacks/raw_python_frame.h"

namespace sonde {

// Follows the frames of Python in the kernel, at the very moment of a sample of
// perf. The thread stands still meanwhile, so the frames are of one moment, and
// of the same as the sample's registers and stack.
//
//  - Wants root, or CAP_BPF and CAP_PERFMON, and Linux 5.8. Every failure is an
//    Error with its cure, and leaves the events as they were: they sample on.
//  - A walk is written to the ring of its sample, directly before the sample,
//    with the same tid. Where the ring is full the walk is lost too, and the
//    kernel counts that as one more lost record.
//  - Of threads that were not Put() there are no walks. Nothing is asked of the
//    process; memory that cannot be read at that moment ends a walk.
//  - 3.11 and 3.12: in the few instructions in which a call from C begins, the
//    innermost frame may be nowhere in memory. Such a walk has no frames, and
//    is not whole: one in a thousand of a program that does little else.
//  - When this object goes, or our process ends in whatever way, the kernel
//    drops all of it.
//
// One thread. Does not own the events.
class FrameWalker {
 public:
  static constexpr size_t kMostFrames = 160;  // of one walk, shims included
  static constexpr size_t kMostThreads = 16 << 10;

  // Whether all of it can be loaded here and now; loads it, and drops it.
  static SourceState Check();

  static Result<FrameWalker> Make();
  // Puts a program of six instructions on each of these events, which are of
  // StackAttr() and not yet inherited by any child: children inherit it with
  // their events. It does nothing until Load().
  Status Attach(std::span<const int> event_fds);

  // From now on threads can be Put(), also of children that were there before.
  // `ring_fds` are events with rings, `cpus` the CPU of each. Once.
  Status Load(std::span<const int> ring_fds, std::span<const int> cpus);
  bool loaded() const { return walker_.valid(); }

  // From now on the frames of this thread are walked: those of the state of the
  // thread at the address `thread_state`. `tid` is as our own pid namespace
  // numbers the thread. If we are in a pid namespace other than the machine's
  // first, threads in namespaces inside of ours are not walked. An Error if
  // there are too many, or where frames of such a layout cannot be walked.
  // Only if loaded().
  Status Put(pid_t tid, uint64_t thread_state, const PythonLayout& layout);
  // No longer. A thread that ended, or became another program, is removed
  // before its tid may be used again.
  void Remove(pid_t tid);

  // What was found at one sample.
  struct Walk {
    pid_t tid = 0;
    int64_t time_ns = 0;  // of the machine's clock
    bool whole = false;   // the list was followed to its end
    // 3.10 to 3.12: the address of the thread's innermost _PyCFrame, which lies
    // on its stack. 0 if there is none.
    uint64_t cframe = 0;
    // Of the innermost function's name: see PythonProcess::NameFrames().
    uint64_t name_hash = 0;
    std::vector<RawPythonFrame> frames;  // innermost first
  };
  // False if the record of a ring is no walk, or makes no sense; `out` then
  // holds anything.
  static bool Parse(std::string_view record, Walk& out);

 private:
  FrameWalker() = default;

  Fd slot_;  // a map of one program: what the stub goes on with
  Fd stub_;
  Fd threads_;
  Fd output_;  // a map of `outputs_`, by CPU
  std::vector<Fd> outputs_;
  Fd walker_;
};

}  // namespace sonde

#endif  // SONDE_COLLECT_BPF_FRAME_WALKER_H_
