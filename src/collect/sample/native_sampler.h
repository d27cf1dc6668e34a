#ifndef SONDE_COLLECT_SAMPLE_NATIVE_SAMPLER_H_
#define SONDE_COLLECT_SAMPLE_NATIVE_SAMPLER_H_

#include <sys/types.h>
#include <time.h>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/time.h"
#include "collect/bpf/frame_walker.h"
#include "collect/perf/stack_record.h"
#include "collect/sample/native_frames.h"
#include "collect/sample/sampled_run.h"
#include "collect/sample/stack_events.h"
#include "collect/unwind/merged_stack.h"
#include "collect/unwind/unwinder.h"

namespace sonde {

// Samples where in their code the threads of a tree are, by perf: their
// registers and a piece of their stack at each sample, unwound here. No signal,
// no ptrace, nothing is put into them; neither registers nor stacks reach a
// file.
//
//  - Each sample stands for the same CPU time.
//  - Functions of Python have their places between the native ones. They are
//    found by the kernel at the moment of the sample, where a program of ours
//    may run there (FrameWalker). Else they are read as soon as a sample wakes
//    us; where the registers and the stack of the sample do not prove that the
//    innermost of them ran, the sample is approximate.
//  - What looks like a Python is not sampled until somebody has looked for its
//    frames (StackSampler), nor while it only starts: for a second, until it
//    has its first.
//  - What a thread does in the kernel counts for the function that called it
//    where we may see that, and is not sampled where we may not. What the
//    function did not call, mostly faults of pages, is a frame of its own.
//  - At most 2000 samples a second of all CPUs together, but ten of each. To
//    read functions of Python takes 5 % of a core at most: where it would take
//    more, samples are left out, and the next one of the thread stands for
//    them.
//  - Each task begins with a full period: one that uses less is not sampled.
//  - Of processes that run already, and may become other programs, their events
//    tell of each exec, and the tree is told.
//  - Where there are too many threads for events of their own (StackEvents), or
//    the machine is recorded, whatever runs is sampled if that is allowed, and
//    what is not of the tree is dropped at once.
//
// One thread. Does not own the run.
class NativeSampler : public Gatherer {
 public:
  explicit NativeSampler(SampledRun& run);

  void Poll(int64_t now_ns) override;
  int64_t next_look_ns() const override;
  std::vector<int> look_fds() const override;
  void Look(int64_t now_ns) override;
  void Pause(bool paused) override;
  void Stop(int64_t now_ns) override;
  std::vector<NotCollected> not_collected() const override;

 private:
  struct Program {
    explicit Program(ProcessCode of) : code(std::move(of)) {}

    ProcessCode code;
    int64_t exec_ns = kNoTime;
    uint32_t copy_of = 0;  // as in ProcessTree::TaskState
    bool looks_like_python = false;
    bool started = false;                    // a function of Python was seen
    std::optional<Interpreter> interpreter;  // whose frames can be read
    bool same_tids = true;                   // as we number them
  };

  // The threads of a Python that the kernel walks.
  struct Walked {
    std::vector<std::pair<uint32_t, pid_t>> threads;  // when they were asked
    int64_t exec_ns = kNoTime;
    std::unordered_map<pid_t, uint64_t> states;  // by tid
    int64_t next_ask_ns = 0;
    int64_t ask_every_ns = 0;
  };

  static constexpr int64_t kMostOftenNs = 5 * kNsPerMs;
  // For how long a Python is young: it or its functions may be gone soon, and
  // what its samples say can only be read before.
  static constexpr int64_t kYoungNs = 250 * kNsPerMs;
  static constexpr int64_t kYoungEveryNs = 2 * kNsPerMs;

  Status Open();
  Status Attach(int64_t now_ns);
  void AttachNew(int64_t now_ns);
  void GiveUp(const Error& why);
  void Charge();
  void HearRecords(int64_t now_ns);
  void Drain(int64_t now_ns);
  FrameWalker* walker() { return walker_ ? &*walker_ : nullptr; }
  void LoadWalker();
  void DropWalker(const Error& why);
  bool WalkedChanged() const;
  void SyncWalked(int64_t now_ns);
  void Walk(pid_t pid, PythonProcess& python, Walked& walked);
  void Take(std::string_view record, int64_t offset_ns,
            const FrameWalker::Walk& walk);
  Program* ProgramOf(pid_t pid, uint32_t* number);
  Program* NewProgram(pid_t pid, const ProcessTree::TaskState& state);
  bool Starts(Program& program, int64_t time_ns) const;
  // As its own pid namespace numbers a thread.
  static pid_t OwnTid(pid_t pid, pid_t tid);
  SampledRun::Python* PythonOf(uint32_t number, int64_t exec_ns);
  bool CallsSystem(const Registers& registers);
  void UnwindFurther(const StackRecord& record, Program& program);
  bool MergePython(const StackRecord& record, const FrameWalker::Walk& walk,
                   uint32_t number, Program& program);
  std::span<const uint64_t> WordsOf(const StackRecord& record,
                                    const PythonThread& python,
                                    const Interpreter& interpreter);

  SampledRun& run_;
  const double hz_;
  StackEvents events_;
  size_t charged_ = 0;  // to the run's budget
  // Of what runs already CPU time is counted from the first tick to the last:
  // samples of other moments would be more than the whole.
  int64_t counted_from_ns_ = kNoTime, counted_to_ns_ = INT64_MAX;
  int64_t polled_ns_ = 0;
  uint64_t attached_changes_ = 0;
  std::vector<TaskRecord> heard_;
  std::optional<FrameWalker> walker_;
  std::vector<FrameWalker::Walk> walks_;  // the last of each ring; tid 0: none
  std::map<uint32_t, Walked> walked_;     // by process number
  uint64_t walked_changes_ = 0;
  uint64_t walked_pythons_ = 0;
  int64_t next_ask_ns_ = INT64_MAX;  // a process of `walked_`
  int64_t next_sync_ns_ = 0;         // not before
  int64_t young_until_ns_ = 0;  // until then, what is seen may soon be gone
  int64_t next_read_ns_ = 0;    // of functions of Python
  // Samples that were left out, until the next one of the thread: their time.
  std::unordered_map<uint32_t, uint64_t> owed_ns_;
  int64_t every_ns_ = INT64_MAX / 4;
  int64_t next_ns_ = INT64_MAX;
  int64_t period_ns_ = 0;
  SourceState failed_, not_walked_;
  size_t most_left_out_ = 0;
  std::optional<Error> too_many_;

  std::map<uint32_t, Program> programs_;  // by number
  NativeStack stack_;
  NativeStack further_;
  std::vector<uint8_t> longer_;
  std::span<const uint8_t> copy_;  // of the stack: the sample's, or longer
  MergedStack merged_;
  std::vector<uint64_t> words_;
  std::vector<StackFrame> frames_;
  StackFrame fault_;
  uint64_t lost_ = 0;
  int64_t lost_from_ns_ = kNoTime, lost_to_ns_ = kNoTime;
};

}  // namespace sonde

#endif  // SONDE_COLLECT_SAMPLE_NATIVE_SAMPLER_H_
