// The tables slice, instant and counter: the ones that can be large.

#include "store/counter_replay.h"
#include "store/event_cells.h"
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
  for (int column = 0; column <= kColSource; ++column)
    if (request.Uses(column)) mask |= EventMaskOf(column);
  return std::make_unique<ScannedEvents>(store, request, std::move(filter),
                                         mask);
}

// Values of counters where they changed, chunk by chunk, tick by tick; NULL
// where a series ended, and at the last tick before some are missing.
class CounterRows : public SqlRows, private CounterHandler {
 public:
  CounterRows(const Store& store, const SqlRequest& request)
      : store_(store),
        deadline_(request.deadline),
        replay_(store, request.Range(1)) {
    const auto series = request.Equal(0);
    if (!series)
      replay_.WantAll(*this);
    else if (*series > 0 && *series <= UINT32_MAX)
      replay_.Want(*this, static_cast<uint32_t>(*series),
                   static_cast<uint32_t>(*series));
  }

  int Next() override {
    for (++at_; at_ >= rows_.size(); at_ = 0) {
      if (deadline_ && deadline_->passed()) return SQLITE_INTERRUPT;
      rows_.clear();
      if (!replay_.Next()) return SQLITE_DONE;
    }
    return SQLITE_ROW;
  }
  SqlValue Column(int column) override {
    const OneRow& now = rows_[at_];
    if (column == 0) return int64_t{now.series};
    if (column == 1) return now.time_ns;
    if (now.ended) return {};
    const auto row = store_.series().find(now.series);
    if (row != store_.series().end() &&
        row->second.type == Series::Type::kDouble)
      return ValueAsDouble(now.bits, Series::Type::kDouble);
    return static_cast<int64_t>(now.bits);
  }
  int64_t Id() override { return rows_[at_].id; }

 private:
  struct OneRow {
    uint32_t series;
    bool ended;
    int64_t time_ns;
    uint64_t bits;
    int64_t id;  // the same in every scan: SQLite tells rows apart by it
  };

  void Tick(const CounterTick& tick) override {
    for (const CounterValue& v : tick.values)
      if (!v.repeated)
        rows_.push_back({v.slot, false, tick.time_ns, v.bits, IdOf(v.place)});
    for (const CounterValue& v : tick.gone)
      rows_.push_back({v.slot, true, tick.time_ns, 0, IdOf(v.place)});
  }
  void Hole(const CounterHole& hole) override {
    constexpr int64_t kHole = int64_t{1} << 62;
    for (const CounterValue& v : hole.lost)
      rows_.push_back({v.slot, true, hole.last_ns, 0, kHole | IdOf(v.slot)});
  }
  int64_t IdOf(uint32_t place) const {
    return static_cast<int64_t>(replay_.chunk()) << 32 | place;
  }

  const Store& store_;
  const SqlDeadline* const deadline_;
  CounterReplay replay_;
  std::vector<OneRow> rows_;  // of a chunk
  size_t at_ = 0;
};

}  // namespace

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
