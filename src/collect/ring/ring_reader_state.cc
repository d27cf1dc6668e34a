#include "collect/ring/ring_reader.h"

namespace sonde {

void RingReader::Archive(StateArchive& archive) {
  archive.Each(slots_, [&](Slot& slot) {
    archive.Number(slot.generation);
    if (slot.generation == 0) return;
    archive.Flag(slot.done);
    archive.Flag(slot.damaged);
    archive.Flag(slot.big);
    archive.Numbers(slot.thread, slot.sequence, slot.drained);
    if (slot.drained > BlockRoom(slot.big) || slot.drained % 8 != 0)
      archive.Refuse();
  });
  archive.Each(threads_, [&](auto& entry) {
    Thread& thread = entry.second;
    archive.Numbers(entry.first, thread.tid, thread.next, thread.gap_passes);
    archive.Numbers(thread.told, thread.lost, thread.lost_to);
    archive.Each(thread.blocks, [&](auto& block) {
      archive.Numbers(block.first, block.second);
      if (archive.writing()) return;
      // A block is its thread's, as the slot says, and not done with.
      const uint32_t at = block.second - kFirstSlot;
      if (block.second < kFirstSlot || at >= slots_.size() ||
          slots_[at].thread != entry.first ||
          slots_[at].sequence != block.first || slots_[at].done ||
          slots_[at].generation == 0)
        archive.Refuse();
    });
  });
  archive.Numbers(speaker_.number, speaker_.tid);
  // Threads whose end is told with the next pass.
  archive.Each(ending_, [&](uint32_t& number) { archive.Number(number); });
  archive.Numbers(homeless_, records_, lost_, damaged_bytes_);
  if (archive.writing()) return;
  constexpr size_t kMost = (kChunks - kFirstBlockChunk) * kSlotsPerChunk;
  if (slots_.size() > kMost || slots_.size() % kSlotsPerChunk != 0)
    archive.Refuse();
  if (!archive.ok()) {
    slots_.clear();
    threads_.clear();
  }
  slots_.reserve(kMost);  // see FindBlocks()
  directory_.resize(slots_.size());
}

}  // namespace sonde
