#include "trace/all_rows.h"

namespace sonde {
namespace {

// Most of those who go through a trace keep a new id for each row.
constexpr size_t kNewId = 48;

}  // namespace

AllRows::AllRows(const TraceReader& trace, bool with_args)
    : damages(trace.damages()), budget_(trace) {
  std::string payload;
  for (const FrameRef& frame : trace.frames()) {
    if (budget_.over()) return;
    if (frame.kind == FrameKind::kEvents) {
      const auto [list, fresh] = events.try_emplace(frame.events.track);
      list->second.push_back(&frame);
      budget_.Keep(16);
      if (fresh && tracks.try_emplace(frame.events.track).second)
        budget_.KeepNode(sizeof(Track) + 200);
    } else if (frame.kind == FrameKind::kCounters) {
      const auto [list, fresh] = counters.try_emplace(frame.counters.group);
      list->second.push_back(&frame);
      budget_.Keep(fresh ? 100 : 16);
    } else if (frame.kind == FrameKind::kSamples) {
      samples.push_back(&frame);
      budget_.Keep(16);
    } else if (frame.kind == FrameKind::kArgs && !with_args) {
      continue;
    } else if (!trace.Read(frame, payload) ||
               (budget_.Unpack(payload.size()) &&
                !Load(frame.kind, payload, budget_, kNewId))) {
      damages.push_back(
          {frame.journal, frame.offset, frame.size, "damaged content"});
    }
  }
}

}  // namespace sonde
