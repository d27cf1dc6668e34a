#ifndef SONDE_SDK_PROCESS_H_
#define SONDE_SDK_PROCESS_H_

#include <sonde/abi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "ring/layout.h"
#include "wire/record.h"

namespace sonde::guest {

// One thread's end of the ring. The library's part lies behind the part that
// programs know. Only its thread touches it, and handlers on that thread.
struct Writer {
  sonde_abi_writer abi;
  BlockFoot* foot;  // of its block; null: it has none
  uint32_t slot;
  uint32_t number;  // of the thread, from 1
  uint32_t tid;
  uint32_t sequence;  // of the next block
  uint32_t used;      // 0: wiped by fork, or given back
  uint32_t sealed;    // it has records in the overflow: none in this block
  // Losses that no record tells yet, by LostWhy.
  struct Loss {
    uint64_t count, from, to;
  } loss[2];
  uint64_t lost;  // ever
};
static_assert(sizeof(Writer) <= 128);

inline constexpr size_t kMaxThreads = 64 << 10;
inline constexpr size_t kNameTable = 256 << 10;  // a power of two

// All that a process knows of its ring. It lies in memory that the kernel wipes
// in a forked child, so that a child finds nothing, and no lock is held.
struct Process {
  enum State : uint32_t { kNew = 0, kAttaching = 1, kReady = 2, kFailed = 3 };

  std::atomic<uint32_t> state;
  uint32_t clock;  // WireClock
  char* base;      // of the ring file
  const char* tails;

  // The file says these too, for the collector. What others scribble there
  // must not lead us to pages that are not allocated.
  std::atomic<uint32_t> chunks;
  std::atomic<uint8_t> use[kChunks];  // ChunkUse
  std::atomic<uint16_t> generation[kSlots];

  std::atomic<uint32_t> next_chunk;   // never used before
  std::atomic<uint32_t> small_hint;   // where a small block was free
  std::atomic<uint32_t> grow_failed;  // in a row
  // Passes when no block was free, + 1; by reserve * 2 + big.
  std::atomic<uint64_t> full[4];
  std::atomic<uint64_t> early_lost;   // while attaching
  std::atomic<uint64_t> names_ready;  // allocated up to here

  std::atomic<uint32_t> writers;       // taken from the array
  std::atomic<uint64_t> free_writers;  // tag, index + 1
  // Of each free one the next, index + 1. Who loses the race for one reads what
  // its new owner may be about to write.
  std::atomic<uint32_t> next_free[kMaxThreads];
  std::atomic<uint32_t> overflow_lock;
  Writer overflow;
  uint32_t overflow_thread;  // whose its last record was

  std::atomic<uint8_t> taken[kSlots];
  std::atomic<uint32_t> names[kNameTable];  // id of each, by hash
  Writer threads[kMaxThreads];

  RingHeader* header() const { return reinterpret_cast<RingHeader*>(base); }
};

// A block that has been leased.
struct Block {
  char* data;
  uint32_t slot;
  bool big;

  BlockFoot* foot() const {
    return reinterpret_cast<BlockFoot*>(data + BlockRoom(big));
  }
};

// Null while there is no session. Set once, before anything can be recorded.
extern Process* process;

// Looks for a session in `directory`. What this process will know of it, or
// null: there is none. Once in a process.
Process* FindSession(const char* directory);
// Lets this process record, its files being made.
void Listen();

// Makes the files, and copies the definitions of the process that forked. Where
// those end in the file, or 0: the files could not be made.
uint64_t MakeFiles(Process* p);

// Lends a free block, growing the file if that is needed and allowed. `reserve`
// may take the last ones. False: there is none. Never waits.
bool Lease(Process* p, bool big, bool reserve, Block* block);

// Gives a block back, to be used again when the collector has read it.
void Release(Process* p, uint32_t slot);

// Starts the next generation of a block that is leased, its foot being ready.
void PublishLease(Process* p, uint32_t slot, uint16_t generation);

// False: a filter may kill the process for a system call.
bool MayCall(const Process* p);

// The process is about to ask for such a filter: makes its files as large as
// they will ever be, and calls no more. Also not in children that it forks.
// False: it is a child of vfork(), which does not concern us.
bool GiveUpCalls();
// The process did not get the filter.
void TakeBackCalls();

// Writers up to this index may still be pointed to by the thread that forked
// this process.
uint32_t WriterBase();
// The writer of this index is in use.
void NoteWriter(uint32_t index);

// Changes when ids lose their meaning.
uint32_t Version();

// Takes room for a definition. Its place in the file, or 0: there is none.
uint64_t TakeNameRoom(Process* p, size_t bytes);

// For as long as `paused` is set, nothing is recorded in this process.
void SetPaused(bool paused);

// The time on the session's clock.
uint64_t Now(const Process* p);

template <typename T>
T LoadShared(const T* at) {
  return __atomic_load_n(at, __ATOMIC_ACQUIRE);
}
template <typename T>
void StoreShared(T* at, T value) {
  __atomic_store_n(at, value, __ATOMIC_RELEASE);
}

}  // namespace sonde::guest

#endif  // SONDE_SDK_PROCESS_H_
