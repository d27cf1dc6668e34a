#include "sdk/names.h"

#include <cstring>

namespace sonde::guest {
namespace {

constexpr uint32_t kMostNames = kNameTable / 4 * 3;

NameHead* HeadOf(const Process* p, uint32_t id) {
  return reinterpret_cast<NameHead*>(p->base + size_t{id} * 8);
}

// Eight bytes at a time; only this process needs to agree with itself.
uint32_t Hash(NameKind kind, const char* bytes, size_t size) {
  uint64_t hash = 0x9e3779b97f4a7c15 * (size + 1) + static_cast<uint64_t>(kind);
  while (size > 0) {
    uint64_t word = 0;
    const size_t take = size < 8 ? size : 8;
    std::memcpy(&word, bytes, take);
    hash = (hash ^ word) * 0xff51afd7ed558ccd;
    hash ^= hash >> 32;
    bytes += take;
    size -= take;
  }
  return static_cast<uint32_t>(hash);
}

bool IsSame(const Process* p, uint32_t id, const NameHead& head,
            const char* bytes) {
  const NameHead* at = HeadOf(p, id);
  if (size_t{id} * 8 + NameBytes(head.bytes) > p->names_ready) return false;
  return at->hash == head.hash && at->bytes == head.bytes &&
         at->kind == head.kind && at->cut == head.cut &&
         std::memcmp(at + 1, bytes, head.bytes) == 0;
}

uint32_t Write(Process* p, const NameHead& head, const char* bytes) {
  const auto id =
      static_cast<uint32_t>(TakeNameRoom(p, NameBytes(head.bytes)) / 8);
  if (id == 0) {
    __atomic_fetch_add(&p->header()->names_lost, 1, __ATOMIC_RELAXED);
    return 0;
  }
  NameHead* at = HeadOf(p, id);
  std::memcpy(at + 1, bytes, head.bytes);
  uint64_t word;
  std::memcpy(&word, &head, sizeof(word));
  StoreShared(reinterpret_cast<uint64_t*>(at), word);
  return id;
}

// The id of an equal definition. 0: none, and `slot` is where it belongs.
uint32_t Find(const Process* p, const NameHead& head, const char* bytes,
              uint32_t* slot) {
  *slot = head.hash & (kNameTable - 1);
  for (uint32_t tries = 0; tries < kMostNames; ++tries) {
    const uint32_t id = p->names[*slot].load(std::memory_order_acquire);
    if (id == 0 || IsSame(p, id, head, bytes)) return id;
    *slot = (*slot + 1) & (kNameTable - 1);
  }
  *slot = kNameTable;
  return 0;
}

}  // namespace

uint32_t Define(Process* p, NameKind kind, const void* data, size_t size) {
  const bool cut = size > SONDE_MAX_TEXT;
  const auto* bytes = static_cast<const char*>(data);
  if (cut) size = SONDE_MAX_TEXT;
  const NameHead head = {Hash(kind, bytes, size), static_cast<uint16_t>(size),
                         kind, cut};
  uint32_t slot;
  uint32_t id = Find(p, head, bytes, &slot);
  if (id != 0) return id;
  id = Write(p, head, bytes);
  // If another took the slot, ours is found by nobody: it is defined twice.
  uint32_t empty = 0;
  if (id != 0 && slot < kNameTable)
    p->names[slot].compare_exchange_strong(empty, id);
  return id;
}

uint32_t DefineText(Process* p, const char* text, size_t size) {
  return size == 0 ? 0 : Define(p, NameKind::kText, text, size);
}

uint32_t DefineText(Process* p, const char* text) {
  if (!text) return 0;
  // A text without an end would be read for ever.
  return DefineText(p, text, strnlen(text, SONDE_MAX_TEXT + 1));
}

uint32_t DefineLabel(Process* p, const char* name, const char* category,
                     uint32_t color, uint32_t cls, const char* source) {
  const uint32_t text = DefineText(p, name);
  const uint32_t label[5] = {text, DefineText(p, category), color, cls,
                             DefineText(p, source)};
  if (cls != 0 || label[4] != 0)
    return Define(p, NameKind::kLabel, label, sizeof(label));
  if (!category && color == 0) return text;
  return Define(p, NameKind::kLabel, label, sizeof(label) - 8);
}

void IndexNames(Process* p, uint64_t end) {
  for (uint64_t at = kNamesOffset; at < end;) {
    const auto id = static_cast<uint32_t>(at / 8);
    const NameHead head = *HeadOf(p, id);
    // It was being written when the parent forked. What lies behind it keeps
    // its id, and will be defined again if it is asked for.
    if (head.kind == NameKind{} || head.bytes > SONDE_MAX_TEXT) return;
    const char* bytes = reinterpret_cast<const char*>(HeadOf(p, id) + 1);
    uint32_t slot;
    if (Find(p, head, bytes, &slot) == 0 && slot < kNameTable)
      p->names[slot] = id;
    at += NameBytes(head.bytes);
  }
}

}  // namespace sonde::guest
