#ifndef SONDE_COLLECT_UNWIND_PAGE_CACHE_H_
#define SONDE_COLLECT_UNWIND_PAGE_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace sonde {

// Pieces of files that were read a moment ago: a search in a sorted table of a
// file comes back to the same few again and again. Not mmap(): a file that is
// cut short under us is then an error, not a signal.
//
// Takes kPages pages of memory at most. A page that was read is not read again
// while it is kept, whatever happens to the file. One thread.
class PageCache {
 public:
  static constexpr size_t kPageBytes = 4096;
  static constexpr size_t kPages = 1024;

  // Bytes of the file `number`, which is open as `fd` (-1: only what is kept is
  // there). False if not all of them are.
  bool Read(uint32_t number, int fd, uint64_t offset, std::span<uint8_t> out);

 private:
  struct Slot {
    uint32_t number = 0;
    uint32_t size = 0;  // of the page in the file; 0: nothing is here
    uint64_t page = 0;
    std::unique_ptr<uint8_t[]> bytes;
  };
  const Slot* Load(uint32_t number, int fd, uint64_t page);

  std::vector<Slot> slots_;
};

}  // namespace sonde

#endif  // SONDE_COLLECT_UNWIND_PAGE_CACHE_H_
