// The files of this process: made at its first record (or when the library is
// loaded), grown when all blocks are in use. No descriptor stays open: whoever
// closes all of them takes nothing from us.

#include "sdk/process.h"

#include <time.h>

#include <cstring>

#include "sdk/syscalls.h"

// Older headers lack MADV_WIPEONFORK; kernels before 4.14 refuse it, and then
// nothing is recorded.
#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

extern "C" {
__attribute__((visibility("default"))) uint32_t sonde_abi_on = 0;
__attribute__((visibility("default"))) const uint32_t* sonde_abi_session =
    &sonde_abi_on;
__attribute__((visibility("default"))) __thread sonde_abi_writer* sonde_abi_self
    __attribute__((tls_model("initial-exec"))) = nullptr;
}

namespace sonde::guest {

Process* process = nullptr;

namespace {

// First chunks of blocks: one of small ones, one big.
constexpr uint32_t kFirstChunks = kFirstBlockChunk + 2;
constexpr uint64_t kFirstNames = kNamesOffset + 4 * kSlotBytes;
// Blocks that only the shared overflow may take.
constexpr uint32_t kReserveChunks = 4;
constexpr uint32_t kMaxGrowFailures = 8;
// What a process has that can grow no more: 4 MiB of blocks, 256 KiB of names.
constexpr uint32_t kLastChunks = kFirstBlockChunk + 64;
constexpr uint64_t kLastNames = kNamesOffset + (256 << 10);
constexpr size_t kMaxPath = 4096;
// "/", a pid, "-", 16 digits, ".tails"
constexpr size_t kNameRoom = 48;

const ControlPage* control = nullptr;
uint64_t own_key = 0;
uint32_t own_pid = 0;
// Survive fork(): the child copies the names of its parent out of them.
char* mapped = nullptr;
char* mapped_tails = nullptr;
std::atomic<uint64_t> names_end = kNamesOffset;
std::atomic<uint32_t> given_up = 0;  // times the process gave up system calls
uint32_t version = 1;
uint32_t writer_base = 0;
std::atomic<uint32_t> writers_noted = 0;  // the most that were ever in use
char path[kMaxPath];
size_t directory_size = 0;
size_t stem_size = 0;

const TailsHeader* Tails(const Process* p) {
  return reinterpret_cast<const TailsHeader*>(p->tails);
}

uint16_t* Directory(const Process* p) {
  return reinterpret_cast<uint16_t*>(p->base + kDirectoryOffset);
}

bool IsDrained(const Process* p, uint32_t slot) {
  const auto* tails =
      reinterpret_cast<const uint16_t*>(p->tails + kTailsOffset);
  return LoadShared(&tails[slot]) == p->generation[slot];
}

void AppendNumber(uint64_t value, unsigned base) {
  char digits[24];
  size_t count = 0;
  do {
    digits[count++] = "0123456789abcdef"[value % base];
    value /= base;
  } while (value != 0);
  while (count > 0) path[stem_size++] = digits[--count];
}

const char* PathOf(const char* ending) {
  std::memcpy(path + stem_size, ending, std::strlen(ending) + 1);
  return path;
}

// A new file, mapped. Null: could not.
char* MakeTails() {
  const int fd =
      Open(PathOf(".tails"), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  if (fd < 0) return nullptr;
  void* at = nullptr;
  if (Allocate(fd, 0, kTailsBytes) == 0)
    at = Map(kTailsBytes, PROT_READ, MAP_SHARED, fd);
  Close(fd);
  return static_cast<char*>(at);
}

char* MakeRing(uint64_t names_bytes) {
  const int fd =
      Open(PathOf(".ring"), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  if (fd < 0) return nullptr;
  void* at = nullptr;
  if (Allocate(fd, 0, kHeaderBytes) == 0 &&
      Allocate(fd, kNamesOffset, names_bytes) == 0 &&
      Allocate(fd, kFirstBlockChunk * kChunkBytes,
               (kFirstChunks - kFirstBlockChunk) * kChunkBytes) == 0)
    at =
        Map(kRingBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd);
  Close(fd);
  // A core dump is the target's, not ours.
  if (at) Advise(at, kRingBytes, MADV_DONTDUMP);
  return static_cast<char*>(at);
}

// What may kill a process for a system call is inherited by its children.
bool CallsAllowed(const char* tails) {
  const auto* header = reinterpret_cast<const TailsHeader*>(tails);
  return given_up == 0 && (!header || LoadShared(&header->no_grow) == 0);
}

bool GrowFile(Process* p, size_t offset, size_t bytes) {
  if (!MayCall(p) || p->grow_failed >= kMaxGrowFailures) return false;
  int error = 0;
  // MakeRing() was the last to set it.
  const int fd = Open(path, O_RDWR | O_NOFOLLOW);
  if (fd < 0) {
    error = -fd;
  } else {
    error = Allocate(fd, offset, bytes);
    Close(fd);
  }
  if (error == 0) {
    p->grow_failed = 0;
    return true;
  }
  p->grow_failed++;
  StoreShared(&p->header()->grow_error, static_cast<uint32_t>(error));
  return false;
}

bool GrowNames(Process* p, uint64_t end) {
  uint64_t ready = p->names_ready;
  if (end > kNamesEnd) return false;
  uint64_t to = ready + (ready - kNamesOffset);
  if (to > kNamesEnd) to = kNamesEnd;
  if (!GrowFile(p, ready, to - ready)) return false;
  // Who grew it further was not wrong either.
  p->names_ready.compare_exchange_strong(ready, to);
  return end <= p->names_ready;
}

// Two threads may allocate the same chunks at once: that does no harm, and no
// lock can be left behind by one that is stopped here.
bool GrowChunks(Process* p) {
  uint32_t from = p->chunks;
  const uint32_t have = from - kFirstBlockChunk;
  uint32_t more = have / 2 < 4 ? 4 : have / 2 > 64 ? 64 : have / 2;
  if (from + more > kChunks) more = kChunks - from;
  if (more == 0) return false;
  if (!GrowFile(p, size_t{from} * kChunkBytes, size_t{more} * kChunkBytes))
    return false;
  if (!p->chunks.compare_exchange_strong(from, from + more)) return true;
  // Whoever grew it further may have said so before us.
  uint32_t* const shown = &p->header()->chunks;
  uint32_t said = LoadShared(shown);
  while (said < from + more &&
         !__atomic_compare_exchange_n(shown, &said, from + more, false,
                                      __ATOMIC_RELEASE, __ATOMIC_ACQUIRE)) {
  }
  return true;
}

// A chunk that was never used, or 0.
uint32_t NewChunk(Process* p, bool big, bool reserve) {
  const uint32_t limit = reserve ? kChunks : kChunks - kReserveChunks;
  uint32_t chunk = p->next_chunk;
  while (chunk < limit && chunk < p->chunks) {
    if (!p->next_chunk.compare_exchange_weak(chunk, chunk + 1)) continue;
    const auto use =
        static_cast<uint8_t>(big ? ChunkUse::kBig : ChunkUse::kSmall);
    StoreShared(&p->header()->use[chunk], use);
    p->use[chunk] = use;
    return chunk;
  }
  return 0;
}

bool Take(Process* p, uint32_t slot) {
  if (p->taken[slot].load(std::memory_order_relaxed) != 0 ||
      !IsDrained(p, slot))
    return false;
  uint8_t free = 0;
  if (!p->taken[slot].compare_exchange_strong(free, 1)) return false;
  // Somebody may have had it and given it back since we looked.
  if (IsDrained(p, slot)) return true;
  p->taken[slot].store(0, std::memory_order_release);
  return false;
}

// The lowest that is free: few pages stay in the caches.
bool FindBig(Process* p, uint32_t* slot) {
  const uint32_t chunks = p->next_chunk;
  for (uint32_t chunk = kFirstBlockChunk; chunk < chunks; ++chunk) {
    *slot = chunk * kSlotsPerChunk;
    if (p->use[chunk] == static_cast<uint8_t>(ChunkUse::kBig) && Take(p, *slot))
      return true;
  }
  return false;
}

bool FindSmall(Process* p, uint32_t* slot) {
  const uint32_t first = kFirstBlockChunk * kSlotsPerChunk;
  const uint32_t count = p->next_chunk * kSlotsPerChunk - first;
  const uint32_t hint = p->small_hint;
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t at = (hint + i) % count;
    *slot = first + at;
    if (p->use[*slot / kSlotsPerChunk] !=
        static_cast<uint8_t>(ChunkUse::kSmall)) {
      i += kSlotsPerChunk - 1 - at % kSlotsPerChunk;
      continue;
    }
    if (!Take(p, *slot)) continue;
    p->small_hint = at + 1;
    return true;
  }
  return false;
}

}  // namespace

uint64_t MakeFiles(Process* p) {
  if (!CallsAllowed(mapped_tails)) return 0;
  // The definitions of the process that forked are ours too, so that ids keep
  // their meaning.
  const uint64_t inherited = names_end;
  uint64_t names_ready = (inherited + kSlotBytes - 1) / kSlotBytes * kSlotBytes;
  if (names_ready < kFirstNames) names_ready = kFirstNames;
  stem_size = directory_size;
  path[stem_size++] = '/';
  const uint32_t pid = Pid();
  const uint64_t key = sonde_abi_ticks();
  AppendNumber(pid, 10);
  path[stem_size++] = '-';
  AppendNumber(key, 16);

  char* const tails = MakeTails();
  if (!tails) {
    Unlink(PathOf(".tails"));
    return 0;
  }
  char* const ring = MakeRing(names_ready - kNamesOffset);
  if (!ring) {
    Unmap(tails, kTailsBytes);
    Unlink(PathOf(".ring"));
    Unlink(PathOf(".tails"));
    return 0;
  }
  auto* header = reinterpret_cast<RingHeader*>(ring);
  header->version = kRingVersion;
  header->clock = control->clock;
  header->key = key;
  header->parent_key = own_key;
  header->pid = own_pid = pid;
  header->tid = Tid();
  header->chunks = kFirstChunks;
  header->names_end = inherited;
  if (mapped) {
    std::memcpy(ring + kNamesOffset, mapped + kNamesOffset,
                inherited - kNamesOffset);
  }
  own_key = key;
  // In this order: another thread may fork at any moment, and its child reads
  // what `mapped` points to.
  char* const old = mapped;
  char* const old_tails = mapped_tails;
  mapped = ring;
  mapped_tails = tails;
  if (old) Unmap(old, kRingBytes);
  if (old_tails) Unmap(old_tails, kTailsBytes);
  // The thread that forked still points to its writer of before, which is wiped
  // and must not become another's.
  writer_base = writers_noted < kMaxThreads / 2 ? writers_noted.load() : 0;
  p->clock = control->clock;
  p->tails = tails;
  p->base = ring;
  p->names_ready = names_ready;
  p->chunks = kFirstChunks;
  p->next_chunk = kFirstBlockChunk;
  header->time = Now(p);
  return inherited;
}

bool MayCall(const Process* p) { return CallsAllowed(p->tails); }

bool GiveUpCalls() {
  Process* const p = process;
  // A child of vfork() is about to become another program: what it gives up is
  // not given up by us, whose memory it has.
  if (p && p->state == Process::kReady && own_pid != Pid()) return false;
  if (p && sonde_abi_recording() && p->state == Process::kReady) {
    while (p->chunks < kLastChunks && GrowChunks(p)) {
    }
    while (p->names_ready < kLastNames && GrowNames(p, p->names_ready + 1)) {
    }
  }
  ++given_up;
  return true;
}

void TakeBackCalls() { --given_up; }

uint32_t WriterBase() { return writer_base; }

void NoteWriter(uint32_t index) {
  uint32_t most = writers_noted;
  while (most < index && !writers_noted.compare_exchange_weak(most, index)) {
  }
}

uint64_t Now(const Process* p) {
  if (p->clock == static_cast<uint32_t>(WireClock::kTicks))
    return sonde_abi_ticks();
  timespec now = {};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<uint64_t>(now.tv_nsec);
}

bool Lease(Process* p, bool big, bool reserve, Block* block) {
  // Only the collector frees blocks: until it has, there is nothing to find.
  const uint64_t passes = LoadShared(&Tails(p)->passes) + 1;
  std::atomic<uint64_t>& full = p->full[reserve * 2 + big];
  if (full == passes) return false;
  uint32_t slot = 0;
  // While a thread allocates, many others may come here for the same reason.
  // Each looks again for a block before it takes a whole chunk.
  for (int tries = 0; tries < 4; ++tries) {
    bool found = big ? FindBig(p, &slot) : FindSmall(p, &slot);
    if (!found) {
      const uint32_t chunk = NewChunk(p, big, reserve);
      slot = chunk * kSlotsPerChunk;
      found = chunk != 0 && Take(p, slot);
      if (chunk == 0 && !GrowChunks(p)) break;
    }
    if (!found) continue;
    *block = {p->base + size_t{slot} * kSlotBytes, slot, big};
    return true;
  }
  full = passes;
  return false;
}

void Release(Process* p, uint32_t slot) {
  p->taken[slot].store(0, std::memory_order_release);
}

void PublishLease(Process* p, uint32_t slot, uint16_t generation) {
  p->generation[slot] = generation;
  StoreShared(&Directory(p)[slot], generation);
}

uint64_t TakeNameRoom(Process* p, size_t bytes) {
  uint64_t at = names_end;
  do {
    if (at + bytes > p->names_ready && !GrowNames(p, at + bytes)) return 0;
  } while (!names_end.compare_exchange_weak(at, at + bytes));
  StoreShared(&p->header()->names_end, at + bytes);
  return at;
}

uint32_t Version() { return version; }

void SetPaused(bool paused) {
  __atomic_store_n(&sonde_abi_on, !paused && control, __ATOMIC_RELAXED);
}

Process* FindSession(const char* directory) {
  const size_t size = directory ? std::strlen(directory) : 0;
  if (process || size == 0 || directory[0] != '/' ||
      size + kNameRoom > kMaxPath)
    return nullptr;
  std::memcpy(path, directory, size);
  directory_size = stem_size = size;
  const int fd = Open(PathOf("/control"), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return nullptr;
  struct stat status;
  const bool whole = FileStatus(fd, &status) && S_ISREG(status.st_mode) &&
                     static_cast<uint64_t>(status.st_size) >= kControlBytes;
  void* page = whole ? Map(kControlBytes, PROT_READ, MAP_SHARED, fd) : nullptr;
  Close(fd);
  if (!page) return nullptr;
  const auto* found = static_cast<const ControlPage*>(page);
  const bool known = LoadShared(&found->magic) == kControlMagic &&
                     found->version == kRingVersion;
  void* state = known ? Map(sizeof(Process), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1)
                      : nullptr;
  if (!state || !Advise(state, sizeof(Process), MADV_WIPEONFORK)) {
    if (state) Unmap(state, sizeof(Process));
    Unmap(page, kControlBytes);
    return nullptr;
  }
  control = found;
  return static_cast<Process*>(state);
}

void Listen() {
  sonde_abi_session = &control->recording;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  SetPaused(false);
}

}  // namespace sonde::guest
