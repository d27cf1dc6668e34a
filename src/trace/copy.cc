#include "trace/copy.h"

#include <algorithm>
#include <set>
#include <span>

#include "trace/fields.h"

namespace sonde {
namespace {

class Copier {
 public:
  Copier(const TraceReader& from, const AllRows& rows, const CopyRange& range,
         TraceWriter& to)
      : from_(from), rows_(rows), range_(range), to_(to) {
    copied_.damages = rows.damages;
  }

  Copied Copy() {
    Strings();
    Rows();
    for (const auto& [track, frames] : rows_.events) {
      const auto at = copied_.tracks.find(track);
      if (at == copied_.tracks.end()) continue;
      for (const FrameRef* frame : frames) Events(*frame, at->second);
    }
    for (const auto& [group, frames] : rows_.counters) {
      if (!groups_.contains(group)) continue;
      listed_.clear();
      next_ordinal_ = 0;
      for (const FrameRef* frame : frames) Ticks(*frame);
    }
    for (const FrameRef* frame : rows_.samples) Samples(*frame);
    return std::move(copied_);
  }

 private:
  // A writer keeps rows by number: a number that somebody made up must not cost
  // its size.
  static bool Dense(uint32_t number, size_t rows) {
    return number <= rows * 4 + 1024;
  }
  // New ids by old ones. Ids are dense in a trace of ours; one that somebody
  // made up is not kept.
  class Ids {
   public:
    void Put(uint32_t id, uint32_t now, size_t rows) {
      if (!Dense(id, rows)) return;
      if (id >= ids_.size()) ids_.resize(id + 1);
      ids_[id] = now;
    }
    uint32_t operator[](uint32_t id) const {
      return id < ids_.size() ? ids_[id] : 0;
    }

   private:
    std::vector<uint32_t> ids_;
  };
  uint32_t String(uint32_t id) const { return strings_[id]; }

  // Turns old ids into new ones in the fields of a row.
  class NewIds {
   public:
    explicit NewIds(const Copier& copier) : copier_(copier) {}
    template <typename T>
    void Number(const char*, T&) {}
    void Time(const char*, int64_t&) {}
    void Cost(const char*, int64_t&) {}
    void Text(const char*, std::string&) {}
    template <typename Enum, typename Words>
    void Choice(const char*, Enum&, const Words&, Enum) {}
    void String(const char*, uint32_t& id) { id = copier_.String(id); }
    void Ref(FrameKind kind, const char*, uint32_t& id) {
      if (const auto ids = copier_.plain_.find(kind);
          ids != copier_.plain_.end())
        id = ids->second[id];
      if (kind != FrameKind::kTracks) return;
      const auto at = copier_.copied_.tracks.find(id);
      id = at == copier_.copied_.tracks.end() ? 0 : at->second;
    }

   private:
    const Copier& copier_;
  };
  template <typename Row>
  Row Renamed(Row row) const {
    NewIds ids(*this);
    VisitFields(ids, row);
    return row;
  }

  void Strings() {
    rows_.strings.ForEach([&](uint32_t id, const std::string& text) {
      const uint32_t now = to_.Intern(text);
      strings_.Put(id, now, rows_.strings.size());
      if (now == id && copied_.same_strings + 1 == id) ++copied_.same_strings;
    });
  }

