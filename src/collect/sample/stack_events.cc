#include "collect/sample/stack_events.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <utility>

#include "base/time.h"
#include "collect/perf/stack_record.h"
#include "collect/unwind/unwinder.h"

namespace sonde {
namespace {

#if defined(__x86_64__)
constexpr bool kUnwinds = true;
#else
constexpr bool kUnwinds = false;
#endif
constexpr char kNotUnwound[] = "this build reads stacks on x86-64 only";
// 1 MiB for each CPU, less where the user may lock no more.
constexpr size_t kPages = 256;
// Frames of libraries that multiply, and the start of large programs, are
// deeper than 16 KiB. What lies beyond is read later, if it is still there.
constexpr size_t kLargePages = 256;
// Where memory may be locked, all rings together may be so large: beside a
// hundred threads that burn we may not run for 0.2 s.
constexpr size_t kAllPages = 2048;
constexpr uint32_t kCopyBytes = 16 << 10, kLargeCopyBytes = 48 << 10;
// A ring must hold so many samples.
constexpr size_t kFewestRecords = 2, kFewLarge = 8;
constexpr size_t kMostEvents = 4096, kShareOfDescriptors = 4;
// The kernel lists a thread a little before it tells of the fork; and a thread
// that runs is sampled in this time if it has events.
constexpr int64_t kStrangeNs = 50 * kNsPerMs;
// Records of another CPU may tell later what happened before.
constexpr int64_t kKeepEndedNs = kNsPerSec;

// Of the event of a ring: its clock is that of those that write to the ring.
perf_event_attr RingAttr() {
  perf_event_attr attr = {};
  attr.size = sizeof(attr);
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_DUMMY;
  attr.exclude_kernel = 1;
  attr.exclude_hv = 1;
  attr.use_clockid = 1;
  attr.clockid = CLOCK_MONOTONIC;
  attr.watermark = 1;
  attr.wakeup_watermark = 1 << 30;  // nobody is woken
  return attr;
}

bool MaySampleOurselves() {
  return OpenPerfEvent(StackAttr(1, kPerfRegisters, false, kCopyBytes),
                       ::getpid(), -1)
      .valid();
}

}  // namespace

SourceState CheckStackEvents() {
  if (!kUnwinds) return SourceState::Fails(kNotUnwound, "");
  for (const bool kernel : {true, false}) {
    const auto ring = PerfRing::Open(
        StackAttr(199, kPerfRegisters, kernel, kCopyBytes), ::getpid(), 0, 16);
    if (ring.ok())
      return SourceState::Works(
          kernel ? "functions of native programs, by perf"
                 : "functions of native programs, by perf; not their time in "
                   "the kernel");
    if (!kernel) return ExplainPerf(ring.error());
  }
  return {};
}

size_t MostStackEvents(uint64_t descriptors) {
  return std::min<uint64_t>(kMostEvents, descriptors / kShareOfDescriptors);
}

StackEvents::StackEvents(double hz, size_t most_events)
    : hz_(hz), cpus_(OnlineCpus()), most_(most_events) {}

Status StackEvents::OpenRings(bool large) {
  if (!kUnwinds) return Error{Error::Kind::kUnsupported, kNotUnwound};
  copy_bytes_ = kCopyBytes;
  const size_t pages =
      large ? std::max(kLargePages, std::bit_floor(kAllPages / cpus_.size()))
            : kPages;
  for (const int cpu : cpus_) {
    auto ring = PerfRing::Open(RingAttr(), 0, cpu, pages);
    if (!ring.ok()) return ring.error();
    if (ring.value().bytes() < kFewestRecords * record_bytes())
      return Error{Error::Kind::kDenied,
                   "the user may not lock enough memory for samples"};
    rings_.push_back(ring.Take());
  }
  if (large && std::all_of(rings_.begin(), rings_.end(), [](const PerfRing& r) {
        return r.bytes() >= kFewLarge * StackRecordBytes(kLargeCopyBytes);
      }))
    copy_bytes_ = kLargeCopyBytes;
  return Ok();
}

// With time in the kernel, if that is allowed. The event is enabled from the
// beginning, but has no ring: what it writes before it has one is lost.
Result<Fd> StackEvents::Open(Kind kind, pid_t tid, size_t cpu,
                             FrameWalker* walker) {
  const auto open = [&](bool with_kernel) {
    perf_event_attr attr = StackAttr(hz_, kPerfRegisters, with_kernel,
                                     copy_bytes_, walker == nullptr);
    if (kind != Kind::kCommand)
      attr.sample_id_all = attr.comm = attr.comm_exec = 1;
    if (kind == Kind::kThread) attr.task = 1;
    if (kind == Kind::kCpu) attr.inherit = 0;
    return OpenPerfEvent(attr, kind == Kind::kCpu ? -1 : tid, cpus_[cpu]);
  };
  Fd out = open(with_kernel_);
  if (!out.valid() && with_kernel_ && (errno == EACCES || errno == EPERM)) {
    out = open(false);
    if (out.valid()) with_kernel_ = false;
  }
  if (!out.valid()) return ErrnoError("perf_event_open", errno);
  if (walker != nullptr) {
    const int fd = out.get();
    const Status put = walker->Attach({&fd, 1});
    if (!put.ok() && !not_walked_) not_walked_ = put.error();
  }
  if (::ioctl(out.get(), PERF_EVENT_IOC_SET_OUTPUT, rings_[cpu].fd()) != 0)
    return ErrnoError("ring of a perf event", errno);
  return out;
}

// On each CPU, or on none.
Status StackEvents::AttachAll(Kind kind, pid_t tid, FrameWalker* walker,
                              std::vector<Fd>& out) {
  const size_t before = out.size();
  for (size_t cpu = 0; cpu < cpus_.size(); ++cpu) {
    auto event = Open(kind, tid, cpu, walker);
    if (!event.ok()) {
      out.resize(before);
      return event.error();
    }
    out.push_back(event.Take());
  }
  return Ok();
}

Status StackEvents::AttachCommand(pid_t root, FrameWalker* walker) {
  Group group;
  TRY_OK(AttachAll(Kind::kCommand, root, walker, group.events));
  groups_.emplace(next_group_++, std::move(group));
  return Ok();
}

Status StackEvents::AttachMachine(FrameWalker* walker) {
  Group group;
  const Status opened = AttachAll(Kind::kCpu, -1, walker, group.events);
  if (!opened.ok() && opened.error().kind == Error::Kind::kDenied)
    return Error{Error::Kind::kDenied,
                 "programs of the whole machine may not be sampled by perf",
                 "run sonde as root"};
  if (!opened.ok()) return opened;
  Detach();
  groups_.emplace(next_group_++, std::move(group));
  machine_ = true;
  return Ok();
}

bool StackEvents::HasRoomFor(
    const std::map<uint32_t, ProcessTree::Live>& live) {
  size_t threads = 0;
  for (const auto& [number, process] : live) threads += process.threads.size();
  if (threads * cpus_.size() <= most_) return true;
  left_out_ = threads;
  return false;
}

void StackEvents::AttachRunning(
    const std::map<uint32_t, ProcessTree::Live>& live, int64_t now_ns,
    FrameWalker* walker) {
  left_out_ = 0;
  std::unordered_map<pid_t, int64_t> strange;
  std::vector<pid_t> tids;
  for (const auto& [number, process] : live) {
    tids.clear();
    for (const auto& [thread, tid] : process.threads) {
      const auto known = threads_.find(tid);
      if ((known != threads_.end() && !known->second.ended) ||
          refused_.contains(tid))
        continue;
      const auto seen = strange_.find(tid);
      const int64_t since_ns = seen == strange_.end() ? now_ns : seen->second;
      if (fresh_ || now_ns - since_ns >= kStrangeNs)
        tids.push_back(tid);
      else
        strange.emplace(tid, since_ns);
    }
    if (!tids.empty()) AttachProcess(process, tids, now_ns, walker);
  }
  strange_ = std::move(strange);
  fresh_ = false;
  if (now_ns >= next_forget_ns_) ForgetEnded(live, now_ns);
}

void StackEvents::AttachProcess(const ProcessTree::Live& process,
                                const std::vector<pid_t>& tids, int64_t now_ns,
                                FrameWalker* walker) {
  Group group;
  size_t open = count();
  for (const pid_t tid : tids) {
    if (open + cpus_.size() > most_) {
      ++left_out_;
      continue;
    }
    const Status opened = AttachAll(Kind::kThread, tid, walker, group.events);
    if (opened.ok()) {
      open += cpus_.size();
      threads_[tid] = {next_group_, now_ns, false};
    } else if (opened.error().kind == Error::Kind::kDenied) {
      Deny(process.pid, opened.error());
      refused_.insert(tid);
    } else if (opened.error().what.find("Too many open files") !=
               std::string::npos) {
      most_ = open;
      ++left_out_;
    }
  }
  if (!group.events.empty()) groups_.emplace(next_group_++, std::move(group));
}

void StackEvents::Deny(pid_t pid, const Error& error) {
  if (denied_) return;
  denied_ = error;
  if (!MaySampleOurselves()) return;
  struct stat st = {};
  const bool ours = ::stat(fmt::format("/proc/{}", pid).c_str(), &st) == 0 &&
                    st.st_uid == ::geteuid();
  denied_ = {Error::Kind::kDenied,
             fmt::format("process {}: it may not be sampled by perf", pid),
             ours ? "run sonde as root"
                  : "it is another user's: run sonde as that user, or as root"};
}

void StackEvents::Hear(const TaskRecord& record, int64_t now_ns) {
  if (machine_) return;
  Known& thread = threads_[record.tid];
  thread.since_ns = now_ns;
  thread.ended = record.kind == TaskRecord::Kind::kExit;
  if (record.kind != TaskRecord::Kind::kFork) return;
  const auto creator = threads_.find(record.ptid);
  const uint32_t group = creator == threads_.end() ? 0 : creator->second.group;
  threads_[record.tid].group = group;
}

void StackEvents::HearSample(pid_t tid, int64_t now_ns) {
  if (!machine_) threads_.try_emplace(tid, Known{0, now_ns, false});
}

// Closes the events of groups of which nobody is left.
void StackEvents::ForgetEnded(const std::map<uint32_t, ProcessTree::Live>& live,
                              int64_t now_ns) {
  next_forget_ns_ = now_ns + kNsPerSec;
  std::unordered_set<pid_t> tids;
  for (const auto& [number, process] : live)
    for (const auto& [thread, tid] : process.threads) tids.insert(tid);
  std::unordered_set<uint32_t> used;
  std::erase_if(threads_, [&](const auto& one) {
    const Known& thread = one.second;
    if ((thread.ended || !tids.contains(one.first)) &&
        now_ns - thread.since_ns > kKeepEndedNs)
      return true;
    used.insert(thread.group);
    return false;
  });
  std::erase_if(refused_, [&](pid_t tid) { return !tids.contains(tid); });
  const size_t closed = std::erase_if(
      groups_, [&](const auto& one) { return !used.contains(one.first); });
  // They may have had the events that were closed.
  if (closed > 0)
    std::erase_if(threads_,
                  [](const auto& one) { return one.second.group == 0; });
}

void StackEvents::Enable(bool on) {
  for (const auto& [number, group] : groups_)
    for (const Fd& event : group.events)
      ::ioctl(event.get(), on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE,
              0);
}

void StackEvents::Detach() {
  groups_.clear();
  threads_.clear();
  strange_.clear();
  refused_.clear();
  machine_ = false;
  left_out_ = 0;
  fresh_ = true;
}

void StackEvents::Close() {
  Detach();
  rings_.clear();
}

size_t StackEvents::count() const {
  size_t out = 0;
  for (const auto& [number, group] : groups_) out += group.events.size();
  return out;
}

Error StackEvents::TooMany() const {
  return {
      Error::Kind::kUnsupported,
      fmt::format("{} threads on {} CPUs are more than {} perf events allow",
                  left_out_ + threads_.size(), cpus_.size(), most_),
      most_ < kMostEvents
          ? fmt::format("ulimit -n {}", kMostEvents * kShareOfDescriptors)
          : "run sonde as root"};
}

}  // namespace sonde
