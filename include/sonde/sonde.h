/* sonde: say what your program does, and see it on one timeline with the rest.
 *
 *   SONDE_BEGIN("load batch");
 *   ...
 *   SONDE_END();
 *
 * Without a recording (`sonde run -- your_program`) everything here is one
 * branch that is not taken, before any call. With one, a begin and an end cost
 * little more than reading the clock twice. Nothing here waits, allocates,
 * locks, sets errno or fails visibly, and all of it may be called from any
 * thread, from signal handlers, before main() and after exit().
 *
 * What is lost first, when records come faster than they are read: the newest
 * records, thread by thread, each run of them counted and timed. Names, labels,
 * tracks and clocks are kept apart and are not lost with them.
 *
 * In C++ see also sonde.hpp. Link with -lsonde. */

#ifndef SONDE_SONDE_H_
#define SONDE_SONDE_H_

#include <sonde/abi.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SONDE_API __attribute__((visibility("default")))

/* SONDE_GET(type, x, ...) declares `type sonde_x(...)`, which is 0 where there
 * is no session, SONDE_DO(x, ...) a `void sonde_x(...)`, SONDE_SAY(x, ...) one
 * that is also heard while the recording is paused. The library exports each of
 * them, also for other languages; a branch before the call is compiled into
 * programs. */
#ifdef SONDE_ABI_LIBRARY
#define SONDE_GET(type, name, parameters, arguments) \
  SONDE_API type sonde_##name parameters;
#define SONDE_DO(name, parameters, arguments) \
  SONDE_API void sonde_##name parameters;
#define SONDE_SAY SONDE_DO
#else
/* The two must not have one symbol: an inline function that is not inlined (its
 * address is taken) would call itself. */
#define SONDE_GET(type, name, parameters, arguments)                          \
  SONDE_API type sonde_call_##name parameters __asm__("sonde_" #name);        \
  SONDE_ABI_INLINE type sonde_##name parameters __asm__("sonde_asks_" #name); \
  SONDE_ABI_INLINE type sonde_##name parameters {                             \
    return sonde_abi_attached() ? sonde_call_##name arguments : 0;            \
  }
#define SONDE_IF(asked, name, parameters, arguments)                          \
  SONDE_API void sonde_call_##name parameters __asm__("sonde_" #name);        \
  SONDE_ABI_INLINE void sonde_##name parameters __asm__("sonde_asks_" #name); \
  SONDE_ABI_INLINE void sonde_##name parameters {                             \
    if (asked()) sonde_call_##name arguments;                                 \
  }
#define SONDE_DO(name, parameters, arguments) \
  SONDE_IF(sonde_abi_recording, name, parameters, arguments)
#define SONDE_SAY(name, parameters, arguments) \
  SONDE_IF(sonde_abi_attached, name, parameters, arguments)
#endif

/* An argument of a record: a name and a value. Use the makers below. */
struct sonde_arg {
  uint32_t key;   /* sonde_name(), or the value itself */
  uint32_t type;  /* enum sonde_arg_type */
  uint64_t value; /* or the number of bytes */
  const void* data;
};

/* --- names ------------------------------------------------------------- */

/* The id of a text, a name with category and colour, a track, a clock. Ids
 * are the same for the same words, are valid in forked children, and are 0
 * where nothing is recorded; 0 may be used everywhere. Texts are copied, and
 * cut at SONDE_MAX_TEXT bytes. */
SONDE_GET(uint32_t, name, (const char* text), (text))
SONDE_GET(uint32_t, name_n, (const char* text, size_t bytes), (text, bytes))
SONDE_GET(uint32_t, label,
          (const char* name, const char* category, uint32_t argb),
          (name, category, argb))
/* A row of the timeline of its own. `clock` 0 is the session's clock; `parent`
 * is the track that the new row belongs under, or 0. */
SONDE_GET(uint32_t, track,
          (const char* name, uint32_t clock, uint32_t parent, uint32_t order),
          (name, clock, parent, order))
/* The same for whoever speaks on a program's behalf, such as a wrapper of a
 * library. `cls` is of enum sonde_class, `kind` of enum sonde_track_kind,
 * `source` a short word for the speaker ("nvtx"), null for the program. */
SONDE_GET(uint32_t, label_of,
          (const char* name, const char* category, uint32_t argb, uint32_t cls,
           const char* source),
          (name, category, argb, cls, source))
