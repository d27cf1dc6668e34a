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
#include "collect/gpu/device_sampler.h"
#include "collect/proc/proc_file.h"
#include "collect/sample/cgroup_sampler.h"
#include "collect/sample/machine_sampler.h"
#include "collect/sample/neighbours.h"
#include "collect/sample/process_places.h"
#include "collect/sample/sampler.h"
#include "collect/sample/task_counters.h"
#include "collect/sample/task_state.h"
#include "collect/sample/thread_states.h"

namespace sonde {

// The sampler of sampler.h. What is read when stands in task_sampler.cc; how
// the files of processes and threads are read, in task_files.cc.
class TaskSampler : public Sampler {
 public:
  TaskSampler(TraceWriter& out, ProcessTree& tree, const Options& options);

  void Tick(int64_t now_ns) override;
  void Finish() override;
  int64_t EndHelpers() override { return devices_.EndHelpers(); }
  Used used() const override;
  std::vector<NotCollected> not_collected() const override;

 private:
  struct Pending {
    uint32_t series;
    int64_t value;
  };

  ProcessState* FindPid(pid_t pid);
  void Sync(int64_t now_ns);
  void FindPlaces();
  void LookAtNeighbours(int64_t now_ns, bool last);
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

  TraceWriter& out_;
  ProcessTree& tree_;
  const int64_t slack_ns_;
  const int64_t page_bytes_ = ::sysconf(_SC_PAGESIZE);
  const int64_t ns_per_tick_ = kNsPerSec / std::max(1L, ::sysconf(_SC_CLK_TCK));
  FdBudget budget_;
  MachineSampler machine_;
  CgroupSampler cgroup_;
  ProcessPlaces places_;
  DeviceSampler devices_;
  ThreadStates states_;
  Neighbours neighbours_;
  std::map<uint32_t, ProcessState> processes_;
  Used ended_;  // by processes that are gone
  uint64_t seen_changes_ = UINT64_MAX;
  int64_t next_machine_ns_ = 0;
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
    Series row;
    row.group = table[counter].group;
    row.scope = scope;
    row.scope_id = scope_id;
    row.name = out_.Intern(table[counter].name);
    row.unit = out_.Intern(table[counter].unit);
    row.kind = table[counter].kind;
    series[counter] = out_.AddSeries(row);
  }
  return series[counter];
}

}  // namespace sonde

#endif  // SONDE_COLLECT_SAMPLE_TASK_SAMPLER_H_
