#ifndef SONDE_COLLECT_PERF_PERF_RING_H_
#define SONDE_COLLECT_PERF_PERF_RING_H_

#include <linux/perf_event.h>
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "collect/tree/tree_model.h"

namespace sonde {

// What a perf event is opened for.
enum class PerfUse {
  kTree,    // records of forks, names and exits of a task and its descendants
  kCpu,     // records of the CPU time of each of its descendants at their end
  kOwnCpu,  // counts the CPU time of one thread, no records
};

// perf_event_open() for `pid` on `cpu` (-1: any). -1 and errno if it fails. As
// an ordinary user this needs kernel.perf_event_paranoid <= 2.
Fd OpenPerfEvent(PerfUse use, pid_t pid, int cpu);

// One record of the ring as the model wants it. False if it is of no interest.
// `bytes` is a whole record, hostile all the same.
struct PerfLoss {
  uint64_t count = 0;
  int64_t time_ns = 0;
};
bool ParsePerfRecord(std::string_view bytes, TaskRecord* task, PerfLoss* loss);

// The kernel's ring of one perf event, mapped.
//
// Only one CPU may write to a ring at a time: the kernel takes no lock, and two
// writers leave it stuck for good. Forks and exits are written by the CPU they
// happen on, but the CPU time of an ended thread is written to the rings of all
// CPUs by the one it ended on. So each use has rings of its own (in those for
// CPU times a mutex of the kernel's keeps the writers apart).
class PerfRing {
 public:
  // Maps at most `pages` (a power of two), fewer if the user's limit on locked
  // memory allows no more.
  static Result<PerfRing> Open(PerfUse use, pid_t pid, int cpu, size_t pages);
  PerfRing(PerfRing&& other) noexcept;
  PerfRing& operator=(PerfRing&&) = delete;
  ~PerfRing();

  int fd() const { return fd_.get(); }

  // Appends what has been written since the last call.
  void Drain(std::vector<TaskRecord>& out, std::vector<PerfLoss>& losses);

 private:
  PerfRing(Fd fd, void* memory, size_t size, int64_t offset_ns);

  Fd fd_;
  perf_event_mmap_page* page_ = nullptr;
  const char* data_ = nullptr;
  uint64_t size_ = 0;      // of data_, a power of two
  int64_t offset_ns_ = 0;  // from the machine's clock to ours
};

}  // namespace sonde

#endif  // SONDE_COLLECT_PERF_PERF_RING_H_
