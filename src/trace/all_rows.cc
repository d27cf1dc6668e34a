#include "trace/all_rows.h"

#include <utility>

namespace sonde {
namespace {

template <typename Row, typename Key, typename KeyOf>
bool LoadRows(std::string_view payload, std::map<Key, Row>& rows,
              KeyOf key_of) {
  return DecodeRows<Row>(payload, [&](Row row) {
    const Key key = key_of(row);
    rows.insert_or_assign(key, std::move(row));
  });
}

}  // namespace

AllRows::AllRows(const TraceReader& trace, bool with_args)
    : damages(trace.damages()), with_args_(with_args) {
  std::string payload;
  for (const FrameRef& frame : trace.frames()) {
    if (frame.kind == FrameKind::kEvents) {
      events[frame.events.track].push_back(&frame);
      tracks.try_emplace(frame.events.track);
    } else if (frame.kind == FrameKind::kCounters) {
      counters[frame.counters.group].push_back(&frame);
    } else if (frame.kind == FrameKind::kArgs && !with_args_) {
      continue;
    } else if (!trace.Read(frame, payload) || !Load(frame, payload)) {
      damages.push_back(
          {frame.journal, frame.offset, frame.size, "damaged content"});
    }
  }
}

bool AllRows::Load(const FrameRef& frame, std::string_view payload) {
  switch (frame.kind) {
    case FrameKind::kStrings: {
      StringRun run;
      if (!DecodeStrings(payload, run)) return false;
      for (size_t i = 0; i < run.strings.size(); ++i)
        strings[run.first_id + static_cast<uint32_t>(i)] = run.strings[i];
      return true;
    }
    case FrameKind::kTracks:
      return LoadRows(payload, tracks, [](auto& row) { return row.id; });
    case FrameKind::kProcesses:
      return LoadRows(payload, processes, [](auto& row) { return row.number; });
    case FrameKind::kThreads:
      return LoadRows(payload, threads, [](auto& row) { return row.number; });
    case FrameKind::kSeries:
      return LoadRows(payload, series, [](auto& row) { return row.id; });
    case FrameKind::kStacks:
      return DecodeRows<StackRow>(payload, [&](const StackRow& row) {
        if (row.is_frame)
          frames[row.id] = row.frame;
        else
          stacks[row.id] = row.node;
      });
    case FrameKind::kArgs:
      return LoadRows(payload, args, [](auto& row) { return row.id; });
    case FrameKind::kClocks:
      return LoadRows(payload, clocks, [](auto& row) { return row.ordinal; });
    case FrameKind::kLosses:
      return LoadRows(payload, losses, [](auto& row) { return row.ordinal; });
    case FrameKind::kMeta:
      return LoadRows(payload, meta, [](auto& row) { return row.key; });
    case FrameKind::kTotals: {
      TotalsPart part;
      if (!DecodeTotals(payload, part)) return false;
      if (part.which != 1) return true;
      if (part.part == 0) given_up.clear();
      return DecodeRows<TrackTotal>(part.rows, [&](TrackTotal row) {
        given_up.push_back(std::move(row));
      });
    }
    default:
      return true;
  }
}

}  // namespace sonde
