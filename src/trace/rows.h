#ifndef SONDE_TRACE_ROWS_H_
#define SONDE_TRACE_ROWS_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/id_table.h"
#include "trace/reader.h"
#include "trace/row_budget.h"
#include "trace/sources.h"
#include "trace/tables.h"

namespace sonde {

template <typename Row>
using RowsById = std::map<uint32_t, Row>;

// What the rows of a trace say: every row as last written, by its key. The only
// place where frames become rows.
struct Rows {
  IdTable<std::string> strings;
  RowsById<Track> tracks;
  RowsById<Process> processes;
  RowsById<Thread> threads;
  RowsById<Series> series;
  PlainTables<RowsById> plain;
  IdTable<StackFrame> frames;
  IdTable<StackNode> stacks;
  std::map<std::pair<uint32_t, uint32_t>, Symbol> symbols;  // frame, depth
  std::map<uint32_t, std::vector<Arg>> args;
  std::map<uint64_t, ClockPair> clocks;  // by ordinal, as the next two
  std::map<uint64_t, Loss> losses;
  std::map<uint64_t, NotCollected> not_collected;
  std::map<std::string, std::string, std::less<>> meta;
  // What each name cost on each track: over the whole trace, if it was
  // finished, and of the events that were given up.
  std::vector<TrackTotal> totals, given_up;
  bool has_totals = false;
  std::vector<SampleSum> given_up_samples;

  // Takes in a frame that is no chunk; kinds it does not know are left out.
  // False if the frame is damaged: what stands before the damage was taken.
  // Rows that `budget` refuses are not kept. `heap` is what the caller will
  // spend on each row besides.
  bool Load(FrameKind kind, std::string_view payload, RowBudget& budget,
            size_t heap = 0);

  // The rows of a plain kind: Of<Device>().
  template <typename Row>
  const RowsById<Row>& Of() const {
    return std::get<RowsById<Row>>(plain);
  }
  // "" for 0, "?" for an id whose string was lost.
  std::string_view Str(uint32_t id) const {
    const std::string* const text = strings.Find(id);
    return text ? std::string_view(*text) : id == 0 ? "" : "?";
  }
  // Whether the program, or somebody on its behalf, made it, not the collector.
  template <typename Row>
  bool OfProgram(const Row& row) const {
    return !OfCollector(Str(row.source));
  }

 private:
  bool LoadTotals(std::string_view payload, RowBudget& budget);
  uint64_t totals_parts_ = 0, given_up_parts_ = 0;  // taken in, one by one
};

}  // namespace sonde

#endif  // SONDE_TRACE_ROWS_H_
