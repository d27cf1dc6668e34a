// How a pass goes:
//
// 1. The header says how many chunks there are and how each is used, the
//    directory which generation each block has. A new generation is a new
//    lease: its foot says whose it is and which of that thread's blocks.
// 2. The shared overflow is read. Before records of a thread that wrote there
//    after its block n, that thread's blocks up to n are handed out.
// 3. Then the other blocks, thread by thread, in order.
//
// A thread closes block n before it publishes the lease of n + 1, and once it
// has written to the overflow it writes nothing more into block n. So whoever
// has seen the lease of n + 1 finds block n complete if he reads it afterwards,
// and whoever reads the overflow after the directory finds there all that came
// before the leases in it.

#include "collect/ring/ring_reader.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

namespace sonde {
namespace {

// More threads at a time than a target can have.
constexpr size_t kMostThreads = 128 << 10;
// A block may be missed by one pass, if its slot was looked at just before.
constexpr uint32_t kGapPasses = 3;
// Words of these records.
constexpr size_t kLostSize = 5;
constexpr size_t kThreadSize = 5;

// What is read after this is no older than what was read before. The thread
// sanitizer does not know fences, nor what other processes write.
void KeepOrder() {
#if !defined(__SANITIZE_THREAD__)
  std::atomic_thread_fence(std::memory_order_acquire);
#endif
}

uint64_t OffsetOf(uint32_t slot) { return uint64_t{slot} * kSlotBytes; }

uint8_t KindOf(uint64_t word) { return static_cast<uint8_t>(word >> 32); }
size_t SizeOf(uint64_t word) { return 2 + (word >> 40 & 0xff); }

}  // namespace

bool RingReader::ReadAt(uint64_t offset, void* to, size_t bytes) const {
  const ssize_t got = ::pread(fd_, to, bytes, static_cast<off_t>(offset));
  KeepOrder();
  return got == static_cast<ssize_t>(bytes);
}

bool RingReader::ReadHeader() {
  if (!ReadAt(0, &header_, sizeof(header_))) return false;
  header_.chunks =
      std::clamp<uint32_t>(header_.chunks, kFirstBlockChunk, kChunks);
  return true;
}

bool RingReader::Open() {
  if (!ReadHeader() || header_.magic == 0) return false;
  bad_ = header_.magic != kRingMagic || header_.version != kRingVersion;
  // The magic is stored last: what was read with it may be older.
  return !bad_ && ReadHeader();
}

bool RingReader::ReadFoot(uint32_t slot, BlockFoot* foot) const {
  const Slot& block = slots_[slot - kFirstSlot];
  return ReadAt(OffsetOf(slot) + BlockRoom(block.big), foot, sizeof(*foot)) &&
         foot->generation == block.generation;
}

void RingReader::Damage(Slot& slot, uint64_t bytes, RingSink& sink) {
  slot.damaged = true;
  if (bytes == 0) return;
  damaged_bytes_ += bytes;
  const auto thread = threads_.find(slot.thread);
  sink.Lost({slot.thread, thread == threads_.end() ? 0 : thread->second.tid},
            {0, bytes, 0, 0});
}

void RingReader::AddBlock(uint32_t index, uint16_t generation, bool big,
                          RingSink& sink) {
  Slot& slot = At(index);
  const Slot before = slot;
  slot = {generation, false, false, big, 0, 0, 0};
  BlockFoot foot;
  // Seen while it was being made: next time.
  if (!ReadFoot(index, &foot)) {
    slot = before;
    return;
  }
  if (!before.done) {
    // Leased again before it was drained: not by our library.
    if (const auto it = threads_.find(before.thread); it != threads_.end())
      it->second.blocks.erase(before.sequence);
    Damage(slot, BlockRoom(before.big) - before.drained, sink);
    slot.damaged = false;
  }
  slot.thread = foot.thread;
  slot.sequence = foot.sequence;
  if (!threads_.contains(foot.thread) && threads_.size() >= kMostThreads) {
    slot.done = true;
    return Damage(slot, BlockRoom(big), sink);
  }
  Thread& thread = threads_[foot.thread];
  thread.tid = foot.tid;
  const auto [it, fresh] = thread.blocks.emplace(foot.sequence, index);
  if (!fresh || foot.sequence < thread.next) {
    // Two blocks say to be the same one.
    slot.done = true;
    Damage(slot, BlockRoom(big), sink);
    if (fresh) thread.blocks.erase(it);
  }
}

void RingReader::FindBlocks(RingSink& sink) {
  const size_t chunks = header_.chunks - kFirstBlockChunk;
  if (slots_.size() < chunks * kSlotsPerChunk) {
    // References into it must stay: blocks are found while others are read.
    slots_.reserve((kChunks - kFirstBlockChunk) * kSlotsPerChunk);
    slots_.resize(chunks * kSlotsPerChunk);
    directory_.resize(chunks * kSlotsPerChunk);
  }
  if (chunks == 0 || !ReadAt(kDirectoryOffset + kFirstSlot * 2,
                             directory_.data(), chunks * kSlotsPerChunk * 2))
    return;
  for (uint32_t chunk = 0; chunk < chunks; ++chunk) {
    const auto use =
        static_cast<ChunkUse>(header_.use[kFirstBlockChunk + chunk]);
    if (use != ChunkUse::kBig && use != ChunkUse::kSmall) continue;
    const bool big = use == ChunkUse::kBig;
    for (uint32_t i = 0; i < (big ? 1 : kSlotsPerChunk); ++i) {
      const uint32_t at = chunk * kSlotsPerChunk + i;
      const uint16_t generation = directory_[at];
      if (generation != 0 && generation != slots_[at].generation)
        AddBlock(kFirstSlot + at, generation, big, sink);
    }
  }
}

void RingReader::HandOut(Slot& slot, std::span<const uint64_t> words,
                         RingSink& sink) {
  Thread& thread = threads_[slot.thread];
  size_t at = 0;
  while (words.size() - at >= 2) {
    const uint64_t head = words[at + 1];
    const size_t size = SizeOf(head);
    if (size > words.size() - at || KindOf(head) == SONDE_KIND_NONE) break;
    if (KindOf(head) == SONDE_KIND_LOST && size == kLostSize) [[unlikely]] {
      thread.told += words[at + 2];
      lost_ += words[at + 2];
    } else {
      ++records_;
    }
    at += size;
  }
  if (at > 0) sink.Records({slot.thread, thread.tid}, words.first(at));
  if (at < words.size()) Damage(slot, (words.size() - at) * 8, sink);
}

size_t RingReader::ChangeSpeaker(std::span<const uint64_t> words,
                                 RingSink& sink) {
  if (words.size() < kThreadSize || SizeOf(words[1]) != kThreadSize) return 0;
  const auto number = static_cast<uint32_t>(words[2]);
  const auto blocks = static_cast<uint32_t>(words[4]);
  if (number == 0 ||
      (!threads_.contains(number) && threads_.size() >= kMostThreads))
    return 0;
  DrainThread(number, blocks, sink);
  Thread& thread = threads_[number];
  const bool seen = thread.next >= blocks || thread.blocks.contains(blocks - 1);
  if (!seen && !looked_again_) {
    // It had these blocks before it wrote here: they are there now.
    looked_again_ = true;
    if (ReadHeader()) FindBlocks(sink);
    DrainThread(number, blocks, sink);
  }
  thread.tid = static_cast<uint32_t>(words[3]);
  speaker_ = {number, thread.tid};
  return kThreadSize;
}

void RingReader::HandOutShared(Slot& slot, std::span<const uint64_t> words,
                               RingSink& sink) {
  while (!words.empty() && !slot.damaged) {
    size_t end = 0;
    while (words.size() - end >= 2 &&
           KindOf(words[end + 1]) != SONDE_KIND_THREAD &&
           SizeOf(words[end + 1]) <= words.size() - end)
      end += SizeOf(words[end + 1]);
    if (end == 0)
      end = ChangeSpeaker(words, sink);
    else if (threads_.contains(speaker_.number)) {
      Slot spoken = slot;
      spoken.thread = speaker_.number;
      HandOut(spoken, words.first(end), sink);
      slot.damaged = spoken.damaged;
    } else {
      end = 0;
    }
    if (end == 0) Damage(slot, words.size() * 8, sink);
    words = words.subspan(end);
  }
}

RingReader::Drained RingReader::DrainBlock(uint32_t index, bool closed,
                                           RingSink& sink) {
  Slot& slot = At(index);
  BlockFoot foot;
  bool good = ReadFoot(index, &foot);
  const bool ended =
      good && foot.state != static_cast<uint16_t>(BlockState::kOpen);
  // `left` lies before `state` and may have been read before it.
  if (ended) good = ReadFoot(index, &foot);
  const uint64_t room = BlockRoom(slot.big);
  good = good && foot.left <= room - slot.drained && foot.left % 8 == 0;
  const size_t bytes = good ? room - foot.left - slot.drained : 0;
  std::vector<uint64_t>& words = slot.thread == 0 ? shared_ : words_;
  if (good && bytes > 0 && !slot.damaged) {
    words.resize(bytes / 8);
    good = ReadAt(OffsetOf(index) + slot.drained, words.data(), bytes);
  }
  slot.drained += static_cast<uint32_t>(bytes);
  pass_bytes_ += bytes;
  if (!good || (slot.damaged && bytes > 0)) {
    Damage(slot, good ? bytes : room - slot.drained, sink);
  } else if (bytes > 0 && slot.thread == 0) {
    HandOutShared(slot, words, sink);
  } else if (bytes > 0) {
    HandOut(slot, words, sink);
  }
  if (good) {
    Thread& thread = threads_[slot.thread];
    thread.lost = std::max(thread.lost, foot.lost);
    if (foot.lost_to != 0) thread.lost_to = foot.lost_to;
  }
  if (good && !ended && !closed) return Drained::kMore;
  slot.done = true;
  drained_.push_back({index, slot.generation});
  return good && foot.state == static_cast<uint16_t>(BlockState::kLast)
             ? Drained::kLast
             : Drained::kDone;
}

void RingReader::DrainThread(uint32_t number, uint32_t before, RingSink& sink) {
  Thread& thread = threads_[number];
  while (!thread.blocks.empty()) {
    const auto [sequence, index] = *thread.blocks.begin();
    if (sequence >= before) return;
    if (sequence != thread.next && ++thread.gap_passes < kGapPasses) return;
    thread.gap_passes = 0;
    thread.next = sequence;
    const Drained drained = DrainBlock(index, thread.blocks.size() > 1, sink);
    if (drained == Drained::kMore) return;
    thread.blocks.erase(sequence);
    thread.next = sequence + 1;
    if (drained == Drained::kLast) ending_.push_back(number);
  }
}

void RingReader::TellUntold(uint32_t number, Thread& thread, RingSink& sink) {
  if (thread.lost <= thread.told) return;
  const uint64_t count = thread.lost - thread.told;
  thread.told = thread.lost;
  lost_ += count;
  sink.Lost({number, thread.tid}, {count, 0, 0, thread.lost_to});
}

void RingReader::TellHomeless(RingSink& sink) {
  if (header_.lost <= homeless_) return;
  const uint64_t count = header_.lost - homeless_;
  homeless_ = header_.lost;
  lost_ += count;
  sink.Lost({}, {count, 0, header_.lost_from, header_.lost_to});
}

void RingReader::EndThreads(RingSink& sink) {
  for (const uint32_t number : ending_) {
    const auto it = threads_.find(number);
    if (it == threads_.end() || !it->second.blocks.empty()) continue;
    TellUntold(number, it->second, sink);
    sink.Ended({number, it->second.tid});
    threads_.erase(it);
  }
  ending_.clear();
}

size_t RingReader::Read(RingSink& sink) {
  pass_bytes_ = 0;
  looked_again_ = false;
  if (bad_ || !ReadHeader()) return 0;
  FindBlocks(sink);
  DrainThread(0, UINT32_MAX, sink);
  // They had ended before this pass, so the overflow has nothing more of them.
  EndThreads(sink);
  std::vector<uint32_t> numbers;
  for (const auto& [number, thread] : threads_)
    if (!thread.blocks.empty()) numbers.push_back(number);
  for (const uint32_t number : numbers) DrainThread(number, UINT32_MAX, sink);
  TellHomeless(sink);
  return pass_bytes_;
}

void RingReader::Finish(RingSink& sink) {
  // Whatever it does now, the dead cannot write for ever.
  for (int passes = 0; passes < 8 && Read(sink) > 0; ++passes) {
  }
  for (uint32_t pass = 0; pass < kGapPasses; ++pass) Read(sink);
  for (auto& [number, thread] : threads_)
    if (number != 0) ending_.push_back(number), thread.blocks.clear();
  EndThreads(sink);
}

std::vector<DrainedBlock> RingReader::TakeDrained() {
  return std::exchange(drained_, {});
}

std::optional<RingName> RingReader::Name(uint32_t id) const {
  const uint64_t at = uint64_t{id} * 8;
  NameHead head;
  if (at < kNamesOffset || at >= kNamesEnd ||
      !ReadAt(at, &head, sizeof(head)) || head.bytes > SONDE_MAX_TEXT)
    return std::nullopt;
  char bytes[SONDE_MAX_TEXT];
  if (head.bytes > 0 && !ReadAt(at + sizeof(head), bytes, head.bytes))
    return std::nullopt;
  RingName name;
  name.kind = head.kind;
  uint32_t fields[6] = {};
  std::memcpy(fields, bytes, std::min<size_t>(head.bytes, sizeof(fields)));
  name.name = fields[0];
  switch (head.kind) {
    case NameKind::kText:
      name.text.assign(bytes, head.bytes);
      name.cut = head.cut != 0;
      return name;
    case NameKind::kLabel:
      name.category = fields[1];
      name.color = fields[2];
      name.cls = fields[3];
      name.source = fields[4];
      return name;
    case NameKind::kTrack:
      name.clock = fields[1];
      name.parent = fields[2];
      name.order = fields[3];
      name.track_kind = fields[4];
      name.source = fields[5];
      return name;
    case NameKind::kClock:
      name.ticks_per_second = fields[2] | uint64_t{fields[3]} << 32;
      return name;
  }
  return std::nullopt;
}

bool TailsWriter::WriteAt(uint64_t offset, const void* from, size_t bytes) {
  return ::pwrite(fd_, from, bytes, static_cast<off_t>(offset)) ==
         static_cast<ssize_t>(bytes);
}

bool TailsWriter::Publish(std::span<const DrainedBlock> blocks) {
  bool good = true;
  for (const DrainedBlock& block : blocks)
    good &= block.slot < kSlots &&
            WriteAt(kTailsOffset + block.slot * 2, &block.generation,
                    sizeof(block.generation));
  ++header_.passes;
  return WriteAt(0, &header_, sizeof(header_)) && good;
}

bool TailsWriter::ForbidGrowth() {
  header_.no_grow = 1;
  return WriteAt(0, &header_, sizeof(header_));
}

}  // namespace sonde
