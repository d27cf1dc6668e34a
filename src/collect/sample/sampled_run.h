#ifndef SONDE_COLLECT_SAMPLE_SAMPLED_RUN_H_
#define SONDE_COLLECT_SAMPLE_SAMPLED_RUN_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>

#include "collect/gatherer.h"
#include "collect/proc/proc_file.h"
#include "collect/sample/native_frames.h"
#include "collect/sample/process_places.h"
#include "collect/stacks/python_process.h"
#include "collect/tree/process_tree.h"
#include "collect/unwind/code_file.h"
#include "collect/unwind/merged_stack.h"
#include "collect/unwind/unwinder.h"
#include "trace/writer.h"

namespace sonde {

// How stacks are sampled: by reading the memory of Python programs; by perf,
// which also tells of native code, with functions of Python that are read a
// little later; or with functions of Python that the kernel finds at the very
// moment. kBest: the last of these that works here.
enum class StacksBy { kBest, kProc, kPerf, kBpf };
const char* NameOf(StacksBy by);  // "proc", as in --stacks-by

// Whose stacks are sampled: those of a command that waits for its exec, with
// all that it will start; of processes that run already; or of the whole
// machine.
enum class StacksOf { kCommand, kRunning, kMachine };

// The native code that samplers come across, and its names at the end of a
// recording.
struct NativeCode {
  explicit NativeCode(TraceWriter& out) : frames(out, files) {}

  CodeFiles files;
  Unwinder unwinder;
  NativeFrames frames;
};

// What the samplers of one recording share: where they write to, whom they
// follow, and what one of them tells the others. Does not own writer and tree.
struct SampledRun {
  // `cgroup` is /proc/PID/cgroup of what is recorded. Empty: the whole machine
  // is recorded, and no cgroup is the run's.
  SampledRun(TraceWriter& writer, ProcessTree& process_tree, double rate,
             std::string cgroup_text);

  // Before the samplers are polled at `now_ns`.
  void BeginTick(int64_t now_ns);

  TraceWriter& out;
  ProcessTree& tree;
  const double rate_hz;
  double stacks_hz = 0;  // how often to look at stacks; 0: never
  // How it is wanted; once the samplers are made, how it is done.
  StacksBy stacks_by = StacksBy::kBest;
  StacksOf stacks_of = StacksOf::kCommand;
  const std::string cgroup;
  // A tick that comes this much early is the tick that was due all the same.
  const int64_t slack_ns;
  FdBudget budget;
  ProcessPlaces places;
  bool paused = false;
  // What is read at most ten times a second, whatever the rate, is read in this
  // tick.
  bool machine_due = false;

  // What the tree has used so far, as of the last tick: of processes that were
  // sampled, those that have ended included. Of sums only differences mean
  // something.
  struct Used {
    int64_t cpu_ns = 0;
    uint64_t io_bytes = 0;  // of storage
    // Of the busiest accelerator, now; nothing if there is none.
    std::optional<double> accelerator_share;
  };
  Used used;
  // Processes that run Python, and those in which it was looked for, by number;
  // and whether running threads are sampled by perf.
  struct Python {
    PythonProcess process;
    Interpreter interpreter;
    int64_t exec_ns = kNoTime;  // of the program that it is
  };
  std::map<uint32_t, Python> pythons;
  uint64_t pythons_found = 0;  // so far
  std::unordered_set<uint32_t> python_tried;
  bool native_stacks = false;
  NativeCode native;
  int64_t machine_busy_ns = 0;  // time that all cores have worked so far

 private:
  int64_t next_machine_ns_ = 0;
};

// How the table makes a gatherer of type T.
template <typename T>
std::unique_ptr<Gatherer> Make(SampledRun& run) {
  return std::make_unique<T>(run);
}

}  // namespace sonde

#endif  // SONDE_COLLECT_SAMPLE_SAMPLED_RUN_H_
