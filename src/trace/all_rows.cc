#include "trace/all_rows.h"

#include <utility>

namespace sonde {
namespace {

// Rows of a frame by their keys; `heap_of` says what a row takes elsewhere.
template <typename Row, typename Key, typename KeyOf, typename HeapOf>
bool LoadRows(std::string_view payload, RowBudget& budget,
              std::map<Key, Row>& rows, KeyOf key_of, HeapOf heap_of) {
  return DecodeRows<Row>(payload, [&](Row row) {
    const Key key = key_of(row);
    // Twice: most of those who go through a trace keep a new id for each.
    if (!rows.contains(key) && !budget.KeepNode(sizeof(Row) + sizeof(Key) + 56))
      return;
    if (budget.Keep(heap_of(row))) rows.insert_or_assign(key, std::move(row));
  });
}

template <typename Row, typename Key, typename KeyOf>
bool LoadRows(std::string_view payload, RowBudget& budget,
              std::map<Key, Row>& rows, KeyOf key_of) {
  return LoadRows(payload, budget, rows, key_of,
                  [](const Row&) { return size_t{0}; });
}

}  // namespace

AllRows::AllRows(const TraceReader& trace, bool with_args)
    : damages(trace.damages()), with_args_(with_args), budget_(trace) {
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
    } else if (frame.kind == FrameKind::kArgs && !with_args_) {
      continue;
    } else if (!trace.Read(frame, payload)) {
      damages.push_back(
          {frame.journal, frame.offset, frame.size, "damaged content"});
    } else if (budget_.Unpack(payload.size()) && !Load(frame, payload)) {
      damages.push_back(
          {frame.journal, frame.offset, frame.size, "damaged content"});
    }
  }
}

bool AllRows::Load(const FrameRef& frame, std::string_view payload) {
  const auto id_of = [](const auto& row) { return row.id; };
  const auto number_of = [](const auto& row) { return row.number; };
  const auto ordinal_of = [](const auto& row) { return row.ordinal; };
  switch (frame.kind) {
    case FrameKind::kStrings:
      return DecodeStrings(payload, [&](uint32_t id, std::string_view text) {
        if (budget_.KeepNode(sizeof(std::string) + HeapBytes(text.size())))
          strings[id] = text;
      });
    case FrameKind::kTracks:
      return LoadRows(payload, budget_, tracks, id_of);
    case FrameKind::kProcesses:
      return LoadRows(payload, budget_, processes, number_of);
    case FrameKind::kThreads:
      return LoadRows(payload, budget_, threads, number_of);
    case FrameKind::kSeries:
      return LoadRows(payload, budget_, series, id_of);
    case FrameKind::kStacks:
      return DecodeRows<StackRow>(payload, [&](const StackRow& row) {
        if (!budget_.KeepNode(sizeof(StackFrame) + 56)) return;
        if (row.is_frame)
          frames[row.id] = row.frame;
        else
          stacks[row.id] = row.node;
      });
    case FrameKind::kArgs:
      return LoadRows(payload, budget_, args, id_of, [](const ArgSet& row) {
        return row.args.capacity() * sizeof(Arg) + 16;
      });
    case FrameKind::kClocks:
      return LoadRows(payload, budget_, clocks, ordinal_of);
    case FrameKind::kLosses:
      return LoadRows(payload, budget_, losses, ordinal_of,
                      [](const LossRow& row) {
                        return HeapBytes(row.loss.reason.size()) +
                               HeapBytes(row.loss.detail.size());
                      });
    case FrameKind::kMeta:
      return LoadRows(
          payload, budget_, meta, [](const auto& row) { return row.key; },
          [](const MetaEntry& row) {
            return 2 * HeapBytes(row.key.size()) + HeapBytes(row.value.size());
          });
    case FrameKind::kTotals: {
      TotalsPart part;
      if (!DecodeTotals(payload, part)) return false;
      if (part.which != 1) return true;
      if (part.part == 0) given_up.clear();
      return DecodeRows<TrackTotal>(part.rows, [&](TrackTotal row) {
        if (budget_.Keep(row.KeptBytes())) given_up.push_back(std::move(row));
      });
    }
    default:
      return true;
  }
}

}  // namespace sonde
