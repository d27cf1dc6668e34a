#ifndef SONDE_COLLECT_RING_RING_READER_H_
#define SONDE_COLLECT_RING_RING_READER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "collect/ring/state_archive.h"
#include "ring/layout.h"
#include "wire/record.h"

namespace sonde {

// Whose records they are. The number is given in the order of first records and
// never again in this process; the tid is what the target says.
struct RingThread {
  uint32_t number = 0;  // 0: not known whose
  uint32_t tid = 0;
};

// Records that are not there. Times are of the session's clock, 0: unknown.
struct RingLoss {
  uint64_t count = 0;  // 0: bytes that cannot be read, so nobody knows
  uint64_t bytes = 0;
  uint64_t from = 0;
  uint64_t to = 0;
};

// Takes what a RingReader finds, in the order of each thread.
class RingSink {
 public:
  virtual ~RingSink() = default;
  // Whole records, one after the other. LOST records stand where records were
  // lost and are to be told; they are not handed to Lost() as well.
  virtual void Records(const RingThread& thread,
                       std::span<const uint64_t> words) = 0;
  // Losses that no record tells.
  virtual void Lost(const RingThread& thread, const RingLoss& loss) = 0;
  // No more records of this thread will come, unless by a destructor that runs
  // after most of the thread is gone.
  virtual void Ended(const RingThread& thread) = 0;
};

// A block that has been handed out to its end.
struct DrainedBlock {
  uint32_t slot;
  uint16_t generation;
};

// What an id stands for. Which fields mean something depends on the kind.
struct RingName {
  NameKind kind = NameKind::kText;
  std::string text;  // kText
  bool cut = false;  // of a longer text
  uint32_t name = 0;
  uint32_t category = 0;          // kLabel
  uint32_t color = 0;             // kLabel
  uint32_t clock = 0;             // kTrack
  uint32_t parent = 0;            // kTrack
  uint32_t order = 0;             // kTrack
  uint64_t ticks_per_second = 0;  // kClock
  uint32_t cls = 0;               // kLabel: sonde_class, or any other number
  uint32_t track_kind = 0;        // kTrack: sonde_track_kind, likewise
  uint32_t source = 0;            // kLabel, kTrack: id of a text
};

// The reading end of one process's ring file, by pread() only.
//
//  - Every committed record is handed out once, whole, in the order of its
//    thread; also what went by the shared overflow.
//  - recorded + lost = produced, for each thread that has ended and, after
//    Finish(), for all.
//  - The file is the target's and may hold anything, and change while it is
//    read. Then some of its own records are damaged, which is told; nothing is
//    read outside the file, nothing runs for ever, and memory stays under a
//    few hundred bytes for each of its blocks and threads.
//
// Does not own the descriptor. One thread at a time.
class RingReader {
 public:
  explicit RingReader(int fd) : fd_(fd) {}

  // False: the target is not ready yet, or this is no ring (`bad()`).
  bool Open();
  bool bad() const { return bad_; }
  // As of the last pass. Only after Open().
  const RingHeader& header() const { return header_; }

  // Hands out what is new. Returns how many bytes of records.
  size_t Read(RingSink& sink);
  // The process is dead: hands out the rest and every loss not yet told.
  void Finish(RingSink& sink);

  // Blocks that were handed out to their end since the last call. Publish them
  // when their records are safe.
  std::vector<DrainedBlock> TakeDrained();

  // How far it has read, for a reader of the same file in another process.
  // Between passes; what TakeDrained() has not told is then told by nobody.
  void Archive(StateArchive& archive);

  // Nothing: there is no such definition.
  std::optional<RingName> Name(uint32_t id) const;

  uint64_t records() const { return records_; }  // without LOST and THREAD
  uint64_t lost() const { return lost_; }

 private:
  struct Slot {
    uint16_t generation = 0;
    bool done = true;
    bool damaged = false;
    bool big = false;
    uint32_t thread = 0;
    uint32_t sequence = 0;
    uint32_t drained = 0;  // bytes
  };
  struct Thread {
    uint32_t tid = 0;
    uint32_t next = 0;  // sequence of the block to hand out next
    uint32_t gap_passes = 0;
    uint64_t told = 0;  // of the lost records
    uint64_t lost = 0;  // by the newest foot
    uint64_t lost_to = 0;
    std::map<uint32_t, uint32_t> blocks;  // sequence -> slot, not yet done
  };

  enum class Drained { kMore, kDone, kLast };

  bool ReadAt(uint64_t offset, void* to, size_t bytes) const;
  bool ReadHeader();
  bool ReadFoot(uint32_t slot, BlockFoot* foot) const;
  void FindBlocks(RingSink& sink);
  void AddBlock(uint32_t slot, uint16_t generation, bool big, RingSink& sink);
  // Hands out what is new in a block; `closed`: there is a later one.
  Drained DrainBlock(uint32_t slot, bool closed, RingSink& sink);
  // The blocks of a thread with a sequence below `before`.
  void DrainThread(uint32_t number, uint32_t before, RingSink& sink);
  void HandOut(Slot& slot, std::span<const uint64_t> words, RingSink& sink);
  void HandOutShared(Slot& slot, std::span<const uint64_t> words,
                     RingSink& sink);
  // Words taken by the THREAD record at the front; 0: damaged.
  size_t ChangeSpeaker(std::span<const uint64_t> words, RingSink& sink);
  void EndThreads(RingSink& sink);
  void TellUntold(uint32_t number, Thread& thread, RingSink& sink);
  void TellHomeless(RingSink& sink);
  void Damage(Slot& slot, uint64_t bytes, RingSink& sink);
  Slot& At(uint32_t slot) { return slots_[slot - kFirstSlot]; }
  static constexpr uint32_t kFirstSlot = kFirstBlockChunk * kSlotsPerChunk;

  int fd_;
  bool bad_ = false;
  RingHeader header_ = {};
  std::vector<Slot> slots_;
  std::vector<uint16_t> directory_;
  std::unordered_map<uint32_t, Thread> threads_;
  RingThread speaker_;            // whose the overflow's next records are
  bool looked_again_ = false;     // for blocks, in this pass
  std::vector<uint32_t> ending_;  // threads that have ended
  std::vector<uint64_t> words_;   // scratch: one block
  std::vector<uint64_t> shared_;  // the same, for the overflow
  std::vector<DrainedBlock> drained_;
  uint64_t homeless_ = 0;  // of the header's losses, told
  uint64_t records_ = 0;
  uint64_t lost_ = 0;
  uint64_t damaged_bytes_ = 0;
  size_t pass_bytes_ = 0;
};

// Tells a target which blocks it may use again. Writes by pwrite() only; what
// the target does with the file hurts nobody else.
class TailsWriter {
 public:
  explicit TailsWriter(int fd) : fd_(fd) {}
  // False: could not be written; the target will run out of blocks.
  bool Publish(std::span<const DrainedBlock> blocks);
  // The target must make no more system calls (it has a seccomp filter).
  bool ForbidGrowth();

 private:
  bool WriteAt(uint64_t offset, const void* from, size_t bytes);

  int fd_;
  TailsHeader header_ = {};
};

}  // namespace sonde

#endif  // SONDE_COLLECT_RING_RING_READER_H_
