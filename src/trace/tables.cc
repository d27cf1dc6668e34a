#include "trace/tables.h"

#include "trace/format.h"

namespace sonde {
namespace {

constexpr size_t kTotalsPart = 256 << 10;

// Reads a field that newer writers may have and older ones do not.
class Fields {
 public:
  explicit Fields(ByteReader& in) : in_(in) {}
  void operator()(uint32_t& v) { v = in_.AtEnd() ? 0 : in_.Varint32(); }
  void operator()(uint64_t& v) { v = in_.AtEnd() ? 0 : in_.Varint(); }
  void operator()(int32_t& v) {
    const int64_t wide = in_.AtEnd() ? 0 : in_.Signed();
    v = static_cast<int32_t>(wide);
  }
  void operator()(int64_t& v) { v = in_.AtEnd() ? 0 : in_.Signed(); }
  void operator()(std::string& v) {
    v = in_.AtEnd() ? std::string_view() : in_.Text(kMaxString);
  }
  template <typename Enum>
  void Choice(Enum& v, Enum first, Enum last) {
    uint32_t raw = 0;
    (*this)(raw);
    if (raw >= static_cast<uint32_t>(first) &&
        raw <= static_cast<uint32_t>(last))
      v = static_cast<Enum>(raw);
  }
  bool ok() const { return in_.ok(); }

 private:
  ByteReader& in_;
};

}  // namespace

void EncodeRow(const Track& row, ByteWriter& out) {
  out.Varint(row.id);
  out.Varint(static_cast<uint32_t>(row.kind));
  out.Varint(row.process);
  out.Varint(row.thread);
  out.Varint(row.name);
}

bool DecodeRow(ByteReader& in, Track& row) {
  Fields field(in);
  field(row.id);
  field.Choice(row.kind, Track::Kind::kThread, Track::Kind::kCustom);
  field(row.process);
  field(row.thread);
  field(row.name);
  return field.ok() && row.id != 0;
}

void EncodeRow(const Process& row, ByteWriter& out) {
  out.Varint(row.number);
  out.Varint(row.parent);
  out.Signed(row.pid);
  out.Signed(row.start_ns);
  out.Signed(row.end_ns);
  out.Varint(row.name);
  out.Varint(row.cmdline);
  out.Varint(static_cast<uint32_t>(row.exit));
  out.Signed(row.exit_code);
  out.Varint(row.execs);
  out.Signed(row.cpu_ns);
}

bool DecodeRow(ByteReader& in, Process& row) {
  Fields field(in);
  field(row.number);
  field(row.parent);
  field(row.pid);
  field(row.start_ns);
  field(row.end_ns);
  field(row.name);
  field(row.cmdline);
  field.Choice(row.exit, Process::Exit::kUnknown, Process::Exit::kRunning);
  field(row.exit_code);
  field(row.execs);
  field(row.cpu_ns);
  return field.ok() && row.number != 0;
}

void EncodeRow(const Thread& row, ByteWriter& out) {
  out.Varint(row.number);
  out.Varint(row.process);
  out.Signed(row.tid);
  out.Signed(row.start_ns);
  out.Signed(row.end_ns);
  out.Varint(row.name);
  out.Signed(row.cpu_ns);
}

bool DecodeRow(ByteReader& in, Thread& row) {
  Fields field(in);
  field(row.number);
  field(row.process);
  field(row.tid);
  field(row.start_ns);
  field(row.end_ns);
  field(row.name);
  field(row.cpu_ns);
  return field.ok() && row.number != 0;
}

void EncodeRow(const Series& row, ByteWriter& out) {
  out.Varint(row.id);
  out.Varint(row.group);
  out.Varint(static_cast<uint32_t>(row.scope));
  out.Varint(row.scope_id);
  out.Varint(row.name);
  out.Varint(row.label);
  out.Varint(row.unit);
  out.Varint(static_cast<uint32_t>(row.kind));
  out.Varint(static_cast<uint32_t>(row.type));
}

bool DecodeRow(ByteReader& in, Series& row) {
  Fields field(in);
  field(row.id);
  field(row.group);
  field.Choice(row.scope, Series::Scope::kMachine, Series::Scope::kDevice);
  field(row.scope_id);
  field(row.name);
  field(row.label);
  field(row.unit);
  field.Choice(row.kind, Series::Kind::kGauge, Series::Kind::kTotal);
  field.Choice(row.type, Series::Type::kInt, Series::Type::kDouble);
  return field.ok() && row.id != 0;
}

void EncodeRow(const StackRow& row, ByteWriter& out) {
  out.Varint(row.is_frame ? 1 : 2);
  out.Varint(row.id);
  if (row.is_frame) {
    out.Varint(row.frame.function);
    out.Varint(row.frame.module);
    out.Varint(row.frame.file);
    out.Varint(row.frame.line);
    out.Varint(row.frame.offset);
  } else {
    out.Varint(row.node.parent);
    out.Varint(row.node.frame);
  }
}

bool DecodeRow(ByteReader& in, StackRow& row) {
  Fields field(in);
  uint32_t tag = 0;
  field(tag);
  field(row.id);
  row.is_frame = tag == 1;
  if (row.is_frame) {
    field(row.frame.function);
    field(row.frame.module);
    field(row.frame.file);
    field(row.frame.line);
    field(row.frame.offset);
  } else {
    field(row.node.parent);
    field(row.node.frame);
    // A stack is added after its parent: no cycles.
    if (row.node.parent >= row.id) return false;
  }
  return field.ok() && row.id != 0 && (tag == 1 || tag == 2);
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

void EncodeRow(const LossRow& row, ByteWriter& out) {
  out.Varint(row.ordinal);
  out.Text(row.loss.reason);
  out.Text(row.loss.detail);
  out.Varint(row.loss.count);
  out.Signed(row.loss.from_ns);
  out.Signed(row.loss.to_ns);
}

bool DecodeRow(ByteReader& in, LossRow& row) {
  Fields field(in);
  field(row.ordinal);
  field(row.loss.reason);
  field(row.loss.detail);
  field(row.loss.count);
  field(row.loss.from_ns);
  field(row.loss.to_ns);
  return field.ok();
}

void EncodeRow(const ClockRow& row, ByteWriter& out) {
  out.Varint(row.ordinal);
  out.Signed(row.pair.monotonic_ns);
  out.Signed(row.pair.realtime_ns);
  out.Signed(row.pair.boottime_ns);
}

bool DecodeRow(ByteReader& in, ClockRow& row) {
  Fields field(in);
  field(row.ordinal);
  field(row.pair.monotonic_ns);
  field(row.pair.realtime_ns);
  field(row.pair.boottime_ns);
  return field.ok();
}

void EncodeRow(const MetaEntry& row, ByteWriter& out) {
  out.Text(row.key);
  out.Text(row.value);
}

bool DecodeRow(ByteReader& in, MetaEntry& row) {
  Fields field(in);
  field(row.key);
  field(row.value);
  return field.ok();
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
