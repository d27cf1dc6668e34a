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
#include "trace/fields.h"
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

// Writes the fields of a row.
class FieldEncoder {
 public:
  explicit FieldEncoder(ByteWriter& out) : out_(out) {}
  template <typename T>
  void Number(const char*, const T& v) {
    if constexpr (std::is_signed_v<T>)
      out_.Signed(v);
    else
      out_.Varint(v);
  }
  void Time(const char*, int64_t v) { out_.Signed(v); }
  void Cost(const char*, int64_t v) { out_.Signed(v); }
  void String(const char*, uint32_t v) { out_.Varint(v); }
  void Text(const char*, const std::string& v) { out_.Text(v); }
  void Ref(FrameKind, const char*, uint32_t v) { out_.Varint(v); }
  template <typename Enum, typename Words>
  void Choice(const char*, Enum v, const Words&, Enum) {
    out_.Varint(static_cast<uint32_t>(v));
  }

 private:
  ByteWriter& out_;
};

// Reads the fields of a row. Older writers do not have the last ones: they read
// as 0.
class FieldDecoder {
 public:
  explicit FieldDecoder(ByteReader& in) : in_(in) {}
  template <typename T>
  void Number(const char*, T& v) {
    if (in_.AtEnd())
      v = 0;
    else if constexpr (std::is_signed_v<T>)
      v = static_cast<T>(in_.Signed());
    else if constexpr (sizeof(T) == 4)
      v = in_.Varint32();
    else
      v = in_.Varint();
  }
  void Time(const char*, int64_t& v) { Number("", v); }
  void Cost(const char*, int64_t& v) { Number("", v); }
  void String(const char*, uint32_t& v) { Number("", v); }
  void Text(const char*, std::string& v) {
    v = in_.AtEnd() ? std::string_view() : in_.Text(kMaxString);
  }
  void Ref(FrameKind, const char*, uint32_t& v) { Number("", v); }
  template <typename Enum, typename Words>
  void Choice(const char*, Enum& v, const Words& words, Enum first) {
    uint32_t raw = 0;
    Number("", raw);
    const uint32_t least = static_cast<uint32_t>(first);
    if (raw >= least && raw - least < words.size()) v = static_cast<Enum>(raw);
  }
  bool ok() const { return in_.ok(); }

 private:
  ByteReader& in_;
};

template <typename Row>
requires requires(Row& r) { r.ordinal; }
auto& KeyOf(Row& r) { return r.ordinal; }
template <typename F, typename Row>
requires requires(Row& r) { r.ordinal; }
void VisitFields(F& f, Row& r) { VisitFields(f, r.row); }

// Of the rows with a list of fields. DecodeRow() is false if the bytes are no
// such row.
template <typename Row>
void EncodeRow(const Row& row, ByteWriter& out) {
  FieldEncoder put(out);
  put.Number("", KeyOf(row));
  VisitFields(put, row);
}

template <typename Row>
bool DecodeRow(ByteReader& in, Row& row) {
  FieldDecoder take(in);
  take.Number("", KeyOf(row));
  VisitFields(take, row);
  // What nothing refers to is counted from 0.
  if constexpr (requires { row.ordinal; }) return take.ok();
  return take.ok() && KeyOf(row) != 0;
}

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
