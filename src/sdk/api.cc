// The functions of include/sonde/sonde.h. Each begins with the branch that is
// taken when nobody records.

#define SONDE_ABI_LIBRARY  // it defines what the header puts branches before
#include <sonde/sonde.h>
#include <stdlib.h>

#include <cstring>

#include "sdk/names.h"
#include "sdk/writer.h"

namespace sonde::guest {
namespace {

Process* Ready() {
  Process* const p = process;
  if (!p || !sonde_abi_attached()) return nullptr;
  return p->state == Process::kReady || Attach(p) ? p : nullptr;
}

void WritePlain(uint8_t kind, uint32_t id, int8_t step) {
  const Draft draft = {id, kind, 0, step};
  const Room room = Open(draft);
  if (room.words) Close(room, draft);
}

int8_t StepOf(uint32_t kind) {
  return kind == SONDE_KIND_BEGIN ? 1 : kind == SONDE_KIND_END ? -1 : 0;
}

// A slice on a row of its own is not one of the thread's.
bool OnTrack(const sonde_arg* args, size_t count) {
  for (size_t i = 0; i < count; ++i)
    if (args[i].type == SONDE_ARG_TRACK) return true;
  return false;
}

// Numbers that were given. Copied by fork(): a child does not give them again.
std::atomic<uint64_t> ids = 0;

// How an argument lies in a record.
struct Shape {
  uint64_t head;
  uint32_t bytes;  // of `data`; 0: the value is in `value`
  uint32_t words;  // after the head
};

bool ShapeOf(const sonde_arg& arg, Shape* shape) {
  uint32_t type = arg.type;
  switch (type) {
    case SONDE_ARG_CATEGORY:
    case SONDE_ARG_COLOR:
    case SONDE_ARG_TRACK:
    case SONDE_ARG_GLOBAL:
      *shape = {ArgWord(arg.key, static_cast<uint8_t>(type), 0, 0), 0, 0};
      return true;
    case SONDE_ARG_TEXT:
    case SONDE_ARG_BYTES: {
      uint64_t bytes = arg.data ? arg.value : 0;
      if (bytes > SONDE_MAX_TEXT) {
        bytes = SONDE_MAX_TEXT;
        type =
            type == SONDE_ARG_TEXT ? SONDE_ARG_CUT_TEXT : SONDE_ARG_CUT_BYTES;
      }
      const auto words = static_cast<uint32_t>((bytes + 7) / 8);
      *shape = {
          ArgWord(arg.key, static_cast<uint8_t>(type),
                  static_cast<uint8_t>(words), static_cast<uint16_t>(bytes)),
          static_cast<uint32_t>(bytes), words};
      return true;
    }
    default:
      if (type == 0 || type > 255) return false;
      *shape = {ArgWord(arg.key, static_cast<uint8_t>(type), 1, 0), 0, 1};
      return true;
  }
}

// How many of the arguments fit, and their words.
size_t FitArgs(const sonde_arg* args, size_t count, uint32_t* words) {
  size_t fit = 0;
  for (; fit < count; ++fit) {
    Shape shape;
    if (!ShapeOf(args[fit], &shape)) continue;
    if (*words + 1 + shape.words > SONDE_MAX_WORDS) break;
    *words += 1 + shape.words;
  }
  return fit;
}

void PutArg(const sonde_arg& arg, const Shape& shape, uint64_t* to) {
  to[0] = shape.head;
  if (shape.words == 0) return;
  if (shape.bytes == 0) {
    to[1] = arg.value;
    return;
  }
  to[shape.words] = 0;
  std::memcpy(to + 1, arg.data, shape.bytes);
}

void StartAtLoad() {
  // A program with more rights than its user does not listen to the user.
  const char* directory = ::secure_getenv("SONDE_SESSION");
  if (directory) Start(directory);
}

// Before the constructors of programs and most libraries.
__attribute__((constructor(101))) void Constructor() { StartAtLoad(); }

}  // namespace
}  // namespace sonde::guest

using namespace sonde::guest;

