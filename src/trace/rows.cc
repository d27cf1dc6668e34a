#include "trace/rows.h"

namespace sonde {
namespace {

// A row of a table by its key, if it may be kept. `heap` is what it takes
// besides its place in the table.
template <typename Map, typename Key, typename Row>
void Put(Map& rows, RowBudget& budget, Key key, Row row, size_t heap) {
  if (budget.Keep(heap) &&
      (rows.contains(key) || budget.KeepNode(sizeof(Key) + sizeof(Row) + 8)))
    rows.insert_or_assign(std::move(key), std::move(row));
}
template <typename Row>
void Put(IdTable<Row>& rows, RowBudget& budget, uint32_t id, Row row,
         size_t heap) {
  if (rows.Find(id) != nullptr ? budget.Keep(heap)
                               : budget.KeepNode(sizeof(Row) + heap))
    rows.Put(id, std::move(row));
}

size_t HeapOf(const Loss& r) {
  // Once more for each time they are listed.
  return sizeof(Loss) + 2 * HeapBytes(r.reason.size()) +
         2 * HeapBytes(r.detail.size()) + 2 * HeapBytes(r.source.size());
}
size_t HeapOf(const NotCollected& r) {
  return sizeof(NotCollected) + 2 * HeapBytes(r.source.size()) +
         2 * HeapBytes(r.why.size()) + 2 * HeapBytes(r.cure.size());
}
size_t HeapOf(const ClockPair&) { return sizeof(ClockPair); }

// Rows with an ordinal.
template <typename T>
bool LoadNumbered(std::string_view payload, RowBudget& budget,
                  std::map<uint64_t, T>& rows) {
  return DecodeRows<Numbered<T>>(payload, [&](Numbered<T> r) {
    const size_t heap = HeapOf(r.row);
    Put(rows, budget, r.ordinal, std::move(r.row), heap);
  });
}

}  // namespace

bool Rows::Load(FrameKind kind, std::string_view payload, RowBudget& budget,
                size_t heap) {
  const auto by_id = [&]<typename Row>(RowsById<Row>& rows) {
    return DecodeRows<Row>(
        payload, [&](const Row& r) { Put(rows, budget, KeyOf(r), r, heap); });
  };
  switch (kind) {
    case FrameKind::kStrings:
      return DecodeStrings(payload, [&](uint32_t id, std::string_view text) {
        Put(strings, budget, id, std::string(text), HeapBytes(text.size()));
      });
    case FrameKind::kTracks:
      return by_id(tracks);
    case FrameKind::kProcesses:
      return by_id(processes);
    case FrameKind::kThreads:
      return by_id(threads);
    case FrameKind::kSeries:
      return by_id(series);
    case FrameKind::kSymbols:
      return DecodeRows<Symbol>(payload, [&](const Symbol& r) {
        Put(symbols, budget, std::pair(r.frame, r.depth), r, heap);
      });
    case FrameKind::kStacks:
      return DecodeRows<StackRow>(payload, [&](const StackRow& r) {
        if (r.is_frame)
          Put(frames, budget, r.id, r.frame, heap);
        else
          Put(stacks, budget, r.id, r.node, heap);
      });
    case FrameKind::kArgs:
      return DecodeRows<ArgSet>(payload, [&](ArgSet r) {
        const size_t kept = r.args.capacity() * sizeof(Arg) + 16 + heap;
        Put(args, budget, r.id, std::move(r.args), kept);
      });
    case FrameKind::kClocks:
      return LoadNumbered(payload, budget, clocks);
    case FrameKind::kLosses:
      return LoadNumbered(payload, budget, losses);
    case FrameKind::kNotCollected:
      return LoadNumbered(payload, budget, not_collected);
    case FrameKind::kMeta:
      return DecodeRows<MetaEntry>(payload, [&](MetaEntry r) {
        // Whoever copies a trace has them twice.
        const size_t kept = sizeof(MetaEntry) + 2 * HeapBytes(r.key.size()) +
                            2 * HeapBytes(r.value.size());
        Put(meta, budget, std::move(r.key), std::move(r.value), kept);
      });
    case FrameKind::kTotals:
      return LoadTotals(payload, budget);
    case FrameKind::kSampleSums:
      given_up_samples.clear();
      return DecodeRows<SampleSum>(payload, [&](const SampleSum& r) {
        if (budget.Keep(2 * sizeof(SampleSum))) given_up_samples.push_back(r);
      });
    default:
      break;
  }
  bool ok = true;  // also if it is of a newer sonde
  ForEachPlainKind([&]<typename Row>(const PlainKind<Row>& one) {
    if (one.frame == kind) ok = by_id(std::get<RowsById<Row>>(plain));
  });
  return ok;
}

bool Rows::LoadTotals(std::string_view payload, RowBudget& budget) {
  TotalsPart part;
  if (!DecodeTotals(payload, part)) return false;
  const bool whole = part.which == 0;
  std::vector<TrackTotal>& rows = whole ? totals : given_up;
  uint64_t& next = whole ? totals_parts_ : given_up_parts_;
  if (part.part == 0) {
    rows.clear();
    next = 0;
  }
  const bool ok = DecodeRows<TrackTotal>(part.rows, [&](TrackTotal r) {
    if (budget.Keep(r.KeptBytes())) rows.push_back(std::move(r));
  });
  next = ok && part.part == next ? next + 1 : UINT64_MAX;
  if (whole) has_totals = next == part.parts;
  return ok;
}

}  // namespace sonde
