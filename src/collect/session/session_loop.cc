#include "collect/session/session_loop.h"

#include <sched.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/fd.h"
#include "base/text.h"
#include "base/time.h"
#include "collect/proc/process_files.h"

namespace sonde {
namespace {

constexpr int64_t kNever = INT64_MAX;
constexpr int64_t kPollPauseNs = kNsPerMs;
constexpr int64_t kFlushEveryNs = 240 * kNsPerMs;
// A drain that is due waits so long for a tick.
constexpr int64_t kDrainSlackNs = 5 * kNsPerMs;
constexpr int64_t kStallNs = kNsPerSec;
// Until the tree knows of a process that has just been.
constexpr int64_t kDeferNs = 5 * kNsPerMs;
// Samples of a watch take at most 3 % of a core: they become rarer.
constexpr int64_t kWatchRest = 33;
constexpr int kMaxGenerations = 256;
constexpr uint64_t kSliceNs = 100'000;
// What ended a recording, in the order of SessionLoop::End.
constexpr const char* kEndWords[] = {"command", "time",   "stop file",
                                     "request", "signal", "target gone",
                                     "failure"};

enum class Descent { kYes, kNo, kGone };

// The signals by which people and systems end a program.
bool EndsAProgram(int number) {
  return number == SIGINT || number == SIGTERM || number == SIGHUP ||
         number == SIGQUIT;
}

// Whether `pid` is below `root`, by asking /proc for the parents.
Descent DescendsFrom(pid_t pid, pid_t root) {
  for (int i = 0; i < kMaxGenerations && pid > 1; ++i) {
    const auto text = ReadFile("/proc/" + std::to_string(pid) + "/stat");
    const auto stat = text.ok() ? ParseProcessStat(text.value()) : std::nullopt;
    if (!stat) return i == 0 ? Descent::kGone : Descent::kNo;
    if (stat->ppid == root) return Descent::kYes;
    pid = stat->ppid;
  }
  return Descent::kNo;
}

// What the kernel calls sched_attr; newer C libraries have it, too.
struct SchedulingOf {
  uint32_t size = sizeof(SchedulingOf), policy = 0;
  uint64_t flags = 0;
  int32_t nice = 0;
  uint32_t priority = 0;
  uint64_t slice_ns = 0, deadline_ns = 0, period_ns = 0;
};

// Who asks for the core for a short time gets it sooner where many threads want
// it, and not more of it. Kernels before 6.12 take no notice.
void AskForShortSlices() {
  SchedulingOf own;
  if (::syscall(SYS_sched_getattr, 0, &own, sizeof(own), 0) != 0 ||
      own.policy != SCHED_OTHER)
    return;
  own.slice_ns = kSliceNs;
  ::syscall(SYS_sched_setattr, 0, &own, 0);
}

}  // namespace

SessionLoop::SessionLoop(const SessionOptions& options,
                         std::unique_ptr<Recording> recording, SessionDir dir,
                         const Signals& signals, pid_t root,
                         std::optional<StopFile> stop_file)
    : options_(options),
      recording_(std::move(recording)),
      dir_(std::move(dir)),
      signals_(signals),
      root_(root),
      stop_file_(std::move(stop_file)),
      ticks_(NowNs(), static_cast<int64_t>(1e9 / options.recording.rate_hz)),
      hang_(options.life.hang_ns),
      // At ten ticks a second and fewer, each tick is flushed.
      flush_every_ns_(options.recording.rate_hz <= 10 ? 0 : kFlushEveryNs),
      root_running_(root != 0) {}

Status SessionLoop::Start() {
  epoll_.Reset(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_.valid()) return ErrnoError("epoll", errno);
  timer_.Reset(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  if (!timer_.valid()) return ErrnoError("timerfd", errno);
  TRY_OK(Watch(timer_.get(), EPOLLIN, EPOLL_CTL_ADD));
  TRY_OK(Watch(signals_.fd(), EPOLLIN, EPOLL_CTL_ADD));
  for (int fd : recording_->wake_fds())
    TRY_OK(Watch(fd, EPOLLIN | EPOLLONESHOT, EPOLL_CTL_ADD));
  // What the command says of itself first is not to be taken either.
  if (options_.life.delay_ns > 0)
    recording_->Delay(NowNs(), options_.life.delay_ns);
  TRY(control_, ControlServer::Listen(dir_->fd(), epoll_.get(),
                                      [this](std::string_view request) {
                                        return Answer(request);
                                      }));
  last_tick_ns_ = NowNs();
  return Ok();
}

int SessionLoop::Run() {
  AskForShortSlices();
  // A target can stop us before there was a first sample.
  const int64_t now_ns = NowNs();
  const auto interval_ns =
      static_cast<int64_t>(1e9 / options_.recording.rate_hz);
  if (now_ns - last_tick_ns_ > kStallNs)
    recording_->Stalled(last_tick_ns_, now_ns,
                        (now_ns - last_tick_ns_) / interval_ns);
  last_tick_ns_ = last_poll_ns_ = last_flush_ns_ = now_ns;
  ticks_ = Ticks(last_tick_ns_, interval_ns);
  if (options_.life.delay_ns > 0)
    resume_ns_ = last_tick_ns_ + options_.life.delay_ns;
  if (options_.life.for_ns > 0) end_ns_ = last_tick_ns_ + options_.life.for_ns;
  while (!Finished()) {
    Arm(NextDeadline());
    std::array<epoll_event, 64> events;
    const int n = ::epoll_wait(epoll_.get(), events.data(), events.size(), -1);
    for (int i = 0; i < n; ++i)
      Dispatch(events[static_cast<size_t>(i)].data.fd);
    if (recording_)
      Work(NowNs());
    else
      PassOnDeferred(NowNs());
    if (root_changed_) CheckRoot();
    if (!recording_) CloseSession();
  }
  if (recording_)
    if (const Status status = EndRecording(End::kCommand); !status.ok())
      options_.on_failure(status.error());
  CloseSession();
  return wait_status_;
}

bool SessionLoop::Finished() const {
  if (root_ == 0) return !recording_;
  if (root_running_) return false;
  return !options_.wait_tree || stop_waiting_ || !recording_ ||
         !recording_->DescendantsLive();
}

Status SessionLoop::Watch(int fd, uint32_t events, int how) {
  epoll_event event = {};
  event.events = events;
  event.data.fd = fd;
  if (::epoll_ctl(epoll_.get(), how, fd, &event) != 0)
    return ErrnoError("epoll", errno);
  return Ok();
}

// Wakes us for looks that are due at once.
void SessionLoop::WatchLooks() {
  std::vector<int> fds = recording_->look_fds();
  if (fds == look_fds_) return;
  for (const int fd : look_fds_) (void)Watch(fd, 0, EPOLL_CTL_DEL);
  for (const int fd : fds) (void)Watch(fd, EPOLLIN | EPOLLET, EPOLL_CTL_ADD);
  look_fds_ = std::move(fds);
}

int64_t SessionLoop::NextDeadline() const {
  if (!recording_) return kNever;
  int64_t next = std::min({ticks_.next_ns(), last_flush_ns_ + kFlushEveryNs,
                           recording_->next_drain_ns() + kDrainSlackNs,
                           recording_->next_look_ns(), resume_ns_, end_ns_});
  if (!woken_.empty()) next = std::min(next, last_poll_ns_ + kPollPauseNs);
  if (!deferred_.empty()) next = std::min(next, deferred_.front().first);
  return next;
}

void SessionLoop::Arm(int64_t deadline_ns) {
  if (deadline_ns == armed_ns_) return;
  armed_ns_ = deadline_ns;
  itimerspec when = {};  // all zero disarms
  if (deadline_ns != kNever) {
    when.it_value.tv_sec = deadline_ns / kNsPerSec;
    when.it_value.tv_nsec = deadline_ns % kNsPerSec;
  }
  // Setting the timer also takes back an expiry nobody has read.
  ::timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &when, nullptr);
}

void SessionLoop::Dispatch(int fd) {
  if (fd == signals_.fd()) {
    TakeSignals();
  } else if (fd == timer_.get()) {
    armed_ns_ = 0;
  } else if (std::find(look_fds_.begin(), look_fds_.end(), fd) !=
             look_fds_.end()) {
    look_now_ = true;
  } else if (!control_ || !control_->Serve(fd)) {
    woken_.push_back(fd);
  }
}

void SessionLoop::TakeSignals() {
  signalfd_siginfo info;
  while (signals_.Next(info)) {
    if (info.ssi_signo == SIGCHLD) {
      root_changed_ = true;
      continue;
    }
    if (root_ == 0) {
      told_to_end_ |= EndsAProgram(static_cast<int>(info.ssi_signo));
      continue;
    }
    if (!root_running_) {
      // Only descendants are waited for, and somebody has had enough of it.
      stop_waiting_ = true;
      continue;
    }
    if (MeantForTheCommand(info)) PassOn(info);
  }
}

// `kill 0` in the target reaches us as well; it must not come back.
void SessionLoop::PassOn(const signalfd_siginfo& info) {
  const pid_t sender = static_cast<pid_t>(info.ssi_pid);
  if (sender == root_ || (recording_ && recording_->Contains(sender))) return;
  const Descent descent = DescendsFrom(sender, root_);
  if (descent == Descent::kYes) return;
  if (descent == Descent::kGone && recording_ && sender > 0)
    deferred_.push_back({NowNs() + kDeferNs, info});
  else
    ::kill(root_, static_cast<int>(info.ssi_signo));
}

void SessionLoop::PassOnDeferred(int64_t now_ns) {
  std::erase_if(deferred_, [&](const auto& one) {
    if (recording_ && now_ns < one.first) return false;
    const pid_t sender = static_cast<pid_t>(one.second.ssi_pid);
    const bool ours = recording_ && (recording_->Contains(sender) ||
                                     recording_->EndedLately(sender));
    if (!ours && root_running_)
      ::kill(root_, static_cast<int>(one.second.ssi_signo));
    return true;
  });
}

void SessionLoop::Work(int64_t now_ns) {
  // First: what is looked at runs on.
  if (std::exchange(look_now_, false)) recording_->LookNow(now_ns);
  if (!woken_.empty() && now_ns >= last_poll_ns_ + kPollPauseNs)
    PollTree(now_ns);
  if (!deferred_.empty() && now_ns >= deferred_.front().first) {
    PollTree(now_ns);
    PassOnDeferred(now_ns);
  }
  CheckLife(now_ns);
  if (!recording_) return;
  const bool tick = ticks_.Due(now_ns);
  // With the tick, if there is one about now: one wake-up serves all.
  if (now_ns >= recording_->next_drain_ns() - (tick ? kDrainSlackNs : 0))
    recording_->Drain(now_ns);
  if (now_ns >= recording_->next_look_ns()) recording_->Look(now_ns);
  if (tick) TakeTick(now_ns);
  if (now_ns - last_flush_ns_ >= kFlushEveryNs) {
    WatchLooks();
    recording_->Flush(now_ns);
    last_flush_ns_ = now_ns;
  }
  if (!recording_->failure()) return;
  const Error error = *recording_->failure();
  (void)EndRecording(End::kFailure);
  options_.on_failure(error);
}

void SessionLoop::PollTree(int64_t now_ns) {
  recording_->Poll(now_ns);
  last_poll_ns_ = now_ns;
  for (int fd : woken_) (void)Watch(fd, EPOLLIN | EPOLLONESHOT, EPOLL_CTL_MOD);
  woken_.clear();
}

void SessionLoop::LookForHang(int64_t now_ns) {
  if (recording_->paused()) return hang_.StartOver();
  if (!hang_.Add(now_ns, recording_->used()) || !options_.on_hang) return;
  options_.on_hang(recording_->pids());
  // That takes longer than a tick.
  ticks_.RestUntil(NowNs());
}

void SessionLoop::TakeTick(int64_t now_ns) {
  const int64_t late_ns = now_ns - ticks_.next_ns();
  const int64_t missed = ticks_.Take(now_ns);
  if (late_ns > kStallNs) recording_->Stalled(last_tick_ns_, now_ns, missed);
  const int64_t before_ns = ClockNs(CLOCK_THREAD_CPUTIME_ID);
  recording_->Tick(now_ns);
  WatchLooks();
  LookForHang(now_ns);
  // A machine may have any number of processes.
  if (root_ == 0)
    ticks_.RestUntil(now_ns + (ClockNs(CLOCK_THREAD_CPUTIME_ID) - before_ns) *
                                  kWatchRest);
  last_tick_ns_ = now_ns;
  if (now_ns - last_flush_ns_ < flush_every_ns_) return;
  recording_->Flush(now_ns);
  last_flush_ns_ = now_ns;
}

// Whether it has ended and nobody has waited for it yet.
bool SessionLoop::RootHasEnded() const {
  siginfo_t info = {};
  return root_running_ &&
         ::waitid(P_PID, static_cast<id_t>(root_), &info,
                  WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == root_;
}

void SessionLoop::CheckRoot() {
  root_changed_ = false;
  if (!RootHasEnded()) return;
  // Its last counters can still be read, as long as nobody has waited for it.
  if (recording_) recording_->Tick(NowNs());
  rusage usage = {};
  while (::wait4(root_, &wait_status_, 0, &usage) == -1 && errno == EINTR) {
  }
  root_running_ = false;
  if (recording_) recording_->RootEnded(NowNs(), wait_status_, usage);
}

void SessionLoop::CheckLife(int64_t now_ns) {
  if (now_ns >= resume_ns_) {
    resume_ns_ = kNever;
    recording_->Resume(now_ns);
  }
  const std::optional<End> by = EndDue(now_ns);
  // The end of the command comes first, or its status is not in the trace.
  if (!by || RootHasEnded()) return;
  // The counters of this moment are the last.
  recording_->Tick(now_ns);
  if (const Status status = EndRecording(*by); !status.ok())
    options_.on_failure(status.error());
  else if (root_running_ || root_ == 0)
    options_.on_ended(Explain(*by));
}

std::optional<SessionLoop::End> SessionLoop::EndDue(int64_t now_ns) const {
  if (told_to_end_) return End::kSignal;
  if (now_ns >= end_ns_) return End::kTime;
  if (!ticks_.Due(now_ns)) return std::nullopt;
  if (stop_file_ && stop_file_->Appeared()) return End::kStopFile;
  if (recording_->TargetGone()) return End::kTarget;
  return std::nullopt;
}

std::string SessionLoop::Explain(End by) const {
  switch (by) {
    case End::kTime:
      return "after " + FormatDuration(options_.life.for_ns);
    case End::kStopFile:
      return Printable(options_.life.stop_file) + " appeared";
    case End::kTarget:
      return NameOf(options_.recording) + " is gone";
    default:
      return "as told";
  }
}

Status SessionLoop::EndRecording(End by) {
  // What we still had to read then is not the command's time.
  const int64_t now_ns = NowNs();
  // There will be no tick that tells of those missed since the last one.
  if (now_ns - ticks_.next_ns() > kStallNs)
    recording_->Stalled(last_tick_ns_, now_ns, ticks_.Take(now_ns));
  const bool over = root_ != 0 && !root_running_ && !options_.wait_tree;
  static_assert(std::size(kEndWords) == static_cast<size_t>(End::kFailure) + 1);
  const Status status =
      recording_->End(now_ns, over ? recording_->root_ended_ns() : now_ns,
                      kEndWords[static_cast<size_t>(by)]);
  recording_.reset();
  resume_ns_ = end_ns_ = kNever;
  woken_.clear();
  look_fds_.clear();
  look_now_ = false;
  return status;
}

void SessionLoop::CloseSession() {
  control_.reset();
  if (dir_ && !dir_->Remove()) options_.on_left(dir_->path());
  dir_.reset();
}

std::string SessionLoop::Answer(std::string_view request) {
  const int64_t now_ns = NowNs();
  if (!recording_) return "error the recording has ended";
  const size_t space = request.find(' ');
  const std::string_view verb = request.substr(0, space);
  const std::string_view text =
      space == std::string_view::npos ? "" : request.substr(space + 1);
  if (verb == "status") return "ok " + DescribeStatus();
  if (verb == "pause")
    return recording_->Pause(now_ns) ? "ok" : "error it is paused already";
  if (verb == "resume") {
    resume_ns_ = kNever;
    return recording_->Resume(now_ns) ? "ok" : "error it is not paused";
  }
  if (verb == "mark") {
    recording_->Mark(now_ns, text);
    recording_->Flush(now_ns);
    return "ok";
  }
  if (verb == "stop") {
    const Status status = EndRecording(End::kRequest);
    return status.ok() ? "ok" : "error " + status.error().what;
  }
  return "error no such request";
}

std::string SessionLoop::DescribeStatus() const {
  const nlohmann::json json = {
      {"state", resume_ns_ != kNever   ? "waiting"
                : recording_->paused() ? "paused"
                                       : "recording"},
      {"pid", ::getpid()},
      {"command", NameOf(options_.recording)},
      {"trace", options_.trace},
      {"elapsed_ns", NowNs() - recording_->started_ns()},
      {"processes", recording_->processes()},
      {"trace_bytes", recording_->bytes()}};
  return json.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

}  // namespace sonde
