#include "store/event_scan.h"

#include <algorithm>
#include <numeric>

namespace sonde {

bool EventScan::Next() {
  const auto& chunks = store_.event_chunks();
  if (filter_.chunk && at_ == 0) at_ = std::min(*filter_.chunk, chunks.size());
  const size_t end = filter_.chunk
                         ? std::min<size_t>(*filter_.chunk + 1, chunks.size())
                         : chunks.size();
  while (at_ < end) {
    const FrameRef& chunk = chunks[at_++];
    if (!Skip(chunk.events) && Take(chunk) && !wanted_.empty()) return true;
  }
  return false;
}

bool EventScan::Skip(const EventChunkInfo& info) const {
  return (filter_.track && info.track != *filter_.track) ||
         info.begin_ns >= filter_.begin.end_ns ||
         info.end_ns < filter_.begin.begin_ns;
}

bool EventScan::Take(const FrameRef& chunk) {
  EventChunkDecoder decoder;
  wanted_.clear();
  if (!store_.OpenEvents(chunk, payload_, decoder)) return false;
  const EventChunkInfo& info = chunk.events;
  uint32_t mask = mask_;
  const bool has_kinds = decoder.Has(EventColumn::kKind);
  if (filter_.kind) {
    // Most chunks hold slices only and say so by having no such column.
    if (!has_kinds && *filter_.kind != Event::Kind::kSlice) return true;
    if (has_kinds) mask |= kMaskKind;
  }
  if (filter_.names) {
    mask |= kMaskName;
    if (!decoder.Decode(kMaskName, events_)) {
      store_.NoteDamage(chunk);
      return false;
    }
    const NameSet& names = *filter_.names;
    if (std::none_of(events_.name.begin(), events_.name.end(),
                     [&](uint32_t name) { return names.Has(name); }))
      return true;
  }
  const TimeRange& window = filter_.begin;
  if (info.begin_ns < window.begin_ns || info.end_ns >= window.end_ns)
    mask |= kMaskTime;
  if (!decoder.Decode(mask, events_)) {
    store_.NoteDamage(chunk);
    return false;
  }
  Choose(info.count, has_kinds);
  return true;
}

void EventScan::Choose(uint32_t count, bool has_kinds) {
  wanted_.resize(count);
  std::iota(wanted_.begin(), wanted_.end(), 0);
  const auto keep = [&](auto condition) {
    std::erase_if(wanted_, [&](uint32_t i) { return !condition(i); });
  };
  if (filter_.kind && has_kinds)
    keep([&](uint32_t i) {
      return events_.Rare(EventColumn::kKind, i) ==
             static_cast<uint64_t>(*filter_.kind);
    });
  if (filter_.names)
    keep([&](uint32_t i) { return filter_.names->Has(events_.name[i]); });
  const TimeRange& window = filter_.begin;
  if (!events_.end_ns.empty() &&
      (window.begin_ns != INT64_MIN || window.end_ns != INT64_MAX))
    keep([&](uint32_t i) {
      const int64_t begin = events_.end_ns[i] - events_.dur_ns[i];
      return begin >= window.begin_ns && begin < window.end_ns;
    });
}

}  // namespace sonde
