// Records that several threads write about one thing: counters, ranges, rows
// the program made, clocks. They wait for the end of a pass.

#include <algorithm>
#include <bit>
#include <cmath>

#include "collect/ring/annotations.h"
#include "trace/sources.h"

namespace sonde {
namespace {

constexpr size_t kMostLanes = 1024;
constexpr size_t kMostRanges = 1 << 20;
constexpr int kMostParents = 64;  // of a row

}  // namespace

void Annotations::EndPass(uint64_t horizon) {
  // What one thread wrote stays in its order.
  std::stable_sort(
      held_.begin(), held_.end(),
      [](const Held& a, const Held& b) { return a.head.time < b.head.time; });
  size_t taken = 0;
  while (taken < held_.size() && held_[taken].head.time < horizon)
    TakeHeld(held_[taken++]);
  // One that is newer may have a predecessor that was not read yet.
  std::vector<uint64_t> words;
  held_.erase(held_.begin(), held_.begin() + static_cast<ptrdiff_t>(taken));
  for (Held& one : held_) {
    const auto from = held_words_.begin() + static_cast<ptrdiff_t>(one.first);
    one.first = words.size();
    words.insert(words.end(), from, from + static_cast<ptrdiff_t>(one.count));
  }
  held_words_ = std::move(words);
}

void Annotations::TakeHeld(const Held& held) {
  const Record record{held.head,
                      std::span(held_words_).subspan(held.first, held.count)};
  const size_t own = OwnWords(held.head.kind);
  extra_.Parse(record.words.subspan(own), names_, out_);
  switch (held.head.kind) {
    case SONDE_KIND_COUNTER:
    case SONDE_KIND_COUNTER_ADD:
    case SONDE_KIND_COUNTER_DOUBLE:
    case SONDE_KIND_COUNTER_ADD_DBL:
      Counter(record);
      break;
    case SONDE_KIND_RANGE_BEGIN:
    case SONDE_KIND_RANGE_END:
    case SONDE_KIND_RANGE_INSTANT:
      Range(record, extra_);
      break;
    case SONDE_KIND_CLOCK_PAIR: {
      const uint32_t id = static_cast<uint32_t>(record.words[0]);
      const RingName* const clock = names_.FindClock(id);
      if (clock == nullptr) {
        ++strange_;
        break;
      }
      clocks_.try_emplace(id, clock->ticks_per_second)
          .first->second.Add(record.words[1], ToNs(held.head.time));
      break;
    }
    default:
      Custom(record, extra_);
  }
}

void Annotations::Counter(const Record& record) {
  const uint8_t kind = record.head.kind;
  const bool real =
      kind == SONDE_KIND_COUNTER_DOUBLE || kind == SONDE_KIND_COUNTER_ADD_DBL;
  const uint64_t word = record.words[0];
  const WireNames::Label label = names_.Find(record.head.id);
  const uint64_t key =
      uint64_t{label.source} << 32 | (label.name * 2 + (real ? 1 : 0));
  double value = std::bit_cast<double>(word);
  if (const auto before = counters_.find(key);
      kind == SONDE_KIND_COUNTER_ADD_DBL && before != counters_.end())
    value += before->second.real;
  if (real && !std::isfinite(value)) {
    const int64_t at_ns = ToNs(record.head.time);
    Lose(kNotANumber, 1, at_ns, at_ns);
    return;
  }
  CounterState& state = counters_[key];
  if (state.series == 0) {
    if (group_ == 0) group_ = out_.AddGroup();
    Series row;
    row.group = group_;
    row.scope = Series::Scope::kProcess;
    row.scope_id = options_.process;
    row.name = label.name;
    // A counter's category is the unit it is shown in.
    row.unit = label.category != 0 ? label.category : out_.Intern("1");
    row.kind = Series::Kind::kGauge;
    row.type = real ? Series::Type::kDouble : Series::Type::kInt;
    row.source = label.source != 0 ? label.source : out_.Intern(source::kApi);
    state.series = out_.AddSeries(row);
  }
  if (kind == SONDE_KIND_COUNTER)
    state.whole = static_cast<int64_t>(word);
  else if (kind == SONDE_KIND_COUNTER_ADD)
    state.whole =
        static_cast<int64_t>(static_cast<uint64_t>(state.whole) + word);
  else
    state.real = value;
  out_.BeginTick(group_, ToNs(record.head.time));
  if (real)
    out_.SetDouble(state.series, state.real);
  else
    out_.Set(state.series, state.whole);
  out_.EndTick();
}

void Annotations::Range(const Record& record, WireExtra& extra) {
  const uint64_t id = record.words[0];
  const int64_t at_ns =
      extra.has_time ? ToNs(extra.time) : ToNs(record.head.time);
  const uint32_t name = names_.Find(record.head.id).name;
  const auto at = ranges_.find(id);
  if (record.head.kind == SONDE_KIND_RANGE_BEGIN) {
    if (at != ranges_.end() || ranges_.size() >= kMostRanges) {
      ++strange_;
      return;
    }
    auto& lanes = lanes_[name];
    size_t lane = 0;
    while (lane < lanes.size() && lanes[lane].busy) ++lane;
    if (lane == lanes.size()) {
      if (lane == kMostLanes)
        lane = 0;  // then they lie on top of each other
      else
        lanes.push_back(
            {NewTrack({.kind = Track::Kind::kCustom, .name = name}), false});
    }
    lanes[lane].busy = true;
    OpenSlice slice = SliceOf(record, at_ns, extra);
    slice.depth = 0;
    ranges_.emplace(id, OpenRange{name, lane, std::move(slice)});
    return;
  }
  if (at == ranges_.end()) {
    ++strange_;
    return;
  }
  OpenRange& range = at->second;
  Lane& lane = lanes_[range.label][range.lane];
  if (record.head.kind == SONDE_KIND_RANGE_INSTANT) {
    Instant(lane.track, 1, record, at_ns, extra);
    return;
  }
  range.slice.args.insert(range.slice.args.end(), extra.args.begin(),
                          extra.args.end());
  Add(lane.track, range.slice, at_ns, 0);
  lane.busy = false;
  ranges_.erase(at);
}

Annotations::CustomState* Annotations::CustomOf(uint32_t id, int parents) {
  const RingName* const track = names_.FindTrack(id);
  if (track == nullptr) return nullptr;
  CustomState& state = custom_[id];
  state.queue = track->track_kind == SONDE_TRACK_QUEUE;
  if (state.track == 0) {
    Track row;
    row.kind = state.queue ? Track::Kind::kQueue : Track::Kind::kCustom;
    row.name = names_.Find(track->name).name;
    row.source = names_.SourceOf(track->source);
    row.order = track->order;
    if (const RingName* const clock = names_.FindClock(track->clock))
      row.clock = names_.Find(clock->name).name;
    // A parent is defined before its children; so rows are never in a circle.
    if (track->parent < id && parents > 0)
      if (const CustomState* const parent =
              CustomOf(track->parent, parents - 1))
        row.parent = parent->track;
    state.track = NewTrack(row);
    state.clock = track->clock;
  }
  return &state;
}

void Annotations::Custom(const Record& record, WireExtra& extra) {
  CustomState* const state = CustomOf(extra.track, kMostParents);
  if (state == nullptr) {
    ++strange_;
    return;
  }
  extra.on_queue = state->queue;
  const int64_t at_ns =
      extra.has_time ? ToNs(extra.time, state->clock) : ToNs(record.head.time);
  const auto lost = [&](const OpenSlice& slice) {
    Add(state->track, slice, at_ns, Event::kUnfinished);
  };
  switch (record.head.kind) {
    case SONDE_KIND_BEGIN: {
      OpenSlice slice = SliceOf(record, at_ns, extra);
      const OpenSlice* const top = state->open.Top();
      slice.depth = top != nullptr ? static_cast<uint16_t>(top->depth + 1) : 0;
      state->open.Begin(std::move(slice), lost);
      break;
    }
    case SONDE_KIND_END:
      if (const OpenSlice* const top = state->open.Top(); top != nullptr)
        state->open.End(
            top->depth,
            [&](OpenSlice& slice) {
              slice.args.insert(slice.args.end(), extra.args.begin(),
                                extra.args.end());
              Add(state->track, slice, at_ns, 0);
            },
            lost);
      break;
    case SONDE_KIND_COMPLETE: {
      OpenSlice slice =
          SliceOf(record, ToNs(record.words[0], state->clock), extra);
      slice.depth = 0;
      Add(state->track, slice, ToNs(record.words[1], state->clock), 0);
      break;
    }
    case SONDE_KIND_INSTANT:
    case SONDE_KIND_TEXT:
      Instant(state->track, 0, record, at_ns, extra);
      break;
    default:
      ++strange_;
  }
}

}  // namespace sonde
