// The frames that are plain rows: tracks, processes, series, losses and so on.
// trace/fields.h lists the fields of each.
//
//     rows := count:varint (size:varint fields[size])*count
//
// A reader takes the fields it knows from the front of a row and leaves the
// rest: that is how a row grows without a new version. Fields that are not
// there read as 0.

#ifndef SONDE_TRACE_TABLES_H_
#define SONDE_TRACE_TABLES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/aggregate.h"
#include "trace/bytes.h"
#include "trace/format.h"
#include "trace/model.h"

namespace sonde {

// What one name cost on one track, over the whole trace (or over chunks that
// had to be dropped).
struct TrackTotal {
  uint32_t track = 0;
  NameAggregate aggregate;

  // In memory, about.
  size_t KeptBytes() const {
    return 2 * sizeof(TrackTotal) + 32 +
           aggregate.durations.buckets().capacity() * 16;
  }
};

// One fact about the whole recording. A later entry of the same key replaces
// the earlier.
struct MetaEntry {
  std::string key;
  std::string value;
};

// A frame or a node of the stack tree; both share one table so that a node
// always stands behind what it names.
struct StackRow {
  bool is_frame = false;
  uint32_t id = 0;
  StackFrame frame;
  StackNode node;
};

// The arguments of an event, interned as a whole under one id.
struct ArgSet {
  uint32_t id = 0;
  std::vector<Arg> args;
};

// A row that nothing refers to, with its place among its kind: the same row may
// stand in the journal and in the file.
template <typename T>
struct Numbered {
  uint64_t ordinal = 0;
  T row;
};
using LossRow = Numbered<Loss>;
using ClockRow = Numbered<ClockPair>;
using NotCollectedRow = Numbered<NotCollected>;

// Of the rows with a list of fields; which there are stands at the end of
// tables.cc. DecodeRow() is false if the bytes are no such row.
template <typename Row>
void EncodeRow(const Row& row, ByteWriter& out);
template <typename Row>
bool DecodeRow(ByteReader& in, Row& row);
// Of the others.
void EncodeRow(const StackRow& row, ByteWriter& out);
void EncodeRow(const ArgSet& row, ByteWriter& out);
void EncodeRow(const MetaEntry& row, ByteWriter& out);
void EncodeRow(const TrackTotal& row, ByteWriter& out);
void EncodeRow(const SampleSum& row, ByteWriter& out);
bool DecodeRow(ByteReader& in, StackRow& row);
bool DecodeRow(ByteReader& in, ArgSet& row);
bool DecodeRow(ByteReader& in, MetaEntry& row);
bool DecodeRow(ByteReader& in, TrackTotal& row);
bool DecodeRow(ByteReader& in, SampleSum& row);

template <typename Row>
std::string EncodeRows(const std::vector<Row>& rows) {
  ByteWriter out, one;
  out.Varint(rows.size());
  for (const Row& row : rows) {
    one.Clear();
    EncodeRow(row, one);
    out.Text(one.bytes());
  }
  return out.Take();
}

// Calls `take(row)` for each row. False at the first damaged one; those before
// it were taken.
template <typename Row, typename Take>
bool DecodeRows(std::string_view payload, Take take) {
  ByteReader in(payload);
  const uint64_t count = in.Varint();
  for (uint64_t i = 0; i < count; ++i) {
    ByteReader fields(in.Text(payload.size()));
    Row row;
    if (!in.ok() || !DecodeRow(fields, row)) return false;
    take(std::move(row));
  }
  return in.ok();
}

// The totals of a trace, cut into payloads of kTotals frames of a bounded size:
// a tree of a million processes has as many tracks.
std::vector<std::string> EncodeTotals(uint64_t which,
                                      const std::vector<TrackTotal>& totals);
// One of them. `rows` is a view into `payload`.
struct TotalsPart {
  uint64_t which = 0;  // 0: of the whole trace, 1: of what was given up
  uint64_t part = 0, parts = 1;
  std::string_view rows;
};
bool DecodeTotals(std::string_view payload, TotalsPart& out);

std::string EncodeStrings(uint32_t first_id,
                          const std::vector<std::string_view>& strings);

// Calls `take(id, string)` for each string of a run; ids count from the first.
// A view into `payload`. False at the first damaged one; those before it were
// taken.
template <typename Take>
bool DecodeStrings(std::string_view payload, Take take) {
  ByteReader in(payload);
  const uint64_t first_id = in.Varint32();
  const uint64_t count = in.Varint();
  if (!in.ok() || first_id == 0 || count > in.left() ||
      first_id + count > UINT32_MAX)
    return false;
  for (uint64_t i = 0; i < count; ++i) {
    const std::string_view text = in.Text(kMaxString);
    if (!in.ok()) return false;
    take(static_cast<uint32_t>(first_id + i), text);
  }
  return true;
}

}  // namespace sonde

#endif  // SONDE_TRACE_TABLES_H_
