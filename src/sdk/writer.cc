// Losses: each run of dropped records is told by one LOST record that stands
// where the run was. Until it is written, the count lies in the foot of the
// thread's block, where the collector finds it whatever happens to us. To have
// the next record come here and tell it, `end` is null while a loss is untold.

#include "sdk/writer.h"

#include <pthread.h>
#include <time.h>

#include "sdk/names.h"
#include "sdk/syscalls.h"

// In libpthread.so.0 before glibc 2.34 and so perhaps not there; the version
// bound here is the one that every glibc has.
#if defined(__x86_64__)
#define SONDE_FIRST_GLIBC "GLIBC_2.2.5"
#else
#define SONDE_FIRST_GLIBC "GLIBC_2.17"
#endif
extern "C" int sonde_key_create(unsigned*, void (*)(void*))
    __attribute__((weak));
extern "C" int sonde_setspecific(unsigned, const void*) __attribute__((weak));
extern "C" int sonde_getcpuclockid(pthread_t, clockid_t*) __attribute__((weak));
__asm__(".symver sonde_key_create,pthread_key_create@" SONDE_FIRST_GLIBC);
__asm__(".symver sonde_setspecific,pthread_setspecific@" SONDE_FIRST_GLIBC);
__asm__(".symver sonde_getcpuclockid,pthread_getcpuclockid@" SONDE_FIRST_GLIBC);

