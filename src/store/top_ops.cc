// What each name cost: totals of the trace and of any window of it.

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>

#include "store/stop.h"
#include "store/store.h"

namespace sonde {
namespace {

// How many chunks of a track are looked at for what an open slice contains.
constexpr size_t kMaxChunksBack = 16;

// Sums over single events, by name. Kept dense, because events come by the
// thousand and names by the dozen.
class Tally {
 public:
  void Add(uint32_t name, uint64_t dur_ns, int64_t self_ns) {
    const auto [at, fresh] = slots_.try_emplace(name, rows_.size());
    if (fresh) {
      rows_.emplace_back();
      rows_.back().sum.name = name;
    }
    Row& row = rows_[at->second];
    ++row.sum.count;
    row.sum.sum += dur_ns;
    row.sum.min = std::min(row.sum.min, dur_ns);
    row.sum.max = std::max(row.sum.max, dur_ns);
    row.sum.self = static_cast<int64_t>(static_cast<uint64_t>(row.sum.self) +
                                        static_cast<uint64_t>(self_ns));
    ++row.hits[Histogram::BucketOf(dur_ns)];
  }

  template <typename Take>
  void TakeAll(Take take) {
    for (Row& row : rows_) {
      for (uint32_t b = 0; b < Histogram::kBuckets; ++b)
        if (row.hits[b] != 0) row.sum.durations.Add(b, row.hits[b]);
      take(row.sum);
    }
    rows_.clear();
    slots_.clear();
  }

 private:
  struct Row {
    NameAggregate sum;
    std::array<uint32_t, Histogram::kBuckets> hits = {};
  };
  std::unordered_map<uint32_t, size_t> slots_;
  std::vector<Row> rows_;
};

// Follows the events of one track in the order they ended and knows each
// slice's own time: its duration less what the slices inside took.
class SelfTimes {
 public:
  explicit SelfTimes(std::vector<int64_t> inner) : inner_(std::move(inner)) {}

  int64_t Next(const EventColumns& events, size_t i) {
    if (events.Rare(EventColumn::kKind, i) != 0) return 0;
    const size_t depth = events.depth[i];
    if (depth + 2 > inner_.size()) inner_.resize(depth + 2);
    const uint64_t dur = static_cast<uint64_t>(events.dur_ns[i]);
    const uint64_t self = dur - static_cast<uint64_t>(inner_[depth + 1]);
    inner_[depth + 1] = 0;
    inner_[depth] =
        static_cast<int64_t>(static_cast<uint64_t>(inner_[depth]) + dur);
    return static_cast<int64_t>(self);
  }

