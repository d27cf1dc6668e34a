// lock_bound: do threads wait for a lock that one of them holds?
//
// Evidence, in one of three forms:
//  - of Python: at least two threads waited in the same line for a lock, each
//    for kMinWaited of the time, in no other line of that function (kThere),
//    but ran in others (kMostRanThere): threads that wait for the interpreter's
//    lock do so where they run. Some thread was in the function, at work or
//    waiting for a device, for kMinHeld of the time: it holds the lock. Not two
//    at a time: such threads wait for something else, as a queue;
//  - of native code: at least two threads waited in one line for a mutex
//    (IsMutex), each for kMinWaitedEach and all together for kMinWaited of the
//    time, and the process used kMostCores at most. That they are ready at
//    times without getting a core, beside others, gives them no more of it;
//  - where the lines at which threads sleep are not known: the threads work
//    one at a time, most were seen asleep waiting for a thread
//    (one_core_turns.h), there are kFewestThreads of them, and all do the same
//    work: what takes turns at different work is a chain, which one_core_bound
//    speaks of.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>

#include "analyze/facts/steady.h"
#include "analyze/rules/lock_waits.h"
#include "analyze/rules/one_core_turns.h"
#include "analyze/rules/rules.h"
#include "analyze/rules/weigh.h"
#include "base/text.h"

