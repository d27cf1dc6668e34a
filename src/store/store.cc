#include "store/store.h"

#include <fmt/format.h>

#include <algorithm>

#include "trace/bytes.h"
#include "trace/source.h"
#include "trace/text_reader.h"

namespace sonde {
namespace {

// Times of a damaged file may be anything; sums of them wrap.
int64_t Shift(int64_t base, int64_t to, int64_t from) {
  return static_cast<int64_t>(static_cast<uint64_t>(base) +
                              static_cast<uint64_t>(to) -
                              static_cast<uint64_t>(from));
}

// A row of a table by id, if it may be kept.
template <typename Key, typename Row>
void Put(std::map<Key, Row>& rows, RowBudget& budget, Key key, Row row,
         size_t heap = 0) {
  if (budget.Keep(heap) &&
      (rows.contains(key) || budget.KeepNode(sizeof(Key) + sizeof(Row) + 8)))
    rows.insert_or_assign(std::move(key), std::move(row));
}
template <typename Row>
void Put(IdTable<Row>& rows, RowBudget& budget, uint32_t id, Row row,
         size_t heap = 0) {
  if (rows.Find(id) != nullptr ? budget.Keep(heap)
                               : budget.KeepNode(sizeof(Row) + heap))
    rows.Put(id, std::move(row));
}

}  // namespace

Result<std::shared_ptr<const Store>> Store::Open(const std::string& path) {
  TRY(auto source, Source::OpenFile(path));
  std::string head;
  source->Read(0, 64, head);
  if (head.empty())
    return Error{Error::Kind::kCorrupt, path + ": empty file",
                 "`sonde run -- <command>` makes a trace"};
  if (LooksLikeText(head)) {
    TRY(auto bytes, ReadTextFile(path));
    return OfBytes(std::move(bytes), path);
  }
  TRY(auto reader, TraceReader::Open(path));
  return FromReader(std::move(reader), path);
}

Result<std::shared_ptr<const Store>> Store::OfBytes(
    std::shared_ptr<std::string> bytes, const std::string& name) {
  TRY(auto reader, TraceReader::OpenBytes(std::move(bytes), name));
  return FromReader(std::move(reader), name);
}

Result<std::shared_ptr<const Store>> Store::FromReader(
    TraceReader reader, const std::string& path) {
  std::shared_ptr<Store> store(new Store());
  store->path_ = path;
  store->reader_ = std::make_shared<const TraceReader>(std::move(reader));
  store->late_ = std::make_shared<Late>();
  TRY_OK(store->Load());
  return std::shared_ptr<const Store>(std::move(store));
}

Status Store::Load() {
  RowBudget budget(*reader_);
  event_chunks_.frames_ = counter_chunks_.frames_ = reader_->frames().data();
  std::string payload;
  for (uint32_t at = 0; at < reader_->frames().size(); ++at) {
    const FrameRef& frame = reader_->frames()[at];
    if (frame.kind == FrameKind::kEvents) {
      event_chunks_.at_.push_back(at);
      event_count_ += frame.events.count;
    } else if (frame.kind == FrameKind::kCounters) {
      counter_chunks_.at_.push_back(at);
      event_count_ += frame.counters.values;
    } else if (!reader_->Read(frame, payload)) {
      NoteDamage(frame);
    } else if (budget.Unpack(payload.size()) &&
               !LoadFrame(frame, payload, budget)) {
      NoteDamage(frame);
    }
    TRY_OK(budget.status(path_));
  }
  for (const auto& [ordinal, pair] : clock_rows_) clocks_.push_back(pair);
  clock_rows_.clear();
  std::sort(clocks_.begin(), clocks_.end(),
            [](const ClockPair& a, const ClockPair& b) {
              return a.monotonic_ns < b.monotonic_ns;
            });
  FindRange();
  return Ok();
}

bool Store::LoadFrame(const FrameRef& frame, const std::string& payload,
                      RowBudget& budget) {
  switch (frame.kind) {
    case FrameKind::kStrings:
      return DecodeStrings(payload, [&](uint32_t id, std::string_view text) {
        Put(strings_, budget, id, std::string(text), HeapBytes(text.size()));
      });
    case FrameKind::kTracks:
      return DecodeRows<Track>(payload,
                               [&](Track r) { Put(tracks_, budget, r.id, r); });
    case FrameKind::kProcesses:
      return DecodeRows<Process>(
          payload, [&](Process r) { Put(processes_, budget, r.number, r); });
    case FrameKind::kThreads:
      return DecodeRows<Thread>(
          payload, [&](Thread r) { Put(threads_, budget, r.number, r); });
    case FrameKind::kSeries:
      return DecodeRows<Series>(
          payload, [&](Series r) { Put(series_, budget, r.id, r); });
    case FrameKind::kStacks:
      return DecodeRows<StackRow>(payload, [&](StackRow r) {
        if (r.is_frame)
          Put(frames_, budget, r.id, r.frame);
        else
          Put(stacks_, budget, r.id, r.node);
      });
    case FrameKind::kArgs:
      return DecodeRows<ArgSet>(payload, [&](ArgSet r) {
        const size_t heap = r.args.capacity() * sizeof(Arg) + 16;
        Put(args_, budget, r.id, std::move(r.args), heap);
      });
    case FrameKind::kClocks:
      return DecodeRows<ClockRow>(payload, [&](ClockRow r) {
        Put(clock_rows_, budget, r.ordinal, r.pair, sizeof(ClockPair));
      });
    case FrameKind::kLosses:
      // Once more for each time they are listed.
      return DecodeRows<LossRow>(payload, [&](LossRow r) {
        const size_t heap = sizeof(Loss) + 2 * HeapBytes(r.loss.reason.size()) +
                            2 * HeapBytes(r.loss.detail.size());
        Put(losses_, budget, r.ordinal, std::move(r.loss), heap);
      });
    case FrameKind::kMeta:
      return DecodeRows<MetaEntry>(payload, [&](MetaEntry r) {
        const size_t heap = HeapBytes(r.key.size()) + HeapBytes(r.value.size());
        Put(meta_, budget, std::move(r.key), std::move(r.value), heap);
      });
    case FrameKind::kTotals:
      return LoadTotals(payload, budget);
    default:
      return true;  // of a newer sonde
  }
}

bool Store::LoadTotals(const std::string& payload, RowBudget& budget) {
  TotalsPart totals;
  if (!DecodeTotals(payload, totals)) return false;
  const bool whole = totals.which == 0;
  std::vector<TrackTotal>& rows = whole ? whole_totals_ : dropped_totals_;
  uint64_t& next = whole ? whole_parts_ : dropped_parts_;
  if (totals.part == 0) {
    rows.clear();
    next = 0;
  }
  const bool ok = DecodeRows<TrackTotal>(totals.rows, [&](TrackTotal r) {
    if (budget.Keep(r.KeptBytes())) rows.push_back(std::move(r));
  });
  next = ok && totals.part == next ? next + 1 : UINT64_MAX;
  if (whole) has_whole_totals_ = next == totals.parts;
  return ok;
}

void Store::FindRange() {
  int64_t begin = INT64_MAX, end = INT64_MIN;
  const auto widen = [&](int64_t from, int64_t to) {
    begin = std::min(begin, from);
    end = std::max(end, to);
  };
  for (const FrameRef& f : event_chunks_)
    widen(f.events.begin_ns, f.events.end_ns);
  for (const FrameRef& f : counter_chunks_)
    widen(f.counters.begin_ns, f.counters.end_ns);
  for (const auto& [number, process] : processes_) {
    if (process.start_ns != kNoTime) widen(process.start_ns, process.start_ns);
    if (process.end_ns != kNoTime) widen(process.end_ns, process.end_ns);
  }
  for (const char* key : {"started_ns", "ended_ns"}) {
    const auto at = meta_.find(key);
    if (at == meta_.end()) continue;
    const int64_t ns = std::strtoll(at->second.c_str(), nullptr, 10);
    widen(ns, ns);
  }
  if (begin <= end) range_ = {begin, end};
}

uint32_t Store::FindString(std::string_view text) const {
  for (uint32_t id = strings_.From(1); id != 0; id = strings_.From(id + 1))
    if (*strings_.Find(id) == text) return id;
  return 0;
}

const std::vector<Arg>* Store::args(uint32_t set) const {
  const auto at = args_.find(set);
  return at == args_.end() ? nullptr : &at->second;
}

std::string Store::Meta(const std::string& key) const {
  const auto at = meta_.find(key);
  return at == meta_.end() ? "" : at->second;
}

int64_t Store::RealtimeOf(int64_t time_ns) const {
  if (clocks_.empty())
    return Shift(reader_->header().realtime_ns, time_ns,
                 reader_->header().monotonic_ns);
  auto at = std::lower_bound(
      clocks_.begin(), clocks_.end(), time_ns,
      [](const ClockPair& pair, int64_t ns) { return pair.monotonic_ns < ns; });
  // The pair before the moment: a step of the date behind it is not its own.
  if (at != clocks_.begin()) --at;
  return Shift(at->realtime_ns, time_ns, at->monotonic_ns);
}

std::vector<Loss> Store::losses() const {
  std::vector<Loss> out;
  for (const Damage& damage : reader_->damages()) {
    Loss loss;
    loss.reason = "damaged";
    loss.detail =
        fmt::format("{} ({} bytes at byte {}{})", damage.what, damage.bytes,
                    damage.offset, damage.journal ? " of the journal" : "");
    loss.count = static_cast<uint64_t>(damage.bytes);
    out.push_back(std::move(loss));
  }
  for (const auto& [ordinal, loss] : losses_) out.push_back(loss);
  const std::lock_guard lock(late_->mutex);
  out.insert(out.end(), late_->damage_losses.begin(),
             late_->damage_losses.end());
  return out;
}

void Store::NoteDamage(const FrameRef& chunk) const {
  const std::lock_guard lock(late_->mutex);
  if (late_->damage_losses.size() >= TraceReader::kMaxDamages ||
      !late_->damaged.insert({chunk.journal, chunk.offset}).second)
    return;
  Loss loss;
  loss.reason = "damaged";
  loss.detail =
      fmt::format("damaged frame ({} bytes at byte {}{})", chunk.size,
                  chunk.offset, chunk.journal ? " of the journal" : "");
  loss.count = static_cast<uint64_t>(chunk.size);
  if (chunk.kind == FrameKind::kEvents) {
    loss.from_ns = chunk.events.begin_ns;
    loss.to_ns = chunk.events.end_ns;
  } else if (chunk.kind == FrameKind::kCounters) {
    loss.from_ns = chunk.counters.begin_ns;
    loss.to_ns = chunk.counters.end_ns;
  }
  late_->damage_losses.push_back(std::move(loss));
}

bool Store::OpenEvents(const FrameRef& chunk, std::string& payload,
                       EventChunkDecoder& out) const {
  if (reader_->Read(chunk, payload) && out.Open(payload) &&
      out.info().count == chunk.events.count)
    return true;
  NoteDamage(chunk);
  return false;
}

bool Store::ReadEvents(const FrameRef& chunk, uint32_t mask,
                       EventColumns& out) const {
  thread_local std::string payload;
  EventChunkDecoder decoder;
  if (reader_->Read(chunk, payload) && decoder.Open(payload) &&
      decoder.Decode(mask, out))
    return true;
  out.Clear();
  NoteDamage(chunk);
  return false;
}

bool Store::ReadLod(const FrameRef& chunk, bool coarse,
                    std::vector<LodRow>& out) const {
  thread_local std::string payload;
  EventChunkDecoder decoder;
  if (reader_->Read(chunk, payload) && decoder.Open(payload) &&
      decoder.Lod(coarse, out))
    return true;
  out.clear();
  NoteDamage(chunk);
  return false;
}

bool Store::ReadTicks(const FrameRef& chunk, CounterTicks& out) const {
  ++late_->counter_decodes;
  thread_local std::string payload;
  CounterChunkDecoder decoder;
  if (reader_->Read(chunk, payload) && decoder.Open(payload) &&
      decoder.Decode(out))
    return true;
  out.Clear();
  NoteDamage(chunk);
  return false;
}

bool Store::ReadSeriesAggregates(const FrameRef& chunk,
                                 std::vector<SeriesAggregate>& out) const {
  thread_local std::string payload;
  CounterChunkDecoder decoder;
  out.clear();
  if (reader_->Read(chunk, payload) && decoder.Open(payload) &&
      decoder.Aggregates(out)) {
    if (!out.empty() || decoder.info().values == 0) return true;
    // A chunk of the journal has none; it is short.
    CounterTicks ticks;
    if (!ReadTicks(chunk, ticks)) return false;
    out = AggregatesOf(ticks, 0, ticks.size(), [this](uint32_t id) {
      const auto at = series_.find(id);
      return at == series_.end() ? Series::Type::kInt : at->second.type;
    });
    return true;
  }
  out.clear();
  NoteDamage(chunk);
  return false;
}

}  // namespace sonde
