#include "analyze/rules/one_core_turns.h"

#include <algorithm>
#include <functional>

#include "analyze/facts/sleepers.h"
#include "analyze/facts/slice_overlap.h"
#include "analyze/rules/weigh.h"
#include "analyze/series/counter_scan.h"

namespace sonde {
namespace {

constexpr double kThreadBusy = 0.95;
// A thread that had to wait for its core now and then still fills it; but it
// must have had most of it.
constexpr double kThreadRan = 0.80;
constexpr double kMaxSecond = 0.80;
constexpr double kMaxRest = 0.15;
constexpr double kLoneRan = 0.40;

constexpr double kChainMin = 0.90;
constexpr double kChainMax = 1.15;
constexpr double kChainMaxOfOne = 0.80;
// More than this in a window is two at the same time, not an error of clocks;
// who does that so often does not take turns.
constexpr double kTogether = 1.06;
constexpr double kMaxTogether = 0.20;
constexpr double kTurnsMin = 0.95;
// A process with so much of the CPU time is the program; the rest started it.
constexpr double kTheProgram = 0.90;
// A thread with less of it does not count.
constexpr double kBusyThread = 0.02;
// Threads that could all run are never asleep. Those that take turns sleep, but
// a thread that is woken to take the lock may have to wait for a core first.
constexpr double kMinAsleep = 0.25;
constexpr double kMaxReady = 1.6;
constexpr double kMostWait = 0.5;  // of the threads that work

// Slices that take less of the run say nothing.
constexpr double kMinSlice = 0.20;
// Slices of two threads that overlap by less of the shorter time take turns, by
// more do not.
constexpr double kHardlyOverlap = 0.02;
constexpr double kOverlap = 0.10;
// Slices that last so much longer than their thread was on a core are spent
// waiting, it may be for the other thread.
constexpr double kMaxWaiting = 1.25;

// The greatest share that one thread has of the program's CPU time.
double GreatestShare(const Facts& facts) {
  double greatest = 0;
  for (const ProcessFacts& p : facts.processes) {
    if (p.threads.empty())
      greatest = std::max(greatest, p.cpu_share.value_or(0));
    for (const ThreadFacts& t : p.threads)
      greatest = std::max(greatest, t.cpu_share.value_or(0));
  }
  return std::min(1.0, greatest);
}

// The process whose threads share the core; null if it is several processes.
const ProcessFacts* TheProgram(const Facts& facts) {
  for (const ProcessFacts& p : facts.processes)
    if (p.cpu_share.value_or(0) >= kTheProgram) return &p;
  return nullptr;
}

Taking TakingOf(const Facts& facts, const ProcessFacts& process) {
  const auto row = [&](size_t thread) -> const TrackSlices* {
    if (thread >= process.threads.size()) return nullptr;
    for (const TrackSlices& t : facts.said.tracks)
      if (t.thread != 0 && t.thread == process.threads[thread].row.number)
        return &t;
    return nullptr;
  };
  const TrackSlices *const a = row(0), *const b = row(1);
  if (a == nullptr || b == nullptr) return Taking::kUnknown;
  // CPU times are known up to there, slices it may be for longer.
  int64_t until_ns = facts.run.end_ns;
  for (const CpuWindow& w : facts.windows)
    if (w.known) until_ns = w.to_ns;
  const SliceOverlap overlap =
      OverlapOf(*facts.store, a->track, b->track, until_ns);
  const double less = std::min(overlap.a_ns, overlap.b_ns);
  if (less < kMinSlice * static_cast<double>(facts.run.sampled_ns))
    return Taking::kUnknown;
  if (overlap.both_ns < kHardlyOverlap * less) return Taking::kTaken;
  const auto is_work = [&](size_t thread, double slices_ns) {
    const int64_t cpu_ns = process.threads[thread].cpu_ns.value_or(0);
    return slices_ns <= kMaxWaiting * static_cast<double>(cpu_ns);
  };
  return overlap.both_ns >= kOverlap * less && is_work(0, overlap.a_ns) &&
                 is_work(1, overlap.b_ns)
             ? Taking::kNone
             : Taking::kUnknown;
}

// Counts the threads of the chain's process that work. Returns the share of
// their lives in which they slept; 0 if that is not known.
double CountThreads(const Facts& facts, Chain& chain) {
  bool known = true;
  double awake_ns = 0, life_ns = 0;
  for (const ThreadFacts& t : chain.process->threads) {
    if (t.cpu_share.value_or(0) < kBusyThread) continue;
    ++chain.threads;
    chain.waiting += WaitsForThread(*facts.store, t) ? 1 : 0;
    known &= t.wait_ns.has_value();
    awake_ns += static_cast<double>(t.cpu_ns.value_or(0)) +
                static_cast<double>(t.wait_ns.value_or(0));
    life_ns += static_cast<double>(t.wall_ns);
  }
  return known && life_ns > 0 ? std::max(0.0, 1 - awake_ns / life_ns) : 0;
}

void Measure(const CoreJudge& judge, const SeriesView& waiting,
             const std::function<bool(const CpuWindow&)>& test, Chain& chain) {
  chain.time = judge.steady.ShareWhere(test);
  chain.free = judge.steady.MeanWhere(
      test, [&](const CpuWindow& w) { return judge.Free(w); });
  chain.used = judge.steady.MeanWhere(
      test, [](const CpuWindow& w) { return w.tree_cores; });
  chain.ready = judge.steady.MeanWhere(test, [&](const CpuWindow& w) {
    return w.tree_cores + waiting.At(judge.series.WindowOf(w.from_ns, w.to_ns));
  });
}

}  // namespace

double CoreJudge::Free(const CpuWindow& w) const {
  const double left = capacity - w.tree_cores;
  return w.machine_known ? std::min(left, w.idle_cores + w.iowait_cores) : left;
}

bool CoreJudge::FreeIsKnown() const {
  return std::any_of(steady.windows.begin(), steady.windows.end(),
                     [](const CpuWindow* w) { return w->machine_known; });
}

bool CoreJudge::OneThread(const CpuWindow& w) const {
  if (w.process == 0 || w.second_cores >= kMaxSecond ||
      w.thread_cores + w.thread_wait_cores < kThreadBusy)
    return false;
  // A process whose threads nobody sampled, and that has several.
  if (w.thread == 0 && w.thread_cores > kTogether) return false;
  if (w.tree_cores - w.thread_cores <= kMaxRest)
    return w.thread_cores >= kLoneRan &&
           capacity - w.tree_cores >= kMinFreeCores;
  return w.thread_cores >= kThreadRan && Free(w) >= kMinFreeCores;
}

bool CoreJudge::OneAtATime(const CpuWindow& w) const {
  return w.tree_cores >= kChainMin && w.tree_cores <= kChainMax &&
         Free(w) >= kMinFreeCores;
}

std::optional<Chain> ChainOf(const CoreJudge& judge) {
  Chain chain;
  chain.process = TheProgram(judge.facts);
  chain.least = chain.process != nullptr ? kTurnsMin : kChainMin;
  chain.greatest = GreatestShare(judge.facts);
  const double together = judge.steady.ShareWhere(
      [](const CpuWindow& w) { return w.tree_cores > kTogether; });
  if (chain.greatest >= kChainMaxOfOne || together >= kMaxTogether)
    return std::nullopt;
  const double asleep =
      chain.process != nullptr ? CountThreads(judge.facts, chain) : 0;
  chain.asleep = chain.threads >= 2 && asleep >= kMinAsleep &&
                 static_cast<double>(chain.waiting) >=
                     kMostWait * static_cast<double>(chain.threads);
  const SeriesView waiting = judge.series.Find("tree_wait");
  Measure(
      judge, waiting,
      [&](const CpuWindow& w) {
        return judge.OneAtATime(w) && w.tree_cores >= chain.least;
      },
      chain);
  if (chain.time < kMostOfTheTime) {
    if (!chain.asleep) return std::nullopt;
    chain.starved = true;
    Measure(
        judge, waiting,
        [&](const CpuWindow& w) {
          const double ready = w.tree_cores + waiting.At(judge.series.WindowOf(
                                                  w.from_ns, w.to_ns));
          return w.tree_cores <= kChainMax && ready >= kTurnsMin &&
                 judge.capacity - w.tree_cores >= kMinFreeCores;
        },
        chain);
    if (chain.time < kMostOfTheTime || chain.ready > kMaxReady)
      return std::nullopt;
  }
  if (chain.process != nullptr)
    chain.turns = TakingOf(judge.facts, *chain.process);
  if (chain.turns == Taking::kNone) return std::nullopt;
  return chain;
}

}  // namespace sonde
