#include "trace/index.h"

namespace sonde {

bool IsChunk(FrameKind kind) {
  return kind == FrameKind::kEvents || kind == FrameKind::kCounters ||
         kind == FrameKind::kSamples;
}

std::optional<ChunkSpan> IndexEntry::Chunk() const {
  switch (kind) {
    case FrameKind::kEvents:
      return ChunkSpan{events.track, events.first_ordinal, events.count,
                       events.count, events.begin_ns,      events.end_ns};
    case FrameKind::kCounters:
      return ChunkSpan{counters.group,    counters.first_ordinal,
                       counters.ticks,    counters.values,
                       counters.begin_ns, counters.end_ns};
    case FrameKind::kSamples:
      return ChunkSpan{0,
                       samples.first_ordinal,
                       samples.count,
                       samples.count,
                       samples.begin_ns,
                       samples.end_ns};
    default:
      return std::nullopt;
  }
}

bool IndexEntry::DecodeChunk(ByteReader& in) {
  switch (kind) {
    case FrameKind::kEvents:
      return events.Decode(in);
    case FrameKind::kCounters:
      return counters.Decode(in);
    case FrameKind::kSamples:
      return samples.Decode(in);
    default:
      return true;
  }
}

std::string EncodeIndex(std::span<const IndexEntry> entries) {
  ByteWriter out;
  out.Varint(entries.size());
  int64_t offset = 0;
  uint32_t sequence = 0;
  for (const IndexEntry& entry : entries) {
    out.Varint(static_cast<uint64_t>(entry.kind));
    out.Signed(entry.offset - offset);
    out.Varint(static_cast<uint64_t>(entry.size));
    out.Signed(static_cast<int64_t>(entry.sequence) - sequence);
    offset = entry.offset + entry.size;
    sequence = entry.sequence + 1;
    if (entry.kind == FrameKind::kEvents) entry.events.Encode(out);
    if (entry.kind == FrameKind::kCounters) entry.counters.Encode(out);
    if (entry.kind == FrameKind::kSamples) entry.samples.Encode(out);
  }
  return out.Take();
}

bool DecodeIndex(std::string_view payload, int64_t end_offset,
                 std::vector<IndexEntry>& out) {
  ByteReader in(payload);
  const uint64_t count = in.Varint();
  // A small index can claim many entries: no more than frames fit in the file.
  constexpr int64_t kSmallest = kFrameHeaderSize;
  if (!in.ok() || count > payload.size() ||
      count > static_cast<uint64_t>(end_offset / kSmallest) ||
      count + out.size() > kMaxFrames)
    return false;
  uint64_t offset = 0;
  int64_t behind =
      out.empty() ? kFileHeaderSize : out.back().offset + out.back().size;
  uint32_t sequence = 0;
  for (uint64_t i = 0; i < count; ++i) {
    IndexEntry entry;
    const uint64_t kind = in.Varint();
    if (kind > UINT8_MAX) return false;
    entry.kind = static_cast<FrameKind>(kind);
    offset += static_cast<uint64_t>(in.Signed());
    entry.offset = static_cast<int64_t>(offset);
    entry.size = static_cast<int64_t>(in.Varint());
    entry.sequence = sequence + static_cast<uint32_t>(in.Signed());
    offset += static_cast<uint64_t>(entry.size);
    sequence = entry.sequence + 1;
    if (!entry.DecodeChunk(in)) return false;
    if (!in.ok() || entry.offset < behind || entry.offset > end_offset ||
        entry.size < kSmallest || entry.size > kSmallest + kMaxPayload ||
        entry.size > end_offset - entry.offset)
      return false;
    behind = entry.offset + entry.size;
    out.push_back(entry);
  }
  return in.AtEnd();
}

std::string EndMark::Encode() const {
  ByteWriter out;
  out.U64(static_cast<uint64_t>(index_offset));
  out.U64(events);
  out.U64(static_cast<uint64_t>(file_size));
  return out.Take();
}

bool EndMark::Decode(std::string_view payload) {
  if (payload.size() != kSize) return false;
  ByteReader in(payload);
  index_offset = static_cast<int64_t>(in.U64());
  events = in.U64();
  file_size = static_cast<int64_t>(in.U64());
  return in.ok();
}

}  // namespace sonde
