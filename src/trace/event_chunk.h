#ifndef SONDE_TRACE_EVENT_CHUNK_H_
#define SONDE_TRACE_EVENT_CHUNK_H_

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trace/aggregate.h"
#include "trace/columns.h"
#include "trace/format.h"
#include "trace/model.h"

namespace sonde {

// Events as columns, in the order they ended. The columns most events do not
// use reach to the last event that did; behind it, all is zero.
struct EventColumns {
  std::vector<int64_t> end_ns;
  std::vector<int64_t> dur_ns;
  std::vector<uint32_t> name;
  std::vector<uint16_t> depth;
  // kKind .. kSource, by EventColumn.
  std::array<std::vector<uint64_t>, kValueColumns> rare;

  // An event without rare columns.
  struct Plain {
    int64_t end_ns;
    int64_t dur_ns;
    uint32_t name;
    uint16_t depth;
  };

  size_t size() const { return end_ns.size(); }
  void Clear();
  void Append(std::span<const Plain> events);
  void Add(const Event& event) {
    end_ns.push_back(event.begin_ns + event.dur_ns);
    dur_ns.push_back(event.dur_ns);
    name.push_back(event.name);
    depth.push_back(event.depth);
    if (IsRare(event)) AddRare(event);
  }
  static bool IsRare(const Event& event) {
    return (event.flow_in | event.flow_out | event.category | event.args |
            event.stack | event.source | event.flags |
            static_cast<uint64_t>(event.kind) |
            static_cast<uint64_t>(event.cls)) != 0;
  }
  Event At(size_t i) const;
  uint64_t Rare(EventColumn column, size_t i) const {
    const auto& values = rare[static_cast<size_t>(column)];
    return i < values.size() ? values[i] : 0;
  }

 private:
  void AddRare(const Event& event);
};

// Level of detail: what lies between two moments on one depth of a track.
struct LodNode {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  uint64_t busy_ns = 0;  // covered by events
  uint64_t max_dur_ns = 0;
  uint32_t max_name = 0;  // of the longest event
  uint32_t count = 0;
};
// The nodes of one depth, in time order.
struct LodRow {
  uint16_t depth = 0;
  std::vector<LodNode> nodes;
};

// What a chunk says of itself before its columns. Also kept in the index.
struct EventChunkInfo {
  uint32_t track = 0;
  uint32_t count = 0;
  uint64_t first_ordinal = 0;  // events of this track before this chunk
  int64_t begin_ns = 0;        // earliest begin
  int64_t end_ns = 0;          // latest end
  int64_t first_end_ns = 0;    // the end of the first event
  uint32_t max_depth = 0;
  bool sorted = true;  // events stand in the order of their ends

  void Encode(ByteWriter& out) const;
  bool Decode(ByteReader& in);
};

// Turns the events of one track into chunks, one after the other. Keeps what
// must be known across chunks: how much of each open depth is already covered
// by inner slices, for the self times.
class EventChunkEncoder {
 public:
  // The payload of a kEvents frame. `summaries` adds level of detail and
  // aggregates (left out in the journal, whose chunks are short-lived).
  // Fills in `info` but for track and first_ordinal.
  std::string Encode(const EventColumns& events, size_t begin, size_t end,
                     bool summaries, EventChunkInfo& info);

  // Slices inside of others have ended and those around them not: the self
  // times of the next chunk depend on this one.
  bool busy() const;

  // Aggregates of the last chunk encoded with summaries.
  const std::vector<NameAggregate>& aggregates() const { return aggregates_; }

 private:
  void Summarise(const EventColumns& events, EventChunkInfo& info,
                 ColumnWriter& columns);
  void Aggregate(const EventColumns& events);
  static std::string EncodeLod(const std::vector<LodRow>& rows, int64_t base_ns,
                               uint32_t node_events);

  CompressionMemory memory_;
  std::vector<uint64_t> inner_ns_;  // by depth: covered by slices one deeper
  std::vector<NameAggregate> aggregates_;
  std::vector<uint64_t> rare_;  // scratch: one column
  std::string raw_;             // scratch: only grows
};

// Which columns to decode.
enum EventColumnMask : uint32_t {
  kMaskTime = 1,  // end_ns and dur_ns
  kMaskName = 2,
  kMaskDepth = 4,
  kMaskRare = 8,  // the others, kind included
  kMaskAll = 15,
  kMaskKind = 16,  // of the rare ones, only the kind
  kMaskDur = 32,   // dur_ns alone, checked against the chunk only
};

// Reads the payload of a kEvents frame. Every function returns false if the
// bytes are damaged, and never reads outside them.
class EventChunkDecoder {
 public:
  // Views into `payload`; keep it alive.
  bool Open(std::string_view payload);

  const EventChunkInfo& info() const { return info_; }

  // Columns not asked for are left empty. After false, `out` means nothing.
  bool Decode(uint32_t mask, EventColumns& out);
  bool Aggregates(std::vector<NameAggregate>& out);
  bool has_summaries() const;
  // False: the column is zero for all events.
  bool Has(EventColumn column) const {
    return columns_.Has(static_cast<uint8_t>(column));
  }
  // Nodes of 16 events, or of 1024 if `coarse`.
  bool Lod(bool coarse, std::vector<LodRow>& out);

 private:
  EventChunkInfo info_;
  ColumnReader columns_;
  std::string scratch_;
};

}  // namespace sonde

#endif  // SONDE_TRACE_EVENT_CHUNK_H_
