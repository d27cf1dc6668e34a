#ifndef SONDE_TRACE_COPY_H_
#define SONDE_TRACE_COPY_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "trace/all_rows.h"
#include "trace/writer.h"

namespace sonde {

// What of a trace is taken. What is not set is taken whole.
struct CopyRange {
  // How many events of a track, counted from its first ever. Nothing: not even
  // its row.
  std::function<std::optional<uint64_t>(const Track&)> events;
  std::function<uint64_t(uint32_t group)> ticks;
  std::function<bool(const Series&)> series;
  std::function<bool(uint64_t ordinal, const Loss&)> losses;
};

// What became of it.
//
// Ids are given anew, in the old order. Where nothing was damaged or left out
// they are the same: up to `same_…` every one is.
struct Copied {
  uint32_t same_strings = 0, same_tracks = 0, same_series = 0;
  uint64_t same_losses = 0;
  std::map<uint32_t, Process> processes;  // as they were written
  std::map<uint32_t, Thread> threads;
  std::map<uint32_t, uint32_t> tracks;   // old id -> new
  std::map<uint32_t, int64_t> last_end;  // by new track
  // Frames of stacks that no symbol names: old id, new id.
  std::vector<std::pair<uint32_t, uint32_t>> unnamed;
  int64_t last_ns = kNoTime;    // the latest tick or end of an event
  std::vector<Damage> damages;  // `rows` and chunks
};

// Adds everything `rows` and the chunks of `from` say to `to`, which must be
// new. `rows` need not have the argument sets: they are read frame by frame.
// One chunk is in memory at a time. Failures to write show in `to`.
Copied CopyTrace(const TraceReader& from, const AllRows& rows,
                 const CopyRange& range, TraceWriter& to);

}  // namespace sonde

#endif  // SONDE_TRACE_COPY_H_
