// The three files between a target and the collector, byte by byte.
//
//   control             the collector's. Every target maps it to read
//   <name>.ring         one for each process, made and written by the target
//   <name>.tails        made beside the ring, written by the collector only.
//                       The target maps it to read
//
// A ring file is cut into slots of 4 KiB, and 16 of them are a chunk:
//
//   chunk 0             RingHeader, then the generation of each slot
//   chunks 1 .. 63      definitions (names, labels, tracks, clocks), each at
//                       byte 8 * id; they only grow
//   chunks 64 .. 1023   blocks: a chunk is one block, or 16 small ones
//
// A block is records, then a BlockFoot in its last 64 bytes. It belongs to one
// thread from its lease until the collector has drained it: each lease has the
// next generation, and when the generation in the tails file is the same, the
// block may be leased again. There are holes in the file. The target touches
// only what it has allocated.

#ifndef SONDE_RING_LAYOUT_H_
#define SONDE_RING_LAYOUT_H_

#include <cstddef>
#include <cstdint>

namespace sonde {

inline constexpr uint64_t kControlMagic = 0x6c74632d646e6f73;  // "sond-ctl"
inline constexpr uint64_t kRingMagic = 0x676e722d646e6f73;     // "sond-rng"
inline constexpr uint32_t kRingVersion = 1;

inline constexpr size_t kSlotBytes = 4096;
inline constexpr size_t kSlotsPerChunk = 16;
inline constexpr size_t kChunkBytes = kSlotBytes * kSlotsPerChunk;
inline constexpr size_t kChunks = 1024;
inline constexpr size_t kSlots = kChunks * kSlotsPerChunk;
inline constexpr size_t kRingBytes = kChunks * kChunkBytes;  // 64 MiB at most

inline constexpr size_t kDirectoryOffset = kSlotBytes;
inline constexpr size_t kHeaderBytes = kDirectoryOffset + kSlots * 2;
inline constexpr size_t kFirstNameChunk = 1;
inline constexpr size_t kFirstBlockChunk = 64;
inline constexpr size_t kNamesOffset = kFirstNameChunk * kChunkBytes;
inline constexpr size_t kNamesEnd = kFirstBlockChunk * kChunkBytes;

// How a chunk of blocks is used. The use of a chunk never changes.
enum class ChunkUse : uint8_t { kUnused = 0, kBig = 1, kSmall = 2 };

// In the control file, at its beginning. `recording` is what targets look at
// with every record.
struct ControlPage {
  uint64_t magic;
  uint32_t version;
  uint32_t clock;      // WireClock
  uint32_t recording;  // 0: paused or over
  uint32_t unused;
  uint64_t session;  // any number; for people
};
inline constexpr size_t kControlBytes = 4096;

// At the beginning of a ring file. Written by the target, so worth nothing
// until it has been checked. The magic is stored last.
struct RingHeader {
  uint64_t magic;
  uint32_t version;
  uint32_t clock;
  uint64_t key;         // any number, of this file
  uint64_t parent_key;  // of the file of the process that forked; or 0
  uint32_t pid;         // in the process's own pid namespace
  uint32_t tid;         // that made the file
  uint64_t time;        // when
  uint32_t chunks;      // allocated, chunk 0 and the names' included
  uint32_t grow_error;  // errno of the last growth that failed
  uint32_t threads;     // numbers given so far
  uint32_t unused;
  uint64_t names_end;   // byte where the next definition goes
  uint64_t names_lost;  // definitions for which there was no room
  uint64_t lost;        // records of threads that never had a block
  uint64_t lost_from;
  uint64_t lost_to;
  uint8_t reserved[1024 - 104];
  uint8_t use[kChunks];  // ChunkUse
};
static_assert(sizeof(RingHeader) == 2048);

// The last 64 bytes of a block. `left` is stored with every record; the rest
// is written before the generation in the directory is.
struct BlockFoot {
  uint64_t left;      // bytes not yet written, before this foot
  uint64_t lost;      // records this thread has lost, ever
  uint64_t lost_to;   // when the last of them was
  uint32_t thread;    // its number in the process; 0: the shared overflow
  uint32_t tid;       // in the thread's own pid namespace
  uint32_t sequence;  // of the block among the thread's, from 0
  uint16_t generation;
  uint16_t state;  // BlockState
  uint64_t time;   // of the lease
  uint64_t unused[2];
};
static_assert(sizeof(BlockFoot) == 64);

enum class BlockState : uint16_t {
  kOpen = 1,
  kClosed = 2,  // full; there is or will be a next one
  kLast = 3,    // the thread has ended
};

constexpr size_t BlockBytes(bool big) { return big ? kChunkBytes : kSlotBytes; }
constexpr size_t BlockRoom(bool big) {
  return BlockBytes(big) - sizeof(BlockFoot);
}

// At the beginning of a tails file; the drained generation of each slot, a
// uint16_t, follows at kTailsOffset.
struct TailsHeader {
  uint64_t passes;   // grows with each publication
  uint32_t no_grow;  // the target must make no system call: it has a filter
  uint32_t unused;
};
inline constexpr size_t kTailsOffset = 4096;
inline constexpr size_t kTailsBytes = kTailsOffset + kSlots * 2;

// What is defined at an id. The last two words of a label and of a track may be
// missing: then they are 0.
enum class NameKind : uint8_t {
  kText = 1,   // bytes
  kLabel = 2,  // u32 name, u32 category, u32 color, u32 class, u32 source
  kTrack = 3,  // u32 name, u32 clock (0: ours), u32 parent track, u32 order,
               // u32 kind, u32 source
  kClock = 4,  // u32 name, u32 0, u64 ticks a second (0: unknown)
};

// Before each definition; the bytes follow, padded to 8.
struct NameHead {
  uint32_t hash;
  uint16_t bytes;
  NameKind kind;
  uint8_t cut;  // 1: the text was longer
};
static_assert(sizeof(NameHead) == 8);

constexpr size_t NameBytes(size_t bytes) {
  return sizeof(NameHead) + (bytes + 7) / 8 * 8;
}

}  // namespace sonde

#endif  // SONDE_RING_LAYOUT_H_