extern "C" {

uint32_t sonde_name_n(const char* text, size_t bytes) {
  Process* const p = Ready();
  return p && text ? DefineText(p, text, bytes) : 0;
}

uint32_t sonde_name(const char* text) {
  Process* const p = Ready();
  return p ? DefineText(p, text) : 0;
}

uint32_t sonde_label_of(const char* name, const char* category, uint32_t argb,
                        uint32_t cls, const char* source) {
  Process* const p = Ready();
  return p ? DefineLabel(p, name, category, argb, cls, source) : 0;
}

uint32_t sonde_label(const char* name, const char* category, uint32_t argb) {
  return sonde_label_of(name, category, argb, SONDE_CLASS_PROGRAM, nullptr);
}

uint32_t sonde_track_of(const char* name, uint32_t clock, uint32_t parent,
                        uint32_t order, uint32_t kind, const char* source) {
  Process* const p = Ready();
  if (!p) return 0;
  const uint32_t track[6] = {DefineText(p, name),  clock, parent, order, kind,
                             DefineText(p, source)};
  const bool plain = kind == SONDE_TRACK_ROW && track[5] == 0;
  return Define(p, sonde::NameKind::kTrack, track,
                sizeof(track) - (plain ? 8 : 0));
}

uint32_t sonde_track(const char* name, uint32_t clock, uint32_t parent,
                     uint32_t order) {
  return sonde_track_of(name, clock, parent, order, SONDE_TRACK_ROW, nullptr);
}

uint32_t sonde_clock(const char* name, uint64_t ticks_per_second) {
  Process* const p = Ready();
  if (!p) return 0;
  const uint64_t clock[2] = {DefineText(p, name), ticks_per_second};
  return Define(p, sonde::NameKind::kClock, clock, sizeof(clock));
}

void sonde_clock_pair(uint32_t clock, uint64_t its_time) {
  const uint64_t words[2] = {clock, its_time};
  sonde_record(SONDE_KIND_CLOCK_PAIR, 0, words, 2, nullptr, 0);
}

uint32_t sonde_site_id(sonde_site* site) {
  const uint64_t cache = __atomic_load_n(&site->cache, __ATOMIC_RELAXED);
  const uint32_t version = Version();
  if (cache >> 32 == version) return static_cast<uint32_t>(cache);
  Process* const p = Ready();
  if (!p) return 0;
  const uint32_t id = DefineLabel(p, site->name, site->category, site->color);
  __atomic_store_n(&site->cache, uint64_t{version} << 32 | id,
                   __ATOMIC_RELAXED);
  return id;
}

void sonde_begin_site(sonde_site* site) {
  if (!sonde_abi_recording()) return;
  if (sonde_abi_put(1, __atomic_load_n(&site->cache, __ATOMIC_RELAXED),
                    SONDE_KIND_BEGIN, 1, 0, 0, 0))
    return;
  WritePlain(SONDE_KIND_BEGIN, sonde_site_id(site), 1);
}

void sonde_begin_site_int(sonde_site* site, uint32_t key, int64_t value) {
  if (!sonde_abi_recording()) return;
  const sonde_arg arg = sonde_arg_int(key, value);
  sonde_record(SONDE_KIND_BEGIN, sonde_site_id(site), nullptr, 0, &arg, 1);
}

void sonde_instant_site(sonde_site* site) {
  if (!sonde_abi_recording()) return;
  WritePlain(SONDE_KIND_INSTANT, sonde_site_id(site), 0);
}

void sonde_begin(uint32_t name) {
  if (!sonde_abi_recording()) return;
  if (!sonde_abi_put(0, name, SONDE_KIND_BEGIN, 1, 0, 0, 0))
    WritePlain(SONDE_KIND_BEGIN, name, 1);
}

void sonde_end(void) {
  if (!sonde_abi_recording()) return;
  if (!sonde_abi_put(0, 0, SONDE_KIND_END, -1, 0, 0, 0))
    WritePlain(SONDE_KIND_END, 0, -1);
}

void sonde_record(uint32_t kind, uint32_t id, const uint64_t* words,
                  size_t word_count, const sonde_arg* args, size_t arg_count) {
  // What a clock says is needed also for what comes after a pause.
  if (kind == SONDE_KIND_CLOCK_PAIR ? !sonde_abi_attached()
                                    : !sonde_abi_recording())
    return;
  // These are the library's own words.
  if (kind == SONDE_KIND_LOST || kind == SONDE_KIND_THREAD) return;
  if (kind == 0 || kind > 255 || word_count > SONDE_MAX_WORDS) return;
  auto total = static_cast<uint32_t>(word_count);
  const size_t fit = FitArgs(args, arg_count, &total);
  const Draft draft = {id, static_cast<uint8_t>(kind),
                       static_cast<uint8_t>(total),
                       OnTrack(args, fit) ? int8_t{0} : StepOf(kind)};
  const Room room = Open(draft);
  if (!room.words) return;
  uint64_t* to = room.words;
  for (size_t i = 0; i < word_count; ++i) *to++ = words[i];
  for (size_t i = 0; i < fit; ++i) {
    Shape shape;
    if (!ShapeOf(args[i], &shape)) continue;
    PutArg(args[i], shape, to);
    to += 1 + shape.words;
  }
  Close(room, draft);
}

uint64_t sonde_now(void) {
  Process* const p = Ready();
  return p ? Now(p) : 0;
}

uint64_t sonde_new_id(void) {
  Process* const p = Ready();
  return p ? ++ids : 0;
}

void sonde_thread_name(const char* name) {
  if (Process* const p = Ready())
    WritePlain(SONDE_KIND_THREAD_NAME, DefineText(p, name), 0);
}

void sonde_process_name(const char* name) {
  if (Process* const p = Ready())
    WritePlain(SONDE_KIND_PROCESS_NAME, DefineText(p, name), 0);
}

void sonde_pause(void) {
  if (!sonde_abi_recording()) return;
  WritePlain(SONDE_KIND_PAUSE, 0, 0);
  SetPaused(true);
}

void sonde_resume(void) {
  if (!process || sonde_abi_recording()) return;
  SetPaused(false);
  if (sonde_abi_recording()) WritePlain(SONDE_KIND_RESUME, 0, 0);
}

int sonde_recording(void) { return sonde_abi_recording(); }

}  // extern "C"
