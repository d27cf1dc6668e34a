#include "store/counter_replay.h"

#include <algorithm>

#include "base/check.h"

namespace sonde {

uint32_t CounterReplay::ListenerOf(CounterHandler& handler) {
  CHECK(!prepared_);
  for (uint32_t i = 0; i < listeners_.size(); ++i)
    if (listeners_[i].handler == &handler) return i;
  listeners_.push_back({&handler, false, {}, {}});
  return static_cast<uint32_t>(listeners_.size() - 1);
}

void CounterReplay::Want(CounterHandler& handler, uint32_t series,
                         uint32_t slot) {
  const uint32_t listener = ListenerOf(handler);
  wishes_.push_back({series, listener, slot});
  const auto row = store_.series().find(series);
  if (row == store_.series().end()) {
    listeners_[listener].everywhere = true;
    return;
  }
  std::vector<uint32_t>& all = groups_[row->second.group].listeners;
  if (std::find(all.begin(), all.end(), listener) == all.end())
    all.push_back(listener);
}

void CounterReplay::WantAll(CounterHandler& handler) {
  const uint32_t listener = ListenerOf(handler);
  listeners_[listener].everywhere = true;
  want_all_.push_back(listener);
}

CounterReplay::Group* CounterReplay::FindGroup(uint32_t id) {
  if (const auto at = groups_.find(id); at != groups_.end()) return &at->second;
  std::vector<uint32_t> all;
  for (uint32_t i = 0; i < listeners_.size(); ++i)
    if (listeners_[i].everywhere) all.push_back(i);
  if (all.empty()) return nullptr;
  Group& group = groups_[id];
  group.epoch = ++epochs_;
  group.listeners = std::move(all);
  return &group;
}

// Null if nobody wants it.
CounterReplay::SeriesState* CounterReplay::FindState(uint32_t series,
                                                     uint32_t group) {
  SeriesState* state = nullptr;
  if (series < near_.size())
    state = &near_[series];
  else if (const auto at = far_.find(series); at != far_.end())
    state = &at->second;
  else if (!want_all_.empty())
    state = &far_[series];
  if (state == nullptr) return nullptr;
  // A series without a row is of the group that names it first.
  if (state->group == kAnyGroup) state->group = group;
  return state->group == group ? state : nullptr;
}

void CounterReplay::Prepare() {
  prepared_ = true;
  std::stable_sort(
      wishes_.begin(), wishes_.end(),
      [](const Wish& a, const Wish& b) { return a.series < b.series; });
  uint32_t most = 0;
  const auto reserve = [&](uint32_t id) {
    if (id < kMaxNear) most = std::max(most, id + 1);
  };
  for (const Wish& wish : wishes_) reserve(wish.series);
  if (!want_all_.empty())
    for (const auto& [id, row] : store_.series()) reserve(id);
  near_.resize(most);
  for (uint32_t i = 0; i < wishes_.size(); ++i) {
    const uint32_t id = wishes_[i].series;
    SeriesState& state = id < near_.size() ? near_[id] : far_[id];
    if (state.wishes_end == 0) state.wishes = i;
    state.wishes_end = i + 1;
  }
  for (const auto& [id, row] : store_.series())
    if (id < near_.size())
      near_[id].group = row.group;
    else if (!want_all_.empty() || far_.contains(id))
      far_[id].group = row.group;
  for (auto& [id, group] : groups_) {
    group.epoch = ++epochs_;
    for (uint32_t i = 0; i < listeners_.size(); ++i)
      if (listeners_[i].everywhere &&
          std::find(group.listeners.begin(), group.listeners.end(), i) ==
              group.listeners.end())
        group.listeners.push_back(i);
  }
  ChooseChunks();
}

void CounterReplay::ChooseChunks() {
  const ChunkList& chunks = store_.counter_chunks();
  chosen_.resize(chunks.size());
  std::unordered_map<uint32_t, size_t> before;  // behind it, by group
  for (size_t i = 0; i < chunks.size(); ++i) {
    const CounterChunkInfo& info = chunks[i].counters;
    if (FindGroup(info.group) == nullptr) continue;
    size_t& behind = before[info.group];
    if (info.begin_ns < window_.end_ns && info.end_ns >= window_.begin_ns) {
      chosen_[i] = 1;
      if (behind > 0) chosen_[behind - 1] = 1;
    }
    behind = i + 1;
  }
}

bool CounterReplay::Next() {
  if (!prepared_) Prepare();
  const ChunkList& chunks = store_.counter_chunks();
  while (next_ < chunks.size()) {
    chunk_ = next_++;
    if (!chosen_[chunk_] || !store_.ReadTicks(chunks[chunk_], ticks_)) continue;
    const CounterChunkInfo& info = chunks[chunk_].counters;
    Group& group = *FindGroup(info.group);
    if (info.first_ordinal != group.next_ordinal) TellHole(info.group, group);
    group.next_ordinal = info.first_ordinal + ticks_.size();
    TellTicks(info.group, group);
    return true;
  }
  return false;
}

void CounterReplay::Put(const SeriesState& state, uint32_t series,
                        CounterValue value,
                        std::vector<CounterValue> Listener::*to) {
  for (uint32_t i = state.wishes; i < state.wishes_end; ++i) {
    value.slot = wishes_[i].slot;
    (listeners_[wishes_[i].listener].*to).push_back(value);
  }
  for (const uint32_t listener : want_all_) {
    value.slot = series;
    (listeners_[listener].*to).push_back(value);
  }
}

void CounterReplay::TellHole(uint32_t id, Group& group) {
  for (Listener& listener : listeners_) listener.gone.clear();
  for (const uint32_t series : group.seen)
    if (const SeriesState* const state = FindState(series, id);
        state != nullptr && state->epoch == group.epoch)
      Put(*state, series, {0, 0, state->bits, false}, &Listener::gone);
  group.seen.clear();
  group.epoch = ++epochs_;
  for (const uint32_t listener : group.listeners)
    listeners_[listener].handler->Hole(
        {id, group.last_ns, listeners_[listener].gone});
}

void CounterReplay::TellTicks(uint32_t id, Group& group) {
  uint32_t change = 0, gone = 0;
  const auto behind = static_cast<uint32_t>(ticks_.changes.size());
  for (size_t tick = 0; tick < ticks_.size(); ++tick) {
    for (Listener& listener : listeners_) {
      listener.values.clear();
      listener.gone.clear();
    }
    for (; change < ticks_.changed_end[tick]; ++change) {
      const auto [series, bits] = ticks_.changes[change];
      SeriesState* const state = FindState(series, id);
      if (state == nullptr) continue;
      const bool repeated = state->epoch == group.epoch && state->bits == bits;
      if (state->listed != group.epoch) group.seen.push_back(series);
      state->listed = state->epoch = group.epoch;
      state->bits = bits;
      Put(*state, series, {0, change, bits, repeated}, &Listener::values);
    }
    for (; gone < ticks_.gone_end[tick]; ++gone) {
      const uint32_t series = ticks_.gone[gone];
      SeriesState* const state = FindState(series, id);
      if (state == nullptr || state->epoch != group.epoch) continue;
      state->epoch = 0;
      Put(*state, series, {0, behind + gone, state->bits, false},
          &Listener::gone);
    }
    group.last_ns = ticks_.time_ns[tick];
    for (const uint32_t i : group.listeners) {
      const Listener& listener = listeners_[i];
      listener.handler->Tick(
          {id, group.last_ns, listener.values, listener.gone});
    }
  }
}

}  // namespace sonde