SONDE_GET(uint32_t, track_of,
          (const char* name, uint32_t clock, uint32_t parent, uint32_t order,
           uint32_t kind, const char* source),
          (name, clock, parent, order, kind, source))
/* A clock that is not ours, such as a device's. Say sonde_clock_pair() now and
 * then: at least at its beginning and at its end. */
SONDE_GET(uint32_t, clock, (const char* name, uint64_t ticks_per_second),
          (name, ticks_per_second))
SONDE_SAY(clock_pair, (uint32_t clock, uint64_t its_time), (clock, its_time))

/* The id of a call site, remembered in it. */
SONDE_API uint32_t sonde_site_id(struct sonde_site* site);

/* Of literals only: a site is looked up once. */
#define SONDE_SITE(name) \
  { "" name "", NULL, 0, 0, 0 }
#define SONDE_SITE_IN(category, name) \
  { "" name "", "" category "", 0, 0, 0 }

/* --- anything ---------------------------------------------------------- */

/* Writes one record. `words` are those its kind asks for; see docs/wire.md.
 * What does not fit into SONDE_MAX_WORDS is left out from the end. */
SONDE_API void sonde_record(uint32_t kind, uint32_t id, const uint64_t* words,
                            size_t word_count, const struct sonde_arg* args,
                            size_t arg_count);

/* The session's clock, for explicit times. 0 where nothing is recorded. */
SONDE_GET(uint64_t, now, (void), ())
/* A number that no other call in this process returns: for flows and ranges. */
SONDE_GET(uint64_t, new_id, (void), ())

/* --- slices ------------------------------------------------------------ */

SONDE_API void sonde_begin_site(struct sonde_site* site);
SONDE_API void sonde_begin_site_int(struct sonde_site* site, uint32_t key,
                                    int64_t value);
SONDE_DO(begin, (uint32_t name), (name))
SONDE_DO(end, (void), ())
SONDE_API void sonde_instant_site(struct sonde_site* site);

SONDE_ABI_INLINE void sonde_begin_inline(struct sonde_site* site) {
  if (!sonde_abi_recording()) return;
  const uint64_t cache = __atomic_load_n(&site->cache, __ATOMIC_RELAXED);
  if (!sonde_abi_put(1, cache, SONDE_KIND_BEGIN, 1, 0, 0, 0))
    sonde_begin_site(site);
}

/* With one integer. `key` is sonde_name() of what it is. */
SONDE_ABI_INLINE void sonde_begin_int_inline(struct sonde_site* site,
                                             uint32_t key, int64_t value) {
  if (!sonde_abi_recording()) return;
  const uint64_t cache = __atomic_load_n(&site->cache, __ATOMIC_RELAXED);
  if (!sonde_abi_put(1, cache, SONDE_KIND_BEGIN, 1, 2,
                     key | (uint64_t)SONDE_ARG_INT << 32 | (uint64_t)1 << 40,
                     (uint64_t)value))
    sonde_begin_site_int(site, key, value);
}

SONDE_ABI_INLINE void sonde_end_inline(void) {
  if (!sonde_abi_recording()) return;
  if (!sonde_abi_put(0, 0, SONDE_KIND_END, -1, 0, 0, 0)) sonde_end();
}

SONDE_ABI_INLINE void sonde_instant_inline(struct sonde_site* site) {
  if (!sonde_abi_recording()) return;
  const uint64_t cache = __atomic_load_n(&site->cache, __ATOMIC_RELAXED);
  if (!sonde_abi_put(1, cache, SONDE_KIND_INSTANT, 0, 0, 0, 0))
    sonde_instant_site(site);
}

#define SONDE_BEGIN(name)                                        \
  do {                                                           \
    static struct sonde_site sonde_site_here = SONDE_SITE(name); \
    sonde_begin_inline(&sonde_site_here);                        \
  } while (0)
#define SONDE_END() sonde_end_inline()
#define SONDE_INSTANT(name)                                      \
  do {                                                           \
    static struct sonde_site sonde_site_here = SONDE_SITE(name); \
    sonde_instant_inline(&sonde_site_here);                      \
  } while (0)

