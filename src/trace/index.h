#ifndef SONDE_TRACE_INDEX_H_
#define SONDE_TRACE_INDEX_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trace/counter_chunk.h"
#include "trace/event_chunk.h"
#include "trace/format.h"
#include "trace/sample_chunk.h"

namespace sonde {

// What a chunk of any kind covers. Chunks of one kind and stream follow one
// another by their ordinals.
struct ChunkSpan {
  uint32_t stream = 0;  // the chunk's track or group
  uint64_t first_ordinal =
      0;                // events, ticks or samples before the chunk, ever
  uint64_t count = 0;   // events, ticks or samples
  uint64_t values = 0;  // events, counter values or samples
  int64_t begin_ns = 0, end_ns = 0;
};

// Where a frame stands and, for chunks, what is in it: all a reader needs to
// decide whether to read it.
struct IndexEntry {
  FrameKind kind = FrameKind::kEnd;
  int64_t offset = 0;
  int64_t size = 0;  // header and payload
  uint32_t sequence = 0;
  EventChunkInfo events;      // kEvents only
  CounterChunkInfo counters;  // kCounters only
  SampleChunkInfo samples;    // kSamples only

  // Nothing for a frame that is no chunk.
  std::optional<ChunkSpan> Chunk() const;
  // What a chunk's payload says before its columns. False if damaged; true for
  // a frame that is no chunk.
  bool DecodeChunk(ByteReader& in);
};
bool IsChunk(FrameKind kind);

// An index is a run of kIndex frames of at most so many entries.
inline constexpr size_t kIndexPart = 64 << 10;

// The payload of a kIndex frame.
std::string EncodeIndex(std::span<const IndexEntry> entries);
// Adds the entries to `out`. False if damaged, or if an entry does not stand
// between the one before it and `end_offset`.
bool DecodeIndex(std::string_view payload, int64_t end_offset,
                 std::vector<IndexEntry>& out);

// The payload of the kEnd frame, the last of a finished trace.
struct EndMark {
  static constexpr size_t kSize = 24;
  int64_t index_offset = 0;
  uint64_t events = 0;  // slices, instants and counter values, ever added
  int64_t file_size = 0;

  std::string Encode() const;
  bool Decode(std::string_view payload);
};

}  // namespace sonde

#endif  // SONDE_TRACE_INDEX_H_
