#include "collect/tree/perf_tree.h"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/time.h"
#include "collect/tree/proc_tree.h"
#include "collect/tree/task_events.h"

namespace sonde {
namespace {

// Together 392 KiB for each CPU: an ordinary user may lock 516.
constexpr size_t kTreePages = 64;
constexpr size_t kCpuPages = 32;
// A record may be written this much later than its time says.
constexpr int64_t kHoldBackNs = 1 * kNsPerMs;
// Wake-ups closer than this are replaced by a timer.
constexpr int64_t kQuietNs = 5 * kNsPerMs;
constexpr int64_t kScanEveryNs = 50 * kNsPerMs;
constexpr int64_t kCheckEveryNs = 1 * kNsPerSec;
// Losses within this time are one loss; and there are at most so many rows.
constexpr int64_t kSameLossNs = 1 * kNsPerSec;
constexpr size_t kMostLossRows = 64;

// One ring for each CPU, or the error of the first that fails.
Result<std::vector<PerfRing>> OpenRings(TaskEvent event, pid_t root,
                                        size_t pages) {
  const perf_event_attr attr = AttrOf(event);
  std::vector<PerfRing> rings;
  for (const int cpu : OnlineCpus()) {
    auto ring = PerfRing::Open(attr, root, cpu, pages);
    if (!ring.ok()) return ring.error();
    rings.push_back(ring.Take());
  }
  return rings;
}

}  // namespace

Result<std::unique_ptr<PerfTree>> PerfTree::Open(pid_t root, TraceWriter& out,
                                                 const Options& options) {
  TRY(auto rings, OpenRings(TaskEvent::kTree, root, kTreePages));
  auto cpu_rings = OpenRings(TaskEvent::kCpu, root, kCpuPages);
  Fd own_cpu = OpenPerfEvent(AttrOf(TaskEvent::kOwnCpu), root, -1);
  std::string why;
  if (!cpu_rings.ok()) why = cpu_rings.error().what;
  std::unique_ptr<PerfTree> tree(
      new PerfTree(root, out, options, std::move(rings),
                   cpu_rings.ok() ? cpu_rings.Take() : std::vector<PerfRing>(),
                   std::move(own_cpu)));
  tree->cpu_why_ = why;
  return tree;
}

PerfTree::PerfTree(pid_t root, TraceWriter& out, const Options& options,
                   std::vector<PerfRing> rings, std::vector<PerfRing> cpu_rings,
                   Fd own_cpu)
    : ModelTree(out, {.all_args = options.all_args,
                      .cpu_parts = cpu_rings.size(),
                      .cores = ::sysconf(_SC_NPROCESSORS_ONLN),
                      .detached = false}),
      out_(out),
      rings_(std::move(rings)),
      cpu_rings_(std::move(cpu_rings)),
      own_cpu_(std::move(own_cpu)),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      timer_(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) {
  const int64_t now_ns = NowNs();
  last_drain_ns_ = now_ns;
  next_check_ns_ = now_ns + kCheckEveryNs;
  model_.AddRoot(now_ns, root);
  // What the root used before it was watched; it waits now.
  clockid_t clock;
  if (::clock_getcpuclockid(root, &clock) == 0)
    own_cpu_before_ns_ = ClockNs(clock);
  if (timer_.valid()) {
    epoll_event event = {};
    event.events = EPOLLIN;
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, timer_.get(), &event);
  }
  WatchRings(true);
}

PerfTree::~PerfTree() = default;

void PerfTree::WatchRings(bool on) {
  if (on == watching_ || !epoll_.valid()) return;
  for (const PerfRing& ring : rings_) {
    epoll_event event = {};
    // Edge-triggered: a ring whose tasks have all ended hangs up for ever.
    event.events = EPOLLIN | EPOLLET;
    ::epoll_ctl(epoll_.get(), on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, ring.fd(),
                &event);
  }
  watching_ = on;
}

void PerfTree::Poll(int64_t now_ns) {
  // Whoever woke us is taken note of; all rings are drained anyway.
  std::array<epoll_event, 64> woken;
  while (::epoll_wait(epoll_.get(), woken.data(), woken.size(), 0) ==
         static_cast<int>(woken.size())) {
  }
  Drain(now_ns, NowNs() - kHoldBackNs);
  if (now_ns >= next_scan_ns_ && model_.detached_execs() > 0) {
    next_scan_ns_ = now_ns + kScanEveryNs;
    scan_.Scan(now_ns);
  }
  if (now_ns >= next_check_ns_) {
    next_check_ns_ = now_ns + kCheckEveryNs;
    CheckAlive(now_ns);
  }
  ArmWakeups(now_ns);
}

// A ring that has just woken us does so again with its next record. Where
// records come one after the other, a timer wakes us less often; and what was
// held back needs one too.
void PerfTree::ArmWakeups(int64_t now_ns) {
  if (!timer_.valid()) return;
  uint64_t fired = 0;
  if (timer_armed_ &&
      ::read(timer_.get(), &fired, sizeof(fired)) == sizeof(fired))
    timer_armed_ = false;
  if (pending_.empty()) {
    if (!timer_armed_) WatchRings(true);
    return;
  }
  const bool storm = now_ns - last_wake_ns_ < 2 * kQuietNs;
  last_wake_ns_ = now_ns;
  WatchRings(!storm);
  itimerspec when = {};
  when.it_value.tv_nsec = storm ? kQuietNs : 2 * kHoldBackNs;
  timer_armed_ = ::timerfd_settime(timer_.get(), 0, &when, nullptr) == 0;
}

