#ifndef SONDE_COLLECT_SAMPLE_STACK_SAMPLER_H_
#define SONDE_COLLECT_SAMPLE_STACK_SAMPLER_H_

#include <sys/types.h>
#include <time.h>

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "collect/sample/sampled_run.h"
#include "collect/sample/sleep_frames.h"
#include "collect/sample/watched_thread.h"
#include "collect/stacks/python_process.h"
#include "collect/unwind/process_code.h"

namespace sonde {

// Samples where in their code the Python programs of a tree are, and where all
// programs of it sleep, from outside: no signal, no ptrace, nothing is put into
// them.
//
//  - A sample of a thread that runs, or is ready to, stands for the CPU time it
//    used since it was last sampled so; one of a thread that sleeps for the
//    time it slept (WatchedThread). Its innermost frame is then the system call
//    it sleeps in; the others are functions of Python and native ones
//    (SleepFrames).
//  - Where perf samples running threads (SampledRun::native_stacks), only
//    sleeping ones are looked at. Else the time of a thread that runs no
//    Python, and what is left at the end, belongs to a sample without a stack.
//  - Whether a process is a Python is asked when it has used 50 ms, and every
//    ten seconds as long as it works; of what looks like one after 10 ms, and
//    of a copy of one at once, so that those that live shortly are seen too.
//    That takes 2 % of a core at most. A
//    process that is none is looked at, more seldom, once it has lived for
//    0.2 s.
//  - A thread that sleeps on is written down once a second.
//  - Where perf samples running threads, there are a hundred looks a second,
//    and twenty as long as nobody goes to sleep.
//  - Looks cost at most 2 % of a core: they become rarer, and what they stand
//    for longer. Of more than 32 threads, and of more than 32 processes, those
//    that sleep are asked less often.
//
// One thread. Does not own the run.
class StackSampler : public Gatherer {
 public:
  explicit StackSampler(SampledRun& run);

  // Finds out which processes are Python.
  void Poll(int64_t now_ns) override;
  int64_t next_look_ns() const override;
  void Look(int64_t now_ns) override;
  void Pause(bool paused) override;
  void Stop(int64_t now_ns) override;
  std::vector<NotCollected> not_collected() const override;

 private:
  // What is asked less often the longer it rests.
  struct Rest {
    uint32_t looks = 0, skip = 0;

    // True if it is not to be asked now; at most every `most`-th look.
    bool Skips();
    void Again(bool rests, size_t most);
  };
  struct Watched {
    explicit Watched(WatchedThread&& one) : thread(std::move(one)) {}

    WatchedThread thread;
    Rest rest;
    int64_t asleep_cpu_ns = -1;  // its process's, when it was last seen asleep
  };
  struct Program {
    pid_t pid = 0;
    clockid_t clock = 0;
    int64_t exec_ns = kNoTime;
    int64_t cpu_ns = 0;
    std::optional<bool> looks_like_python;  // once that was asked
    size_t tries = 0;
    int64_t tried_cpu_ns = 0, next_try_ns = 0;
    SampledRun::Python* python = nullptr;  // in SampledRun::pythons
    std::optional<ProcessCode> code;       // once its threads are looked at
    int64_t since_ns = 0;                  // that it is this program
    bool closed = false;                   // it may not be looked at
    std::vector<Watched> threads;          // by number, rising
    bool asleep = false;                   // all of its threads, at this cpu_ns
    int64_t told_ns = 0;
    Rest rest;
  };

  int64_t About(int64_t time_ns);
  bool FindIsDue(int64_t now_ns) const;
  void FindPythons(int64_t now_ns);
  void Sync(int64_t now_ns);
  void SyncThreads(uint32_t number, Program& program, int64_t now_ns);
  void Forget(uint32_t number, Program& program, int64_t now_ns);
  void Forget(const Program& program, WatchedThread& thread, int64_t now_ns);
  bool WorthATry(Program& program, int64_t now_ns);
  void TryFind(uint32_t number, Program& program, int64_t now_ns);
  void TryCopy(uint32_t number, Program& program, uint32_t copy_of,
               int64_t now_ns);
  void Found(uint32_t number, Program& program, SampledRun::Python python,
             int64_t now_ns);
  void WatchNative(uint32_t number, Program& program, int64_t now_ns);
  void SleepOn(Program& program, int64_t now_ns);
  void LookAt(uint32_t number, Program& program, int64_t now_ns);
  bool ReadStacks(uint32_t number, Program& program, int64_t now_ns);
  uint32_t PutStack(const PythonThread* python);
  void PutRan(int64_t now_ns, const Program& program, WatchedThread& thread,
              uint32_t stack, uint8_t flags);
  void PutSlept(int64_t now_ns, WatchedThread& thread);

  SampledRun& run_;
  const int64_t interval_ns_;
  int64_t next_tick_ns_;
  std::minstd_rand random_;
  std::map<uint32_t, Program> programs_;
  uint64_t seen_changes_ = UINT64_MAX;
  int64_t next_find_ns_;  // at the latest
  int64_t rest_find_ns_;  // not before
  int quiet_looks_ = 0;   // since a thread was seen to have gone to sleep
  std::vector<char> buffer_;
  std::vector<StackFrame> frames_;
  SleepFrames sleep_frames_;
  std::vector<WatchedThread*> running_, sleeping_;  // in the look that goes on
  std::vector<pid_t> own_tids_;
  std::deque<std::pair<int64_t, uint32_t>> ended_;  // when, process
  std::string denied_, denied_cure_;
  std::string unsupported_;
};

}  // namespace sonde

#endif  // SONDE_COLLECT_SAMPLE_STACK_SAMPLER_H_