  void Rows() {
    for (const auto& [key, value] : rows_.meta) to_.PutMeta(key, value);
    for (const auto& [ordinal, pair] : rows_.clocks) to_.AddClock(pair);
    for (const auto& [number, row] : rows_.processes) {
      if (!Dense(number, rows_.processes.size())) continue;
      to_.PutProcess(copied_.processes[number] = Renamed(row));
    }
    for (const auto& [number, row] : rows_.threads) {
      if (!Dense(number, rows_.threads.size())) continue;
      to_.PutThread(copied_.threads[number] = Renamed(row));
    }
    ForEachPlainKind([&]<typename Row>(const PlainKind<Row>& kind) {
      const RowsById<Row>& rows = rows_.Of<Row>();
      Ids& ids = plain_[kind.frame];
      for (const auto& [id, row] : rows)
        ids.Put(id, to_.AddRow(Renamed(row)), rows.size());
    });
    for (auto [id, row] : rows_.tracks) {
      row.id = id;  // of one only events tell of, there is nothing else
      if (!EventsOf(row)) continue;
      const uint32_t now = to_.AddTrack(Renamed(row));
      copied_.tracks[id] = now;
      if (now == id && copied_.same_tracks + 1 == id) ++copied_.same_tracks;
    }
    for (const auto& [id, row] : rows_.series) {
      if (row.group == 0 || !Dense(row.group, rows_.series.size()) ||
          (range_.series && !range_.series(row)))
        continue;
      groups_.insert(row.group);
      const uint32_t now = to_.AddSeries(Renamed(row));
      series_.Put(id, now, rows_.series.size());
      copied_series_.resize(std::max<size_t>(copied_series_.size(), now + 1));
      copied_series_[now] = {row.group, row.type == Series::Type::kDouble};
      if (now == id && copied_.same_series + 1 == id) ++copied_.same_series;
    }
    for (const auto& [ordinal, loss] : rows_.losses) {
      if (range_.losses && !range_.losses(ordinal, loss)) continue;
      const size_t now = to_.AddLoss(loss);
      if (now == ordinal && copied_.same_losses == ordinal)
        ++copied_.same_losses;
    }
    std::vector<NotCollected> missing;
    for (const auto& [ordinal, row] : rows_.not_collected)
      missing.push_back(row);
    to_.PutNotCollected(missing);
    Stacks();
    Args();
    for (TrackTotal total : rows_.given_up) {
      const auto track = copied_.tracks.find(total.track);
      total.track = track == copied_.tracks.end() ? 0 : track->second;
      total.aggregate.name = String(total.aggregate.name);
      if (total.track != 0) to_.AddGivenUp(total);
    }
    for (SampleSum sum : rows_.given_up_samples) {
      sum.stack = stacks_[sum.stack];
      to_.AddGivenUp(sum);
    }
  }

  // Frame by frame: they can be most of a trace.
  void Args() {
    std::string payload;
    size_t count = 0;
    for (const FrameRef& frame : from_.frames()) {
      if (frame.kind != FrameKind::kArgs) continue;
      const bool read = from_.Read(frame, payload) &&
                        DecodeRows<ArgSet>(payload, [&](ArgSet set) {
                          for (Arg& arg : set.args) {
                            arg.key = String(arg.key);
                            arg.string_value = String(arg.string_value);
                          }
                          args_.Put(set.id, to_.AddArgs(set.args), ++count);
                        });
      if (!read) Damaged(frame);
    }
  }

  void Stacks() {
    Ids frames;
    rows_.frames.ForEach([&](uint32_t id, const StackFrame& row) {
      const uint32_t added = to_.AddFrame(Renamed(row));
      frames.Put(id, added, rows_.frames.size());
      const auto symbol = rows_.symbols.lower_bound({id, 0});
      if (row.module != 0 && row.function == 0 &&
          (symbol == rows_.symbols.end() || symbol->first.first != id))
        copied_.unnamed.emplace_back(id, added);
    });
    rows_.stacks.ForEach([&](uint32_t id, const StackNode& row) {
      stacks_.Put(id, to_.AddStack({stacks_[row.parent], frames[row.frame]}),
                  rows_.stacks.size());
    });
    for (const auto& [key, row] : rows_.symbols) {
      Symbol symbol = Renamed(row);
      symbol.frame = frames[row.frame];
      if (symbol.frame != 0) to_.AddSymbol(symbol);
    }
  }

  std::optional<uint64_t> EventsOf(const Track& row) const {
    return range_.events ? range_.events(row) : UINT64_MAX;
  }

  void Events(const FrameRef& frame, uint32_t track) {
    std::string payload;
    EventChunkDecoder decoder;
    EventColumns columns;
    if (!from_.Read(frame, payload) || !decoder.Open(payload) ||
        !decoder.Decode(kMaskAll, columns)) {
      Damaged(frame);
      return;
    }
    Track row = rows_.tracks.at(frame.events.track);
    row.id = frame.events.track;
    const uint64_t first = frame.events.first_ordinal;
    const uint64_t wanted = EventsOf(row).value_or(0);
    int64_t& last = copied_.last_end.try_emplace(track, kNoTime).first->second;
    for (size_t i = 0; i < columns.size() && first + i < wanted; ++i) {
      Event event = columns.At(i);
      event.name = String(event.name);
      event.category = String(event.category);
      event.source = String(event.source);
      event.args = args_[event.args];
      event.stack = stacks_[event.stack];
      to_.AddEvent(track, event);
      last = std::max(last, event.begin_ns + event.dur_ns);
    }
    copied_.last_ns = std::max(copied_.last_ns, last);
  }

