#include "collect/unwind/page_cache.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace sonde {

const PageCache::Slot* PageCache::Load(uint32_t number, int fd, uint64_t page) {
  if (slots_.empty()) slots_.resize(kPages);
  // Neighbouring pages and files go to different slots.
  Slot& slot = slots_[(page + uint64_t{number} * 251) % kPages];
  if (slot.size > 0 && slot.number == number && slot.page == page) return &slot;
  slot.size = 0;
  if (fd < 0) return nullptr;
  if (!slot.bytes) slot.bytes = std::make_unique<uint8_t[]>(kPageBytes);
  ssize_t n;
  while ((n = ::pread(fd, slot.bytes.get(), kPageBytes,
                      static_cast<off_t>(page * kPageBytes))) == -1 &&
         errno == EINTR) {
  }
  if (n <= 0) return nullptr;
  slot.number = number;
  slot.page = page;
  slot.size = static_cast<uint32_t>(n);
  return &slot;
}

bool PageCache::Read(uint32_t number, int fd, uint64_t offset,
                     std::span<uint8_t> out) {
  if (offset > static_cast<uint64_t>(INT64_MAX) - kPageBytes - out.size())
    return false;
  while (!out.empty()) {
    const Slot* const slot = Load(number, fd, offset / kPageBytes);
    const size_t skip = offset % kPageBytes;
    if (slot == nullptr || slot->size <= skip) return false;
    const size_t size = std::min(out.size(), slot->size - skip);
    // A short page is the last one.
    if (size < out.size() && slot->size < kPageBytes) return false;
    std::memcpy(out.data(), slot->bytes.get() + skip, size);
    out = out.subspan(size);
    offset += size;
  }
  return true;
}

}  // namespace sonde