uint64_t PerfTree::Take(std::vector<PerfRing>& rings) {
  uint64_t lost = 0, unreadable = 0;
  for (PerfRing& ring : rings)
    unreadable += ring.Drain([&](std::string_view record) {
      TaskRecord task;
      if (!ParseTaskRecord(record, &task, &lost)) return;
      task.time_ns += ring.offset_ns();
      pending_.push_back(task);
    });
  return lost + unreadable;
}

void PerfTree::Drain(int64_t now_ns, int64_t up_to_ns) {
  const size_t kept = pending_.size();
  const uint64_t lost = Take(rings_);
  for (size_t i = kept; i < pending_.size(); ++i)
    if (pending_[i].kind == TaskRecord::Kind::kFork &&
        pending_[i].pid != pending_[i].ppid)
      world_.Foresee(pending_[i].pid);
  const uint64_t cpu_lost = Take(cpu_rings_);
  if (pending_.size() > kept)
    std::stable_sort(pending_.begin(), pending_.end(),
                     [](const TaskRecord& a, const TaskRecord& b) {
                       return a.time_ns < b.time_ns;
                     });
  size_t taken = 0;
  while (taken < pending_.size() && pending_[taken].time_ns <= up_to_ns)
    model_.Apply(pending_[taken++]);
  pending_.erase(pending_.begin(),
                 pending_.begin() + static_cast<ptrdiff_t>(taken));
  if (pending_.empty()) world_.ForgetForeseen();
  if (cpu_lost > 0)
    NoteLoss(cpu_lost, now_ns, "CPU times of threads that have ended");
  if (lost > 0) {
    NoteLoss(lost, now_ns, "records of forks, execs and exits");
    scan_.AddMissing(now_ns);
  }
  model_.Settle(now_ns);
  last_drain_ns_ = now_ns;
}

void PerfTree::NoteLoss(uint64_t count, int64_t now_ns, const char* detail) {
  const bool same =
      loss_handle_ &&
      (loss_rows_ >= kMostLossRows ||
       (loss_.detail == detail && last_drain_ns_ - loss_.to_ns < kSameLossNs));
  if (!same) {
    loss_ = {"perf-lost", detail, 0, last_drain_ns_, now_ns};
    loss_handle_ = out_.AddLoss(loss_);
    ++loss_rows_;
  }
  loss_.count += count;
  loss_.to_ns = std::max(loss_.to_ns, now_ns);
  out_.UpdateLoss(*loss_handle_, loss_);
}

// Ends processes that are not there any more though no record said so: what
// the kernel loses must not live for ever. Twice missing is gone, for the
// record may be on its way.
void PerfTree::CheckAlive(int64_t now_ns) {
  std::vector<uint32_t> missing;
  for (const auto& [number, live] : model_.live()) {
    if (number != 1 && ::kill(live.pid, 0) != 0 && errno == ESRCH)
      missing.push_back(number);
  }
  for (const uint32_t number : missing)
    if (std::find(missing_.begin(), missing_.end(), number) != missing_.end())
      model_.Vanished(number, now_ns);
  missing_ = std::move(missing);
}

void PerfTree::RootEnded(int64_t now_ns, int wait_status, const rusage&) {
  Drain(now_ns, INT64_MAX);
  int64_t cpu_ns = -1;
  uint64_t count = 0;
  if (own_cpu_.valid() &&
      ::read(own_cpu_.get(), &count, sizeof(count)) == sizeof(count))
    cpu_ns = own_cpu_before_ns_ + static_cast<int64_t>(count);
  model_.RootEnded(now_ns, wait_status, cpu_ns);
}

void PerfTree::Stop(int64_t now_ns) {
  Drain(now_ns, INT64_MAX);
  if (model_.detached_execs() > 0) scan_.Scan(now_ns);
  CheckAlive(now_ns);
  CheckAlive(now_ns);
  model_.Finish(now_ns);
}

std::vector<NotCollected> PerfTree::not_collected() const {
  std::vector<NotCollected> out;
  if (cpu_rings_.empty())
    out.push_back(Missing(kCpuAtExitSource, cpu_why_, "ulimit -n 4096"));
  if (const uint64_t n = model_.detached_execs(); n > 0)
    out.push_back(Missing(
        kProcessTreeSource,
        std::to_string(n) +
            " program(s) took other rights by exec, which ends perf's view; "
            "they were followed by looking at /proc",
        "run sonde as root"));
  return out;
}

std::unique_ptr<ProcessTree> ProcessTree::Follow(pid_t root, TraceWriter& out,
                                                 const Options& options) {
  SourceState perf = SourceState::Fails("perf: not asked for", "");
  if (options.use_perf) {
    auto tree = PerfTree::Open(root, out, options);
    if (tree.ok()) return tree.Take();
    perf = ExplainPerf(tree.error());
  }
  return std::make_unique<ProcTree>(root, out, options, perf);
}

}  // namespace sonde
