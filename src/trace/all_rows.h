#ifndef SONDE_TRACE_ALL_ROWS_H_
#define SONDE_TRACE_ALL_ROWS_H_

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "trace/reader.h"
#include "trace/row_budget.h"
#include "trace/tables.h"

namespace sonde {

// Everything a trace says but its events and counter values: every row as last
// written, by its id, and where the chunks are. For those that go through a
// whole trace; the store reads what a question needs.
//
// A table frame that cannot be read is listed in `damages`, behind those the
// reader found. Points into the reader's list of frames. Look at status()
// first: if the rows are too many, some are missing.
struct AllRows {
  // Argument sets can be most of a trace; who does not need them all at once
  // leaves them out.
  explicit AllRows(const TraceReader& trace, bool with_args = true);

  std::unordered_map<uint32_t, std::string> strings;
  std::map<uint32_t, Track> tracks;  // also those only events tell of
  std::map<uint32_t, Process> processes;
  std::map<uint32_t, Thread> threads;
  std::map<uint32_t, Series> series;
  std::map<uint32_t, StackFrame> frames;
  std::map<uint32_t, StackNode> stacks;
  std::map<uint32_t, ArgSet> args;
  std::map<uint64_t, ClockRow> clocks;
  std::map<uint64_t, LossRow> losses;
  std::map<std::string, MetaEntry> meta;
  std::vector<TrackTotal> given_up;  // see TotalsPart, which 1

  std::map<uint32_t, std::vector<const FrameRef*>> events;    // by track
  std::map<uint32_t, std::vector<const FrameRef*>> counters;  // by group
  std::vector<Damage> damages;

  // An error that names `file` if the rows are more than RowBudget allows.
  Status status(const std::string& file) const { return budget_.status(file); }

 private:
  const bool with_args_;
  RowBudget budget_;
  bool Load(const FrameRef& frame, std::string_view payload);
};

}  // namespace sonde

#endif  // SONDE_TRACE_ALL_ROWS_H_
