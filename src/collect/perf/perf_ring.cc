#include "collect/perf/perf_ring.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "collect/perf/time_namespace.h"

namespace sonde {
namespace {

constexpr size_t kFewestPages = 4;
constexpr size_t kHeader = sizeof(perf_event_header);
// Behind each record: pid, tid and time of whoever caused it (sample_id_all).
constexpr size_t kTrailer = 16;
// The largest record we ask for is a name's.
constexpr size_t kLargestRecord = 256;

template <typename T>
T Load(std::string_view bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(value));
  return value;
}

}  // namespace

Fd OpenPerfEvent(PerfUse use, pid_t pid, int cpu) {
  perf_event_attr attr = {};
  attr.size = sizeof(attr);
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config =
      use == PerfUse::kTree ? PERF_COUNT_SW_DUMMY : PERF_COUNT_SW_TASK_CLOCK;
  attr.exclude_kernel = 1;
  attr.exclude_hv = 1;
  if (use != PerfUse::kOwnCpu) {
    attr.inherit = 1;
    attr.sample_id_all = 1;
    attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
    attr.use_clockid = 1;
    attr.clockid = CLOCK_MONOTONIC;
    attr.watermark = 1;
  }
  if (use == PerfUse::kTree) {
    attr.task = 1;
    attr.comm = 1;
    attr.comm_exec = 1;
    attr.wakeup_watermark = 1;  // every record wakes us
  }
  if (use == PerfUse::kCpu) {
    attr.inherit_stat = 1;
    attr.wakeup_watermark = 1 << 30;  // none does
  }
  return Fd(static_cast<int>(::syscall(SYS_perf_event_open, &attr, pid, cpu, -1,
                                       PERF_FLAG_FD_CLOEXEC)));
}

bool ParsePerfRecord(std::string_view bytes, TaskRecord* task, PerfLoss* loss) {
  if (bytes.size() < kHeader + kTrailer) return false;
  const uint32_t type = Load<uint32_t>(bytes, 0);
  const uint16_t misc = Load<uint16_t>(bytes, 4);
  const std::string_view body =
      bytes.substr(kHeader, bytes.size() - kHeader - kTrailer);
  const int64_t time_ns = Load<int64_t>(bytes, bytes.size() - 8);
  *task = {};
  task->time_ns = time_ns;
  switch (type) {
    case PERF_RECORD_FORK:
    case PERF_RECORD_EXIT:
      if (body.size() < 24) return false;
      task->kind = type == PERF_RECORD_FORK ? TaskRecord::Kind::kFork
                                            : TaskRecord::Kind::kExit;
      task->pid = Load<int32_t>(body, 0);
      task->ppid = Load<int32_t>(body, 4);
      task->tid = Load<int32_t>(body, 8);
      task->ptid = Load<int32_t>(body, 12);
      task->time_ns = Load<int64_t>(body, 16);
      return true;
    case PERF_RECORD_COMM: {
      if (body.size() < 9) return false;
      task->kind = (misc & PERF_RECORD_MISC_COMM_EXEC) != 0
                       ? TaskRecord::Kind::kExec
                       : TaskRecord::Kind::kComm;
      task->pid = Load<int32_t>(body, 0);
      task->tid = Load<int32_t>(body, 4);
      const size_t length = std::min(body.size() - 8, sizeof(task->comm) - 1);
      std::memcpy(task->comm, body.data() + 8, length);
      return true;
    }
    case PERF_RECORD_READ:
      if (body.size() < 16) return false;
      task->kind = TaskRecord::Kind::kCpu;
      task->pid = Load<int32_t>(body, 0);
      task->tid = Load<int32_t>(body, 4);
      task->value = Load<uint64_t>(body, 8);
      return task->value <= INT64_MAX;
    case PERF_RECORD_LOST:
      if (body.size() < 16) return false;
      loss->count = Load<uint64_t>(body, 8);
      loss->time_ns = time_ns;
      return false;
    default:
      return false;
  }
}

Result<PerfRing> PerfRing::Open(PerfUse use, pid_t pid, int cpu, size_t pages) {
  const auto offset_ns = MonotonicOffsetNs();
  if (!offset_ns)
    return Error{Error::Kind::kUnsupported,
                 "perf's times cannot be brought to this time namespace"};
  Fd fd = OpenPerfEvent(use, pid, cpu);
  if (!fd.valid()) return ErrnoError("perf_event_open", errno);
  const size_t page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  for (; pages >= kFewestPages; pages /= 2) {
    void* const memory =
        ::mmap(nullptr, (1 + pages) * page, PROT_READ | PROT_WRITE, MAP_SHARED,
               fd.get(), 0);
    if (memory != MAP_FAILED)
      return PerfRing(std::move(fd), memory, pages * page, *offset_ns);
    if (errno != EPERM && errno != ENOMEM) break;
  }
  return ErrnoError("perf ring", errno);
}

PerfRing::PerfRing(Fd fd, void* memory, size_t size, int64_t offset_ns)
    : fd_(std::move(fd)),
      page_(static_cast<perf_event_mmap_page*>(memory)),
      data_(static_cast<const char*>(memory) + ::sysconf(_SC_PAGESIZE)),
      size_(size),
      offset_ns_(offset_ns) {}

PerfRing::PerfRing(PerfRing&& other) noexcept
    : fd_(std::move(other.fd_)),
      page_(std::exchange(other.page_, nullptr)),
      data_(other.data_),
      size_(other.size_),
      offset_ns_(other.offset_ns_) {}

PerfRing::~PerfRing() {
  if (page_ != nullptr)
    ::munmap(page_, size_ + static_cast<size_t>(::sysconf(_SC_PAGESIZE)));
}

void PerfRing::Drain(std::vector<TaskRecord>& out,
                     std::vector<PerfLoss>& losses) {
  const uint64_t head = __atomic_load_n(&page_->data_head, __ATOMIC_ACQUIRE);
  uint64_t tail = page_->data_tail;
  if (head == tail) return;
  char copy[kLargestRecord];
  while (head - tail >= kHeader) {
    // Headers are 8 bytes and 8 bytes aligned: never cut in two by the end.
    const uint64_t at = tail & (size_ - 1);
    uint16_t length;
    std::memcpy(&length, data_ + at + 6, sizeof(length));
    if (length < kHeader || length % 8 != 0 || length > head - tail) {
      // Not what the kernel writes. Nothing up to the head can be trusted.
      losses.push_back({1, 0});
      tail = head;
      break;
    }
    if (length <= sizeof(copy)) {
      const size_t first = std::min<uint64_t>(length, size_ - at);
      std::memcpy(copy, data_ + at, first);
      std::memcpy(copy + first, data_, length - first);
      TaskRecord record;
      PerfLoss loss;
      const bool taken = ParsePerfRecord({copy, length}, &record, &loss);
      record.time_ns += offset_ns_;
      loss.time_ns += offset_ns_;
      if (taken)
        out.push_back(record);
      else if (loss.count > 0)
        losses.push_back(loss);
    }
    tail += length;
  }
  __atomic_store_n(&page_->data_tail, tail, __ATOMIC_RELEASE);
}

}  // namespace sonde
