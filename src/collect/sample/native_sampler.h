#ifndef SONDE_COLLECT_SAMPLE_NATIVE_SAMPLER_H_
#define SONDE_COLLECT_SAMPLE_NATIVE_SAMPLER_H_

#include <sys/types.h>
#include <time.h>

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/time.h"
#include "collect/perf/perf_ring.h"
#include "collect/sample/sampled_run.h"
#include "collect/symbols/named_code.h"
#include "collect/unwind/unwinder.h"

namespace sonde {

// Samples where in native code the threads of a command are, by perf: their
// registers and a piece of their stack at each sample, unwound here. No signal,
// no ptrace, nothing is put into them; neither registers nor stacks reach a
// file.
//
//  - Each sample stands for the same CPU time. Threads that the sampler of
//    Python's stacks follows are left to that one, and the main thread of what
//    looks like a Python until that one has tried.
//  - What a thread does in the kernel counts for the function that called it
//    where we may see that, and is not sampled where we may not.
//  - At most 2000 samples a second of all CPUs together, but ten of each.
//  - Each task begins with a full period: one that uses less is not sampled.
//  - Names come at the end, by the debug information and the symbols of files,
//    of code that was made at run time by the map that its runtime wrote.
//
// For commands that are started; processes that run already are not sampled.
// One thread. Does not own the run.
class NativeSampler : public Gatherer {
 public:
  explicit NativeSampler(SampledRun& run);

  void Poll(int64_t now_ns) override;
  int64_t next_look_ns() const override { return next_ns_; }
  void Look(int64_t now_ns) override;
  void Pause(bool paused) override;
  void Stop(int64_t now_ns) override;
  int64_t EndHelpers() override { return naming_cpu_ns_; }
  std::vector<NotCollected> not_collected() const override;

 private:
  struct Program {
    Program(pid_t pid, CodeFiles& files) : code(pid, files) {}

    ProcessCode code;
    int64_t exec_ns = kNoTime;
    bool python = false;  // looks like one
  };
  // What a process compiled while it ran.
  struct Made {
    pid_t pid = 0, own_pid = 0;
    uid_t owner = 0;
    const char* called = "";              // without a name for its functions
    uint32_t module = 0;                  // Module::id
    std::map<uint64_t, uint32_t> frames;  // to be named, by address
  };
  // A place in a file, as a frame of the trace.
  using Place = std::pair<uint32_t, uint64_t>;  // CodeFile::number, address

  Status Open();
  void Drain(int64_t now_ns);
  void Take(std::string_view record, int64_t offset_ns);
  Program* ProgramOf(pid_t pid, uint32_t* number);
  StackFrame FrameOf(const NativeFrame& frame, uint32_t process, pid_t pid);
  StackFrame FrameOfMade(const NativeFrame& frame, uint32_t process, pid_t pid);
  uint32_t ModuleOf(const CodeFile& file);
  void Name();
  void NameMade();
  void AddNames(uint32_t frame, const std::vector<PlaceName>& names);

  SampledRun& run_;
  const std::vector<int> cpus_;
  const double hz_;
  std::vector<PerfRing> rings_;
  int64_t every_ns_ = INT64_MAX / 4;
  int64_t next_ns_ = INT64_MAX;
  int64_t period_ns_ = 0;
  const int64_t started_ns_ = ClockNs(CLOCK_REALTIME);
  SourceState failed_;

  CodeFiles files_;
  Unwinder unwinder_;
  std::map<uint32_t, Program> programs_;  // by number
  NativeStack stack_;
  std::vector<StackFrame> frames_;
  std::unordered_map<uint32_t, uint32_t> modules_;  // by CodeFile::number
  std::map<Place, uint32_t> places_;                // the frames to be named
  std::map<uint32_t, Made> made_;                   // by process number
  size_t made_places_ = 0;
  uint64_t lost_ = 0;
  int64_t lost_from_ns_ = kNoTime, lost_to_ns_ = kNoTime;
  int64_t naming_cpu_ns_ = 0;
  std::string unnamed_;  // why names are missing
};

}  // namespace sonde

#endif  // SONDE_COLLECT_SAMPLE_NATIVE_SAMPLER_H_