/* With arguments; for beginnings, ends and instants. */
SONDE_ABI_INLINE void sonde_begin_args(uint32_t name,
                                       const struct sonde_arg* args,
                                       size_t count) {
  if (sonde_abi_recording())
    sonde_record(SONDE_KIND_BEGIN, name, NULL, 0, args, count);
}
SONDE_ABI_INLINE void sonde_end_args(const struct sonde_arg* args,
                                     size_t count) {
  if (sonde_abi_recording())
    sonde_record(SONDE_KIND_END, 0, NULL, 0, args, count);
}
SONDE_ABI_INLINE void sonde_instant_args(uint32_t name,
                                         const struct sonde_arg* args,
                                         size_t count) {
  if (sonde_abi_recording())
    sonde_record(SONDE_KIND_INSTANT, name, NULL, 0, args, count);
}
/* A slice that is over, with its times on its track's clock. Put
 * sonde_arg_track() among the arguments to have it elsewhere than on this
 * thread. */
SONDE_ABI_INLINE void sonde_complete(uint32_t name, uint64_t begin,
                                     uint64_t end, const struct sonde_arg* args,
                                     size_t count) {
  const uint64_t times[2] = {begin, end};
  if (sonde_abi_recording())
    sonde_record(SONDE_KIND_COMPLETE, name, times, 2, args, count);
}

/* --- counters ---------------------------------------------------------- */

/* Values that are not finite numbers are left out and counted as a loss. */
SONDE_ABI_INLINE void sonde_counter(uint32_t name, int64_t value) {
  const uint64_t word = (uint64_t)value;
  if (sonde_abi_recording())
    sonde_record(SONDE_KIND_COUNTER, name, &word, 1, NULL, 0);
}
SONDE_ABI_INLINE void sonde_counter_add(uint32_t name, int64_t difference) {
  const uint64_t word = (uint64_t)difference;
  if (sonde_abi_recording())
    sonde_record(SONDE_KIND_COUNTER_ADD, name, &word, 1, NULL, 0);
}
SONDE_ABI_INLINE void sonde_counter_double(uint32_t name, double value) {
  uint64_t word;
  memcpy(&word, &value, sizeof(word));
  if (sonde_abi_recording())
    sonde_record(SONDE_KIND_COUNTER_DOUBLE, name, &word, 1, NULL, 0);
}
SONDE_ABI_INLINE void sonde_counter_add_double(uint32_t name,
                                               double difference) {
  uint64_t word;
  memcpy(&word, &difference, sizeof(word));
  if (sonde_abi_recording())
    sonde_record(SONDE_KIND_COUNTER_ADD_DBL, name, &word, 1, NULL, 0);
}

/* --- flows and ranges -------------------------------------------------- */

/* A flow is an arrow from one slice to the next; `kind` is one of
 * SONDE_KIND_FLOW_*. A range begins on one thread and may end on another;
 * `kind` is one of SONDE_KIND_RANGE_*. Both are told apart by `id`. */
SONDE_ABI_INLINE void sonde_by_id(uint32_t kind, uint32_t name, uint64_t id,
                                  const struct sonde_arg* args, size_t count) {
  if (sonde_abi_recording()) sonde_record(kind, name, &id, 1, args, count);
}
SONDE_ABI_INLINE void sonde_flow_begin(uint32_t name, uint64_t flow) {
  sonde_by_id(SONDE_KIND_FLOW_BEGIN, name, flow, NULL, 0);
}
SONDE_ABI_INLINE void sonde_flow_step(uint32_t name, uint64_t flow) {
  sonde_by_id(SONDE_KIND_FLOW_STEP, name, flow, NULL, 0);
}
SONDE_ABI_INLINE void sonde_flow_end(uint32_t name, uint64_t flow) {
  sonde_by_id(SONDE_KIND_FLOW_END, name, flow, NULL, 0);
}
SONDE_ABI_INLINE void sonde_range_begin(uint32_t name, uint64_t range) {
  sonde_by_id(SONDE_KIND_RANGE_BEGIN, name, range, NULL, 0);
}
SONDE_ABI_INLINE void sonde_range_instant(uint32_t name, uint64_t range) {
  sonde_by_id(SONDE_KIND_RANGE_INSTANT, name, range, NULL, 0);
}
SONDE_ABI_INLINE void sonde_range_end(uint64_t range) {
  sonde_by_id(SONDE_KIND_RANGE_END, 0, range, NULL, 0);
}

/* --- threads, processes, the recording --------------------------------- */

