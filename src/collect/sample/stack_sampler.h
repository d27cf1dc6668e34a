#ifndef SONDE_COLLECT_SAMPLE_STACK_SAMPLER_H_
#define SONDE_COLLECT_SAMPLE_STACK_SAMPLER_H_

#include <sys/types.h>
#include <time.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "collect/proc/proc_file.h"
#include "collect/sample/sampled_run.h"
#include "collect/sample/ticks.h"
#include "collect/stacks/python_process.h"

namespace sonde {

// Samples where in their code the Python programs of a tree are, from outside:
// no signal, no ptrace, nothing is put into them.
//
//  - A look reads the stacks of threads that are running or ready and that have
//    used CPU time since they were last sampled; the sample stands for this
//    time. What a thread used before it was found asleep counts where it is
//    next seen at work.
//  - CPU time of a thread that runs no Python, and what is left at the end,
//    belongs to a sample without a stack. A process that is no Python, and one
//    that used less than 50 ms, is not looked at.
//  - Looks cost at most 2 % of a core: they become rarer, and what they stand
//    for longer.
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
  struct Watched {
    uint32_t number = 0;
    pid_t tid = 0, own_tid = 0;
    ProcFile schedstat, stat;
    uint64_t run_ns = 0;      // so far, as last read
    uint64_t pending_ns = 0;  // of that, in no sample yet
  };
  struct Program {
    pid_t pid = 0;
    clockid_t clock = 0;
    int64_t exec_ns = kNoTime;
    int64_t cpu_ns = 0;
    int tries = 0;
    int64_t next_try_ns = 0;
    std::optional<PythonProcess> python;
    std::vector<Watched> threads;
  };

  void Sync();
  void Forget(Program& program, int64_t now_ns);
  void TryFind(uint32_t number, Program& program, int64_t now_ns);
  void SyncThreads(uint32_t number, Program& program);
  void LookAt(Program& program, int64_t now_ns);
  bool ReadUsed(const Program& program, Watched& thread);
  bool IsReady(const Program& program, Watched& thread);
  void Put(int64_t now_ns, Watched& thread, const PythonThread* python);
  const char* Path(pid_t pid, pid_t tid, const char* name);

  SampledRun& run_;
  Ticks ticks_;
  std::map<uint32_t, Program> programs_;
  uint64_t seen_changes_ = UINT64_MAX;
  std::vector<char> buffer_;
  std::string path_;
  std::vector<StackFrame> frames_;
  std::string denied_, denied_cure_;
  std::string unsupported_;
};

}  // namespace sonde

#endif  // SONDE_COLLECT_SAMPLE_STACK_SAMPLER_H_
