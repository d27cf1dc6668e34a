// From tables to numbers: what a recording says about its run, its processes
// and the machine, before anybody judges it.

#ifndef SONDE_ANALYZE_FACTS_FACTS_H_
#define SONDE_ANALYZE_FACTS_FACTS_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "analyze/facts/annotation_facts.h"
#include "analyze/facts/cgroup_facts.h"
#include "analyze/facts/device_facts.h"
#include "analyze/facts/function_facts.h"
#include "analyze/facts/neighbour_facts.h"
#include "analyze/facts/session_events.h"
#include "analyze/series/counter_scan.h"
#include "analyze/series/series.h"
#include "analyze/series/span.h"
#include "store/store.h"

namespace sonde {

// What a process or thread did to the disks and files, as far as collected.
struct IoFacts {
  MaybeNumber read_bytes, write_bytes;  // of storage
  MaybeNumber read_chars, write_chars;  // through system calls, cache included
  MaybeNumber read_calls, write_calls;
};

// One thread over its life.
struct ThreadFacts {
  Thread row;
  std::string name;
  int64_t wall_ns = 0;
  MaybeNs cpu_ns;
  MaybeNs wait_ns;         // ready to run, but no core was free
  MaybeNs judged_wait_ns;  // of that, in the part that is judged
  // In the kernel, deaf to signals, mostly for a disk; estimated from looks.
  MaybeNs blocked_ns;
  // The system call in which the thread was last seen asleep, by its number.
  MaybeNumber sleeps_in;
  MaybeNumber cpu_share;  // of the run's CPU time
  MaybeNumber cores_used;
  MaybeNumber voluntary_switches, involuntary_switches;
};

// One process over its life. `sampled` is false if no CPU value of the process
// was ever read, because it was gone before the next tick.
struct ProcessFacts {
  Process row;
  std::string name;
  std::string cmdline;
  bool sampled = false;
  int64_t wall_ns = 0;
  MaybeNs cpu_ns;
  bool cpu_exact = false;  // from the kernel's account at its exit
  MaybeNs user_ns, system_ns;
  MaybeNumber cpu_share;   // of the run's CPU time
  MaybeNumber cores_used;  // CPU time by its own wall time
  MaybeNumber rss_peak_bytes, pss_peak_bytes, threads_peak;
  MaybeNumber minor_faults, major_faults;
  MaybeNumber voluntary_switches, involuntary_switches;
  // Time in which at least one of its threads was blocked (see ThreadFacts),
  // and of that, in calls that wait until data is on the disk.
  MaybeNs blocked_ns, sync_ns;
  IoFacts io;
  std::vector<ThreadFacts> threads;  // most CPU first
};

// Processes of one name that were too short to be sampled, together.
struct ShortProcesses {
  std::string name;
  uint64_t count = 0;
  uint64_t failed = 0;        // exit status other than 0, or a signal
  uint64_t exit_unknown = 0;  // of `count`: nobody told how they ended
  uint64_t cpu_unknown = 0;   // of `count`: CPU time not collected
  int64_t wall_ns = 0;        // sum of their lives
  MaybeNs cpu_ns;             // sum of those that are known
  MaybeNumber cpu_share;
  MaybeNumber cores_used;
};

// The machine during the run. Cores are means over the time that was sampled:
// 1.5 is one and a half cores' worth of time.
struct MachineFacts {
  uint32_t cores = 0;  // cores whose times were sampled
  MaybeNs covered_ns;  // of the run: the time for which core times are known
  // other_cores is the difference of two accounts, and absent if these are
  // known for less than half of the run, or contradict each other.
  MaybeNumber busy_cores, other_cores, iowait_cores, steal_cores;
  MaybeNumber mem_total_bytes, mem_peak_bytes, swap_total_bytes,
      swap_peak_bytes;
  MaybeNumber disk_read_bytes, disk_write_bytes, net_rx_bytes, net_tx_bytes;
  MaybeNumber disk_reads;  // requests to the disks
  // Shares of the time in which something waited (pressure).
  MaybeNumber psi_cpu_some, psi_io_some, psi_memory_some;
  MaybeNumber load1_peak;
  MaybeNumber oom_kills;        // for lack of memory, in any container
  MaybeNs oom_seen_ns;          // when the last such kill was seen
  MaybeNumber shm_total_bytes;  // the size of /dev/shm
};

// The run as a whole.
struct RunFacts : RunSpan {
  int64_t paused_ns = 0;   // of wall_ns: collection was paused
  MaybeNs delay_ns;        // `--delay`: nothing was to be sampled before
  int64_t sampled_ns = 0;  // of wall_ns: samples cover it
  MaybeNs steady_ns;       // `--delay auto` found the start-up over then
  MaybeNs cpu_ns;
  // The part of wall_ns that cpu_ns covers: all, unless nobody saw what the
  // processes used at the begin (they ran already) or at the end (sonde was
  // killed).
  int64_t cpu_wall_ns = 0;
  // Where cpu_ns comes from: "rusage" (the kernel's account of the command and
  // its waited-for descendants) or "processes" (the sum over the processes
  // seen).
  std::string cpu_from;
  // cpu_ns less what is charged to processes. Never negative.
  MaybeNs unattributed_cpu_ns;
  MaybeNumber cores;          // of the machine
  MaybeNumber allowed_cores;  // the affinity mask lets it use
  MaybeNumber cpu_limit_cores;
  // min of the two above: what the run can use. Absent if not known.
  MaybeNumber capacity_cores;
  MaybeNumber cores_used;  // cpu_ns / cpu_wall_ns
  // The kernel's account: the most memory that one process had, of the command
  // and the descendants it waited for.
  MaybeNumber max_rss_bytes;
};

// The part of the run that the verdict is about: what comes after
// judged_from_ns, as far as samples cover it; without that moment, the whole
// run.
struct JudgedFacts {
  int64_t wall_ns = 0;
  int64_t known_ns = 0;  // of that, samples cover it: no pause, nothing lost
  MaybeNumber cores_used, other_cores;
};

// What recording cost.
struct OverheadFacts {
  MaybeNs cpu_ns;
  MaybeNumber share_of_core;  // cpu_ns by the run's wall time
  MaybeNumber rss_bytes;
  int64_t trace_bytes = 0;
};

struct RunSeries;

// Everything above, of one trace.
//
//  - Parts sum to the whole: CPU of processes, of short_processes and the
//    unattributed rest is run.cpu_ns.
//  - Values that no machine could have produced (negative, not a number, more
//    than 30 years) are left out, as if not collected.
//
// Plain data; FactsOf reads each counter chunk once and keeps none of it.
struct Facts {
  std::shared_ptr<const Store> store;
  RunFacts run;
  JudgedFacts judged;
  std::vector<ProcessFacts> processes;          // most CPU first
  std::vector<ShortProcesses> short_processes;  // most CPU first
  MachineFacts machine;
  std::vector<Neighbour> neighbours;  // most first; none: nobody was seen
  std::vector<CgroupFacts> cgroups;   // none: no container, or not collected
  std::vector<CpuWindow> windows;
  // What it used over time: analyze/series/run_series.h. Never null.
  std::shared_ptr<const RunSeries> series;
  std::vector<DeviceFacts> devices;  // accelerators, by index
  uint64_t ticks = 0;                // how often the processes were sampled
  AnnotationFacts said;
  CodeFacts code;           // where in the code its time went
  std::vector<Mark> marks;  // in time order
  OverheadFacts overhead;

  // The recording was over before its `--delay` was: nothing was sampled.
  bool EndedInDelay() const {
    return run.delay_ns && store->counter_chunks().empty();
  }
  // What gains are shares of: the time that rules could judge, so that a pause
  // is neither won nor lost; the run's if nothing is known. Above 0.
  double JudgedNs() const {
    return static_cast<double>(std::max<int64_t>(
        1, judged.known_ns > 0 ? judged.known_ns : run.wall_ns));
  }
  // Null if there is no such row.
  const ProcessFacts* FindProcess(uint32_t number) const;
  const ThreadFacts* FindThread(uint32_t process, uint32_t thread) const;
};

// Joins the replay that reads the facts' counters, with what else a caller
// needs of them. `grid` is that of the windows.
using AlsoRead = std::function<void(const RunSpan& run, const Grid& grid,
                                    CounterReplay& replay)>;

Facts FactsOf(std::shared_ptr<const Store> store, const AlsoRead& also = {});

}  // namespace sonde

#endif  // SONDE_ANALYZE_FACTS_FACTS_H_
