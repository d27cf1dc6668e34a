#ifndef SONDE_STORE_EVENT_SCAN_H_
#define SONDE_STORE_EVENT_SCAN_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "store/store.h"

namespace sonde {

// Ids of strings: of some that are dense, and of a few that are not.
class NameSet {
 public:
  void Add(uint32_t id, size_t near_ids) {
    if (id >= near_ids) {
      far_.insert(id);
      return;
    }
    near_.resize(near_ids);
    near_[id] = true;
  }
  bool Has(uint32_t id) const {
    return id < near_.size() ? near_[id] : !far_.empty() && far_.contains(id);
  }

 private:
  std::vector<bool> near_;
  std::set<uint32_t> far_;
};

// Which events a scan is about.
struct EventFilter {
  std::optional<uint32_t> track;
  TimeRange begin;  // of their begins
  std::optional<NameSet> names;
  std::optional<uint64_t> chunk;  // only this chunk, by place
  std::optional<Event::Kind> kind;
};

// Walks the chunks of a store that can hold wanted events. Decodes only the
// columns it is asked for and those the filter needs, and of chunks without a
// wanted name only the names.
class EventScan {
 public:
  // `mask` of EventColumnMask.
  EventScan(const Store& store, EventFilter filter, uint32_t mask)
      : store_(store), filter_(std::move(filter)), mask_(mask) {}

  // Goes to the next chunk that has wanted events. False at the end.
  bool Next();

  size_t chunk_index() const { return at_ - 1; }
  const EventChunkInfo& info() const {
    return store_.event_chunks()[at_ - 1].events;
  }
  // String id: who made the track of this chunk; 0: not known.
  uint32_t track_source() const {
    const auto at = store_.tracks().find(info().track);
    return at == store_.tracks().end() ? 0 : at->second.source;
  }
  // The columns of this chunk, and which of its events are wanted.
  const EventColumns& events() const { return events_; }
  const std::vector<uint32_t>& wanted() const { return wanted_; }

 private:
  bool Skip(const EventChunkInfo& info) const;
  bool Take(const FrameRef& chunk);
  void Choose(uint32_t count, bool has_kinds);

  const Store& store_;
  const EventFilter filter_;
  const uint32_t mask_;
  size_t at_ = 0;
  std::string payload_;
  EventColumns events_;
  std::vector<uint32_t> wanted_;
};

}  // namespace sonde

#endif  // SONDE_STORE_EVENT_SCAN_H_
