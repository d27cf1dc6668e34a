#ifndef SONDE_ANALYZE_PATTERN_RUN_SERIES_H_
#define SONDE_ANALYZE_PATTERN_RUN_SERIES_H_

#include <string_view>
#include <vector>

#include "analyze/facts.h"
#include "analyze/pattern/pattern.h"
#include "analyze/pattern/series.h"

namespace sonde {

// What a run used over time, all on one grid:
//
//   tree_cpu        cores    of the command and its descendants
//   busiest_thread  cores    of whichever thread is the busiest in a moment
//   tree_read       bytes/s  from storage, by the tree
//   tree_write      bytes/s
//   tree_memory     bytes    resident, summed; shared pages count several times
//   machine_cpu     cores    busy, of the whole machine
//   iowait          cores    idle with a disk request open
//   disk_read       bytes/s  of all disks
//   disk_write      bytes/s
//   net_receive     bytes/s  of all interfaces but the loopback
//   net_send        bytes/s
//   psi_cpu         share    of the time in which something waited for it
//   psi_io          share
//   psi_memory      share
//
// What was never collected is not there.
struct RunSeries {
  Grid grid;
  std::vector<RegularSeries> all;  // in the order above

  // Null if it was not collected.
  const RegularSeries* Find(std::string_view name) const;
};

// The CPU's series are those of facts.windows, which the rules judge; the
// others are read from the store in one pass over the chunks of `range`. Memory
// is that of the windows, however long the run was. A part of the run has finer
// windows than the whole, down to those of facts.windows.
RunSeries RunSeriesOf(const Facts& facts, TimeRange range = {},
                      size_t max_windows = Grid::kMaxWindows);

// What is known about the full scale and limit of one of these series.
// `held_back` is not: throttled time is not among them.
PatternContext ContextOf(const Facts& facts, const RegularSeries& series);

}  // namespace sonde

#endif  // SONDE_ANALYZE_PATTERN_RUN_SERIES_H_
