#include "collect/sample/thread_states.h"

#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>

#include "base/time.h"
#include "collect/proc/process_files.h"

namespace sonde {
namespace {

constexpr int64_t kLookEveryNs = 100 * kNsPerMs;
constexpr int64_t kLongestNs = 2 * kNsPerSec;
constexpr int64_t kStatesShare = 1000;  // at most 1/1000 of the time
constexpr int64_t kMostCreditNs = 2 * kNsPerMs;
// The first look at a process of thousands of threads opens as many files.
// Those that follow cost far less: it need not be paid for in full.
constexpr int64_t kMostDebtNs = 4 * kNsPerMs;
// A thread that runs and sleeps by turns is asked again where it sleeps.
constexpr int64_t kAskAgainNs = 2 * kNsPerSec;
// Sleepers of a process that are asked in one look, 8 us each. To ask thousands
// would use up the credit for many seconds.
constexpr int kMostAsks = 16;

constexpr std::array kSyncCalls = {SYS_fsync,  SYS_fdatasync,
                                   SYS_msync,  SYS_sync,
                                   SYS_syncfs, SYS_sync_file_range};

// What waits here waits for a child's exec, or for a lock of its own process.
constexpr std::array kNoStorageCalls = {
#ifdef SYS_vfork
    SYS_vfork,
#endif
    SYS_clone,    SYS_clone3, SYS_mmap,   SYS_munmap,
    SYS_mprotect, SYS_brk,    SYS_mremap, SYS_madvise};

template <typename List>
bool IsIn(const List& list, int64_t number) {
  return std::find(list.begin(), list.end(), number) != list.end();
}

bool Asleep(char state) { return state == 'S' || state == 'D'; }

}  // namespace

const char* ThreadStates::NumbersOf() {
#if defined(__x86_64__)
  return "x86-64";
#elif defined(__aarch64__)
  return "arm64";
#else
  return "other";
#endif
}

const char* ThreadStates::Path(pid_t pid, pid_t tid, const char* name) {
  path_.clear();
  fmt::format_to(std::back_inserter(path_), "{}/{}/task/{}/{}", proc_, pid, tid,
                 name);
  path_.push_back('\0');
  return path_.data();
}

bool ThreadStates::AtRest(const ProcessState& process) const {
  return process.looks.at_rest && process.cpu_ns == process.looks.cpu_ns;
}

std::span<const StateChange> ThreadStates::Tick(
    int64_t now_ns, int64_t slack_ns, int64_t files_ns,
    std::map<uint32_t, ProcessState>& processes, FdBudget& budget) {
  changes_.clear();
  if (now_ns + slack_ns < next_ns_ || processes.empty()) return {};
  next_ns_ = now_ns + kLookEveryNs;
  now_ns_ = now_ns;
  files_ns_ = files_ns;
  if (last_ns_ == 0) last_ns_ = now_ns - kLookEveryNs;
  credit_ns_ =
      std::min(kMostCreditNs, credit_ns_ + (now_ns - last_ns_) / kStatesShare);
  last_ns_ = now_ns;
  for (auto& [number, process] : processes)
    if (AtRest(process)) process.looks.known_ns = now_ns;
  int64_t clock_ns = ClockNs(CLOCK_THREAD_CPUTIME_ID);
  auto at = processes.upper_bound(last_looked_);
  for (size_t i = 0; i < processes.size() && credit_ns_ > 0; ++i, ++at) {
    if (at == processes.end()) at = processes.begin();
    if (AtRest(at->second)) continue;
    last_looked_ = at->first;
    Look(at->second, budget);
    const int64_t after_ns = ClockNs(CLOCK_THREAD_CPUTIME_ID);
    credit_ns_ = std::max(credit_ns_ - (after_ns - clock_ns), -kMostDebtNs);
    clock_ns = after_ns;
  }
  return changes_;
}

void ThreadStates::Look(ProcessState& process, FdBudget& budget) {
  ProcessLooks& looks = process.looks;
  if (looks.count == 0) looks.first_ns = looks.known_ns = now_ns_;
  since_ns_ = std::clamp<int64_t>(now_ns_ - looks.known_ns, 0, kLongestNs);
  asks_left_ = kMostAsks;
  bool at_rest = true;
  int64_t blocked_ns = 0, sync_ns = 0;
  for (ThreadState& thread : process.threads) {
    const Seen seen = LookAt(process, thread, budget);
    blocked_ns = std::max(blocked_ns, seen.blocked_ns);
    if (seen.wait == Wait::kSync) sync_ns = std::max(sync_ns, seen.blocked_ns);
    // A thread that ran a moment and sleeps again is to be asked in time, for
    // it may sleep elsewhere.
    at_rest &=
        thread.state != 'R' && thread.state != 'D' &&
        (thread.state != 'S' ||
         (thread.asked_ns != 0 && thread.run_ns == thread.asked_run_ns)) &&
        thread.told_blocked_ns == thread.blocked_ns;
  }
  // Threads that were blocked by turns, told late, may add up to more.
  const int64_t most_ns = now_ns_ - looks.first_ns;
  looks.blocked_ns = std::min(looks.blocked_ns + blocked_ns, most_ns);
  looks.sync_ns = std::min(looks.sync_ns + sync_ns, looks.blocked_ns);
  looks.known_ns = now_ns_;
  looks.cpu_ns = process.cpu_ns;
  // Most processes do not live as long as to be worth a series.
  if (++looks.count >= 2)
    Tell(process, nullptr, kBlocked, looks.blocked_ns, looks.told_blocked_ns);
  if (looks.blocked_ns > 0 && looks.calls_read && !looks.denied)
    Tell(process, nullptr, kSync, looks.sync_ns, looks.told_sync_ns);
  // Until its files are read nobody knows which of its threads ran.
  looks.at_rest = at_rest && process.files_cpu_ns == process.cpu_ns &&
                  looks.told_blocked_ns == looks.blocked_ns;
}

// The first value told is 0: a total's growth is seen from its beginning.
void ThreadStates::Tell(ProcessState& process, ThreadState* thread,
                        size_t counter, int64_t value, int64_t& told) {
  if (told == value) return;
  told = told < 0 ? 0 : value;
  changes_.push_back({&process, thread, counter, static_cast<uint64_t>(told)});
}

// False: it has ended.
bool ThreadStates::ReadState(ProcessState& process, ThreadState& thread,
                             FdBudget& budget) {
  if (process.threads.size() == 1 && process.leader_state != 0 &&
      process.files_ns == files_ns_) {
    thread.state = process.leader_state;
    thread.major_faults = process.major_faults;
    return true;
  }
  const auto stat = ParseProcessStat(thread.stat.Read(
      thread.stat.kept() ? "" : Path(process.pid, thread.tid, "stat"), budget,
      buffer_));
  thread.state = stat ? stat->state : 0;
  if (stat) thread.major_faults = stat->major_faults;
  return stat.has_value();
}

ThreadStates::Seen ThreadStates::LookAt(ProcessState& process,
                                        ThreadState& thread, FdBudget& budget) {
  const char before = thread.state;
  const uint64_t faults_before = thread.major_faults;
  const bool rested =
      process.cpu_ns == process.looks.cpu_ns ||
      (process.files_ns == files_ns_ && thread.run_ns != UINT64_MAX &&
       thread.run_ns == thread.looked_run_ns);
  if (!(before == 'S' && rested) && !ReadState(process, thread, budget))
    return {};
  thread.slept_twice = Asleep(before) && Asleep(thread.state);
  Seen seen;
  if (thread.state == 'D')
    seen.wait =
        WhyBlocked(process, thread, thread.major_faults != faults_before);
  else if (thread.slept_twice && WantsCall(thread) && --asks_left_ >= 0)
    AskCall(process, thread);
  const bool blocked = seen.wait == Wait::kStorage || seen.wait == Wait::kSync;
  const int64_t time_ns = TimeBlocked(thread, blocked);
  // What was before the first look is not known.
  if (before == 0) {
    thread.undecided_ns = 0;
    return {};
  }
  seen.blocked_ns = time_ns;
  if (blocked)
    thread.blocked_ns = std::max<int64_t>(0, thread.blocked_ns) + time_ns;
  Tell(process, &thread, kThreadBlocked, thread.blocked_ns,
       thread.told_blocked_ns);
  return seen;
}

// Takes in the time since the last look. Returns what of it, and of the time
// that was undecided until now, the thread was blocked.
int64_t ThreadStates::TimeBlocked(ThreadState& thread, bool blocked) const {
  const bool known =
      thread.run_ns != UINT64_MAX && thread.looked_run_ns != UINT64_MAX;
  const uint64_t busy_ns = thread.run_ns - thread.looked_run_ns +
                           thread.wait_ns - thread.looked_wait_ns;
  thread.looked_run_ns = thread.run_ns;
  thread.looked_wait_ns = thread.wait_ns;
  if (!known) return blocked ? since_ns_ : 0;
  thread.undecided_ns = std::clamp(
      thread.undecided_ns + since_ns_ - static_cast<int64_t>(busy_ns),
      -kLongestNs, kLongestNs);
  if (!Asleep(thread.state)) return 0;
  const int64_t off_ns = std::max<int64_t>(0, thread.undecided_ns);
  thread.undecided_ns -= off_ns;
  return blocked ? off_ns : 0;
}

bool ThreadStates::WantsCall(const ThreadState& thread) const {
  if (thread.state != 'S') return false;
  return thread.asked_ns == 0 || (thread.run_ns != thread.asked_run_ns &&
                                  now_ns_ - thread.asked_ns >= kAskAgainNs);
}

ThreadStates::Wait ThreadStates::WhyBlocked(ProcessState& process,
                                            ThreadState& thread, bool faulted) {
  const auto number = AskCall(process, thread);
  if (!number) return Wait::kStorage;
  if (*number < 0) return faulted ? Wait::kStorage : Wait::kOther;
  if (IsIn(kSyncCalls, *number)) return Wait::kSync;
  return IsIn(kNoStorageCalls, *number) ? Wait::kOther : Wait::kStorage;
}

// The system call a thread is in, -1 if it is in none; nothing if it runs or
// may not be asked.
std::optional<int64_t> ThreadStates::AskCall(ProcessState& process,
                                             ThreadState& thread) {
  thread.asked_ns = now_ns_;
  thread.asked_run_ns = thread.run_ns;
  if (process.looks.denied) return std::nullopt;
  int error = 0;
  const auto number = ParseSyscall(
      ReadOnce(Path(process.pid, thread.tid, "syscall"), buffer_, &error));
  if (error == EACCES || error == EPERM) process.looks.denied = denied_ = true;
  if (!number) return std::nullopt;
  process.looks.calls_read = true;
  if (*number >= 0 && *number != thread.sleeps_in) {
    thread.sleeps_in = *number;
    changes_.push_back(
        {&process, &thread, kThreadSleepsIn, static_cast<uint64_t>(*number)});
  }
  return number;
}

}  // namespace sonde
