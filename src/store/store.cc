#include "store/store.h"

#include <algorithm>

#include "import/importer.h"
#include "trace/bytes.h"

namespace sonde {
namespace {

// Times of a damaged file may be anything; sums of them wrap.
int64_t Shift(int64_t base, int64_t to, int64_t from) {
  return static_cast<int64_t>(static_cast<uint64_t>(base) +
                              static_cast<uint64_t>(to) -
                              static_cast<uint64_t>(from));
}

}  // namespace

void AddAggregate(std::map<uint32_t, SeriesTotal>& totals,
                  const SeriesAggregate& row) {
  SeriesTotal& sum =
      totals
          .try_emplace(row.series, SeriesTotal{0, row.min, row.max, row.first})
          .first->second;
  sum.count += row.count;
  sum.min = std::min(sum.min, row.min);
  sum.max = std::max(sum.max, row.max);
  sum.last = row.last;
  sum.integral += row.integral;
  sum.seconds +=
      (static_cast<double>(row.last_ns) - static_cast<double>(row.first_ns)) /
      1e9;
}

Result<std::shared_ptr<const Store>> Store::Open(const std::string& path) {
  TRY(auto reader, OpenTrace(path));
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
  for (ChunkList* list : {&event_chunks_, &counter_chunks_, &sample_chunks_})
    list->frames_ = reader_->frames().data();
  std::string payload;
  for (uint32_t at = 0; at < reader_->frames().size(); ++at) {
    const FrameRef& frame = reader_->frames()[at];
    if (frame.kind == FrameKind::kEvents) {
      event_chunks_.at_.push_back(at);
      event_count_ += frame.events.count;
    } else if (frame.kind == FrameKind::kCounters) {
      counter_chunks_.at_.push_back(at);
      event_count_ += frame.counters.values;
    } else if (frame.kind == FrameKind::kSamples) {
      sample_chunks_.at_.push_back(at);
      event_count_ += frame.samples.count;
    } else if (!reader_->Read(frame, payload) ||
               (budget.Unpack(payload.size()) &&
                !rows_.Load(frame.kind, payload, budget))) {
      NoteDamage(frame);
    }
    TRY_OK(budget.status(path_));
  }
  for (const auto& [ordinal, pair] : rows_.clocks) clocks_.push_back(pair);
  std::sort(clocks_.begin(), clocks_.end(),
            [](const ClockPair& a, const ClockPair& b) {
              return a.monotonic_ns < b.monotonic_ns;
            });
  for (const auto& [id, row] : series())
    if (OfProgram(row)) program_groups_.insert(row.group);
  FindRange();
  return Ok();
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
  for (const FrameRef& f : sample_chunks_)
    widen(f.samples.begin_ns, f.samples.end_ns);
  for (const auto& [number, process] : processes()) {
    if (process.start_ns != kNoTime) widen(process.start_ns, process.start_ns);
    if (process.end_ns != kNoTime) widen(process.end_ns, process.end_ns);
  }
  for (const char* key : {"started_ns", "ended_ns"}) {
    const auto at = rows_.meta.find(key);
    if (at == rows_.meta.end()) continue;
    const int64_t ns = std::strtoll(at->second.c_str(), nullptr, 10);
    widen(ns, ns);
  }
  if (begin <= end) range_ = {begin, end};
}

uint32_t Store::FindString(std::string_view text) const {
  for (uint32_t id = strings().From(1); id != 0; id = strings().From(id + 1))
    if (*strings().Find(id) == text) return id;
  return 0;
}

std::vector<const Series*> Store::Sampled(Series::Scope scope,
                                          std::string_view name) const {
  std::vector<const Series*> out;
  for (const auto& [id, row] : series())
    if (row.scope == scope && Str(row.name) == name && !OfProgram(row))
      out.push_back(&row);
  return out;
}

const std::vector<Arg>* Store::args(uint32_t set) const {
  const auto at = rows_.args.find(set);
  return at == rows_.args.end() ? nullptr : &at->second;
}

std::string Store::Meta(std::string_view key) const {
  const auto at = rows_.meta.find(key);
  return at == rows_.meta.end() ? "" : at->second;
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
  if (reader_->lost_end()) out.push_back(*reader_->lost_end());
  for (const Damage& damage : reader_->damages()) out.push_back(LossOf(damage));
  for (const auto& [ordinal, loss] : rows_.losses) out.push_back(loss);
  {
    const std::lock_guard lock(late_->mutex);
    out.insert(out.end(), late_->damage_losses.begin(),
               late_->damage_losses.end());
  }
  // Where there is room for few losses, this one explains the others.
  std::stable_partition(out.begin(), out.end(), [](const Loss& loss) {
    return loss.reason == "collector-killed";
  });
  return out;
}

std::shared_ptr<const std::vector<Loss>> Store::KeptLosses() const {
  const std::lock_guard lock(late_->losses_mutex);
  const size_t damages = [&] {
    const std::lock_guard inner(late_->mutex);
    return late_->damage_losses.size();
  }();
  if (!late_->kept_losses || damages != late_->kept_damages) {
    late_->kept_losses = std::make_shared<const std::vector<Loss>>(losses());
    late_->kept_damages = damages;
  }
  return late_->kept_losses;
}

void Store::NoteDamage(const FrameRef& chunk) const {
  const std::lock_guard lock(late_->mutex);
  if (late_->damage_losses.size() >= TraceReader::kMaxDamages ||
      !late_->damaged.insert({chunk.journal, chunk.offset}).second)
    return;
  Loss loss =
      LossOf({chunk.journal, chunk.offset, chunk.size, "damaged frame"});
  if (const auto span = chunk.Chunk()) {
    loss.from_ns = span->begin_ns;
    loss.to_ns = span->end_ns;
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

bool Store::ReadSamples(const FrameRef& chunk, std::vector<Sample>& out) const {
  thread_local std::string payload;
  if (reader_->Read(chunk, payload) && DecodeSampleChunk(payload, out))
    return true;
  out.clear();
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
      const auto at = series().find(id);
      return at == series().end() ? Series::Type::kInt : at->second.type;
    });
    return true;
  }
  out.clear();
  NoteDamage(chunk);
  return false;
}

}  // namespace sonde
