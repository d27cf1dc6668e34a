// The tables slice, instant and counter: the ones that can be large.

#include "store/sql_event.h"

#include <algorithm>
#include <unordered_map>

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
  const IdTable<std::string>& strings = store.strings();
  // "?" also stands for every string that was lost.
  if (text && *text != "?") {
    filter.names.emplace();
    for (uint32_t id = strings.From(1); id != 0; id = strings.From(id + 1))
      if (*strings.Find(id) == *text) filter.names->Add(id, strings.near_ids());
  } else if (name_id && *name_id > 0 && *name_id < UINT32_MAX &&
             strings.Find(static_cast<uint32_t>(*name_id)) != nullptr) {
    filter.names.emplace();
    filter.names->Add(static_cast<uint32_t>(*name_id), strings.near_ids());
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
  SqlValue Column(int column) override {
    return EventCell(store_, column,
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
  for (int column = 0; column <= kColClass; ++column)
    if (request.Uses(column)) mask |= EventMaskOf(column);
  return std::make_unique<ScannedEvents>(store, request, std::move(filter),
                                         mask);
}

// Values of counters where they changed, chunk by chunk, tick by tick; NULL
// where a series ended. Each chunk begins with all values, also those that did
// not change.
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
      if (NextOfChunk()) return SQLITE_ROW;
      if (deadline_ && deadline_->passed()) return SQLITE_INTERRUPT;
      if (!NextChunk()) return SQLITE_DONE;
    }
  }
  SqlValue Column(int column) override {
    if (column == 0) return int64_t{now_.series};
    if (column == 1) return ticks_.time_ns[tick_];
    if (ended_) return {};
    const auto row = store_.series().find(now_.series);
    if (row != store_.series().end() &&
        row->second.type == Series::Type::kDouble)
      return ValueAsDouble(now_.value, Series::Type::kDouble);
    return static_cast<int64_t>(now_.value);
  }
  // The same in every scan: SQLite tells rows apart by it.
  int64_t Id() override {
    const size_t place = ended_ ? ticks_.changes.size() + gone_ : change_;
    return static_cast<int64_t>(chunk_ << 32 | place);
  }

 private:
  bool NextOfChunk() {
    for (; tick_ < ticks_.size(); ++tick_) {
      ended_ = false;
      while (change_ < ticks_.changed_end[tick_]) {
        now_ = ticks_.changes[change_++];
        if (series_ && now_.series != *series_) continue;
        const auto [at, fresh] = live_->try_emplace(now_.series, now_.value);
        if (!fresh && at->second == now_.value) continue;
        at->second = now_.value;
        return true;
      }
      ended_ = true;
      while (gone_ < ticks_.gone_end[tick_]) {
        now_ = {ticks_.gone[gone_++], 0};
        if ((!series_ || now_.series == *series_) &&
            live_->erase(now_.series) != 0)
          return true;
      }
    }
    return false;
  }

  bool NextChunk() {
    const auto& chunks = store_.counter_chunks();
    for (; chunk_ < chunks.size(); ++chunk_) {
      const CounterChunkInfo& info = chunks[chunk_].counters;
      if ((group_ && info.group != *group_) ||
          info.begin_ns >= window_.end_ns || info.end_ns < window_.begin_ns)
        continue;
      Enter(chunk_);
      if (Read(chunks[chunk_++])) return true;
    }
    ticks_.Clear();
    return false;
  }
  // Knows the values before a chunk, also if the one before it was not wanted.
  void Enter(size_t chunk) {
    const auto& chunks = store_.counter_chunks();
    const uint32_t id = chunks[chunk].counters.group;
    Group& group = groups_[id];
    live_ = &group.live;
    const size_t before = Before(chunk);
    if (group.read_to != before) {
      live_->clear();
      if (Read(chunks[before - 1]))
        while (NextOfChunk()) {
        }
    }
    group.read_to = chunk + 1;
  }
  // Behind the chunk of the same group before this one; 0: there is none.
  size_t Before(size_t chunk) {
    const auto& chunks = store_.counter_chunks();
    if (before_.empty()) {
      std::unordered_map<uint32_t, size_t> last;
      before_.reserve(chunks.size());
      for (size_t i = 0; i < chunks.size(); ++i) {
        size_t& behind = last[chunks[i].counters.group];
        before_.push_back(behind);
        behind = i + 1;
      }
    }
    return before_[chunk];
  }
  bool Read(const FrameRef& chunk) {
    tick_ = change_ = gone_ = 0;
    if (store_.ReadTicks(chunk, ticks_)) return true;
    live_->clear();
    return false;
  }

  const Store& store_;
  const SqlDeadline* const deadline_;
  const TimeRange window_;
  const std::optional<int64_t> series_;
  std::optional<uint32_t> group_;
  struct Group {
    std::unordered_map<uint32_t, uint64_t> live;  // values by series
    size_t read_to = 0;  // behind the chunk that they are of
  };
  std::unordered_map<uint32_t, Group> groups_;
  std::unordered_map<uint32_t, uint64_t>* live_ = nullptr;  // of this chunk
  CounterTicks ticks_;
  size_t chunk_ = 0, tick_ = 0, change_ = 0, gone_ = 0;
  CounterTicks::Change now_{};
  bool ended_ = false;
  std::vector<size_t> before_;  // by chunk, see Before()
};

}  // namespace

uint32_t EventMaskOf(int column) {
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
