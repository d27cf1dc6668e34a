#ifndef SONDE_ANALYZE_SERIES_COUNTER_SCAN_H_
#define SONDE_ANALYZE_SERIES_COUNTER_SCAN_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyze/series/span.h"
#include "store/counter_replay.h"

namespace sonde {

// One series over the whole recording. Values that cannot be are not counted.
struct SeriesStat {
  uint64_t values = 0;
  double first = 0, last = 0, min = 0, max = 0;
  int64_t first_ns = 0;    // tick of the first value
  int64_t last_ns = 0;     // tick of the last change
  int64_t covered_ns = 0;  // from the first value to its group's last tick
  // The value at run.judged_from_ns; if the process, thread or device was there
  // then but had no value yet, its first value.
  std::optional<double> at_judged;

  void Add(double value, int64_t now_ns);
};

// Of a series that Scan::Find() returned; nothing of null. By how much it grew,
// its greatest value, and of a total of nanoseconds the share of its time.
MaybeNumber GrowthOf(const SeriesStat* stat);
MaybeNumber PeakOf(const SeriesStat* stat);
MaybeNumber ShareOf(const SeriesStat* stat);

// Amounts spread evenly over the time they took, summed by window of a grid.
// An amount costs the same whether it lasts one window or thousands.
class SpanSum {
 public:
  SpanSum(int64_t begin_ns, int64_t end_ns, int64_t width_ns);

  // What lies outside the grid is put to its border.
  void Add(int64_t from_ns, int64_t to_ns, double amount);
  // The sums. Nothing may be added afterwards.
  std::vector<double> Take();

  size_t size() const { return sums_.size() - 1; }
  size_t WindowOf(int64_t ns) const;

 private:
  int64_t begin_ns_, end_ns_, width_ns_;
  std::vector<double> sums_, slope_;  // one more than there are windows
};

// What happened in one short stretch of the run. All windows are equally long
// but the last.
struct CpuWindow {
  int64_t from_ns = 0;
  int64_t to_ns = 0;
  bool known = false;     // samples cover it, and it was not paused
  bool judged = false;    // known, and the verdict is about it
  double tree_cores = 0;  // by the command and its descendants
  // The busiest thread; a process without thread values counts as one thread.
  uint32_t process = 0;
  uint32_t thread = 0;  // 0: the process as a whole
  double thread_cores = 0;
  double thread_wait_cores = 0;  // ready, but waiting for a core
  double second_cores = 0;       // the busiest but one
  bool machine_known = false;
  double busy_cores = 0, idle_cores = 0, iowait_cores = 0, steal_cores = 0;
};

// What the samplers' counters say of a run: the extremes of every series, and
// who used the cores in each window. What programs count is not here.
struct Scan {
  std::unordered_map<uint32_t, SeriesStat> stats;  // by series id
  std::vector<CpuWindow> windows;
  uint64_t ticks = 0;                           // of processes
  int64_t first_tick_ns = 0, last_tick_ns = 0;  // of these

  // Null if the series does not exist or never had a value.
  const SeriesStat* Find(Series::Scope scope, uint32_t id,
                         std::string_view name) const;
  // All series of a name, over the labels: the sum of last - first.
  MaybeNumber GrowthOfMachine(std::string_view name) const;

  // By scope, scope id and name; filled by Scanner. A name is known here
  // by its own number: a writer may have interned it twice.
  std::map<std::string, uint32_t, std::less<>> names;
  std::unordered_map<uint64_t, std::vector<uint32_t>> index;
};

// How long the windows of a run are: a tenth of a second, more in long runs and
// less in short ones, but no less than the time between two samples. Nothing is
// decoded for it.
int64_t WindowWidth(const Store& store, const RunSpan& run);

// Makes a Scan on a replay of the counters, which others may share. Where ticks
// are missing nothing is known: a total's growth over a hole is in its series'
// extremes, but in no window. The store must outlive it.
class Scanner {
 public:
  Scanner(const Store& store, const RunSpan& run, int64_t width_ns);
  ~Scanner();

  void Join(CounterReplay& replay);
  // When the replay is over; once.
  Scan Take();

 private:
  class Handler;
  std::unique_ptr<Handler> handler_;
};

}  // namespace sonde

#endif  // SONDE_ANALYZE_SERIES_COUNTER_SCAN_H_
