#include "trace/tables.h"

#include "trace/format.h"

namespace sonde {
namespace {

constexpr size_t kTotalsPart = 256 << 10;

}  // namespace

void EncodeRow(const SampleSum& row, ByteWriter& out) {
  FieldEncoder put(out);
  VisitFields(put, row);
}

bool DecodeRow(ByteReader& in, SampleSum& row) {
  FieldDecoder take(in);
  VisitFields(take, row);
  return take.ok();
}

void EncodeRow(const StackRow& row, ByteWriter& out) {
  out.Varint(row.is_frame ? 1 : 2);
  out.Varint(row.id);
  FieldEncoder put(out);
  if (row.is_frame) {
    VisitFields(put, row.frame);
  } else {
    out.Varint(row.node.parent);
    out.Varint(row.node.frame);
  }
}

bool DecodeRow(ByteReader& in, StackRow& row) {
  FieldDecoder take(in);
  uint32_t tag = 0;
  take.Number("", tag);
  take.Number("", row.id);
  row.is_frame = tag == 1;
  if (row.is_frame) {
    VisitFields(take, row.frame);
  } else {
    take.Number("", row.node.parent);
    take.Number("", row.node.frame);
    // A stack is added after its parent: no cycles.
    if (row.node.parent >= row.id) return false;
  }
  return take.ok() && row.id != 0 && (tag == 1 || tag == 2);
}

void EncodeRow(const ArgSet& row, ByteWriter& out) {
  out.Varint(row.id);
  out.Varint(row.args.size());
  for (const Arg& arg : row.args) {
    out.Varint(arg.key);
    out.Varint(static_cast<uint32_t>(arg.type));
    if (arg.type == Arg::Type::kInt) out.Signed(arg.int_value);
    if (arg.type == Arg::Type::kDouble) out.Double(arg.double_value);
    if (arg.type == Arg::Type::kString) out.Varint(arg.string_value);
  }
}

bool DecodeRow(ByteReader& in, ArgSet& row) {
  row.id = in.Varint32();
  const uint64_t count = in.Varint();
  if (count > in.left() || count > kMaxArgs) return false;
  for (uint64_t i = 0; i < count && in.ok(); ++i) {
    Arg arg;
    arg.key = in.Varint32();
    arg.type = static_cast<Arg::Type>(in.Varint32());
    if (arg.type == Arg::Type::kInt)
      arg.int_value = in.Signed();
    else if (arg.type == Arg::Type::kDouble)
      arg.double_value = in.Double();
    else if (arg.type == Arg::Type::kString)
      arg.string_value = in.Varint32();
    else
      return false;
    row.args.push_back(arg);
  }
  return in.ok() && row.id != 0;
}

void EncodeRow(const MetaEntry& row, ByteWriter& out) {
  out.Text(row.key);
  out.Text(row.value);
}

bool DecodeRow(ByteReader& in, MetaEntry& row) {
  FieldDecoder take(in);
  take.Text("", row.key);
  take.Text("", row.value);
  return take.ok();
}

void EncodeRow(const TrackTotal& row, ByteWriter& out) {
  out.Varint(row.track);
  row.aggregate.Encode(out);
}

bool DecodeRow(ByteReader& in, TrackTotal& row) {
  row.track = in.Varint32();
  return row.aggregate.Decode(in);
}

std::vector<std::string> EncodeTotals(uint64_t which,
                                      const std::vector<TrackTotal>& totals) {
  std::vector<std::string> bodies;
  ByteWriter rows, one;
  uint64_t count = 0;
  const auto cut = [&] {
    ByteWriter body;
    body.Varint(count);
    body.Raw(rows.bytes().data(), rows.bytes().size());
    bodies.push_back(body.Take());
    rows.Clear();
    count = 0;
  };
  for (const TrackTotal& total : totals) {
    one.Clear();
    EncodeRow(total, one);
    rows.Text(one.bytes());
    ++count;
    if (rows.bytes().size() >= kTotalsPart) cut();
  }
  if (count > 0 || bodies.empty()) cut();
  std::vector<std::string> out;
  for (const std::string& body : bodies) {
    ByteWriter payload;
    payload.Varint(which);
    payload.Varint(out.size());
    payload.Varint(bodies.size());
    payload.Raw(body.data(), body.size());
    out.push_back(payload.Take());
  }
  return out;
}

bool DecodeTotals(std::string_view payload, TotalsPart& out) {
  ByteReader in(payload);
  out.which = in.Varint();
  out.part = in.Varint();
  out.parts = in.Varint();
  if (!in.ok() || out.part >= out.parts) return false;
  out.rows = payload.substr(payload.size() - in.left());
  return true;
}

std::string EncodeStrings(uint32_t first_id,
                          const std::vector<std::string_view>& strings) {
  ByteWriter out;
  out.Varint(first_id);
  out.Varint(strings.size());
  for (std::string_view s : strings) out.Text(s);
  return out.Take();
}

}  // namespace sonde
