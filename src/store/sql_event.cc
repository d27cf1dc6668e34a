// The tables slice, instant and counter: the ones that can be large.

#include "store/sql_event.h"

#include <algorithm>

#include "store/sql_group.h"

namespace sonde {
namespace {

EventFilter FilterOf(const Store& store, const SqlRequest& request,
                     Event::Kind kind) {
  EventFilter filter;
  filter.kind = kind;
  filter.begin = request.Range(kColTs);
  if (const auto track = request.Equal(kColTrack))
    // A number no track can have finds nothing, as id 0 does.
    filter.track =
        *track > 0 && *track <= UINT32_MAX ? static_cast<uint32_t>(*track) : 0;
  if (const auto id = request.Equal(kColId))
    filter.chunk = static_cast<uint64_t>(*id) >> kEventIdBits;
  const auto text = request.EqualText(kColName);
  const auto name_id = request.Equal(kColNameId);
  const size_t strings = store.string_count();
  // "?" also stands for every string that was lost.
  if (text && *text != "?") {
    filter.names.emplace(strings);
    for (uint32_t id = 1; id < strings; ++id)
      (*filter.names)[id] = store.Str(id) == *text;
  } else if (name_id && *name_id > 0 &&
             static_cast<uint64_t>(*name_id) < strings) {
    filter.names.emplace(strings);
    (*filter.names)[static_cast<size_t>(*name_id)] = true;
  }
  return filter;
}

// Events in the order of the file.
class ScannedEvents : public SqlRows {
 public:
  ScannedEvents(const Store& store, const SqlRequest& request,
                EventFilter filter, uint32_t mask)
      : store_(store),
        deadline_(request.deadline),
        scan_(store, std::move(filter), mask) {}

  int Next() override {
    if (++at_ < scan_.wanted().size()) return SQLITE_ROW;
    if (deadline_ && deadline_->passed()) return SQLITE_INTERRUPT;
    at_ = 0;
    return scan_.Next() ? SQLITE_ROW : SQLITE_DONE;
  }
  void Column(sqlite3_context* out, int column) override {
    EventResult(out, store_, column,
                EventValue(scan_, scan_.wanted()[at_], column));
  }
  int64_t Id() override {
    return static_cast<int64_t>(EventValue(scan_, scan_.wanted()[at_], kColId));
  }

 private:
  const Store& store_;
  const SqlDeadline* const deadline_;
  EventScan scan_;
  size_t at_ = 0;
};

std::unique_ptr<SqlRows> OpenEventTable(const Store& store,
                                        const SqlRequest& request,
                                        Event::Kind kind) {
  EventFilter filter = FilterOf(store, request, kind);
  if (request.group_by >= 0)
    return std::make_unique<GroupedEvents>(store, std::move(filter), request);
  uint32_t mask = 0;
  for (int column = 0; column <= kColUnfinished; ++column)
    if (request.Uses(column)) mask |= EventMaskOf(column);
  return std::make_unique<ScannedEvents>(store, request, std::move(filter),
                                         mask);
}

// Values of counters, chunk by chunk, tick by tick.
class CounterRows : public SqlRows {
 public:
  CounterRows(const Store& store, const SqlRequest& request)
      : store_(store),
        deadline_(request.deadline),
        window_(request.Range(1)),
        series_(request.Equal(0)) {
    if (!series_) return;
    const auto row = *series_ > 0 && *series_ <= UINT32_MAX
                         ? store.series().find(static_cast<uint32_t>(*series_))
                         : store.series().end();
    if (row != store.series().end()) group_ = row->second.group;
  }

  int Next() override {
    for (;;) {
      while (++change_ < ticks_.changes.size()) {
        while (change_ >= ticks_.changed_end[tick_]) ++tick_;
        if (!series_ || ticks_.changes[change_].series == *series_)
          return SQLITE_ROW;
      }
      if (deadline_ && deadline_->passed()) return SQLITE_INTERRUPT;
      if (!NextChunk()) return SQLITE_DONE;
      tick_ = 0;
      change_ = SIZE_MAX;
    }
  }
  void Column(sqlite3_context* out, int column) override {
    const auto [series, value] = ticks_.changes[change_];
    if (column == 0) {
      sqlite3_result_int64(out, series);
    } else if (column == 1) {
      sqlite3_result_int64(out, ticks_.time_ns[tick_]);
    } else {
      const auto row = store_.series().find(series);
      if (row != store_.series().end() &&
          row->second.type == Series::Type::kDouble)
        sqlite3_result_double(out, ValueAsDouble(value, Series::Type::kDouble));
      else
        sqlite3_result_int64(out, static_cast<int64_t>(value));
    }
  }
  int64_t Id() override {
    return static_cast<int64_t>((uint64_t{chunk_} << 28) + change_);
  }

 private:
  bool NextChunk() {
    const auto& chunks = store_.counter_chunks();
    while (chunk_ < chunks.size()) {
      const FrameRef& chunk = chunks[chunk_++];
      if (group_ && chunk.counters.group != *group_) continue;
      if (chunk.counters.begin_ns >= window_.end_ns ||
          chunk.counters.end_ns < window_.begin_ns)
        continue;
      if (store_.ReadTicks(chunk, ticks_)) return true;
    }
    ticks_.Clear();
    return false;
  }

  const Store& store_;
  const SqlDeadline* const deadline_;
  const TimeRange window_;
  const std::optional<int64_t> series_;
  std::optional<uint32_t> group_;
  CounterTicks ticks_;
  size_t chunk_ = 0;
  size_t tick_ = 0;
  size_t change_ = SIZE_MAX;
};

}  // namespace

uint32_t EventMaskOf(int column) {
  switch (column) {
    case kColId:
    case kColTrack:
      return 0;
    case kColTs:
    case kColDur:
      return kMaskTime;
    case kColName:
    case kColNameId:
      return kMaskName;
    case kColDepth:
      return kMaskDepth;
    default:
      return kMaskRare;
  }
}

std::unique_ptr<SqlRows> OpenSlices(const Store& store,
                                    const SqlRequest& request, std::string&) {
  return OpenEventTable(store, request, Event::Kind::kSlice);
}

std::unique_ptr<SqlRows> OpenInstants(const Store& store,
                                      const SqlRequest& request, std::string&) {
  return OpenEventTable(store, request, Event::Kind::kInstant);
}

std::unique_ptr<SqlRows> OpenCounters(const Store& store,
                                      const SqlRequest& request, std::string&) {
  return std::make_unique<CounterRows>(store, request);
}

}  // namespace sonde
