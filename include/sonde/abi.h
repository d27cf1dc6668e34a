/* What of sonde is compiled into other people's programs. Nothing here is ever
 * changed or removed, only added: programs built with this file work with every
 * later libsonde.so.
 *
 * Use sonde.h. This file is its foundation: the record, and the way it gets
 * into the ring without a call. docs/wire.md has a section for each kind. */

#ifndef SONDE_ABI_H_
#define SONDE_ABI_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A record is 16 bytes,
 *
 *   u64 time     of the session's clock, when it was written
 *   u32 id       of a name or label, or 0
 *   u8  kind     one of these
 *   u8  words    8-byte words that follow
 *   u16 depth    slices open around it on its thread
 *
 * and `words` words: first what its kind asks for, then arguments. */
enum sonde_kind {
  SONDE_KIND_NONE = 0,
  SONDE_KIND_BEGIN = 1,
  SONDE_KIND_END = 2,
  SONDE_KIND_COMPLETE = 3, /* begin, end */
  SONDE_KIND_INSTANT = 4,
  SONDE_KIND_COUNTER = 5,         /* value: i64 */
  SONDE_KIND_COUNTER_ADD = 6,     /* difference: i64 */
  SONDE_KIND_COUNTER_DOUBLE = 7,  /* value: f64 */
  SONDE_KIND_COUNTER_ADD_DBL = 8, /* difference: f64 */
  SONDE_KIND_FLOW_BEGIN = 9,      /* flow */
  SONDE_KIND_FLOW_STEP = 10,      /* flow */
  SONDE_KIND_FLOW_END = 11,       /* flow */
  SONDE_KIND_RANGE_BEGIN = 12,    /* range */
  SONDE_KIND_RANGE_END = 13,      /* range */
  SONDE_KIND_RANGE_INSTANT = 14,  /* range */
  SONDE_KIND_THREAD_NAME = 15,
  SONDE_KIND_PROCESS_NAME = 16,
  SONDE_KIND_CLOCK_PAIR = 17, /* clock, its value now */
  SONDE_KIND_PAUSE = 18,
  SONDE_KIND_RESUME = 19,
  SONDE_KIND_LOST = 20,   /* count, from, to; the id says why */
  SONDE_KIND_THREAD = 21, /* number, tid, block: whose the next ones are */
  SONDE_KIND_STACK = 22,  /* registers and stack of the record before */
  SONDE_KIND_TEXT = 23    /* a line of a log */
};

/* An argument is one word,
 *
 *   u32 key      id of its name, or the value itself where the type says so
 *   u8  type     one of these
 *   u8  words    8-byte words of its value that follow
 *   u16 bytes    of these words that count; for texts and bytes
 *
 * and its value. */
enum sonde_arg_type {
  SONDE_ARG_INT = 1,
  SONDE_ARG_UINT = 2,
  SONDE_ARG_DOUBLE = 3,
  SONDE_ARG_TEXT = 4, /* UTF-8, cut at SONDE_MAX_TEXT bytes */
  SONDE_ARG_BYTES = 5,
  SONDE_ARG_NAME = 6,    /* an id: a text that is interned */
  SONDE_ARG_POINTER = 7, /* an address, for people to compare */
  SONDE_ARG_BOOL = 8,
  SONDE_ARG_CUT_TEXT = 9, /* a text of which only the beginning is here */
  SONDE_ARG_CUT_BYTES = 10,
  SONDE_ARG_CATEGORY = 32, /* key: id of the category's name */
  SONDE_ARG_COLOR = 33,    /* key: 0xAARRGGBB */
  SONDE_ARG_TRACK = 34,   /* key: the track it lies on, instead of the thread */
  SONDE_ARG_TIME = 35,    /* when it was, on its track's clock */
  SONDE_ARG_FLOW = 36,    /* a flow that leaves here */
  SONDE_ARG_FLOW_IN = 37, /* a flow that arrives here */
  SONDE_ARG_PARENT = 38,  /* the range it is part of */
  SONDE_ARG_GLOBAL = 39   /* its flow or range id is known to other processes */
};

/* Whose time a slice is. A device works beside the host: time on a
 * SONDE_TRACK_QUEUE is never added to the time of threads. */
enum sonde_class {
  SONDE_CLASS_PROGRAM = 0,
  SONDE_CLASS_CALL = 1, /* into a library that somebody watches */
  SONDE_CLASS_DEVICE = 2,
  SONDE_CLASS_OPERATOR = 3 /* of a model */
};

enum sonde_track_kind {
  SONDE_TRACK_ROW = 0,
  SONDE_TRACK_QUEUE = 1 /* of a device: all on it is of SONDE_CLASS_DEVICE */
};

