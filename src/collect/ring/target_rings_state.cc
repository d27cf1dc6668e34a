// What the collector leaves behind, for the case that it dies, and how somebody
// goes on from there.
//
// A save comes after the trace was flushed and before room is given back. So
// whatever of the rings is in the trace beyond the last save is still in the
// rings, and is made again from there.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "base/time.h"
#include "collect/ring/target_ring.h"
#include "collect/ring/target_rings.h"
#include "collect/tree/recorded_tree.h"
#include "ring/layout.h"
#include "wire/record.h"

namespace sonde {
namespace {

// For records that were still in a ring, or waited, when the last pair was
// taken.
constexpr int64_t kSavedNs = 3 * kNsPerSec;
constexpr int64_t kSavedStepNs = 100 * kNsPerMs;

}  // namespace

void TargetRings::Save() {
  for (const auto& ring : rings_) {
    if (!ring->TakeChanged()) continue;
    StateArchive archive;
    ring->Archive(archive);
    saved_[ring->stem()] = {archive.Take(), archive.tracks(), archive.groups()};
    save_again_ = true;
  }
  if (!save_again_) return;
  save_again_ = false;
  RingsState state;
  state.boot = BootId();
  state.ticks = ticks_are_time_;
  state.clock = clock_.Newest(kSavedNs, kSavedStepNs);
  state.ended.assign(ended_.begin(), ended_.end());
  state.ended_records = ended_records_;
  state.have = {out_.strings(), out_.tracks(), out_.series(), out_.groups(),
                out_.losses()};
  for (const auto& [stem, ring] : saved_) {
    for (const uint32_t track : ring.tracks)
      state.events[track] = out_.EventsOf(track);
    for (const uint32_t group : ring.groups)
      state.counts[group] = out_.TicksOf(group);
    state.rings[stem] = ring.bytes;
  }
  state_file_.Save(state);
}

void TargetRings::StopRecording(int dir, bool ticks) {
  ControlPage page = {};
  page.magic = kControlMagic;
  page.version = kRingVersion;
  page.clock =
      static_cast<uint32_t>(ticks ? WireClock::kTicks : WireClock::kMonotonic);
  const Fd control = OpenRegular(dir, "control", O_RDWR);
  if (control.valid()) (void)!::pwrite(control.get(), &page, sizeof(page), 0);
}

std::unique_ptr<TargetRings> TargetRings::Reopen(int dir,
                                                 const RingsState& state,
                                                 TraceWriter& out,
                                                 RecordedTree& tree) {
  Fd control = OpenRegular(dir, "control", O_RDWR);
  std::unique_ptr<TargetRings> rings(
      new TargetRings(dir, std::move(control), state.ticks, out, tree));
  rings->recording_ = false;
  rings->Restore(state);
  rings->FindOwners(tree);
  return rings;
}

void TargetRings::Restore(const RingsState& state) {
  clock_ = {};
  const int64_t now_ns = NowNs();
  const uint64_t now_ticks = ReadTicks();
  for (const TickClock::Pair& pair : state.clock)
    if (pair.ns <= now_ns && pair.ticks <= now_ticks) clock_.Add(pair);
  clock_.Take();
  ended_.insert(state.ended.begin(), state.ended.end());
  ended_records_ = state.ended_records;
  FindRings();
  bad_ += replaced();
  std::erase_if(rings_, [&](const auto& ring) {
    const auto saved = state.rings.find(ring->stem());
    if (saved == state.rings.end()) return false;  // it was never read
    StateArchive archive(saved->second, state.have);
    ring->Archive(archive);
    if (archive.ok() && archive.AtEnd()) return false;
    ++bad_;
    return true;
  });
}

// Processes that began when nobody looked: the file says who forked them.
void TargetRings::FindOwners(RecordedTree& tree) {
  std::vector<TargetRing*> lost;
  std::map<uint64_t, uint32_t> by_key;
  for (const auto& ring : rings_) {
    if (ring->begun())
      by_key[ring->key()] = ring->process();
    else if (ring->Open())
      lost.push_back(ring.get());
  }
  std::sort(lost.begin(), lost.end(), [](const auto* a, const auto* b) {
    return a->made_time() < b->made_time();
  });
  for (TargetRing* const ring : lost) {
    const auto parent = by_key.find(ring->parent_key());
    uint32_t number = 0;
    // One that the trace knows: it began to record when nobody looked, or runs
    // another image.
    if (const auto task = tree.FindPid(ring->own_pid());
        task && task->end_ns == kNoTime)
      number = task->number;
    else
      number = tree.Adopt(ring->own_pid(),
                          parent == by_key.end() ? 0 : parent->second,
                          ring->MadeNs());
    by_key[ring->key()] = number;
    ring->BelongTo(number);
  }
}

}  // namespace sonde
