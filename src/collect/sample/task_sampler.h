#ifndef SONDE_COLLECT_SAMPLE_TASK_SAMPLER_H_
#define SONDE_COLLECT_SAMPLE_TASK_SAMPLER_H_

#include <fmt/format.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "collect/proc/proc_file.h"
#include "collect/sample/sampled_run.h"
#include "collect/sample/task_counters.h"
#include "collect/sample/task_state.h"
#include "collect/sample/thread_states.h"
#include "trace/sources.h"

namespace sonde {

// Reads the counters of the processes and threads of a tree, all in one
// wake-up, with the true time of the reading.
//
//  - A process whose CPU clock did not move since the last tick costs one clock
//    read and no file. A process that used less than 2 % of a core since its
//    files were read has its CPU time in every tick and the rest four times a
//    second.
//  - A value that cannot be read is absent, never 0.
//  - Tells the run what the tree has used, and which processes ran.
//
// What is read when stands in task_sampler.cc; how files are read, in
// task_files.cc; what there is to read, in task_sources.cc. One thread. Does
// not own the run.
class TaskSampler : public Gatherer {
 public:
  explicit TaskSampler(SampledRun& run);

  void Poll(int64_t now_ns) override;
  std::vector<NotCollected> not_collected() const override;

 private:
  struct Pending {
    uint32_t series;
    int64_t value;
  };

  ProcessState* FindPid(pid_t pid);
  void Sync(int64_t now_ns);
  void TellUsed();
  void SyncThreads(ProcessState& process, const ProcessTree::Live& live);
  void CloseFiles(ThreadState& thread);
  void EndThread(ProcessState& process, ThreadState& thread);
  template <size_t n>
  void EndSeries(const std::array<Counter, n>& table,
                 const std::array<uint32_t, n>& series);
  template <size_t n>
  uint32_t SeriesOf(const std::array<Counter, n>& table,
                    std::array<uint32_t, n>& series, size_t counter,
                    Series::Scope scope, uint32_t scope_id);
  void Put(ProcessState& process, ProcessCounter counter, uint64_t value);
  void Put(ThreadState& thread, ThreadCounter counter, uint64_t value);
  void SampleProcess(ProcessState& process);
  void SampleFiles(ProcessState& process);
  void SampleThread(ProcessState& process, ThreadState& thread);
  void SampleSwitches(ProcessState& process);
  void SampleStates(int64_t now_ns);
  void SamplePss(ProcessState& process, int64_t now_ns);
  std::string_view Read(ProcFile& file, pid_t pid, pid_t tid, const char* name,
                        int* error = nullptr);
  const char* Path(pid_t pid, pid_t tid, const char* name);

  SampledRun& run_;
  TraceWriter& out_;
  ProcessTree& tree_;
  const int64_t slack_ns_;
  const int64_t page_bytes_ = ::sysconf(_SC_PAGESIZE);
  const int64_t ns_per_tick_ = kNsPerSec / std::max(1L, ::sysconf(_SC_CLK_TCK));
  FdBudget& budget_;
  const std::array<uint32_t, kPaces> groups_;
  ThreadStates states_;
  std::map<uint32_t, ProcessState> processes_;
  SampledRun::Used ended_;  // by processes that are gone
  uint64_t seen_changes_ = UINT64_MAX;
  int64_t next_switches_ns_ = 0;
  int64_t pss_credit_ns_ = 0;
  int64_t last_tick_ns_ = 0;
  int64_t tick_ns_ = 0;  // when the tick that is open began to read
  std::vector<uint32_t> gone_, slow_gone_;
  std::vector<Pending> slow_;
  std::vector<char> buffer_;
  fmt::memory_buffer path_;
  bool io_denied_ = false;
  bool pss_denied_ = false;
};

template <size_t n>
uint32_t TaskSampler::SeriesOf(const std::array<Counter, n>& table,
                               std::array<uint32_t, n>& series, size_t counter,
                               Series::Scope scope, uint32_t scope_id) {
  if (series[counter] == 0) {
    Series row = SampledSeries(table[counter].name, source::kTasks,
                               groups_[table[counter].pace], out_);
    row.scope = scope;
    row.scope_id = scope_id;
    series[counter] = out_.AddSeries(row);
  }
  return series[counter];
}

}  // namespace sonde

#endif  // SONDE_COLLECT_SAMPLE_TASK_SAMPLER_H_
