// The payload of a kEvents frame:
//
//     track count first_ordinal flags begin end-begin first_end-begin max_depth
//     columns
//
// Events stand in the order they ended, which is the order they become known:
// no sorting while recording, an event is complete when it is written, and on
// one depth the order of ends is the order of begins. If something did come out
// of order, flag 1 is missing and the end column holds signed differences.

#include "trace/event_chunk.h"

#include <algorithm>

#include "base/check.h"

namespace sonde {
namespace {

constexpr uint64_t kSortedFlag = 1;
constexpr uint32_t kMaxNames = 1u << 26;  // string ids beyond are damage

uint8_t Id(EventColumn column) { return static_cast<uint8_t>(column); }

// True if all of values[begin, end) are values[begin].
template <typename T>
bool AllEqual(const std::vector<T>& values, size_t begin, size_t end) {
  for (size_t i = begin + 1; i < end; ++i)
    if (values[i] != values[begin]) return false;
  return true;
}

template <typename T>
void AddValues(EventColumn id, const std::vector<T>& values, size_t begin,
               size_t end, std::string& raw, ColumnWriter& columns) {
  if (values.empty()) return;
  if (AllEqual(values, begin, end)) {
    if (values[begin] != 0)
      columns.AddConstant(Id(id), static_cast<uint64_t>(values[begin]));
    return;
  }
  T all = 0;
  for (size_t i = begin; i < end; ++i) all |= values[i];
  if (static_cast<uint64_t>(all) < 0x80) {
    // Names and depths mostly are varints of one byte each; a plain copy is ten
    // times faster than taking them one by one.
    if (raw.size() < end - begin) raw.resize(end - begin);
    std::transform(values.begin() + static_cast<ptrdiff_t>(begin),
                   values.begin() + static_cast<ptrdiff_t>(end), raw.begin(),
                   [](T v) { return static_cast<char>(v); });
    columns.Add(Id(id), std::string_view(raw).substr(0, end - begin));
    return;
  }
  columns.Add(Id(id), ToVarints(values.data() + begin, end - begin, raw,
                                [](T v) { return static_cast<uint64_t>(v); }));
}

}  // namespace

void EventColumns::Clear() {
  end_ns.clear();
  dur_ns.clear();
  name.clear();
  depth.clear();
  for (auto& values : rare) values.clear();
}

void EventColumns::Append(std::span<const Plain> events) {
  const size_t at = size();
  end_ns.resize(at + events.size());
  dur_ns.resize(at + events.size());
  name.resize(at + events.size());
  depth.resize(at + events.size());
  for (size_t i = 0; i < events.size(); ++i) end_ns[at + i] = events[i].end_ns;
  for (size_t i = 0; i < events.size(); ++i) dur_ns[at + i] = events[i].dur_ns;
  for (size_t i = 0; i < events.size(); ++i) name[at + i] = events[i].name;
  for (size_t i = 0; i < events.size(); ++i) depth[at + i] = events[i].depth;
}

void EventColumns::AddRare(const Event& event) {
  const size_t before = size() - 1;
  const auto put = [&](EventColumn column, uint64_t value) {
    if (value == 0) return;
    auto& values = rare[Id(column)];
    values.resize(before);
    values.push_back(value);
  };
  put(EventColumn::kKind, static_cast<uint64_t>(event.kind));
  put(EventColumn::kFlags, event.flags);
  put(EventColumn::kCategory, event.category);
  put(EventColumn::kArgs, event.args);
  put(EventColumn::kStack, event.stack);
  put(EventColumn::kFlowIn, event.flow_in);
  put(EventColumn::kFlowOut, event.flow_out);
  put(EventColumn::kClass, static_cast<uint64_t>(event.cls));
  put(EventColumn::kSource, event.source);
}

Event EventColumns::At(size_t i) const {
  Event event;
  event.dur_ns = dur_ns[i];
  event.begin_ns = end_ns[i] - dur_ns[i];
  event.name = name[i];
  event.depth = depth[i];
  event.kind = static_cast<Event::Kind>(Rare(EventColumn::kKind, i));
  event.flags = static_cast<uint8_t>(Rare(EventColumn::kFlags, i));
  event.category = static_cast<uint32_t>(Rare(EventColumn::kCategory, i));
  event.args = static_cast<uint32_t>(Rare(EventColumn::kArgs, i));
  event.stack = static_cast<uint32_t>(Rare(EventColumn::kStack, i));
  event.flow_in = Rare(EventColumn::kFlowIn, i);
  event.flow_out = Rare(EventColumn::kFlowOut, i);
  event.cls = static_cast<Event::Class>(Rare(EventColumn::kClass, i) & 3);
  event.source = static_cast<uint32_t>(Rare(EventColumn::kSource, i));
  return event;
}

void EventChunkInfo::Encode(ByteWriter& out) const {
  out.Varint(track);
  out.Varint(count);
  out.Varint(first_ordinal);
  out.Varint(sorted ? kSortedFlag : 0);
  out.Signed(begin_ns);
  out.Varint(static_cast<uint64_t>(end_ns) - static_cast<uint64_t>(begin_ns));
  out.Signed(first_end_ns);
  out.Varint(max_depth);
}

bool EventChunkInfo::Decode(ByteReader& in) {
  track = in.Varint32();
  count = in.Varint32();
  first_ordinal = in.Varint();
  sorted = (in.Varint() & kSortedFlag) != 0;
  begin_ns = in.Signed();
  const uint64_t span = in.Varint();
  end_ns = static_cast<int64_t>(static_cast<uint64_t>(begin_ns) + span);
  first_end_ns = in.Signed();
  max_depth = in.Varint32();
  return in.ok() && count > 0 && count <= kMaxChunkEvents &&
         begin_ns >= -kMaxTimeNs && end_ns >= begin_ns &&
         end_ns <= kMaxTimeNs && max_depth <= UINT16_MAX;
}

std::string EventChunkEncoder::Encode(const EventColumns& events, size_t begin,
                                      size_t end, bool summaries,
                                      EventChunkInfo& info) {
  CHECK(begin < end && end <= events.size() && end - begin <= kMaxChunkEvents);
  info.count = static_cast<uint32_t>(end - begin);
  info.first_end_ns = events.end_ns[begin];
  info.begin_ns = INT64_MAX;
  info.end_ns = INT64_MIN;
  info.max_depth = 0;
  info.sorted = true;
  int64_t previous = events.end_ns[begin];
  const int64_t* const ends = events.end_ns.data();
  const int64_t* const durs = events.dur_ns.data();
  for (size_t i = begin; i < end; ++i) {
    const int64_t at = ends[i];
    info.sorted &= at >= previous;
    previous = at;
    info.begin_ns = std::min(info.begin_ns, at - durs[i]);
    info.end_ns = std::max(info.end_ns, at);
  }
  info.max_depth =
      *std::max_element(events.depth.begin() + static_cast<ptrdiff_t>(begin),
                        events.depth.begin() + static_cast<ptrdiff_t>(end));

  ColumnWriter columns(memory_);
  columns.Reserve((end - begin) * 8);
  previous = events.end_ns[begin];
  std::string_view steps;
  if (info.sorted) {
    steps = ToVarints(ends + begin, end - begin, raw_, [&](int64_t v) {
      const int64_t step = v - previous;
      previous = v;
      return static_cast<uint64_t>(step);
    });
  } else {
    steps = ToVarints(ends + begin, end - begin, raw_, [&](int64_t v) {
      const int64_t step = v - previous;
      previous = v;
      return ZigZag(step);
    });
  }
  columns.Add(Id(EventColumn::kEnd), steps);
  AddValues(EventColumn::kDur, events.dur_ns, begin, end, raw_, columns);
  AddValues(EventColumn::kName, events.name, begin, end, raw_, columns);
  AddValues(EventColumn::kDepth, events.depth, begin, end, raw_, columns);
  for (uint8_t id = Id(EventColumn::kKind); id < kValueColumns; ++id) {
    if (events.rare[id].size() <= begin) continue;
    rare_.assign(events.rare[id].begin() + static_cast<ptrdiff_t>(begin),
                 events.rare[id].end());
    rare_.resize(end - begin);
    AddValues(static_cast<EventColumn>(id), rare_, 0, rare_.size(), raw_,
              columns);
  }
  if (summaries) {
    CHECK(begin == 0 && end == events.size());
    Summarise(events, info, columns);
  }

  ByteWriter payload;
  info.Encode(payload);
  columns.AppendTo(payload);
  return payload.Take();
}

void EventChunkEncoder::Summarise(const EventColumns& events,
                                  EventChunkInfo& info, ColumnWriter& columns) {
  std::vector<LodRow> fine(info.max_depth + 1), coarse(info.max_depth + 1);
  std::vector<LodNode> open_fine(info.max_depth + 1),
      open_coarse(info.max_depth + 1);
  const auto extend = [](LodNode& node, const LodNode& by) {
    if (node.count == 0) {
      node = by;
      return;
    }
    node.begin_ns = std::min(node.begin_ns, by.begin_ns);
    node.end_ns = std::max(node.end_ns, by.end_ns);
    node.busy_ns += by.busy_ns;
    if (by.max_dur_ns > node.max_dur_ns) {
      node.max_dur_ns = by.max_dur_ns;
      node.max_name = by.max_name;
    }
    node.count += by.count;
  };
  const auto close = [&](uint16_t depth) {
    LodNode& node = open_fine[depth];
    fine[depth].nodes.push_back(node);
    extend(open_coarse[depth], node);
    node.count = 0;
    if (open_coarse[depth].count >= kLodCoarseEvents) {
      coarse[depth].nodes.push_back(open_coarse[depth]);
      open_coarse[depth].count = 0;
    }
  };
  // Plain pointers: this loop and Aggregate's are half the cost of a chunk.
  const int64_t* const ends = events.end_ns.data();
  const int64_t* const durs = events.dur_ns.data();
  const uint32_t* const names = events.name.data();
  const uint16_t* const depths = events.depth.data();
  LodNode* const open = open_fine.data();
  const size_t count = events.size();
  for (size_t i = 0; i < count; ++i) {
    LodNode& node = open[depths[i]];
    const int64_t end = ends[i];
    const int64_t begin = end - durs[i];
    const uint64_t dur = static_cast<uint64_t>(durs[i]);
    if (node.count == 0) {
      node = {begin, end, dur, dur, names[i], 1};
      continue;
    }
    node.begin_ns = std::min(node.begin_ns, begin);
    node.end_ns = std::max(node.end_ns, end);
    node.busy_ns += dur;
    // Without a branch: which event is the longest cannot be predicted.
    const bool longer = dur > node.max_dur_ns;
    node.max_dur_ns = longer ? dur : node.max_dur_ns;
    node.max_name = longer ? names[i] : node.max_name;
    if (++node.count == kLodEvents) close(depths[i]);
  }
  for (uint32_t depth = 0; depth <= info.max_depth; ++depth) {
    fine[depth].depth = coarse[depth].depth = static_cast<uint16_t>(depth);
    if (open_fine[depth].count > 0) close(static_cast<uint16_t>(depth));
    if (open_coarse[depth].count > 0)
      coarse[depth].nodes.push_back(open_coarse[depth]);
  }
  columns.Add(Id(EventColumn::kLod),
              EncodeLod(fine, info.begin_ns, kLodEvents));
  columns.Add(Id(EventColumn::kLodCoarse),
              EncodeLod(coarse, info.begin_ns, kLodCoarseEvents));

  Aggregate(events);
  ByteWriter rows;
  rows.Varint(aggregates_.size());
  for (const NameAggregate& row : aggregates_) row.Encode(rows);
  columns.Add(Id(EventColumn::kAggregates), rows.bytes());
}

bool EventChunkEncoder::busy() const {
  return std::any_of(inner_ns_.begin(), inner_ns_.end(),
                     [](uint64_t ns) { return ns != 0; });
}

void EventChunkEncoder::Aggregate(const EventColumns& events) {
  // Not in each encoder: there is one for every open track, and the first of
  // these is as long as there are names.
  thread_local std::vector<uint32_t> slot_of_name;  // name -> row + 1
  thread_local std::vector<uint16_t> hit_counts;    // rows x buckets
  aggregates_.clear();
  hit_counts.clear();
  const uint32_t max_name =
      *std::max_element(events.name.begin(), events.name.end());
  const size_t max_depth =
      *std::max_element(events.depth.begin(), events.depth.end());
  CHECK(max_name < kMaxNames);
  if (max_name >= slot_of_name.size()) slot_of_name.resize(max_name + 1);
  if (max_depth + 2 > inner_ns_.size()) inner_ns_.resize(max_depth + 2);
  const auto& kinds = events.rare[Id(EventColumn::kKind)];
  const uint64_t* const kind_of = kinds.data();
  const size_t kind_count = kinds.size();
  const int64_t* const durs = events.dur_ns.data();
  const uint32_t* const names = events.name.data();
  const uint16_t* const depths = events.depth.data();
  uint32_t* const slots = slot_of_name.data();
  uint64_t* const inner = inner_ns_.data();
  NameAggregate* rows = nullptr;
  uint16_t* hits = nullptr;
  const size_t count = events.size();
  for (size_t i = 0; i < count; ++i) {
    uint32_t slot = slots[names[i]];
    if (slot == 0) {
      aggregates_.emplace_back();
      aggregates_.back().name = names[i];
      hit_counts.resize(aggregates_.size() * Histogram::kBuckets);
      slot = slots[names[i]] = static_cast<uint32_t>(aggregates_.size());
      rows = aggregates_.data();
      hits = hit_counts.data();
    }
    NameAggregate& row = rows[slot - 1];
    const uint64_t size = static_cast<uint64_t>(durs[i]);
    ++row.count;
    row.sum += size;
    row.min = std::min(row.min, size);
    row.max = std::max(row.max, size);
    ++hits[(slot - 1) * Histogram::kBuckets + Histogram::BucketOf(size)];

    if (i < kind_count && kind_of[i] != 0) continue;  // an instant
    const size_t depth = depths[i];
    row.self = static_cast<int64_t>(static_cast<uint64_t>(row.self) + size -
                                    inner[depth + 1]);
    inner[depth + 1] = 0;
    if (depth > 0) inner[depth] += size;
  }
  for (size_t slot = 0; slot < aggregates_.size(); ++slot) {
    slot_of_name[aggregates_[slot].name] = 0;
    const uint16_t* const of_slot = &hit_counts[slot * Histogram::kBuckets];
    for (uint32_t b = 0; b < Histogram::kBuckets; ++b)
      if (of_slot[b] != 0) aggregates_[slot].durations.Add(b, of_slot[b]);
  }
}

std::string EventChunkEncoder::EncodeLod(const std::vector<LodRow>& rows,
                                         int64_t base_ns,
                                         uint32_t node_events) {
  size_t values = 0;
  for (const LodRow& row : rows) values += 2 + 6 * row.nodes.size();
  std::string out(values * kMaxVarint, '\0');
  uint8_t* const begin = reinterpret_cast<uint8_t*>(out.data());
  uint8_t* to = begin;
  for (const LodRow& row : rows) {
    if (row.nodes.empty()) continue;
    to = PutVarintFast(to, row.depth);
    to = PutVarintFast(to, row.nodes.size());
    int64_t previous = base_ns;
    for (const LodNode& node : row.nodes) {
      const int64_t span = node.end_ns - node.begin_ns;
      const uint64_t idle = static_cast<uint64_t>(span) - node.busy_ns;
      to = PutVarintFast(to, ZigZag(node.begin_ns - previous));
      to = PutVarintFast(to, static_cast<uint64_t>(span));
      to = PutVarintFast(to, ZigZag(static_cast<int64_t>(idle)));
      to = PutVarintFast(to, node.max_dur_ns);
      to = PutVarintFast(to, node.max_name);
      to = PutVarintFast(
          to, ZigZag(static_cast<int64_t>(node_events) - node.count));
      previous = node.end_ns;
    }
  }
  out.resize(static_cast<size_t>(to - begin));
  return out;
}

bool EventChunkDecoder::Open(std::string_view payload) {
  ByteReader in(payload);
  return info_.Decode(in) && columns_.Parse(in);
}

// What sums and level of detail of a chunk take at most: for each event a row
// of seven numbers and a bucket.
static size_t SummaryRoom(const EventChunkInfo& info) {
  return 16 + size_t{info.count} * 9 * kMaxVarint;
}

bool EventChunkDecoder::has_summaries() const {
  return columns_.Has(Id(EventColumn::kAggregates));
}

bool EventChunkDecoder::Decode(uint32_t mask, EventColumns& out) {
  // What is decoded again keeps its size, so that it is not cleared for
  // nothing.
  if (!(mask & kMaskTime)) out.end_ns.clear();
  if (!(mask & (kMaskTime | kMaskDur))) out.dur_ns.clear();
  if (!(mask & kMaskName)) out.name.clear();
  if (!(mask & kMaskDepth)) out.depth.clear();
  for (auto& values : out.rare) values.clear();
  const size_t count = info_.count;
  bool ok = true;
  if (mask & (kMaskTime | kMaskDur))
    ok = columns_.Values(Id(EventColumn::kDur), count, scratch_, out.dur_ns);
  if (mask & kMaskTime) {
    ok = ok &&
         columns_.Values(Id(EventColumn::kEnd), count, scratch_, out.end_ns);
    uint64_t at = static_cast<uint64_t>(info_.first_end_ns);
    if (info_.sorted) {
      for (int64_t& v : out.end_ns)
        v = static_cast<int64_t>(at += static_cast<uint64_t>(v));
    } else {
      for (int64_t& v : out.end_ns)
        v = static_cast<int64_t>(
            at += static_cast<uint64_t>(UnZigZag(static_cast<uint64_t>(v))));
    }
    // A checksum cannot tell a liar: negative or absurd times are damage.
    for (size_t i = 0; ok && i < count; ++i)
      ok = out.dur_ns[i] >= 0 && out.end_ns[i] >= info_.begin_ns &&
           out.end_ns[i] <= info_.end_ns &&
           out.dur_ns[i] <= out.end_ns[i] - info_.begin_ns;
  } else if (mask & kMaskDur) {
    for (size_t i = 0; ok && i < count; ++i)
      ok = out.dur_ns[i] >= 0 && out.dur_ns[i] <= info_.end_ns - info_.begin_ns;
  }
  if (ok && (mask & kMaskName))
    ok = columns_.Values(Id(EventColumn::kName), count, scratch_, out.name);
  if (ok && (mask & kMaskDepth)) {
    ok = columns_.Values(Id(EventColumn::kDepth), count, scratch_, out.depth);
    // Readers make room for max_depth and index by depth.
    for (size_t i = 0; ok && i < count; ++i)
      ok = out.depth[i] <= info_.max_depth;
  }
  if (ok && (mask & (kMaskRare | kMaskKind))) {
    const uint8_t behind =
        (mask & kMaskRare) ? kValueColumns : Id(EventColumn::kFlags);
    for (uint8_t id = Id(EventColumn::kKind); ok && id < behind; ++id)
      if (columns_.Has(id))
        ok = columns_.Values(id, count, scratch_, out.rare[id]);
  }
  return ok;
}

bool EventChunkDecoder::Aggregates(std::vector<NameAggregate>& out) {
  out.clear();
  std::string_view raw;
  bool constant = false;
  if (!columns_.Get(Id(EventColumn::kAggregates), SummaryRoom(info_), scratch_,
                    &raw, &constant))
    return false;
  ByteReader in(raw);
  const uint64_t rows = in.Varint();
  if (!in.ok() || rows > info_.count) return false;
  for (uint64_t i = 0; i < rows; ++i)
    if (!out.emplace_back().Decode(in)) return false;
  return true;
}

bool EventChunkDecoder::Lod(bool coarse, std::vector<LodRow>& out) {
  out.clear();
  std::string_view raw;
  bool constant = false;
  const EventColumn id = coarse ? EventColumn::kLodCoarse : EventColumn::kLod;
  if (!columns_.Get(Id(id), SummaryRoom(info_), scratch_, &raw, &constant))
    return false;
  const uint32_t node_events = coarse ? kLodCoarseEvents : kLodEvents;
  uint64_t nodes_left = info_.count;  // a node stands for at least one event
  ByteReader in(raw);
  while (!in.AtEnd()) {
    LodRow row;
    const uint64_t depth = in.Varint();
    const uint64_t nodes = in.Varint();
    if (!in.ok() || depth > info_.max_depth || nodes > nodes_left ||
        out.size() > info_.max_depth)
      return false;
    nodes_left -= nodes;
    row.depth = static_cast<uint16_t>(depth);
    uint64_t previous = static_cast<uint64_t>(info_.begin_ns);
    for (uint64_t i = 0; i < nodes; ++i) {
      LodNode node;
      const uint64_t begin = previous + static_cast<uint64_t>(in.Signed());
      const uint64_t span = in.Varint();
      node.begin_ns = static_cast<int64_t>(begin);
      node.end_ns = static_cast<int64_t>(begin + span);
      node.busy_ns = span - static_cast<uint64_t>(in.Signed());
      node.max_dur_ns = in.Varint();
      node.max_name = in.Varint32();
      node.count = node_events -
                   static_cast<uint32_t>(static_cast<uint64_t>(in.Signed()));
      previous = begin + span;
      if (!in.ok()) return false;
      row.nodes.push_back(node);
    }
    out.push_back(std::move(row));
  }
  return in.ok();
}

}  // namespace sonde
