#include "collect/perf/perf_ring.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>

#include "collect/perf/time_namespace.h"
#include "collect/proc/container.h"
#include "collect/proc/machine_files.h"
#include "collect/proc/text_scanner.h"

namespace sonde {
namespace {

constexpr size_t kFewestPages = 4;
constexpr size_t kHeader = sizeof(perf_event_header);

size_t PageBytes() { return static_cast<size_t>(::sysconf(_SC_PAGESIZE)); }

}  // namespace

Fd OpenPerfEvent(const perf_event_attr& attr, pid_t pid, int cpu) {
  return Fd(static_cast<int>(::syscall(SYS_perf_event_open, &attr, pid, cpu, -1,
                                       PERF_FLAG_FD_CLOEXEC)));
}

std::vector<int> OnlineCpus() {
  const auto text = ReadFile("/sys/devices/system/cpu/online");
  std::vector<int> cpus;
  if (text.ok()) cpus = ParseCpuList(text.value());
  if (cpus.empty())
    for (long cpu = 0; cpu < std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN));
         ++cpu)
      cpus.push_back(static_cast<int>(cpu));
  return cpus;
}

Result<PerfRing> PerfRing::Open(const perf_event_attr& attr, pid_t pid, int cpu,
                                size_t pages) {
  const auto offset_ns = MonotonicOffsetNs();
  if (!offset_ns)
    return Error{Error::Kind::kUnsupported,
                 "perf's times cannot be brought to this time namespace"};
  Fd fd = OpenPerfEvent(attr, pid, cpu);
  if (!fd.valid()) return ErrnoError("perf_event_open", errno);
  const size_t page = PageBytes();
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

SourceState ExplainPerf(const Error& error) {
  SourceState out = SourceState::Fails(error.what, "");
  uint64_t paranoid = 0;
  const auto text = ReadFile("/proc/sys/kernel/perf_event_paranoid");
  const bool known = text.ok() && TextScanner(text.value()).Number(&paranoid);
  if (!text.ok() && text.error().kind == Error::Kind::kNotFound) {
    out.why = "this kernel was built without perf events";
    out.cure = "use a kernel with CONFIG_PERF_EVENTS";
  } else if (error.kind != Error::Kind::kDenied) {
    if (error.what.find("Too many open files") != std::string::npos)
      out.cure = "ulimit -n 4096";
  } else if (known && paranoid > 2) {
    out.why = "kernel.perf_event_paranoid is " + std::to_string(paranoid);
    out.cure = "sudo sysctl kernel.perf_event_paranoid=2";
  } else if (InContainer()) {
    out.why += " (refused by the container)";
    out.cure = "docker run --cap-add PERFMON ...";
  } else {
    out.cure = "sudo setcap cap_perfmon+ep $(command -v sonde)";
  }
  return out;
}

PerfRing PerfRing::OfMemory(void* memory, size_t size) {
  return PerfRing(Fd(), memory, size, 0);
}

PerfRing::PerfRing(Fd fd, void* memory, size_t size, int64_t offset_ns)
    : fd_(std::move(fd)),
      page_(static_cast<perf_event_mmap_page*>(memory)),
      data_(static_cast<const char*>(memory) + PageBytes()),
      size_(size),
      offset_ns_(offset_ns) {}

PerfRing::PerfRing(PerfRing&& other) noexcept
    : fd_(std::move(other.fd_)),
      page_(std::exchange(other.page_, nullptr)),
      data_(other.data_),
      size_(other.size_),
      offset_ns_(other.offset_ns_) {}

PerfRing::~PerfRing() {
  if (page_ != nullptr) ::munmap(page_, size_ + PageBytes());
}

// What lies in one piece is not copied: the kernel writes over it only after
// the tail has moved.
std::string_view PerfRing::Join(uint64_t at, size_t length) {
  if (length <= size_ - at) return {data_ + at, length};
  joined_.assign(data_ + at, data_ + size_);
  joined_.insert(joined_.end(), data_, data_ + length - (size_ - at));
  return {joined_.data(), length};
}

uint64_t PerfRing::Head() const {
  return __atomic_load_n(&page_->data_head, __ATOMIC_ACQUIRE);
}

// Returns how many records could not be read.
uint64_t PerfRing::Walk(uint64_t head, const Taker& take) {
  for (uint64_t tail = page_->data_tail; tail != head;) {
    const uint64_t at = tail & (size_ - 1);
    const uint64_t left = head - tail;
    uint16_t length = 0;
    // A header of 8 bytes at a multiple of 8 is never cut in two by the end.
    if (left >= kHeader && left <= size_ && at % kHeader == 0)
      std::memcpy(&length, data_ + at + offsetof(perf_event_header, size),
                  sizeof(length));
    // Not what the kernel writes. Nothing up to the head can be trusted.
    if (length < kHeader || length % 8 != 0 || length > left) return 1;
    take(Join(at, length));
    tail += length;
  }
  return 0;
}

uint64_t PerfRing::Drain(const Taker& take) {
  const uint64_t head = peeked_.value_or(Head());
  peeked_.reset();
  if (head == page_->data_tail) return 0;
  const uint64_t unreadable = Walk(head, take);
  __atomic_store_n(&page_->data_tail, head, __ATOMIC_RELEASE);
  return unreadable;
}

void PerfRing::Peek(const Taker& take) {
  peeked_ = Head();
  Walk(*peeked_, take);
}

}  // namespace sonde
