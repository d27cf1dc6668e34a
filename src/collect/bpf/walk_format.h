// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
//
// What the program in the kernel (walker.bpf.c) and this side agree on. C,
// since both compile it.

#ifndef SONDE_COLLECT_BPF_WALK_FORMAT_H_
#define SONDE_COLLECT_BPF_WALK_FORMAT_H_

#include <stdint.h>

// Frames of one walk, the interpreter's own included: room for these beside 128
// of functions. More make the program longer to load.
#define WALK_MOST_FRAMES 160
// Room for them, a power of two.
#define WALK_ROOM 256
// Of a frame this much may be copied, a power of two.
#define WALK_FRAME_BYTES 128

// The first word of what the walker writes. A sample of a stack has the upper
// half of the kind of its registers at this place, which is 0.
#define WALK_MAGIC 0x6b6c6177u
// A bit of WalkRecord::flags: the list of frames was followed to its end.
#define WALK_WHOLE 1u
// Where the hash of a str lies.
#define WALK_HASH_OFFSET 24
// Bits of WalkedFrame::code, where an address has none.
#define WALK_SHIM 1u
#define WALK_ENTRY 2u
#define WALK_BITS 7u

// How to walk the frames of one thread: the value for its tid. Offsets as in
// PythonLayout; a mask is 0 where there is no such field, that of `entry`
// else 1.
struct WalkedThread {
  uint64_t thread_state;
  uint64_t instruction_mask;
  uint32_t frame;         // of the pointer to the innermost frame
  uint32_t cframe;        // of the pointer to the innermost _PyCFrame, 0: none
  uint32_t has_cframe;    // the innermost frame's pointer lies in the _PyCFrame
  uint32_t cframe_frame;  // there
  uint32_t frame_bytes;   // 1 to WALK_FRAME_BYTES - 1
  uint32_t previous, code, instruction;  // multiples of 8
  uint32_t owner, owner_mask;
  uint32_t entry, entry_mask;
  uint32_t name;  // of the pointer to a code object's name
  uint32_t unused;
};

// By which number a thread is looked up.
struct WalkSettings {
  // 1: by the kernel's own. 0: by that in the pid namespace below.
  uint64_t by_kernel;
  uint64_t namespace_device, namespace_inode;
};

// One frame as the walker found it.
struct WalkedFrame {
  uint64_t address;
  uint64_t code;  // and the bits above
  uint64_t instruction;
};

// What the walker writes, from `magic` to the last frame there is.
struct WalkRecord {
  uint32_t unused;  // so that no field lies across a multiple of its size
  uint32_t magic;
  uint32_t count, flags;
  uint64_t cframe;
  uint64_t name_hash;  // of the innermost function's name; 0: not read
  struct WalkedFrame frames[WALK_ROOM];
};

// The memory in which the walker of one CPU works.
struct WalkScratch {
  uint8_t frame[WALK_FRAME_BYTES];
  // Volatile, and so not in registers: the values there are tried one by one by
  // the kernel's check.
  volatile uint64_t next;   // the frame to be read
  volatile uint64_t count;  // of frames that were found
  volatile uint64_t torn;   // 1: a frame could not be read
  volatile uint64_t doubt;  // 1: whether these are frames is not known yet
  uint64_t outer;           // they are if the first call from C leads there
  uint64_t outer_cframe;    // in which `outer` is the innermost
  struct WalkRecord record;
};

#endif  // SONDE_COLLECT_BPF_WALK_FORMAT_H_
