#include "analyze/facts/sleepers.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_set>

#include "analyze/facts/steady.h"

namespace sonde {
namespace {

constexpr std::string_view kThread = "for a lock or another thread (futex)";

// System calls that threads sleep in, by their numbers on x86-64 and arm64; -1:
// there is none of this name.
struct SleepCall {
  int x86_64, arm64;
  std::string_view wait;
};
constexpr SleepCall kCalls[] = {
    {202, 98, kThread},
    {449, 449, kThread},
    {0, 63, "for data (read)"},
    {17, 67, "for data (pread64)"},
    {19, 65, "for data (readv)"},
    {45, 207, "for data from a socket (recvfrom)"},
    {47, 212, "for data from a socket (recvmsg)"},
    {43, 202, "for a connection (accept)"},
    {288, 242, "for a connection (accept4)"},
    {42, 203, "to be connected (connect)"},
    {1, 64, "until it could write (write)"},
    {20, 66, "until it could write (writev)"},
    {44, 206, "until it could send (sendto)"},
    {46, 211, "until it could send (sendmsg)"},
    {7, -1, "for an event (poll)"},
    {271, 73, "for an event (ppoll)"},
    {23, -1, "for an event (select)"},
    {270, 72, "for an event (pselect6)"},
    {232, -1, "for an event (epoll_wait)"},
    {281, 22, "for an event (epoll_pwait)"},
    {441, 441, "for an event (epoll_pwait2)"},
    {426, 426, "for an event (io_uring_enter)"},
    {61, 260, "for a process it started (wait4)"},
    {247, 95, "for a process it started (waitid)"},
    {35, 101, "for a time to pass (nanosleep)"},
    {230, 115, "for a time to pass (clock_nanosleep)"},
    {34, -1, "for a signal (pause)"},
    {128, 137, "for a signal (rt_sigtimedwait)"},
    {130, 133, "for a signal (rt_sigsuspend)"},
    {72, 25, "for the lock of a file (fcntl)"},
    {73, 32, "for the lock of a file (flock)"},
    {65, 193, "for a semaphore (semop)"},
    {70, 188, "for a message (msgrcv)"},
    {74, 82, "until data was on the disk (fsync)"},
    {75, 83, "until data was on the disk (fdatasync)"},
};

bool LivedAt(int64_t start_ns, int64_t end_ns, int64_t at_ns) {
  return (start_ns == kNoTime || start_ns <= at_ns) &&
         (end_ns == kNoTime || end_ns >= at_ns);
}

// "The main thread, thread 101, thread 102 and 4 more of python3 train.py". The
// main thread comes first where it is one of them.
std::string CallThreads(const ProcessFacts& process, bool with_main,
                        const std::vector<int32_t>& others) {
  constexpr size_t kMostNamed = 3;
  std::vector<std::string> names;
  if (with_main) names.emplace_back("the main thread");
  for (const int32_t tid : others)
    if (names.size() < kMostNamed)
      names.push_back(fmt::format("thread {}", tid));
  const size_t more = others.size() + (with_main ? 1 : 0) - names.size();
  if (more > 0) names.push_back(fmt::format("{} more", more));
  std::string out;
  for (size_t i = 0; i < names.size(); ++i)
    out += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  out[0] = 'T';
  return fmt::format("{} of {}", out, CallProcess(process));
}

// Tells wrappers from the programs that they wrap. Keeps a reference.
class Wrappers {
 public:
  Wrappers(const Facts& facts, int64_t at_ns) : facts_(facts) {
    for (const ProcessFacts& p : facts.processes)
      if (LivedAt(p.row.start_ns, p.row.end_ns, at_ns))
        parents_.insert(p.row.parent);
  }

