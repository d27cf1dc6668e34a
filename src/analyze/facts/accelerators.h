#ifndef SONDE_ANALYZE_FACTS_ACCELERATORS_H_
#define SONDE_ANALYZE_FACTS_ACCELERATORS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "analyze/facts/facts.h"
#include "analyze/series/series.h"

namespace sonde {

// One accelerator that the run used, in the part of the run that is judged.
struct Accelerator {
  const DeviceFacts* facts = nullptr;
  bool own = false;      // surely the run's, see below
  RegularSeries busy;    // share; empty if the device does not tell it
  RegularSeries memory;  // share of its memory; empty likewise
  double busy_mean = 0;  // of the known windows
  double memory_mean = 0;

  bool busy_known() const { return busy.KnownCount() > 0; }
  bool memory_known() const { return memory.KnownCount() > 0; }
  // "GPU 0 (Simulated GPU)". Safe to print.
  std::string Call() const;
};

// The accelerators that a run used (UsedDevices), without its start-up and its
// winding down: the time before an accelerator first works at half its usual
// level, and after the last time. At most half of the run is left out at its
// begin (programs of this kind load for long), and a fifth at its end.
struct Accelerators {
  std::vector<Accelerator> used;  // none: rules about accelerators are silent
  Grid grid;                      // of the part that is judged
  RegularSeries idle;  // mean of 1 - busy, over devices that tell busy
  int64_t from_ns = 0;
  int64_t to_ns = 0;
  // Why nothing can be said of the accelerators; empty if something can be
  // said, or none was used.
  std::string not_enough_data;

  bool judged() const { return !used.empty() && not_enough_data.empty(); }
  bool busy_known() const { return idle.KnownCount() > 0; }
  // Share of the judged time in which the accelerators had nothing to do.
  double IdleShare() const { return idle.Mean(); }
  // The accelerators are kWellUsed, and surely by the run, so that the CPU is
  // not what limits the run.
  bool WellUsed() const;
  // Length of their judged part by all that is judged.
  double OfRun(const Facts& facts) const;
  // Leaves out accelerators that `test` is not true of.
  void Keep(const std::function<bool(const Accelerator&)>& test);
  // Mean of another series of the run while the accelerators had nothing to do,
  // weighed by their idle share, so that pauses shorter than a window count.
  MaybeNumber WhileIdle(const Facts& facts, const char* series) const;
  // Share of the judged windows that `test` is true of, among the windows that
  // the series knows. Nothing if the series knows none.
  MaybeNumber ShareWhere(const Facts& facts, const char* series,
                         const std::function<bool(double)>& test) const;
};

Accelerators AcceleratorsOf(const Facts& facts);

// "GPU 0", "GPU 0 and 1", "GPU 0, 1 and 3": for a sentence.
std::string CallDevices(const std::vector<const Accelerator*>& devices);

}  // namespace sonde

#endif  // SONDE_ANALYZE_FACTS_ACCELERATORS_H_