namespace sonde::guest {

namespace {

// The key whose destructor is EndThread; -1: there is none. The other way,
// __cxa_thread_atexit_impl, calls malloc, and the first record of a thread may
// be in a signal handler.
int exit_key = -1;
// Keys below this have their place in the thread itself; for the others
// pthread_setspecific calls malloc as well.
constexpr unsigned kKeysInThread = 32;

constexpr uint32_t kLossWords = 3;
constexpr int kOverflowTries = 64;

char* EndOf(const Writer* w) { return reinterpret_cast<char*>(w->foot); }

void Fence() { std::atomic_signal_fence(std::memory_order_seq_cst); }

bool HasLoss(const Writer* w) {
  return (w->loss[0].count | w->loss[1].count) != 0;
}

void Publish(Writer* w, char* cur) {
  w->abi.cur = cur;
  StoreShared(&w->foot->left, static_cast<uint64_t>(EndOf(w) - cur));
}

void PutHead(uint64_t* at, uint64_t now, uint32_t id, uint8_t kind,
             uint8_t words, uint32_t depth) {
  at[0] = now;
  at[1] = RecordWord(id, kind, words, static_cast<uint16_t>(depth));
}

// Puts the count of losses where the collector finds it. A handler may count
// one more between the two lines.
void ShowLost(Writer* w) {
  uint64_t lost;
  do {
    Fence();
    lost = w->lost;
    StoreShared(&w->foot->lost, lost);
    Fence();
  } while (lost != __atomic_load_n(&w->lost, __ATOMIC_RELAXED));
}

// Leases the next block of this writer's thread. False: none is free.
bool NextBlock(Process* p, Writer* w, bool shared) {
  Block block;
  // Most threads say little: the first block is small. When big ones are gone,
  // small ones will do.
  const bool big = w->sequence > 0 || shared;
  if (!(big && Lease(p, true, shared, &block)) &&
      !Lease(p, false, shared, &block))
    return false;
  if (w->foot) {
    StoreShared(&w->foot->state, static_cast<uint16_t>(BlockState::kClosed));
    Release(p, w->slot);
  }
  auto generation = static_cast<uint16_t>(p->generation[block.slot] + 1);
  if (generation == 0) generation = 1;
  BlockFoot* const foot = block.foot();
  foot->left = BlockRoom(block.big);
  foot->lost = w->lost;
  foot->thread = w->number;
  foot->tid = w->tid;
  foot->sequence = w->sequence++;
  foot->generation = generation;
  foot->state = static_cast<uint16_t>(BlockState::kOpen);
  foot->time = Now(p);
  PublishLease(p, block.slot, generation);
  w->slot = block.slot;
  w->abi.cur = block.data;
  w->foot = foot;
  w->sealed = 0;
  ShowLost(w);
  return true;
}

// Writes the LOST record of these losses. A handler may add to them meanwhile:
// that is left for the next one.
void TellLoss(Process* p, Writer* w, LostWhy why, uint64_t count) {
  Writer::Loss& loss = w->loss[static_cast<uint32_t>(why) - 1];
  auto* at = reinterpret_cast<uint64_t*>(w->abi.cur);
  PutHead(at, Now(p), static_cast<uint32_t>(why), SONDE_KIND_LOST, kLossWords,
          w->abi.depth);
  at[2] = count;
  at[3] = loss.from;
  at[4] = loss.to;
  __atomic_fetch_sub(&loss.count, count, __ATOMIC_RELAXED);
  Publish(w, w->abi.cur + RecordBytes(kLossWords));
}

// Makes `bytes` available at `cur`, and tells what was lost before. False: no.
bool MakeRoom(Process* p, Writer* w, size_t bytes, bool shared) {
  for (int block = 0; block < 2; ++block) {
    const uint64_t full = w->loss[0].count;
    const uint64_t nested = w->loss[1].count;
    const size_t need =
        bytes + ((full != 0) + (nested != 0)) * RecordBytes(kLossWords);
    if (w->foot && !w->sealed &&
        static_cast<size_t>(EndOf(w) - w->abi.cur) >= need) {
      if (full != 0) TellLoss(p, w, LostWhy::kFull, full);
      if (nested != 0) TellLoss(p, w, LostWhy::kNested, nested);
      return true;
    }
    if (block == 1 || !NextBlock(p, w, shared)) break;
  }
  return false;
}

// Of threads that have no block of their own.
void CountHomeless(Process* p, uint64_t count) {
  if (count == 0) return;
  const uint64_t now = Now(p);
  RingHeader* const header = p->header();
  if (__atomic_fetch_add(&header->lost, count, __ATOMIC_RELAXED) == 0)
    StoreShared(&header->lost_from, now);
  StoreShared(&header->lost_to, now);
}

void CountLoss(Process* p, Writer* w, LostWhy why) {
  if (!w->foot) return CountHomeless(p, 1);
  const uint64_t now = Now(p);
  Writer::Loss& loss = w->loss[static_cast<uint32_t>(why) - 1];
  if (__atomic_fetch_add(&loss.count, 1, __ATOMIC_RELAXED) == 0)
    loss.from = now;
  loss.to = now;
  w->foot->lost_to = now;
  __atomic_fetch_add(&w->lost, 1, __ATOMIC_RELAXED);
  ShowLost(w);
}

void StepDepth(Writer* w, int step) {
  if (step > 0) ++w->abi.depth;
  if (step < 0 && w->abi.depth != 0) --w->abi.depth;
}

// What other threads could not record while one was attaching.
void CountEarly(Process* p) { CountHomeless(p, p->early_lost.exchange(0)); }

// Where system calls are forbidden the tid is taken from libc, which has made
// it part of the number of the thread's CPU clock. 0: not known.
uint32_t ThreadId(const Process* p) {
  if (MayCall(p)) return Tid();
  clockid_t clock;
  if (!sonde_getcpuclockid ||
      sonde_getcpuclockid(::pthread_self(), &clock) != 0)
    return 0;
  return static_cast<uint32_t>(~(clock >> 3));
}

Writer* NewWriter(Process* p) {
  if (p->state != Process::kReady && !Attach(p)) {
    if (p->state == Process::kFailed) SetPaused(true);
    if (p->state == Process::kFailed) return nullptr;
    p->early_lost++;
    if (p->state == Process::kReady) CountEarly(p);
    return nullptr;
  }
  if (p->early_lost != 0) CountEarly(p);
  uint32_t index = 0;
  uint64_t top = p->free_writers;
  while ((index = static_cast<uint32_t>(top)) != 0) {
    const uint64_t next = ((top >> 32) + 1) << 32 | p->next_free[index - 1];
    if (p->free_writers.compare_exchange_weak(top, next)) break;
  }
  if (index == 0) {
    index = WriterBase() + ++p->writers;
    if (index > kMaxThreads) {
      --p->writers;
      CountHomeless(p, 1);
      return nullptr;
    }
    NoteWriter(index);
  }
  Writer* const w = &p->threads[index - 1];
  *w = {};
  w->number = __atomic_add_fetch(&p->header()->threads, 1, __ATOMIC_RELAXED);
  w->tid = ThreadId(p);
  w->abi.version = Version();
  w->used = 1;
  Fence();
  sonde_abi_self = &w->abi;
  if (exit_key >= 0 && sonde_setspecific)
    sonde_setspecific(static_cast<unsigned>(exit_key), w);
  return w;
}

// Takes the overflow for one record, preceded by whose it is.
bool OpenOverflow(Process* p, const Writer* own, size_t bytes) {
  int tries = 0;
  while (p->overflow_lock.exchange(1, std::memory_order_acquire) != 0)
    if (++tries == kOverflowTries) return false;
  Writer* const shared = &p->overflow;
  constexpr uint8_t kWords = 3;
  if (MakeRoom(p, shared, bytes + RecordBytes(kWords), true)) {
    // Also at the beginning of a block: each can be read alone.
    const bool first = shared->foot->left == BlockRoom(true) ||
                       shared->foot->left == BlockRoom(false);
    if (p->overflow_thread != own->number || first) {
      auto* at = reinterpret_cast<uint64_t*>(shared->abi.cur);
      PutHead(at, Now(p), 0, SONDE_KIND_THREAD, kWords, 0);
      at[2] = own->number;
      at[3] = own->tid;
      at[4] = own->sequence;
      shared->abi.cur += RecordBytes(kWords);
      p->overflow_thread = own->number;
    }
    return true;
  }
  p->overflow_lock.store(0, std::memory_order_release);
  return false;
}

// Lets the fast path go on, unless there is a loss to tell or its clock is not
// the session's.
void Unlock(const Process* p, Writer* w, uint32_t version) {
  const bool fast = p->clock == static_cast<uint32_t>(WireClock::kTicks);
  w->abi.end = fast && !w->sealed && !HasLoss(w) ? EndOf(w) : nullptr;
  Fence();
  // A handler may have lost something between the last two lines.
  if (HasLoss(w)) w->abi.end = nullptr;
  Fence();
  w->abi.version = version;
}

// Asks the system to call EndThread. Without it (an old glibc in a program that
// has no threads yet, or no key free) a thread keeps its block until the
// process ends.
void MakeExitKey() {
  unsigned key = 0;
  if (sonde_key_create && sonde_key_create(&key, EndThread) == 0 &&
      key < kKeysInThread)
    exit_key = static_cast<int>(key);
}

}  // namespace

Room Open(const Draft& draft) {
  Process* const p = process;
  if (!p) return {};
  auto* w = reinterpret_cast<Writer*>(sonde_abi_self);
  if (!w || w->used == 0) w = NewWriter(p);
  if (!w) return {};
  if (w->abi.version == SONDE_ABI_BUSY) {
    CountLoss(p, w, LostWhy::kNested);
    StepDepth(w, draft.step);
    w->abi.end = nullptr;
    return {};
  }
  const uint32_t version = w->abi.version;
  w->abi.version = SONDE_ABI_BUSY;
  Fence();
  const size_t bytes = RecordBytes(draft.words);
  Writer* into = w;
  if (!MakeRoom(p, w, bytes, false)) {
    into = OpenOverflow(p, w, bytes) ? &p->overflow : nullptr;
    // A later, smaller record must not get in front of this one.
    if (into) w->sealed = 1;
    if (!into) {
      CountLoss(p, w, LostWhy::kFull);
      StepDepth(w, draft.step);
      Unlock(p, w, version);
      return {};
    }
  }
  if (draft.step < 0) StepDepth(w, -1);
  auto* at = reinterpret_cast<uint64_t*>(into->abi.cur);
  PutHead(at, Now(p), draft.id, draft.kind, draft.words, w->abi.depth);
  if (draft.step > 0) StepDepth(w, 1);
  return {w, into, at + 2, version};
}

void Close(const Room& room, const Draft& draft) {
  Process* const p = process;
  Publish(room.into, room.into->abi.cur + RecordBytes(draft.words));
  if (room.into != room.own)
    p->overflow_lock.store(0, std::memory_order_release);
  Unlock(p, room.own, room.version);
}

void EndThread(void* writer) {
  Process* const p = process;
  auto* w = static_cast<Writer*>(writer);
  // Wiped by a fork, or already given back.
  if (!p || !w || w->used == 0 || p->state != Process::kReady) return;
  sonde_abi_self = nullptr;
  Fence();
  if (w->foot) {
    StoreShared(&w->foot->state, static_cast<uint16_t>(BlockState::kLast));
    Release(p, w->slot);
  }
  const auto index = static_cast<uint32_t>(w - p->threads) + 1;
  w->used = 0;
  uint64_t top = p->free_writers;
  do {
    p->next_free[index - 1] = static_cast<uint32_t>(top);
  } while (!p->free_writers.compare_exchange_weak(
      top, ((top >> 32) + 1) << 32 | index));
}

bool Attach(Process* p) {
  uint32_t state = Process::kNew;
  if (!p->state.compare_exchange_strong(state, Process::kAttaching))
    return state == Process::kReady;
  const uint64_t names_end = MakeFiles(p);
  if (names_end == 0) {
    p->state = Process::kFailed;
    return false;
  }
  IndexNames(p, names_end);
  p->state = Process::kReady;
  StoreShared(&p->header()->magic, kRingMagic);
  return true;
}

void Start(const char* directory) {
  Process* const found = FindSession(directory);
  if (!found) return;
  MakeExitKey();
  process = found;
  // At once and not at the first record: by then the target may have given up
  // the right to open files.
  if (Attach(found)) Listen();
}

}  // namespace sonde::guest
