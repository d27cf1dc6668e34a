#ifndef SONDE_ANALYZE_SERIES_RUN_SERIES_H_
#define SONDE_ANALYZE_SERIES_RUN_SERIES_H_

#include <string_view>
#include <vector>

#include "analyze/series/counter_pass.h"
#include "analyze/series/counter_scan.h"
#include "analyze/series/series.h"

namespace sonde {

// What a run used over time, all on one grid:
//
//   tree_cpu        cores    of the command and its descendants
//   busiest_thread  cores    of whichever thread is the busiest in a moment
//   tree_system     cores    of tree_cpu, in the kernel
//   tree_wait       cores    threads that were ready and had no core
//   tree_switched   1/s      times they were taken off their core
//   tree_read       bytes/s  from storage, by the tree
//   tree_write      bytes/s
//   tree_read_calls 1/s      calls to read, and what they brought, cache and
//   tree_read_chars bytes/s  pipes included
//   tree_blocked    1        processes with a thread that was blocked, mostly
//                            for a disk
//   tree_sync       1        of tree_blocked, in fsync and its like
//   tree_faults     1/s      pages that had to come from a disk
//   tree_memory     bytes    resident, summed; shared pages count several times
//   tree_file_memory  bytes  of it, pages of files
//   machine_cpu     cores    busy, of the whole machine
//   iowait          cores    idle with a disk request open
//   disk_read       bytes/s  of all disks
//   disk_write      bytes/s
//   disk_busy       share    of the time, of whichever disk is the busiest
//   net_receive     bytes/s  of all interfaces but the loopback
//   net_send        bytes/s
//   psi_cpu         share    of the time in which something waited for it
//   psi_io          share
//   psi_memory      share
//   running         1        tasks of the machine that run or are ready
//   swap_free       bytes
//   cgroup_throttled  share  time in which a limit held its cgroup back
//   cgroup_memory   bytes    of the command's cgroup, and of those beside it
//   cgroup_psi_io   share    (cgroup_sums.h says which, and how)
//   gpu0_busy       share    of each accelerator, from 0; and gpu0_memory_busy,
//                            gpu0_memory, gpu0_memory_total (bytes),
//                            gpu0_clock, gpu0_power, gpu0_temperature;
//                            gpu0_throttle, gpu0_throttle_power and
//                            gpu0_throttle_heat (shares of the time in which it
//                            gave any reason, that one)
//   accelerator     share    the mean of gpuN_busy over the devices that the
//                            run used (device_facts.h); if it used none, over
//                            those that ever work
//
// What was never collected is not there.
struct RunSeries {
  Grid grid;
  std::vector<RegularSeries> all;  // in the order above

  // Null if it was not collected.
  const RegularSeries* Find(std::string_view name) const;
};

// Reads the series of a run on a replay of the counters, which others may
// share; all but `accelerator`. Memory is that of the windows, however long the
// run was. The store must outlive it.
class RunSeriesReader {
 public:
  // `fine`: tree_cpu comes from the counters too, for a grid that is finer than
  // any windows; the CPU's other series are not there.
  RunSeriesReader(const Store& store, const RunSpan& run, const Grid& grid,
                  bool fine = false);

  void Join(CounterReplay& replay);
  // When the replay is over; once. The CPU's series are those of `windows`.
  RunSeries Take(const std::vector<CpuWindow>& windows);

 private:
  Grid grid_;
  std::vector<CounterSum> sources_;
  CounterSums sums_;
};

// tree_cpu without tree_system: the program's own code, without the kernel's
// work for it. All of it if the kernel's part was not collected.
RegularSeries ComputingOf(const RunSeries& series);

}  // namespace sonde

#endif  // SONDE_ANALYZE_SERIES_RUN_SERIES_H_