SONDE_SAY(thread_name, (const char* name), (name))
SONDE_SAY(process_name, (const char* name), (name))
/* Stops and goes on recording this process, all its threads at once. */
SONDE_API void sonde_pause(void);
SONDE_API void sonde_resume(void);
/* Not 0 while somebody records. */
SONDE_API int sonde_recording(void);

/* --- makers of arguments ----------------------------------------------- */

SONDE_ABI_INLINE struct sonde_arg sonde_arg_make(uint32_t key, uint32_t type,
                                                 uint64_t value,
                                                 const void* data) {
  struct sonde_arg arg;
  arg.key = key;
  arg.type = type;
  arg.value = value;
  arg.data = data;
  return arg;
}
SONDE_ABI_INLINE struct sonde_arg sonde_arg_int(uint32_t key, int64_t value) {
  return sonde_arg_make(key, SONDE_ARG_INT, (uint64_t)value, NULL);
}
SONDE_ABI_INLINE struct sonde_arg sonde_arg_uint(uint32_t key, uint64_t value) {
  return sonde_arg_make(key, SONDE_ARG_UINT, value, NULL);
}
SONDE_ABI_INLINE struct sonde_arg sonde_arg_double(uint32_t key, double value) {
  uint64_t word;
  memcpy(&word, &value, sizeof(word));
  return sonde_arg_make(key, SONDE_ARG_DOUBLE, word, NULL);
}
SONDE_ABI_INLINE struct sonde_arg sonde_arg_bool(uint32_t key, int value) {
  return sonde_arg_make(key, SONDE_ARG_BOOL, value != 0, NULL);
}
SONDE_ABI_INLINE struct sonde_arg sonde_arg_pointer(uint32_t key,
                                                    const void* value) {
  return sonde_arg_make(key, SONDE_ARG_POINTER, (uint64_t)(uintptr_t)value,
                        NULL);
}
SONDE_ABI_INLINE struct sonde_arg sonde_arg_text(uint32_t key,
                                                 const char* text) {
  /* Up to one more than is kept, so that what was cut is known to be. */
  size_t size = 0;
  if (text && sonde_abi_recording())
    while (size <= SONDE_MAX_TEXT && text[size]) ++size;
  return sonde_arg_make(key, SONDE_ARG_TEXT, size, text);
}
SONDE_ABI_INLINE struct sonde_arg sonde_arg_bytes(uint32_t key,
                                                  const void* bytes,
                                                  size_t size) {
  return sonde_arg_make(key, SONDE_ARG_BYTES, bytes ? size : 0, bytes);
}
SONDE_ABI_INLINE struct sonde_arg sonde_arg_name(uint32_t key, uint32_t name) {
  return sonde_arg_make(key, SONDE_ARG_NAME, name, NULL);
}
SONDE_ABI_INLINE struct sonde_arg sonde_arg_category(uint32_t name) {
  return sonde_arg_make(name, SONDE_ARG_CATEGORY, 0, NULL);
}
SONDE_ABI_INLINE struct sonde_arg sonde_arg_color(uint32_t argb) {
  return sonde_arg_make(argb, SONDE_ARG_COLOR, 0, NULL);
}
SONDE_ABI_INLINE struct sonde_arg sonde_arg_track(uint32_t track) {
  return sonde_arg_make(track, SONDE_ARG_TRACK, 0, NULL);
}
SONDE_ABI_INLINE struct sonde_arg sonde_arg_time(uint64_t time) {
  return sonde_arg_make(0, SONDE_ARG_TIME, time, NULL);
}
SONDE_ABI_INLINE struct sonde_arg sonde_arg_flow(uint64_t flow) {
  return sonde_arg_make(0, SONDE_ARG_FLOW, flow, NULL);
}
SONDE_ABI_INLINE struct sonde_arg sonde_arg_flow_in(uint64_t flow) {
  return sonde_arg_make(0, SONDE_ARG_FLOW_IN, flow, NULL);
}
SONDE_ABI_INLINE struct sonde_arg sonde_arg_parent(uint64_t range) {
  return sonde_arg_make(0, SONDE_ARG_PARENT, range, NULL);
}
SONDE_ABI_INLINE struct sonde_arg sonde_arg_global(void) {
  return sonde_arg_make(0, SONDE_ARG_GLOBAL, 0, NULL);
}

#ifdef __cplusplus
}
#endif

#endif /* SONDE_SONDE_H_ */