  // It has a child, and only waits for it, or for a signal that tells of its
  // end.
  bool Has(const ProcessFacts& process) const {
    const std::string processor = facts_.store->Meta("syscalls");
    return parents_.contains(process.row.number) &&
           std::all_of(process.threads.begin(), process.threads.end(),
                       [&](const ThreadFacts& t) {
                         if (!t.sleeps_in) return true;
                         const std::string_view wait =
                             CallWait(processor, *t.sleeps_in);
                         return wait.starts_with("for a process") ||
                                wait.starts_with("for a signal");
                       });
  }

 private:
  const Facts& facts_;
  std::unordered_set<uint32_t> parents_;
};

// What each thread of the process waited for, as sentences.
void AddSleepers(const Facts& facts, const ProcessFacts& process, int64_t at_ns,
                 std::vector<std::string>& out) {
  struct Waiters {
    bool main = false;
    std::vector<int32_t> others;
  };
  const std::string processor = facts.store->Meta("syscalls");
  std::map<std::string_view, Waiters> by_wait;
  for (const ThreadFacts& t : process.threads) {
    if (!t.sleeps_in || !LivedAt(t.row.start_ns, t.row.end_ns, at_ns)) continue;
    const std::string_view wait = CallWait(processor, *t.sleeps_in);
    if (wait.empty()) continue;
    if (t.row.tid == process.row.pid)
      by_wait[wait].main = true;
    else
      by_wait[wait].others.push_back(t.row.tid);
  }
  for (const bool of_main : {true, false})
    for (const auto& [wait, who] : by_wait)
      if (who.main == of_main)
        out.push_back(fmt::format(
            "{} waited {}.", CallThreads(process, of_main, who.others), wait));
}

}  // namespace

std::string_view CallWait(std::string_view processor, double number) {
  const bool arm64 = processor == "arm64";
  for (const SleepCall& call : kCalls)
    if (const int own = arm64 ? call.arm64 : call.x86_64;
        own >= 0 && number == own)
      return call.wait;
  return "";
}

bool WaitsForThread(const Store& store, const ThreadFacts& thread) {
  return thread.sleeps_in &&
         CallWait(store.Meta("syscalls"), *thread.sleeps_in) == kThread;
}

bool WaitsToBeAsked(const Facts& facts, int64_t at_ns) {
  const std::string processor = facts.store->Meta("syscalls");
  bool any = false;
  for (const ProcessFacts& p : facts.processes)
    for (const ThreadFacts& t : p.threads) {
      if (!t.sleeps_in || !LivedAt(t.row.start_ns, t.row.end_ns, at_ns))
        continue;
      const std::string_view wait = CallWait(processor, *t.sleeps_in);
      if (!wait.starts_with("for an event") &&
          !wait.starts_with("for a connection") &&
          !wait.starts_with("for a signal") && !wait.starts_with("for a time"))
        return false;
      any = true;
    }
  return any;
}

bool WaitsForItself(const Facts& facts, int64_t at_ns) {
  const std::string processor = facts.store->Meta("syscalls");
  const Wrappers wrappers(facts, at_ns);
  bool any = false;
  for (const ProcessFacts& p : facts.processes) {
    if (wrappers.Has(p)) continue;
    for (const ThreadFacts& t : p.threads) {
      if (!t.sleeps_in || !LivedAt(t.row.start_ns, t.row.end_ns, at_ns))
        continue;
      if (CallWait(processor, *t.sleeps_in) != kThread) return false;
      any = true;
    }
  }
  return any;
}

std::vector<std::string> SleepersAt(const Facts& facts, int64_t at_ns,
                                    size_t most) {
  std::vector<std::string> out;
  const Wrappers wrappers(facts, at_ns);
  for (const bool wrapper : {false, true})
    for (const ProcessFacts& p : facts.processes)
      if (out.size() < most && LivedAt(p.row.start_ns, p.row.end_ns, at_ns) &&
          wrappers.Has(p) == wrapper)
        AddSleepers(facts, p, at_ns, out);
  if (out.size() > most) out.resize(most);
  return out;
}

}  // namespace sonde
