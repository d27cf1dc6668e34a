#include "store/sql_group.h"

#include <algorithm>
#include <map>

#include "base/check.h"
#include "store/event_cells.h"
#include "trace/bytes.h"

namespace sonde {
namespace {

constexpr size_t kFirstBlockBytes = 512;
constexpr size_t kBlockBytes = 256 << 10;

}  // namespace

GroupedEvents::GroupedEvents(const Store& store, EventFilter filter,
                             const SqlRequest& request, size_t max_bytes)
    : store_(store),
      filter_(std::move(filter)),
      deadline_(request.deadline),
      by_text_(request.group_by == kColName),
      descending_(request.descending),
      once_(request.once),
      max_bytes_(max_bytes) {
  std::fill(std::begin(place_), std::end(place_), -1);
  for (int column = 0; column <= kColSource; ++column) {
    if (!request.Uses(column) || column == kColName) continue;
    if (column == kColNameId && !by_text_) continue;
    place_[column] = static_cast<int>(columns_.size());
    columns_.push_back(column);
    mask_ |= EventMaskOf(column);
  }
  OrderNames();
}

// The names of the totals, in order. Others that turn up (the totals of a
// damaged trace need not be whole) are put behind them.
void GroupedEvents::OrderNames() {
  std::map<uint32_t, uint64_t> used;
  for (const TrackTotal& total : store_.totals())
    if (!filter_.track || total.track == *filter_.track)
      used[total.aggregate.name] += total.aggregate.count;
  std::vector<uint32_t> names;
  for (const auto& entry : used) names.push_back(entry.first);
  if (by_text_)
    std::sort(names.begin(), names.end(), [&](uint32_t a, uint32_t b) {
      if ((a == 0) != (b == 0)) return a == 0;  // NULL comes first
      return store_.Str(a) < store_.Str(b);
    });
  if (descending_) std::reverse(names.begin(), names.end());
  slot_of_id_.resize(store_.strings().near_ids());
  for (uint32_t name : names) groups_[SlotOf(name)].total += used[name];
}

// How many groups will fit, so that few are kept in vain.
size_t GroupedEvents::GuessLimit() const {
  constexpr double kBytesPerValue = 2.3;
  double bytes = 0;
  for (size_t i = first_; i < groups_.size(); ++i) {
    bytes += static_cast<double>(groups_[i].total) * kBytesPerValue *
             static_cast<double>(columns_.size());
    if (i > first_ && bytes > static_cast<double>(max_bytes_)) return i;
  }
  return SIZE_MAX;
}

uint32_t GroupedEvents::SlotOf(uint32_t name) {
  if (name < slot_of_id_.size()) {
    uint32_t& slot = slot_of_id_[name];
    if (slot == 0) slot = NewSlot(name) + 1;
    return slot - 1;
  }
  const auto at = slot_of_lost_.find(name);
  if (at != slot_of_lost_.end()) return at->second;
  return slot_of_lost_[name] = NewSlot(name);
}

uint32_t GroupedEvents::NewSlot(uint32_t name) {
  const uint32_t fresh = static_cast<uint32_t>(groups_.size());
  if (by_text_ && name != 0) {
    const auto [at, is_fresh] =
        slot_of_text_.try_emplace(store_.Str(name), fresh);
    if (!is_fresh) return at->second;
  }
  groups_.emplace_back();
  groups_.back().name = name;
  return fresh;
}

int GroupedEvents::Next() {
  // The names may not have been found in time.
  if (++ordinal_ == 1 && deadline_ && deadline_->passed())
    return SQLITE_INTERRUPT;
  for (;;) {
    if (direct_) {
      const int rc = NextDirect();
      if (rc != SQLITE_DONE) return rc;
      direct_.reset();
      first_ = limit_;
    } else if (NextKept()) {
      return SQLITE_ROW;
    } else {
      first_ = limit_;
    }
    if (first_ >= groups_.size() && first_ != 0) return SQLITE_DONE;
    const int rc = Collect();
    if (rc != SQLITE_OK) return rc;
    if (groups_.empty()) return SQLITE_DONE;
  }
}

// One pass over the trace: fills the streams of the next groups.
int GroupedEvents::Collect() {
  limit_ = GuessLimit();
  EventScan scan(store_, filter_, mask_);
  while (scan.Next()) {
    if (deadline_ && deadline_->passed()) return SQLITE_INTERRUPT;
    CollectChunk(scan);
    // Too much: the last ones wait for the next pass.
    while (kept_bytes_ > max_bytes_) {
      limit_ = std::min(limit_, groups_.size());
      if (limit_ == first_ + 1) break;
      Stream& last = groups_[--limit_].stream;
      kept_bytes_ -= last.bytes;
      last = {};
    }
    if (limit_ == first_ + 1 && kept_bytes_ > max_bytes_) {
      kept_bytes_ -= groups_[first_].stream.bytes;
      groups_[first_].stream = {};
      direct_ = std::make_unique<EventScan>(store_, filter_, mask_);
      direct_at_ = 0;
      break;
    }
  }
  limit_ = std::min(limit_, groups_.size());
  group_ = first_;
  row_ = 0;
  block_ = 0;
  at_ = block_end_ = nullptr;
  last_id_ = last_ts_ = 0;
  return SQLITE_OK;
}

void GroupedEvents::CollectChunk(const EventScan& scan) {
  // Most queries sum durations; taking that column directly makes the pass
  // twice as fast.
  const bool only_dur = columns_.size() == 1 && columns_[0] == kColDur;
  const uint32_t* const names = scan.events().name.data();
  const int64_t* const durs = scan.events().dur_ns.data();
  for (uint32_t i : scan.wanted()) {
    const uint32_t slot = SlotOf(names[i]);
    if (slot < first_ || slot >= limit_) continue;
    Stream& stream = groups_[slot].stream;
    ++stream.rows;
    if (only_dur) {
      if (stream.end >= stream.limit) GrowStream(stream);
      stream.end = PutVarintFast(stream.end, static_cast<uint64_t>(durs[i]));
    } else if (!columns_.empty()) {
      AddRow(stream, scan, i);
    }
  }
}

void GroupedEvents::AddRow(Stream& stream, const EventScan& scan, uint32_t i) {
  if (stream.end >= stream.limit) GrowStream(stream);
  uint64_t row[16];
  ReadRow(scan, i, row);
  for (size_t c = 0; c < columns_.size(); ++c) {
    // Ids and times of a name lie close together.
    uint64_t v = row[c];
    if (columns_[c] == kColId || columns_[c] == kColTs) {
      uint64_t& last = columns_[c] == kColId ? stream.last_id : stream.last_ts;
      v = ZigZag(static_cast<int64_t>(row[c] - last));
      last = row[c];
    }
    stream.end = PutVarintFast(stream.end, v);
  }
}

void GroupedEvents::GrowStream(Stream& stream) {
  const size_t size = stream.blocks.empty()
                          ? kFirstBlockBytes
                          : std::min(kBlockBytes, stream.bytes);
  if (!stream.blocks.empty()) stream.blocks.back().end = stream.end;
  stream.blocks.push_back(
      {std::unique_ptr<uint8_t[]>(new uint8_t[size]), nullptr});
  stream.bytes += size;
  kept_bytes_ += size;
  stream.end = stream.blocks.back().bytes.get();
  stream.limit = stream.end + size - columns_.size() * kMaxVarint;
}

void GroupedEvents::ReadRow(const EventScan& scan, uint32_t i,
                            uint64_t* row) const {
  for (size_t c = 0; c < columns_.size(); ++c)
    row[c] = EventValue(scan, i, columns_[c]);
}

// The next row of the kept streams, group after group.
bool GroupedEvents::NextKept() {
  while (group_ < limit_) {
    Stream& stream = groups_[group_].stream;
    if (row_ < stream.rows) {
      ++row_;
      if (once_) row_ = stream.rows;
      if (columns_.empty()) return true;
      if (at_ == block_end_) {
        if (block_ > 0) stream.blocks[block_ - 1].bytes.reset();
        const Stream::Block& block = stream.blocks[block_++];
        at_ = block.bytes.get();
        block_end_ = block_ == stream.blocks.size() ? stream.end : block.end;
      }
      for (size_t c = 0; c < columns_.size(); ++c) {
        uint64_t v = 0;
        at_ = block_end_ - at_ >= 8 ? GetVarintFast(at_, block_end_, &v)
                                    : GetVarint(at_, block_end_, &v);
        CHECK(at_ != nullptr);
        if (columns_[c] == kColId || columns_[c] == kColTs) {
          uint64_t& last = columns_[c] == kColId ? last_id_ : last_ts_;
          v = last += static_cast<uint64_t>(UnZigZag(v));
        }
        current_[c] = v;
      }
      return true;
    }
    kept_bytes_ -= stream.bytes;
    stream = {};
    ++group_;
    row_ = 0;
    block_ = 0;
    at_ = block_end_ = nullptr;
    last_id_ = last_ts_ = 0;
  }
  return false;
}

int GroupedEvents::NextDirect() {
  for (;;) {
    for (; direct_at_ < direct_->wanted().size(); ++direct_at_) {
      const uint32_t i = direct_->wanted()[direct_at_];
      if (SlotOf(direct_->events().name[i]) != first_) continue;
      ReadRow(*direct_, i, current_);
      ++direct_at_;
      return SQLITE_ROW;
    }
    if (deadline_ && deadline_->passed()) return SQLITE_INTERRUPT;
    if (!direct_->Next()) return SQLITE_DONE;
    direct_at_ = 0;
  }
}

SqlValue GroupedEvents::Column(int column) {
  const uint32_t name = groups_[direct_ ? first_ : group_].name;
  if (column == kColName) return TextOrNull(store_, name);
  if (column == kColNameId && !by_text_) return IdOrNull(name);
  if (column < 0 || column >= 64 || place_[column] < 0) return {};
  return EventCell(store_, column, current_[place_[column]]);
}

int64_t GroupedEvents::Id() { return ordinal_; }

}  // namespace sonde
