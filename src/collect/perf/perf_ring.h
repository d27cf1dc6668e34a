#ifndef SONDE_COLLECT_PERF_PERF_RING_H_
#define SONDE_COLLECT_PERF_PERF_RING_H_

#include <linux/perf_event.h>
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "collect/gatherer.h"

namespace sonde {

// perf_event_open() for `pid` on `cpu` (-1: any). If it fails the descriptor is
// invalid and errno tells why. An ordinary user needs
// kernel.perf_event_paranoid <= 2 for this.
Fd OpenPerfEvent(const perf_event_attr& attr, pid_t pid, int cpu);

// The CPUs to open events on: all that are online.
std::vector<int> OnlineCpus();

// Why perf cannot be used here and what would allow it, from the error of
// perf_event_open().
SourceState ExplainPerf(const Error& error);

// The kernel's ring of one perf event, mapped. A ring carries records, of up to
// 64 KiB each, and knows nothing of their content.
//
//  - Records are handed out whole and in the order in which they were written.
//  - Where a record's size cannot be (0, cut off, beyond what was written), the
//    next record cannot be found: all that was written until now is skipped and
//    counted as one record that could not be read. What is written later is
//    read again.
//
// Only one CPU may write to a ring at a time: the kernel takes no lock, and two
// writers leave the ring stuck for good. Forks, exits and samples are written
// by the CPU they happen on, but the CPU time of an ended thread is written to
// the rings of all CPUs by the CPU that the thread ended on. So each use has
// rings of its own (in rings for CPU times a mutex of the kernel's keeps the
// writers apart).
class PerfRing {
 public:
  // Maps at most `pages` (a power of two), fewer if the user's limit on locked
  // memory allows no more.
  static Result<PerfRing> Open(const perf_event_attr& attr, pid_t pid, int cpu,
                               size_t pages);
  // A ring that tests write: a page for perf_event_mmap_page and then `size`
  // bytes, a power of two, all from one mmap(). Takes the memory over.
  static PerfRing OfMemory(void* memory, size_t size);
  PerfRing(PerfRing&& other) noexcept;
  PerfRing& operator=(PerfRing&&) = delete;
  ~PerfRing();

  int fd() const { return fd_.get(); }
  // What it holds.
  size_t bytes() const { return size_; }
  // What to add to the times in records to get those of our clock.
  int64_t offset_ns() const { return offset_ns_; }

  using Taker = std::function<void(std::string_view record)>;
  // Calls `take` with each record that was written since the last call: its
  // perf_event_header and what follows, valid until `take` returns. Returns how
  // many records could not be read.
  uint64_t Drain(const Taker& take);
  // Calls `take` with each record that the next Drain() will have, which is
  // then none that is written later.
  void Peek(const Taker& take);

 private:
  uint64_t Head() const;
  uint64_t Walk(uint64_t head, const Taker& take);
  PerfRing(Fd fd, void* memory, size_t size, int64_t offset_ns);
  std::string_view Join(uint64_t at, size_t length);

  Fd fd_;
  perf_event_mmap_page* page_ = nullptr;
  const char* data_ = nullptr;
  uint64_t size_ = 0;               // of data_, a power of two
  int64_t offset_ns_ = 0;           // from the machine's clock to ours
  std::optional<uint64_t> peeked_;  // up to here
  std::vector<char> joined_;  // a record that the end of the ring cut in two
};

}  // namespace sonde

#endif  // SONDE_COLLECT_PERF_PERF_RING_H_
