// waiting: does the program wait most of the time, or much of it for the disk,
// and where?
//
// Evidence: the program used less than kWaitingCores, and samples of its
// threads tell where one of them slept for at least kMostOfTheTime of the time:
// the main thread of the process that worked most, of those whose stacks could
// be read; one that waits for a process it started only if there is no other.
// Or that thread waited for kMinDisk of the time until data was on the disk,
// however much the program worked meanwhile.
// Silent where another rule has found something: that says why; and
// where nothing is known of the place at which it slept longest.

#include <fmt/format.h>

#include <algorithm>

#include "analyze/facts/steady.h"
#include "analyze/rules/case.h"
#include "analyze/rules/rules.h"
#include "analyze/rules/weigh.h"
#include "base/text.h"

namespace sonde {
namespace {

constexpr double kSure = 0.9;
constexpr double kMinDisk = 0.25;
constexpr size_t kMostPlaces = 3;
constexpr double kWorthAWord = 0.05;  // of the time

const char* AdviceOn(WaitKind kind) {
  switch (kind) {
    case WaitKind::kSleep:
      return "The program sleeps by itself. Wait for what it waits for (an "
             "event, a file, an answer) instead of a time, or sleep for less.";
    case WaitKind::kSocket:
      return "The other end is slow to answer. Ask for several things at the "
             "same time (threads, asyncio), ask for more at once, keep "
             "connections open, and keep answers that are needed again.";
    case WaitKind::kQueue:
      return "Whoever fills the queue is slower than this thread. Start more "
             "of them, let them work ahead (a longer queue, prefetch), or make "
             "their work less: look at what they do meanwhile.";
    case WaitKind::kThread:
      return "The thread has nothing to do until another one is done: look at "
             "what that one does meanwhile, and divide its work.";
    case WaitKind::kChild:
      return "The program waits for the process it started. Look at what that "
             "one does, or start several at the same time.";
    case WaitKind::kFile:
      return "Read ahead or write in the background (a thread, a larger "
             "buffer) while the program computes; if it is a pipe, the process "
             "at its other end is slower than this one.";
    case WaitKind::kDisk:
      return "Call fsync less often, or in a thread of its own: the program "
             "stands still until the disk has all data.";
    case WaitKind::kLock:
      return "Hold the lock for less time, or divide what it guards. `sonde "
             "stacks PID` shows, while it runs, where the thread is that holds "
             "it.";
    case WaitKind::kEvent:
      return "Nothing came that the program could work on: whoever sends it "
             "work is slower, or idle, or a time that the program has set is "
             "not over.";
    case WaitKind::kOther:
      break;
  }
  return "Look at the line above: more or faster cores will not help.";
}

double ShareOf(const Facts& facts, const WaitFacts& wait) {
  return std::min(1.0,
                  static_cast<double>(wait.ns) /
                      std::max(1.0, static_cast<double>(facts.run.sampled_ns)));
}

// Whose waits are the program's: see above. Null if nobody's are known.
const ThreadFacts* WhoWaits(const Facts& facts, const ProcessFacts** process) {
  const ThreadFacts* parent = nullptr;
  for (const ProcessFacts& p : facts.processes) {
    const auto longest =
        std::find_if(facts.code.waits.begin(), facts.code.waits.end(),
                     [&](const WaitFacts& wait) {
                       return wait.process == p.row.number && wait.own.known();
                     });
    if (longest == facts.code.waits.end()) continue;
    const auto main = std::find_if(
        p.threads.begin(), p.threads.end(),
        [&](const ThreadFacts& t) { return t.row.tid == p.row.pid; });
    if (main == p.threads.end()) continue;
    const bool waits_for_child = longest->kind == WaitKind::kChild;
    if (waits_for_child && parent != nullptr) continue;
    *process = &p;
    if (!waits_for_child) return &*main;
    parent = &*main;
  }
  return parent;
}

}  // namespace

Outcome Waiting(const Case& about) {
  const Facts& facts = about.facts();
  if (!facts.judged.cores_used || about.AcceleratorsWellUsed() ||
      facts.code.waits.empty())
    return {};
  const ProcessFacts* process = nullptr;
  const ThreadFacts* const thread = WhoWaits(facts, &process);
  if (thread == nullptr) return {};
  double all = 0, disk = 0;
  std::vector<const WaitFacts*> waits;
  for (const WaitFacts& wait : facts.code.waits)
    if (wait.thread == thread->row.number) {
      all += ShareOf(facts, wait);
      if (wait.kind == WaitKind::kDisk) disk += ShareOf(facts, wait);
      waits.push_back(&wait);
    }
  const bool mostly =
      *facts.judged.cores_used < kWaitingCores && all >= kMostOfTheTime;
  if (!mostly && disk < kMinDisk) return {};
  if (!mostly)
    std::stable_partition(waits.begin(), waits.end(), [](const WaitFacts* one) {
      return one->kind == WaitKind::kDisk;
    });
  for (const Rule& rule : Rules())
    if (rule.run != Waiting && !about.Of(rule.run).findings.empty()) return {};

  const WaitFacts& top = *waits[0];
  if (!top.own.known() && !top.library.known() && top.call.empty()) return {};
  const double share = ShareOf(facts, top);
  Finding f = FindingIn(facts.run.begin_ns, facts.run.end_ns);
  f.confidence = kSure;
  f.summary = fmt::format("{}: {} waited {} for {} of the time, in {}.",
                          mostly ? "Mostly waiting" : "Held up by saving",
                          CallThread(*process, *thread), PhraseOf(top.kind),
                          FormatShare(share), CallWaitPlace(top));
  for (size_t i = 0; i < waits.size() && i < kMostPlaces; ++i)
    if (i == 0 || ShareOf(facts, *waits[i]) >= kWorthAWord)
      Say(f, fmt::format("The thread waited {} {} in {}.",
                         FormatDuration(static_cast<int64_t>(waits[i]->ns)),
                         PhraseOf(waits[i]->kind), CallWaitPlace(*waits[i])));
  Say(f,
      fmt::format("The program used {:.2f} cores.", *facts.judged.cores_used));
  PutWhere(f, *process);
  f.where.thread = thread->row.number;
  f.where.tid = thread->row.tid;
  f.where.thread_name = thread->name;
  const CodeLine& at = top.own.known() ? top.own : top.library;
  f.where.function = at.function;
  f.where.file = at.file;
  f.where.line = at.line;
  PutNumber(f, "waited", share, Unit::kShare);
  PutNumber(f, "own_cores", *facts.judged.cores_used, Unit::kCores);
  f.advice = AdviceOn(top.kind);
  // Who is asked seldom waits, and has nothing to gain by that; who sleeps by
  // itself may want to.
  if (top.kind == WaitKind::kEvent || top.kind == WaitKind::kSleep)
    f.severity = Severity::kInfo;
  if (top.kind != WaitKind::kEvent)
    f.gain = Gain{share, "if that wait took no time"};
  return {{std::move(f)}, ""};
}

}  // namespace sonde
