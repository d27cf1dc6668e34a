#include "collect/sample/watched_thread.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/time.h"

namespace sonde {
namespace {

// On the stack: looks are many.
struct Path {
  Path(pid_t pid, pid_t tid, const char* name) {
    *fmt::format_to_n(text, sizeof(text) - 1, "/proc/{}/task/{}/{}", pid, tid,
                      name)
         .out = '\0';
  }
  char text[64];
};

}  // namespace

WatchedThread::WatchedThread(uint32_t number, pid_t pid, pid_t tid,
                             int64_t now_ns)
    : number_(number),
      pid_(pid),
      tid_(tid),
      since_ns_(now_ns),
      asked_ns_(now_ns),
      told_ns_(now_ns) {}

pid_t WatchedThread::own_tid(std::vector<char>& buffer) {
  if (own_tid_ == 0)
    own_tid_ = ParseOwnPid(ReadOnce(Path(pid_, tid_, "status").text, buffer))
                   .value_or(tid_);
  return own_tid_;
}

std::optional<SchedStat> WatchedThread::ReadTimes(FdBudget& budget,
                                                  std::vector<char>& buffer) {
  return ParseSchedStat(schedstat_.Read(
      schedstat_.kept() ? "" : Path(pid_, tid_, "schedstat").text, budget,
      buffer));
}

bool WatchedThread::SleepsYet(FdBudget& budget, std::vector<char>& buffer) {
  const auto now = ReadTimes(budget, buffer);
  return now && now->slices == last_.slices && now->run_ns == last_.run_ns;
}

// Adds what it did since it was last asked. False if it cannot be asked.
bool WatchedThread::Ask(int64_t now_ns, FdBudget& budget,
                        std::vector<char>& buffer, bool& has_run) {
  const auto now = ReadTimes(budget, buffer);
  if (!now) return false;
  has_run =
      !asked_ || now->slices != last_.slices || now->run_ns != last_.run_ns;
  if (asked_) {
    const auto more = [](uint64_t a, uint64_t b) { return b > a ? b - a : 0; };
    const uint64_t ran = more(last_.run_ns, now->run_ns);
    ran_ns_ += ran;
    // The account of one that runs lags behind: what is too much now is taken
    // back later.
    loose_ns_ += now_ns - asked_ns_ -
                 static_cast<int64_t>(ran + more(last_.wait_ns, now->wait_ns));
  }
  asked_ = true;
  last_ = *now;
  asked_ns_ = now_ns;
  return true;
}

WatchedThread::Seen WatchedThread::Look(int64_t now_ns, FdBudget& budget,
                                        std::vector<char>& buffer) {
  bool has_run = true;
  if (!Ask(now_ns, budget, buffer, has_run)) return Seen::kGone;
  if (sleeps_ && !has_run) {
    slept_ns_ += static_cast<uint64_t>(std::max<int64_t>(loose_ns_, 0));
    loose_ns_ = 0;
    return Seen::kStill;
  }
  sleeps_ = false;
  return ReadState(budget, buffer);
}

// The file tells of one that runs, or is ready to, only that; of others the
// system call. Who may read memory may read it.
WatchedThread::Seen WatchedThread::ReadState(FdBudget& budget,
                                             std::vector<char>& buffer) {
  const std::string_view text = syscall_.Read(
      syscall_.kept() ? "" : Path(pid_, tid_, "syscall").text, budget, buffer);
  if (text.empty()) return Seen::kGone;
  if (text.starts_with("running")) return Seen::kRuns;
  at_ = ParseBlockedAt(text).value_or(BlockedAt{});
  at_.call = ParseSyscall(text).value_or(-1);
  return Seen::kSleeps;
}

void WatchedThread::SleepsOn(int64_t now_ns) {
  if (sleeps_)
    slept_ns_ +=
        static_cast<uint64_t>(std::max<int64_t>(now_ns - asked_ns_, 0));
  asked_ns_ = now_ns;
}

void WatchedThread::SleepsAt(uint32_t stack, uint8_t flags) {
  slept_ns_ = static_cast<uint64_t>(std::max<int64_t>(loose_ns_, 0));
  loose_ns_ = 0;
  sleeps_ = true;
  wait_stack_ = stack;
  wait_flags_ = flags;
}

uint64_t WatchedThread::TakeRan() { return std::exchange(ran_ns_, 0); }

uint64_t WatchedThread::TakeSlept(int64_t now_ns) {
  told_ns_ = now_ns;
  return std::exchange(slept_ns_, 0);
}

void WatchedThread::Drop() {
  ran_ns_ = slept_ns_ = 0;
  loose_ns_ = 0;
  sleeps_ = false;
}

void WatchedThread::Close(FdBudget& budget) {
  schedstat_.Close(budget);
  syscall_.Close(budget);
}

}  // namespace sonde