  void Ticks(const FrameRef& frame) {
    const uint32_t group = frame.counters.group;
    std::string payload;
    CounterChunkDecoder decoder;
    CounterTicks ticks;
    if (!from_.Read(frame, payload) || !decoder.Open(payload) ||
        !decoder.Decode(ticks)) {
      Damaged(frame);
      return;
    }
    const uint64_t first = frame.counters.first_ordinal;
    const uint64_t wanted = range_.ticks ? range_.ticks(group) : UINT64_MAX;
    const bool hole = first != next_ordinal_ && !frame.journal;
    next_ordinal_ = first + ticks.size();
    for (size_t tick = 0; tick < ticks.size() && first + tick < wanted;
         ++tick) {
      const size_t from = tick ? ticks.changed_end[tick - 1] : 0;
      const size_t gone_from = tick ? ticks.gone_end[tick - 1] : 0;
      Tick(group, ticks.time_ns[tick],
           std::span(ticks.changes)
               .subspan(from, ticks.changed_end[tick] - from),
           std::span(ticks.gone)
               .subspan(gone_from, ticks.gone_end[tick] - gone_from),
           hole && tick == 0);
    }
  }

  void Tick(uint32_t group, int64_t time_ns,
            std::span<const CounterTicks::Change> changes,
            std::span<const uint32_t> gone, bool names_all) {
    ++ticks_;
    to_.BeginTick(group, time_ns);
    for (const auto& [number, value] : changes) {
      const uint32_t id = SeriesOf(group, number);
      if (id == 0) continue;
      NewSeries& series = copied_series_[id];
      if (series.is_double)
        to_.SetDouble(id, ValueAsDouble(value, Series::Type::kDouble));
      else
        to_.Set(id, static_cast<int64_t>(value));
      series.live = true;
      series.named_in = ticks_;
      if (!series.listed) listed_.push_back(id);
      series.listed = true;
    }
    for (const uint32_t number : gone) Gone(SeriesOf(group, number));
    // Behind a hole, what the first tick does not name has ended in it.
    if (names_all)
      std::erase_if(listed_, [&](uint32_t id) {
        NewSeries& series = copied_series_[id];
        if (series.named_in != ticks_) Gone(id);
        return !(series.listed = series.live);
      });
    to_.EndTick();
    copied_.last_ns = std::max(copied_.last_ns, time_ns);
  }

  void Samples(const FrameRef& frame) {
    std::string payload;
    std::vector<Sample> samples;
    if (!from_.Read(frame, payload) || !DecodeSampleChunk(payload, samples)) {
      Damaged(frame);
      return;
    }
    for (Sample& sample : samples) {
      sample.stack = stacks_[sample.stack];
      to_.AddSample(sample);
      copied_.last_ns = std::max(copied_.last_ns, sample.time_ns);
    }
  }

  // What is known of a series that is copied.
  struct NewSeries {
    uint32_t group = 0;
    bool is_double = false;
    bool live = false;      // has a value
    bool listed = false;    // is in listed_
    uint64_t named_in = 0;  // the last of ticks_ that has a value of it
  };
  // The new id; 0 if the row of the series is not there or says something else.
  uint32_t SeriesOf(uint32_t group, uint32_t number) const {
    const uint32_t id = series_[number];
    return id != 0 && copied_series_[id].group == group ? id : 0;
  }
  void Gone(uint32_t id) {
    if (id == 0 || !copied_series_[id].live) return;
    copied_series_[id].live = false;
    to_.Gone(id);
  }

  void Damaged(const FrameRef& frame) {
    copied_.damages.push_back(
        {frame.journal, frame.offset, frame.size, "damaged content"});
  }

  const TraceReader& from_;
  const AllRows& rows_;
  const CopyRange& range_;
  TraceWriter& to_;
  Copied copied_;
  Ids strings_, series_, stacks_, args_;
  std::map<FrameKind, Ids> plain_;        // of rows of plain kinds
  std::set<uint32_t> groups_;             // that have a series
  std::vector<NewSeries> copied_series_;  // by the new id
  std::vector<uint32_t> listed_;  // new ids, of a group, that had a value
  uint64_t ticks_ = 0;
  uint64_t next_ordinal_ = 0;
};

}  // namespace

Copied CopyTrace(const TraceReader& from, const AllRows& rows,
                 const CopyRange& range, TraceWriter& to) {
  return Copier(from, rows, range, to).Copy();
}

}  // namespace sonde
