#include "collect/gpu/device_child.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "base/time.h"
#include "collect/proc/leave_parent.h"
#include "collect/sample/ticks.h"

namespace sonde {
namespace {

// The fields of a reading that are one number, in the order of the page.
constexpr double DeviceReading::*kFields[] = {
    &DeviceReading::busy_pct,       &DeviceReading::mem_busy_pct,
    &DeviceReading::mem_used_bytes, &DeviceReading::mem_total_bytes,
    &DeviceReading::clock_mhz,      &DeviceReading::mem_clock_mhz,
    &DeviceReading::power_w,        &DeviceReading::temp_c,
    &DeviceReading::throttle,
};
constexpr size_t kFieldCount = std::size(kFields);
constexpr double kFastestHz = 10;
constexpr int64_t kLongestIntervalNs = 10 * kNsPerSec;
constexpr size_t kNameRoom = 64;

// What one device last said. Written while `version` is odd.
struct DeviceSlot {
  std::atomic<uint32_t> version;
  std::atomic<uint32_t> answered;
  std::atomic<uint32_t> users;
  std::atomic<int64_t> time_ns;  // when it was asked
  std::atomic<double> fields[kFieldCount];
  std::atomic<int32_t> user_pid[DeviceChild::kMostUsers];
  std::atomic<double> user_bytes[DeviceChild::kMostUsers];
};

enum PageState : uint32_t { kPageStarting = 0, kPageRuns = 1, kPageNone = 2 };

void PutText(char* to, size_t room, const std::string& text) {
  const size_t size = std::min(room - 1, text.size());
  std::memcpy(to, text.data(), size);
  to[size] = '\0';
}

}  // namespace

// What the child shows us. Nothing of it is believed: the maker's library may
// have written over it.
struct DevicePage {
  std::atomic<uint32_t> state;
  std::atomic<uint32_t> count;
  std::atomic<int64_t> interval_ns;
  char why[256];
  char vendors[DeviceChild::kMostDevices][kNameRoom];
  char names[DeviceChild::kMostDevices][kNameRoom];
  DeviceSlot slots[DeviceChild::kMostDevices];
};

namespace {

void Put(DeviceSlot& slot, bool answered, const DeviceReading& reading,
         int64_t time_ns) {
  const uint32_t version = slot.version.load(std::memory_order_relaxed) | 1;
  // Nothing below comes before this.
  slot.version.exchange(version, std::memory_order_acq_rel);
  for (size_t i = 0; i < kFieldCount; ++i)
    slot.fields[i].store(reading.*kFields[i], std::memory_order_relaxed);
  const size_t users = std::min(reading.users.size(), DeviceChild::kMostUsers);
  for (size_t i = 0; i < users; ++i) {
    slot.user_pid[i].store(reading.users[i].pid, std::memory_order_relaxed);
    slot.user_bytes[i].store(reading.users[i].mem_bytes,
                             std::memory_order_relaxed);
  }
  slot.answered.store(answered, std::memory_order_relaxed);
  slot.users.store(static_cast<uint32_t>(users), std::memory_order_relaxed);
  slot.time_ns.store(time_ns, std::memory_order_relaxed);
  slot.version.store(version + 1, std::memory_order_release);
}

[[noreturn]] void Serve(DevicePage& page, const DeviceMaker& maker,
                        const std::string& root, double rate_hz) {
  std::string why;
  const std::unique_ptr<DeviceSource> source = maker.open(root, why);
  PutText(page.why, sizeof(page.why), why);
  if (!source) {
    page.state.store(kPageNone, std::memory_order_release);
    ::_exit(0);
  }
  const std::vector<DeviceInfo>& devices = source->devices();
  const size_t count = std::min(devices.size(), DeviceChild::kMostDevices);
  for (size_t i = 0; i < count; ++i) {
    PutText(page.vendors[i], kNameRoom, devices[i].vendor);
    PutText(page.names[i], kNameRoom, devices[i].name);
  }
  page.count.store(static_cast<uint32_t>(count), std::memory_order_relaxed);
  page.interval_ns.store(source->interval_ns(), std::memory_order_relaxed);
  page.state.store(kPageRuns, std::memory_order_release);
  Ticks ticks(
      NowNs(),
      std::max(static_cast<int64_t>(1e9 / std::min(rate_hz, kFastestHz)),
               source->interval_ns()));
  for (;;) {
    for (size_t i = 0; i < count; ++i) {
      DeviceReading reading;
      const bool answered = source->Read(i, reading);
      Put(page.slots[i], answered, reading, NowNs());
    }
    const int64_t now_ns = NowNs();
    ticks.Take(now_ns);
    const timespec until = {ticks.next_ns() / kNsPerSec,
                            ticks.next_ns() % kNsPerSec};
    ::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
  }
}

}  // namespace

std::unique_ptr<DeviceChild> DeviceChild::Start(const DeviceMaker& maker,
                                                const std::string& root,
                                                double rate_hz) {
  void* const memory =
      ::mmap(nullptr, sizeof(DevicePage), PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* const page = static_cast<DevicePage*>(memory);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) {
    LeaveParent(parent, "sonde-devices");
    Serve(*page, maker, root, rate_hz);
  }
  if (pid > 0) return std::unique_ptr<DeviceChild>(new DeviceChild(page, pid));
  ::munmap(memory, sizeof(DevicePage));
  return nullptr;
}

DeviceChild::~DeviceChild() {
  Stop();
  ::munmap(page_, sizeof(DevicePage));
}

int64_t DeviceChild::interval_ns() const {
  return std::clamp<int64_t>(page_->interval_ns.load(std::memory_order_acquire),
                             0, kLongestIntervalNs);
}

bool DeviceChild::Reap(int options) {
  rusage usage = {};
  pid_t got;
  while ((got = ::wait4(pid_, nullptr, options, &usage)) == -1 &&
         errno == EINTR) {
  }
  if (got == -1 && errno == ECHILD) {
    pid_ = 0;  // somebody else has waited for it
    return true;
  }
  if (got != pid_) return false;
  const auto ns = [](const timeval& t) {
    return t.tv_sec * kNsPerSec + t.tv_usec * kNsPerUs;
  };
  cpu_ns_ += ns(usage.ru_utime) + ns(usage.ru_stime);
  pid_ = 0;
  return true;
}

void DeviceChild::Stop(int64_t wait_ns) {
  if (pid_ == 0) return;
  ::kill(pid_, SIGKILL);
  const int64_t until_ns = NowNs() + wait_ns;
  while (!Reap(WNOHANG) && NowNs() < until_ns) ::usleep(500);
}

DeviceChild::State DeviceChild::Look() {
  const uint32_t state = page_->state.load(std::memory_order_acquire);
  const bool ended = pid_ == 0 || Reap(WNOHANG);
  if (state == kPageNone) return State::kNone;
  if (ended) return State::kEnded;
  return state == kPageRuns ? State::kRuns : State::kStarting;
}

size_t DeviceChild::devices() const {
  return std::min<size_t>(page_->count.load(std::memory_order_acquire),
                          kMostDevices);
}

DeviceInfo DeviceChild::info(size_t device) const {
  const auto text = [](const char* from) {
    return std::string(from, ::strnlen(from, kNameRoom));
  };
  return {text(page_->vendors[device]), text(page_->names[device])};
}

std::string DeviceChild::why() const {
  return std::string(page_->why, ::strnlen(page_->why, sizeof(page_->why)));
}

DeviceChild::Answer DeviceChild::Read(size_t device, DeviceReading& out,
                                      int64_t& time_ns) const {
  const DeviceSlot& slot = page_->slots[device];
  for (int attempt = 0; attempt < 3; ++attempt) {
    const uint32_t version = slot.version.load(std::memory_order_acquire);
    if (version == 0) return Answer::kNotYet;
    if (version % 2 != 0) continue;
    for (size_t i = 0; i < kFieldCount; ++i)
      out.*kFields[i] = slot.fields[i].load(std::memory_order_acquire);
    const size_t users = std::min<size_t>(
        slot.users.load(std::memory_order_acquire), kMostUsers);
    out.users.clear();
    for (size_t i = 0; i < users; ++i)
      out.users.push_back({slot.user_pid[i].load(std::memory_order_acquire),
                           slot.user_bytes[i].load(std::memory_order_acquire)});
    time_ns = slot.time_ns.load(std::memory_order_acquire);
    const bool answered = slot.answered.load(std::memory_order_acquire) != 0;
    if (slot.version.load(std::memory_order_relaxed) == version)
      return answered ? Answer::kReading : Answer::kNothing;
  }
  return Answer::kTorn;
}

}  // namespace sonde