enum {
  SONDE_MAX_TEXT = 1024, /* bytes of a name, a text or a block of bytes */
  SONDE_MAX_WORDS = 255, /* of one record */
  SONDE_ABI_VERSION = 1
};

/* What programs see of a thread's writer; the library's own part lies behind
 * these fields.
 *
 * Records go from `cur` to `end`. The 8 bytes at `end` say how many bytes are
 * left: storing that number publishes the record. `version` is the one that the
 * ids of the call sites must have; it is SONDE_ABI_BUSY while a record is being
 * written, so that a signal handler on the same thread cannot write into it. If
 * anything is not as it should be, the library is called: after fork() all of
 * this is zero, so there is no room. */
struct sonde_abi_writer {
  char* cur;
  char* end;
  uint32_t version;
  uint32_t depth;
};

#define SONDE_ABI_BUSY 0xffffffffu

/* 0: there is no session, or the program has paused. */
extern uint32_t sonde_abi_on;
/* The session's own word: 0 while it is paused, and when it is over. */
extern const uint32_t* sonde_abi_session;
extern __thread struct sonde_abi_writer* sonde_abi_self
    __attribute__((tls_model("initial-exec")));

/* A place in a program that records: its name and, once known, the name's id in
 * `cache` (the version above, the id below). Make a site static. */
struct sonde_site {
  const char* name;
  const char* category; /* or null */
  uint32_t color;       /* 0xAARRGGBB, 0: none */
  uint32_t flags;       /* 0 */
  uint64_t cache;       /* 0 */
};

#define SONDE_ABI_INLINE static inline __attribute__((always_inline, unused))
#define SONDE_ABI_LIKELY(x) __builtin_expect(!!(x), 1)

/* The session's clock where it can be read without a call. */
SONDE_ABI_INLINE uint64_t sonde_abi_ticks(void) {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  uint64_t ticks;
  __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#else
#error "sonde knows x86-64 and arm64"
#endif
}

/* Code is laid out for the case that nobody records, which costs one
 * comparison; a recording takes the jump. */
SONDE_ABI_INLINE int sonde_abi_recording(void) {
  return __builtin_expect(__atomic_load_n(&sonde_abi_on, __ATOMIC_RELAXED) != 0,
                          0) &&
         __atomic_load_n(sonde_abi_session, __ATOMIC_RELAXED) != 0;
}

/* Whether there is a session, also one that is paused: names are made all the
 * same, they are used later. */
SONDE_ABI_INLINE int sonde_abi_attached(void) {
  return __builtin_expect(__atomic_load_n(&sonde_abi_on, __ATOMIC_RELAXED) != 0,
                          0);
}

/* Puts a record with up to two words into the ring. 0: the library must do it.
 * `cache` is a site's; without a site it is 0 and any version will do. */
SONDE_ABI_INLINE int sonde_abi_put(int has_site, uint64_t cache, uint32_t kind,
                                   int step, uint32_t words, uint64_t first,
                                   uint64_t second) {
  struct sonde_abi_writer* const w = sonde_abi_self;
  if (!SONDE_ABI_LIKELY(w != NULL)) return 0;
  const uint32_t version = w->version;
  if (has_site ? !SONDE_ABI_LIKELY(version == (uint32_t)(cache >> 32))
               : !SONDE_ABI_LIKELY(version != SONDE_ABI_BUSY))
    return 0;
  /* A handler that lands here, before the mark, leaves all as it was but for
   * `cur`, which is read after it. */
  w->version = SONDE_ABI_BUSY;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  char* const cur = w->cur;
  char* const end = w->end;
  const intptr_t size = 16 + 8 * (intptr_t)words;
  const intptr_t left = (intptr_t)end - (intptr_t)cur;
  if (!SONDE_ABI_LIKELY(left >= size)) {
    w->version = version;
    return 0;
  }
  const uint32_t depth = w->depth;
  /* The end of a slice has the depth of its beginning. */
  const uint32_t at = step < 0 && depth != 0 ? depth - 1 : depth;
  w->depth = step < 0 ? at : depth + (uint32_t)step;
  uint64_t* const record = (uint64_t*)(void*)cur;
  record[0] = sonde_abi_ticks();
  record[1] = (uint32_t)cache | (uint64_t)kind << 32 | (uint64_t)words << 40 |
              (uint64_t)at << 48;
  if (words > 0) record[2] = first;
  if (words > 1) record[3] = second;
  w->cur = cur + size;
  __atomic_store_n((uint64_t*)(void*)end, (uint64_t)(left - size),
                   __ATOMIC_RELEASE);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  w->version = version;
  return 1;
}

#ifdef __cplusplus
}
#endif

#endif /* SONDE_ABI_H_ */
