// The samples of a run as the profiler of OpenPAI wrote them.

#ifndef SONDE_EXPORT_PAI_TABLE_H_
#define SONDE_EXPORT_PAI_TABLE_H_

#include <string>
#include <vector>

#include "analyze/facts/facts.h"
#include "analyze/series/series.h"

namespace sonde {

// Its columns, all on one grid, in its units. A column that was not collected
// knows no window.
struct PaiTable {
  struct Gpu {
    RegularSeries busy_pct, mem_busy_pct, mem_used_gib, mem_total_gib;
    MaybeNumber mem_peak_pct = {};  // of the whole run's samples
  };

  Grid grid;
  RegularSeries cpu_pct;  // 100 is one core
  RegularSeries mem_used_gib, mem_total_gib;
  RegularSeries read_kib_s, write_kib_s, receive_kib_s, transmit_kib_s;
  std::vector<Gpu> gpus;  // those that tell something, by index

  // The windows [from, to).
  PaiTable Part(size_t from, size_t to) const;
};

// The whole run, in 20000 rows at most.
PaiTable PaiTableOf(const Facts& facts);
// A part of it, as fine as wanted.
PaiTable PaiTableOf(const Facts& facts, const Grid& grid);

// log_result.csv: the header, and a line for each window. What is not known is
// an empty cell. The timestamp is the end of the window, in seconds since the
// start.
std::string PaiHeader(size_t gpus);
std::string PaiLine(const PaiTable& table, size_t window);

}  // namespace sonde

#endif  // SONDE_EXPORT_PAI_TABLE_H_
