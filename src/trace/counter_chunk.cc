// The payload of a kCounters frame:
//
//     group ticks values first_ordinal begin end-begin
//     columns
//
// kTime holds the steps between ticks; kChanged and kGone how many series each
// tick names; kIds those series, as steps that start at 0 with every tick
// (first the changed ones, ascending, then the gone ones, ascending); kValues
// one value for each changed series: the zigzag difference to its value before
// in this chunk, where "before" is 0 for the first. Doubles are coded as the
// difference of their bits.

#include "trace/counter_chunk.h"

#include <algorithm>
#include <unordered_map>

#include "base/check.h"

namespace sonde {
namespace {

uint8_t Id(CounterColumn column) { return static_cast<uint8_t>(column); }

// Something for each series of a chunk. Ids are dense in what we write; those
// of other files are looked up.
template <typename T>
class BySeries {
 public:
  T& operator[](uint32_t id) {
    if (id < near_.size()) return near_[id];
    if (id >= kMaxNear) return far_[id];
    near_.resize(std::clamp<size_t>(2 * near_.size(), id + 1, kMaxNear));
    return near_[id];
  }

 private:
  static constexpr uint32_t kMaxNear = 1u << 16;
  std::vector<T> near_;
  std::unordered_map<uint32_t, T> far_;
};

}  // namespace

void CounterTicks::Clear() {
  time_ns.clear();
  changed_end.clear();
  gone_end.clear();
  changes.clear();
  gone.clear();
}

void CounterChunkInfo::Encode(ByteWriter& out) const {
  out.Varint(group);
  out.Varint(ticks);
  out.Varint(values);
  out.Varint(first_ordinal);
  out.Signed(begin_ns);
  out.Varint(static_cast<uint64_t>(end_ns) - static_cast<uint64_t>(begin_ns));
}

bool CounterChunkInfo::Decode(ByteReader& in) {
  group = in.Varint32();
  ticks = in.Varint32();
  values = in.Varint32();
  first_ordinal = in.Varint();
  begin_ns = in.Signed();
  end_ns = static_cast<int64_t>(static_cast<uint64_t>(begin_ns) + in.Varint());
  // A tick may cost nothing in the file; so their number, not its size, is the
  // limit.
  return in.ok() && ticks > 0 && ticks <= kMaxChunkEvents &&
         values <= kMaxTickValues && begin_ns >= -kMaxTimeNs &&
         end_ns >= begin_ns && end_ns <= kMaxTimeNs;
}

std::vector<SeriesAggregate> AggregatesOf(
    const CounterTicks& ticks, size_t begin, size_t end,
    const std::function<Series::Type(uint32_t)>& type_of) {
  std::vector<SeriesAggregate> rows;
  BySeries<uint32_t> live;  // its row and one; 0: it has no value
  const auto hold = [](SeriesAggregate& row, int64_t until) {
    row.integral += row.last * static_cast<double>(until - row.last_ns) / 1e9;
    row.last_ns = until;
  };
  uint32_t change = begin ? ticks.changed_end[begin - 1] : 0;
  uint32_t gone = begin ? ticks.gone_end[begin - 1] : 0;
  for (size_t tick = begin; tick < end; ++tick) {
    const int64_t now = ticks.time_ns[tick];
    for (; change < ticks.changed_end[tick]; ++change) {
      const auto [series, value] = ticks.changes[change];
      const double v = ValueAsDouble(value, type_of(series));
      uint32_t& at = live[series];
      if (at == 0) {
        rows.push_back({series, 0, now, now, v, v, v, v, 0});
        at = static_cast<uint32_t>(rows.size());
      }
      SeriesAggregate& row = rows[at - 1];
      hold(row, now);
      row.last = v;
      row.min = std::min(row.min, v);
      row.max = std::max(row.max, v);
      ++row.count;
    }
    for (; gone < ticks.gone_end[tick]; ++gone) {
      uint32_t& at = live[ticks.gone[gone]];
      if (at != 0) hold(rows[at - 1], now);
      at = 0;
    }
  }
  for (uint32_t i = 0; i < rows.size(); ++i)
    if (live[rows[i].series] == i + 1) hold(rows[i], ticks.time_ns[end - 1]);
  return rows;
}

std::string EncodeCounterChunk(
    const CounterTicks& ticks, size_t begin, size_t end, bool summaries,
    const std::function<Series::Type(uint32_t)>& type_of,
    CompressionMemory& memory, CounterChunkInfo& info) {
  CHECK(begin < end && end <= ticks.size());
  info.ticks = static_cast<uint32_t>(end - begin);
  info.begin_ns = ticks.time_ns[begin];
  info.end_ns = ticks.time_ns[end - 1];
  info.values = 0;

  ByteWriter time, changed, gone, ids, values;
  BySeries<uint64_t> last;
  int64_t previous_ns = info.begin_ns;
  for (size_t tick = begin; tick < end; ++tick) {
    const int64_t now = ticks.time_ns[tick];
    const uint32_t first_change = tick ? ticks.changed_end[tick - 1] : 0;
    const uint32_t first_gone = tick ? ticks.gone_end[tick - 1] : 0;
    time.Varint(static_cast<uint64_t>(now - previous_ns));
    previous_ns = now;
    changed.Varint(ticks.changed_end[tick] - first_change);
    gone.Varint(ticks.gone_end[tick] - first_gone);
    info.values += ticks.changed_end[tick] - first_change;
    uint32_t id = 0;
    for (uint32_t i = first_change; i < ticks.changed_end[tick]; ++i) {
      const auto [series, value] = ticks.changes[i];
      ids.Varint(series - id);
      id = series;
      uint64_t& before = last[series];
      values.Signed(static_cast<int64_t>(value - before));
      before = value;
    }
    id = 0;
    for (uint32_t i = first_gone; i < ticks.gone_end[tick]; ++i) {
      const uint32_t series = ticks.gone[i];
      ids.Varint(series - id);
      id = series;
      last[series] = 0;
    }
  }

  ColumnWriter columns(memory);
  columns.Add(Id(CounterColumn::kTime), time.bytes());
  columns.Add(Id(CounterColumn::kChanged), changed.bytes());
  columns.Add(Id(CounterColumn::kGone), gone.bytes());
  columns.Add(Id(CounterColumn::kIds), ids.bytes());
  columns.Add(Id(CounterColumn::kValues), values.bytes());
  if (summaries) {
    ByteWriter out;
    const auto rows = AggregatesOf(ticks, begin, end, type_of);
    out.Varint(rows.size());
    for (const SeriesAggregate& row : rows) row.Encode(out);
    columns.Add(Id(CounterColumn::kAggregates), out.bytes());
  }
  ByteWriter payload;
  info.Encode(payload);
  columns.AppendTo(payload);
  return payload.Take();
}

bool CounterChunkDecoder::Open(std::string_view payload) {
  ByteReader in(payload);
  return info_.Decode(in) && columns_.Parse(in);
}

bool CounterChunkDecoder::Decode(CounterTicks& out) {
  out.Clear();
  std::vector<uint64_t> steps;
  std::vector<uint32_t> gone;
  if (!columns_.Values(Id(CounterColumn::kTime), info_.ticks, scratch_,
                       steps) ||
      !columns_.Values(Id(CounterColumn::kChanged), info_.ticks, scratch_,
                       out.changed_end) ||
      !columns_.Values(Id(CounterColumn::kGone), info_.ticks, scratch_, gone))
    return false;
  uint64_t now = static_cast<uint64_t>(info_.begin_ns);
  uint64_t changed_sum = 0, gone_sum = 0;
  for (uint32_t tick = 0; tick < info_.ticks; ++tick) {
    now += steps[tick];
    const int64_t at = static_cast<int64_t>(now);
    if (at < info_.begin_ns || at > info_.end_ns) return false;
    out.time_ns.push_back(at);
    out.changed_end[tick] =
        static_cast<uint32_t>(changed_sum += out.changed_end[tick]);
    out.gone_end.push_back(static_cast<uint32_t>(gone_sum += gone[tick]));
    if (changed_sum > info_.values || gone_sum > kMaxTickValues) return false;
  }
  if (changed_sum != info_.values) return false;

  std::vector<uint32_t> ids;
  std::vector<uint64_t> values;
  if (!columns_.Values(Id(CounterColumn::kIds),
                       static_cast<size_t>(changed_sum + gone_sum), scratch_,
                       ids) ||
      !columns_.Values(Id(CounterColumn::kValues),
                       static_cast<size_t>(changed_sum), scratch_, values))
    return false;
  BySeries<uint64_t> last;
  size_t at_id = 0, at_value = 0;
  out.changes.reserve(static_cast<size_t>(changed_sum));
  uint32_t changed_before = 0, gone_before = 0;
  for (uint32_t tick = 0; tick < info_.ticks; ++tick) {
    uint32_t id = 0;
    for (uint32_t i = changed_before; i < out.changed_end[tick]; ++i) {
      id += ids[at_id++];
      uint64_t& value = last[id];
      value += static_cast<uint64_t>(UnZigZag(values[at_value++]));
      out.changes.push_back({id, value});
    }
    changed_before = out.changed_end[tick];
    id = 0;
    for (uint32_t i = gone_before; i < out.gone_end[tick]; ++i) {
      id += ids[at_id++];
      out.gone.push_back(id);
      last[id] = 0;
    }
    gone_before = out.gone_end[tick];
  }
  return true;
}

bool CounterChunkDecoder::Aggregates(std::vector<SeriesAggregate>& out) {
  out.clear();
  std::string_view raw;
  bool constant = false;
  constexpr size_t kMaxRow = 5 + 3 * kMaxVarint + 5 * sizeof(double);
  if (!columns_.Get(Id(CounterColumn::kAggregates),
                    kMaxVarint + size_t{info_.values} * kMaxRow, scratch_, &raw,
                    &constant))
    return false;
  if (raw.empty()) return true;
  ByteReader in(raw);
  const uint64_t rows = in.Varint();
  if (!in.ok() || rows > info_.values) return false;
  for (uint64_t i = 0; i < rows; ++i)
    if (!out.emplace_back().Decode(in)) return false;
  return true;
}

}  // namespace sonde
