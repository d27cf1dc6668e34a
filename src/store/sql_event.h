// Columns of the event tables, one by one.

#ifndef SONDE_STORE_SQL_EVENT_H_
#define SONDE_STORE_SQL_EVENT_H_

#include "store/event_scan.h"
#include "store/sql_table.h"

namespace sonde {

// The columns of a chunk that a column of the table needs; EventColumnMask.
uint32_t EventMaskOf(int column);

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
    default:
      return events.Rare(EventColumn::kFlags, i) & Event::kUnfinished;
  }
}

inline void ResultText(sqlite3_context* out, std::string_view text) {
  sqlite3_result_text64(out, text.data(), text.size(), SQLITE_STATIC,
                        SQLITE_UTF8);
}

// That number as SQL shows it. Ids of 0 are NULL: not collected.
inline void EventResult(sqlite3_context* out, const Store& store, int column,
                        uint64_t value) {
  switch (column) {
    case kColName:
    case kColCategory:
      if (value != 0) ResultText(out, store.Str(static_cast<uint32_t>(value)));
      break;
    case kColNameId:
    case kColArgs:
    case kColStack:
    case kColFlowIn:
    case kColFlowOut:
      if (value != 0) sqlite3_result_int64(out, static_cast<int64_t>(value));
      break;
    default:
      sqlite3_result_int64(out, static_cast<int64_t>(value));
  }
}

}  // namespace sonde

#endif  // SONDE_STORE_SQL_EVENT_H_
