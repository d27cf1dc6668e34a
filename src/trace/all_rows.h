#ifndef SONDE_TRACE_ALL_ROWS_H_
#define SONDE_TRACE_ALL_ROWS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "trace/rows.h"

namespace sonde {

// Everything a trace says but its events, counter values and samples: its rows,
// and where the chunks are. For those that go through a whole trace; the store
// reads what a question needs.
//
// A table frame that cannot be read is listed in `damages`, behind those the
// reader found. Points into the reader's list of frames. Look at status()
// first: if the rows are too many, some are missing.
struct AllRows : Rows {
  // Argument sets can be most of a trace; who does not need them all at once
  // leaves them out. `tracks` also has those that only events tell of.
  explicit AllRows(const TraceReader& trace, bool with_args = true);

  std::map<uint32_t, std::vector<const FrameRef*>> events;    // by track
  std::map<uint32_t, std::vector<const FrameRef*>> counters;  // by group
  std::vector<const FrameRef*> samples;
  std::vector<Damage> damages;

  // An error that names `file` if the rows are more than RowBudget allows.
  Status status(const std::string& file) const { return budget_.status(file); }

 private:
  RowBudget budget_;
};

}  // namespace sonde

#endif  // SONDE_TRACE_ALL_ROWS_H_