 private:
  std::vector<int64_t> inner_;
};

}  // namespace

bool Store::ReadAggregates(const FrameRef& chunk,
                           std::vector<NameAggregate>& out) const {
  thread_local std::string payload;
  EventChunkDecoder decoder;
  out.clear();
  if (OpenEvents(chunk, payload, decoder)) {
    if (decoder.has_summaries()) {
      if (decoder.Aggregates(out)) return true;
    } else {
      // A chunk of the journal has none; it is short.
      EventColumns events;
      if (decoder.Decode(kMaskAll, events)) {
        Tally tally;
        SelfTimes self({});
        for (size_t i = 0; i < events.size(); ++i)
          tally.Add(events.name[i], static_cast<uint64_t>(events.dur_ns[i]),
                    self.Next(events, i));
        tally.TakeAll([&](const NameAggregate& row) { out.push_back(row); });
        return true;
      }
    }
    out.clear();
    NoteDamage(chunk);
  }
  return false;
}

// By depth: how much the slices of that depth took since the last slice around
// them ended, at the begin of the chunk at this place. Looks backward: a depth
// is settled by the first slice one less deep.
std::vector<int64_t> Store::InnerBefore(size_t chunk) const {
  std::vector<uint64_t> inner;
  const uint32_t track = event_chunks_[chunk].events.track;
  // Slices at or below this depth are behind a slice around them.
  size_t settled = SIZE_MAX;
  EventColumns events;
  for (size_t at = chunk, looked = 0;
       at-- > 0 && looked < kMaxChunksBack && settled > 1;) {
    const FrameRef& before = event_chunks_[at];
    if (before.events.track != track) continue;
    ++looked;
    if (!ReadEvents(before, kMaskTime | kMaskDepth | kMaskKind, events)) break;
    for (size_t i = events.size(); i-- > 0 && settled > 1;) {
      const size_t depth = events.depth[i];
      if (depth >= settled || events.Rare(EventColumn::kKind, i) != 0) continue;
      if (inner.size() <= depth) inner.resize(depth + 1);
      inner[depth] += static_cast<uint64_t>(events.dur_ns[i]);
      settled = depth + 1;
    }
  }
  return {inner.begin(), inner.end()};
}

const std::vector<TrackTotal>& Store::totals() const {
  if (rows_.has_totals) return rows_.totals;
  {
    const std::lock_guard lock(late_->mutex);
    if (late_->totals_ready) return late_->totals;
  }
  // An unfinished trace: what was given up, and what is there.
  std::map<std::pair<uint32_t, uint32_t>, NameAggregate> sums;
  const auto add = [&](uint32_t track, const NameAggregate& row) {
    NameAggregate& sum = sums[{track, row.name}];
    sum.name = row.name;
    sum.Merge(row);
  };
  for (const TrackTotal& row : rows_.given_up) add(row.track, row.aggregate);
  std::vector<NameAggregate> rows;
  bool stopped = false;
  // Chunks of the journal have no sums of their own.
  std::map<uint32_t, SelfTimes> open;
  EventColumns events;
  Tally tally;
  for (size_t at = 0; at < event_chunks_.size(); ++at) {
    if (StopScope::Asked()) {
      stopped = true;
      break;
    }
    const FrameRef& chunk = event_chunks_[at];
    const uint32_t track = chunk.events.track;
    if (!chunk.journal) {
      if (!ReadAggregates(chunk, rows)) continue;
      for (const NameAggregate& row : rows) add(track, row);
      continue;
    }
    auto self = open.find(track);
    if (self == open.end())
      self = open.try_emplace(track, InnerBefore(at)).first;
    if (!ReadEvents(chunk, kMaskAll, events)) continue;
    for (size_t i = 0; i < events.size(); ++i)
      tally.Add(events.name[i], static_cast<uint64_t>(events.dur_ns[i]),
                self->second.Next(events, i));
    tally.TakeAll([&](const NameAggregate& row) { add(track, row); });
  }
  const std::lock_guard lock(late_->mutex);
  if (!late_->totals_ready) {
    late_->totals.clear();
    for (auto& [key, sum] : sums)
      late_->totals.push_back({key.first, std::move(sum)});
    late_->totals_ready = !stopped;
  }
  return late_->totals;
}

bool Store::OfTheProgram(uint32_t track) const {
  const auto row = tracks().find(track);
  return row == tracks().end() || OfProgram(row->second);
}

std::vector<OpTotal> Store::TopOps(TimeRange window, uint32_t track) const {
  // By name: of the host, of devices.
  std::unordered_map<uint32_t, NameAggregate> sums[2];
  const auto add = [&](uint32_t id, const NameAggregate& row) {
    const auto at = tracks().find(id);
    const bool device =
        at != tracks().end() && at->second.kind == Track::Kind::kQueue;
    NameAggregate& sum = sums[device ? 1 : 0][row.name];
    sum.name = row.name;
    sum.Merge(row);
  };
  const auto wanted = [&](uint32_t id) {
    return track != 0 ? id == track : OfTheProgram(id);
  };
  if (window.begin_ns <= range_.begin_ns && window.end_ns > range_.end_ns) {
    for (const TrackTotal& row : totals())
      if (wanted(row.track)) add(row.track, row.aggregate);
  } else {
    std::vector<NameAggregate> rows;
    EventColumns events;
    for (size_t at = 0; at < event_chunks_.size(); ++at) {
      if (StopScope::Asked()) break;
      const FrameRef& chunk = event_chunks_[at];
      const EventChunkInfo& info = chunk.events;
      if (!wanted(info.track)) continue;
      if (info.end_ns < window.begin_ns || info.begin_ns >= window.end_ns)
        continue;
      if (!chunk.journal && info.begin_ns >= window.begin_ns &&
          info.end_ns < window.end_ns) {
        if (ReadAggregates(chunk, rows))
          for (const NameAggregate& row : rows) add(info.track, row);
        continue;
      }
      if (!ReadEvents(chunk, kMaskAll, events)) continue;
      Tally tally;
      SelfTimes self(InnerBefore(at));
      for (size_t i = 0; i < events.size(); ++i) {
        const int64_t begin = events.end_ns[i] - events.dur_ns[i];
        const int64_t self_ns = self.Next(events, i);
        if (begin >= window.begin_ns && begin < window.end_ns)
          tally.Add(events.name[i], static_cast<uint64_t>(events.dur_ns[i]),
                    self_ns);
      }
      tally.TakeAll([&](const NameAggregate& row) { add(info.track, row); });
    }
  }
  std::vector<OpTotal> out;
  for (const bool device : {false, true})
    for (const auto& entry : sums[device ? 1 : 0]) {
      const NameAggregate& sum = entry.second;
      // Sums without an event are damage; they must not look like one.
      if (sum.count == 0 || sum.min > sum.max) continue;
      out.push_back({sum.name, sum.count, sum.sum, sum.self, sum.min, sum.max,
                     sum.Quantile(0.5), sum.Quantile(0.99), device});
    }
  std::sort(out.begin(), out.end(), [](const OpTotal& a, const OpTotal& b) {
    return a.total_ns != b.total_ns ? a.total_ns > b.total_ns : a.name < b.name;
  });
  return out;
}

}  // namespace sonde