namespace sonde {
namespace {

constexpr double kMinWaited = 0.3;  // of the time, each
constexpr double kThere = 0.9;      // of the waiting in that function
// Of what ran in that function. Time is counted at the line where a look finds
// the thread, it may be after the lock was given back.
constexpr double kMostRanThere = 0.6;
constexpr double kMinHeld = 0.4;
constexpr double kMostHeld = 1.1;  // more is held by two, and no lock
constexpr double kMinWaitedEach = 0.1;
constexpr double kMostCores = 1.4;
constexpr size_t kFewestThreads = 3;
constexpr double kSameThreads = 0.75;  // of those that work
constexpr double kSameShare = 0.3;     // of their time

constexpr char kAdvice[] =
    "Hold the lock for less time: do the work before taking it, and under it "
    "only what must be there (put the result into place). Divide what it "
    "guards, one lock for each part, or give each thread its own and join the "
    "parts at the end.";

void PutPlace(const CodeLine& at, Finding& f) {
  f.where.function = at.function;
  f.where.file = at.file;
  f.where.line = at.line;
}

std::optional<Finding> OfPython(const Case& about, const ProcessFacts& p) {
  const Facts& facts = about.facts();
  const std::optional<LockWait> wait = LongestLockWait(facts, p.row.number);
  const double wall = static_cast<double>(
      std::max<int64_t>(1, std::min(p.wall_ns, facts.run.sampled_ns)));
  if (!wait || wait->threads < 2 ||
      wait->ns < kMinWaited * wall * static_cast<double>(wait->threads))
    return std::nullopt;
  const LockHeld held = HeldBeside(facts, p.row.number, wait->at);
  const double held_ns = held.held_ns + held.ran_there_ns;
  if (wait->ns < kThere * wait->function_ns ||
      held.ran_there_ns >
          kMostRanThere * (held.ran_there_ns + held.ran_beside_ns) ||
      held_ns < kMinHeld * wall || held_ns > kMostHeld * wall)
    return std::nullopt;
  const double each =
      std::min(1.0, wait->ns / wall / static_cast<double>(wait->threads));
  Finding f = FindingIn(about.steady().from_ns, about.steady().to_ns);
  PutWhere(f, p);
  f.summary = fmt::format(
      "Limited by a lock: {} threads of {} wait {} of the time for it, in {}, "
      "while one holds it in {}.",
      wait->threads, CallProcess(p), FormatShare(each), CallLine(wait->at),
      CallLine(held.holder));
  SayOfRun(f, facts,
           fmt::format("The threads waited {} together in {}.",
                       FormatDuration(static_cast<int64_t>(wait->ns)),
                       CallLine(wait->at)));
  SayOfRun(f, facts,
           fmt::format("Meanwhile one of them was in {} or beside it for {} of "
                       "the time.",
                       CallLine(held.holder),
                       FormatShare(std::min(1.0, held_ns / wall))));
  PutPlace(held.holder, f);
  PutNumber(f, "waiting_threads", static_cast<double>(wait->threads),
            Unit::kCount);
  PutNumber(f, "waited", each, Unit::kShare);
  PutNumber(f, "held", std::min(1.0, held_ns / wall), Unit::kShare);
  f.advice = kAdvice;
  f.confidence = 0.9;
  return f;
}

// Whether a function does nothing but wait for a lock that another thread
// holds. Waiting for a condition is another matter: that may be work to come.
bool IsMutex(std::string_view function) {
  for (const std::string_view word :
       {"mutex_lock", "mutex_timedlock", "lll_lock_wait", "rwlock_rdlock",
        "rwlock_wrlock", "Mutex::lock", "RwLock::read", "RwLock::write"})
    if (function.find(word) != std::string_view::npos) return true;
  return false;
}

struct MutexWait {
  CodeLine at;
  double ns = 0;  // of all threads
  std::set<uint32_t> threads;
};

// The longest of each process, all threads together.
std::map<uint32_t, MutexWait> LongestMutexWaits(const Facts& facts) {
  using Line = std::tuple<uint32_t, std::string, std::string, uint32_t>;
  std::map<Line, MutexWait> lines;
  for (const WaitFacts& wait : facts.code.waits) {
    if (wait.kind != WaitKind::kLock || !wait.own.known() ||
        !(IsMutex(wait.own.function) || IsMutex(wait.library.function)))
      continue;
    MutexWait& sum =
        lines[{wait.process, wait.own.function, wait.own.file, wait.own.line}];
    sum.at = wait.own;
    sum.ns += static_cast<double>(wait.ns);
    sum.threads.insert(wait.thread);
  }
  std::map<uint32_t, MutexWait> out;
  for (auto& [line, sum] : lines)
    if (MutexWait& best = out[std::get<0>(line)]; sum.ns > best.ns)
      best = std::move(sum);
  return out;
}

std::optional<Finding> OfMutex(const Case& about, const ProcessFacts& p,
                               const MutexWait& wait) {
  const Facts& facts = about.facts();
  const double wall = static_cast<double>(
      std::max<int64_t>(1, std::min(p.wall_ns, facts.run.sampled_ns)));
  const auto threads = static_cast<double>(wait.threads.size());
  const double cores = static_cast<double>(p.cpu_ns.value_or(0)) / wall;
  if (*facts.run.capacity_cores < 1 + kMinFreeCores || threads < 2 ||
      wait.ns < kMinWaitedEach * wall * threads ||
      wait.ns < kMinWaited * wall || !p.cpu_ns || cores > kMostCores)
    return std::nullopt;
  const double each = std::min(1.0, wait.ns / wall / threads);
  Finding f = FindingIn(about.steady().from_ns, about.steady().to_ns);
  PutWhere(f, p);
  f.summary = fmt::format(
      "Limited by a lock: {} threads of {} wait for it {} of the time each, in "
      "{}, and together use {:.2f} cores.",
      wait.threads.size(), CallProcess(p), FormatShare(each), CallLine(wait.at),
      cores);
  SayOfRun(f, facts,
           fmt::format("The threads waited {} together in {}.",
                       FormatDuration(static_cast<int64_t>(wait.ns)),
                       CallLine(wait.at)));
  PutPlace(wait.at, f);
  PutNumber(f, "waiting_threads", threads, Unit::kCount);
  PutNumber(f, "waited", each, Unit::kShare);
  PutNumber(f, "own_cores", cores, Unit::kCores);
  f.advice = kAdvice;
  f.confidence = 0.8;
  return f;
}

std::optional<Finding> OfThreads(const Case& about) {
  const Facts& facts = about.facts();
  const CoreJudge judge{facts, about.steady(), about.series(),
                        *facts.run.capacity_cores};
  if (judge.capacity < 1 + kMinFreeCores) return std::nullopt;
  const std::optional<Chain> chain = ChainOf(judge);
  if (!chain || chain->process == nullptr || !chain->asleep ||
      chain->threads < kFewestThreads || IsPython(*chain->process))
    return std::nullopt;
  const ProcessFacts& p = *chain->process;
  const std::optional<SameWork> same = SameWorkOf(facts, p.row.number);
  if (!same || same->share < kSameShare ||
      static_cast<double>(same->threads) <
          kSameThreads * static_cast<double>(chain->threads))
    return std::nullopt;
  Finding f = FindingIn(about.steady().from_ns, about.steady().to_ns);
  PutWhere(f, p);
  f.summary = fmt::format(
      "Limited by a lock: one of {} threads of {} works at a time, in {}, "
      "while "
      "the others wait for it.",
      chain->threads, CallProcess(p), CallLine(same->at));
  Say(f, fmt::format("All threads together used {:.2f} cores for {:.0f} % of "
                     "the steady time.",
                     chain->used, chain->time * 100));
  SayOfRun(f, facts,
           fmt::format("{} of the threads were last seen asleep waiting for a "
                       "lock or another thread (futex).",
                       chain->waiting));
  SayOfRun(
      f, facts,
      fmt::format("{} threads do the same: {} of their CPU time was in {}.",
                  same->threads, FormatShare(std::min(1.0, same->share)),
                  CallLine(same->at)));
  PutPlace(same->at, f);
  PutTime(f, chain->time);
  PutNumber(f, "waiting_threads", static_cast<double>(chain->waiting),
            Unit::kCount);
  PutNumber(f, "own_cores", chain->used, Unit::kCores);
  f.advice = kAdvice;
  f.confidence = SureOf(chain->time, 0.8);
  return f;
}

}  // namespace

Outcome LockBound(const Case& about) {
  for (const ProcessFacts& p : about.facts().processes)
    if (IsPython(p))
      if (std::optional<Finding> found = OfPython(about, p))
        return {{std::move(*found)}, ""};
  if (std::optional<Finding> found = OfThreads(about))
    return {{std::move(*found)}, ""};
  const std::map<uint32_t, MutexWait> waits = LongestMutexWaits(about.facts());
  for (const ProcessFacts& p : about.facts().processes)
    if (const auto wait = waits.find(p.row.number); wait != waits.end())
      if (std::optional<Finding> found = OfMutex(about, p, wait->second))
        return {{std::move(*found)}, ""};
  return {};
}

}  // namespace sonde
