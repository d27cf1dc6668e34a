// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
//
// Runs in the kernel at each sample of a thread: follows the list of CPython's
// frames while the thread stands still, and writes what is found to the ring
// just before the sample. `tools/check_bpf.py --write` makes walker_code.cc of
// this file; docs/decisions/bpf-walker.md says why.

#include "collect/bpf/walk_format.h"

// The loader puts the descriptor of the map of this name where one is used.
struct Map;
extern struct Map settings, threads, scratch, output;

// Of the kernel, by the numbers of include/uapi/linux/bpf.h.
static void* (*map_lookup)(struct Map*, const void* key) = (void*)1;
static uint64_t (*kernel_pid_tid)(void) = (void*)14;
static long (*perf_output)(void* context, struct Map*, uint64_t flags,
                           void* data, uint64_t size) = (void*)25;
static long (*read_user)(void* to, uint32_t size, uint64_t from) = (void*)112;
static long (*namespace_pid_tid)(uint64_t device, uint64_t inode, void* out,
                                 uint32_t size) = (void*)120;

enum { kCurrentCpu = -1, kFirstShimOwner = 3, kFirstStrangeOwner = 8 };

static __attribute__((always_inline)) struct WalkedThread* FindThread(void) {
  const uint32_t zero = 0;
  const struct WalkSettings* const by = map_lookup(&settings, &zero);
  if (!by) return 0;
  uint32_t tid;
  if (by->by_kernel) {
    tid = (uint32_t)kernel_pid_tid();
  } else {
    uint32_t ids[2];  // tid, pid
    if (namespace_pid_tid(by->namespace_device, by->namespace_inode, ids,
                          sizeof(ids)))
      return 0;
    tid = ids[0];
  }
  return map_lookup(&threads, &tid);
}

// Where the fields of a frame lie in the copy of one.
struct Fields {
  const uint64_t *previous, *code, *instruction;
  const uint8_t *owner, *entry;
  uint32_t bytes;
};

// 0 or 1, without the branch that the compiler would like better.
static __attribute__((always_inline)) uint64_t IsNot0(uint64_t value) {
  uint64_t negative = -value;
  __asm__ volatile("" : "+r"(negative));
  return (value | negative) >> 63;
}

// One frame of the list, of which `work` says where. Without branches: through
// all rounds of a loop the kernel's check follows every one.
static __attribute__((always_inline)) void Step(
    const struct WalkedThread* thread, const struct Fields* at,
    struct WalkScratch* work) {
  const uint64_t address = work->next, outer = work->outer;
  const uint64_t doubt = work->doubt, count = work->count;
  const uint64_t unread =
      (uint64_t)read_user(work->frame, at->bytes, address) >> 63;
  const uint64_t owner = *at->owner & thread->owner_mask;
  const uint64_t entry = *at->entry & thread->entry_mask;
  const uint64_t previous = *at->previous;
  // Each of these is 0 or 1.
  const uint64_t strange = (owner + 256 - kFirstStrangeOwner) >> 8;
  const uint64_t shim = (owner + 8 - kFirstShimOwner) >> 3 & 1;
  const uint64_t from_c = (shim | entry) & 1;
  const uint64_t differs = IsNot0(previous ^ outer);
  const uint64_t bad = unread | strange | (doubt & from_c & differs);
  const uint64_t again = bad & doubt;

  struct WalkedFrame* const out = &work->record.frames[count & (WALK_ROOM - 1)];
  out->address = address;
  out->code = (*at->code & ~(uint64_t)WALK_BITS & (shim - 1)) |
              shim * WALK_SHIM | entry * WALK_ENTRY;
  out->instruction = *at->instruction & thread->instruction_mask;
  work->count = (count + 1 - bad) & (again - 1);
  work->next = (previous & (bad - 1)) | (outer & -again);
  work->record.cframe =
      (work->record.cframe & (again - 1)) | (work->outer_cframe & -again);
  work->doubt = doubt & ~(bad | from_c);
  work->torn |= bad & ~again;
}

__attribute__((section("perf_event"), used)) int Walk(void* context) {
  const struct WalkedThread* const thread = FindThread();
  if (!thread) return 1;  // nobody asks for most threads
  const uint32_t zero = 0;
  struct WalkScratch* const work = map_lookup(&scratch, &zero);
  if (!work) return 1;
  struct WalkRecord* const record = &work->record;

  // A _PyCFrame: its innermost frame, and the _PyCFrame outside of it.
  uint64_t cframe = 0, inner[2] = {0, 0}, outer = 0;
  work->count = work->doubt = work->torn = 0;
  if (thread->cframe)
    read_user(&cframe, 8, thread->thread_state + thread->cframe);
  if (thread->has_cframe) {
    // A call from C may just have begun: its _PyCFrame is in place, but does
    // not say yet which frame is the innermost. Then what it says does not lead
    // to the frame outside, and that one is taken; or it does not even say what
    // is outside, and nothing is taken.
    work->torn = read_user(inner, 16, cframe + thread->cframe_frame) != 0;
    if (inner[1])
      work->doubt = !read_user(&outer, 8, inner[1] + thread->cframe_frame);
    if (inner[0] && !work->doubt) {
      work->torn = 1;
      inner[0] = 0;
    }
  } else {
    work->torn = read_user(inner, 8, thread->thread_state + thread->frame) != 0;
  }
  work->next = inner[0];
  work->outer = outer;
  work->outer_cframe = inner[1];
  record->cframe = cframe;
  // The masks tell the kernel's check what is true of the offsets anyway.
  const struct Fields at = {
      .previous = (void*)(work->frame + (thread->previous & 120)),
      .code = (void*)(work->frame + (thread->code & 120)),
      .instruction = (void*)(work->frame + (thread->instruction & 120)),
      .owner = work->frame + (thread->owner & 127),
      .entry = work->frame + (thread->entry & 127),
      .bytes = thread->frame_bytes & 127};
  for (int i = 0; i < WALK_MOST_FRAMES; ++i) {
    if ((work->next | work->doubt) == 0) break;
    Step(thread, &at, work);
  }

  // The object may be another function's by the time it is looked up.
  uint64_t name = 0, hash = 0;
  const uint64_t code =
      record->frames[record->frames[0].code & WALK_SHIM].code &
      ~(uint64_t)WALK_BITS;
  read_user(&name, 8, code + thread->name);
  read_user(&hash, 8, name + WALK_HASH_OFFSET);
  record->name_hash = hash;

  uint64_t count = work->count;
  if (count > WALK_MOST_FRAMES) count = WALK_MOST_FRAMES;
  record->magic = WALK_MAGIC;
  record->count = (uint32_t)count;
  record->flags = (work->next | work->torn) == 0 ? WALK_WHOLE : 0;
  perf_output(context, &output, (uint32_t)kCurrentCpu, &record->magic,
              sizeof(struct WalkRecord) - sizeof(record->frames) - 4 +
                  count * sizeof(struct WalkedFrame));
  return 1;  // the kernel writes its sample, as without us
}
