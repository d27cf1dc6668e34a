// The columns of the tables slice and instant, one by one.

#ifndef SONDE_STORE_EVENT_CELLS_H_
#define SONDE_STORE_EVENT_CELLS_H_

#include "store/event_scan.h"
#include "store/sql_table.h"
#include "trace/fields.h"

namespace sonde {

// Columns of slice and instant, which share their first ones.
enum EventSqlColumn {
  kColId,
  kColTs,
  kColDur,
  kColTrack,
  kColName,
  kColNameId,
  kColCategory,
  kColDepth,
  kColArgs,
  kColStack,
  kColFlowIn,
  kColFlowOut,
  kColUnfinished,
  kColClass,
  kColSource,
};
// An event's id: its chunk and its place there.
inline constexpr int kEventIdBits = 14;
static_assert(1 << kEventIdBits == kMaxChunkEvents);

// The columns of a chunk that a column of the table needs; EventColumnMask.
inline uint32_t EventMaskOf(int column) {
  switch (column) {
    case kColId:
    case kColTrack:
      return 0;
    case kColTs:
      return kMaskTime;
    case kColDur:
      return kMaskDur;
    case kColName:
    case kColNameId:
      return kMaskName;
    case kColDepth:
      return kMaskDepth;
    default:
      return kMaskRare;
  }
}

// Every column of an event is one number, also its name and category.
inline uint64_t EventValue(const EventScan& scan, uint32_t i, int column) {
  const EventColumns& events = scan.events();
  switch (column) {
    case kColId:
      return (static_cast<uint64_t>(scan.chunk_index()) << kEventIdBits) + i;
    case kColTs:
      return static_cast<uint64_t>(events.end_ns[i] - events.dur_ns[i]);
    case kColDur:
      return static_cast<uint64_t>(events.dur_ns[i]);
    case kColTrack:
      return scan.info().track;
    case kColName:
    case kColNameId:
      return events.name[i];
    case kColDepth:
      return events.depth[i];
    case kColCategory:
      return events.Rare(EventColumn::kCategory, i);
    case kColArgs:
      return events.Rare(EventColumn::kArgs, i);
    case kColStack:
      return events.Rare(EventColumn::kStack, i);
    case kColFlowIn:
      return events.Rare(EventColumn::kFlowIn, i);
    case kColFlowOut:
      return events.Rare(EventColumn::kFlowOut, i);
    case kColClass:
      return events.Rare(EventColumn::kClass, i) % kClasses.size();
    case kColSource: {
      const uint64_t own = events.Rare(EventColumn::kSource, i);
      return own != 0 ? own : scan.track_source();
    }
    default:
      return events.Rare(EventColumn::kFlags, i) & Event::kUnfinished;
  }
}

// That number as SQL shows it. Ids of 0 are NULL: not collected.
inline SqlValue EventCell(const Store& store, int column, uint64_t value) {
  switch (column) {
    case kColName:
    case kColCategory:
    case kColSource:
      return TextOrNull(store, static_cast<uint32_t>(value));
    case kColNameId:
    case kColArgs:
    case kColStack:
    case kColFlowIn:
    case kColFlowOut:
      return IdOrNull(value);
    case kColClass:
      return kClasses[value];
    default:
      return static_cast<int64_t>(value);
  }
}

}  // namespace sonde

#endif  // SONDE_STORE_EVENT_CELLS_H_
