// one_core_bound: does one thread work while the other cores idle?
//
// Evidence, in one of two forms, for at least kMinTime of the steady part of
// the run, while at least kMinFree of a core stays unused:
//  - the same thread is on a core (or ready for one) kThreadBusy of the time,
//    and no other thread comes near it;
//  - no thread does, but all of them together use about one core, none of them
//    most of it, and hardly ever more than one: a chain of processes that wait
//    for each other, or threads of a process that take turns. Threads have to
//    be closer to one core than processes: two that are half busy are nothing
//    special.
// Two busy threads are not one. If other programs use the rest of the machine,
// nobody knows what a chain would do without them; but a thread that fills its
// core, or is ready to, beside others that do nothing (kMaxRest) has no use for
// another one.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "analyze/accelerators.h"
#include "analyze/groups.h"
#include "analyze/neighbours.h"
#include "analyze/rules/rules.h"
#include "analyze/scan.h"
#include "analyze/slice_overlap.h"
#include "analyze/steady.h"
#include "base/text.h"

namespace sonde {
namespace {

constexpr double kThreadBusy = 0.95;
// A thread that had to wait for its core now and then still fills it; but it
// must have had most of it.
constexpr double kThreadRan = 0.80;
constexpr double kMaxSecond = 0.80;
constexpr double kMinFree = 0.50;
constexpr double kMaxRest = 0.15;
constexpr double kLoneRan = 0.40;
constexpr double kMinTime = 0.60;
constexpr double kNearlyAlways = 0.90;
constexpr double kWorthACore = 0.10;
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
// Slices of two threads that overlap by less of the shorter time take turns, by
// more do not.
constexpr double kHardlyOverlap = 0.02;
constexpr double kOverlap = 0.10;
// Slices that last so much longer than their thread was on a core are spent
// waiting, it may be for the other thread.
constexpr double kMaxWaiting = 1.25;
constexpr double kCriticalGain = 0.70;
// An annotated slice is worth naming from this share of its thread's life on.
constexpr double kMinSlice = 0.20;

using ThreadKey = std::pair<uint32_t, uint32_t>;  // process, thread

struct Judge {
  const Facts& facts;
  const Steady& steady;
  double capacity;

  // Cores the program could have used and did not.
  double Free(const CpuWindow& w) const {
    const double left = capacity - w.tree_cores;
    return w.machine_known ? std::min(left, w.idle_cores + w.iowait_cores)
                           : left;
  }
  bool OneThread(const CpuWindow& w) const {
    if (w.process == 0 || w.second_cores >= kMaxSecond ||
        w.thread_cores + w.thread_wait_cores < kThreadBusy)
      return false;
    // A process whose threads nobody sampled, and that has several.
    if (w.thread == 0 && w.thread_cores > kTogether) return false;
    if (w.tree_cores - w.thread_cores <= kMaxRest)
      return w.thread_cores >= kLoneRan && capacity - w.tree_cores >= kMinFree;
    return w.thread_cores >= kThreadRan && Free(w) >= kMinFree;
  }
  bool OneAtATime(const CpuWindow& w) const {
    return w.tree_cores >= kChainMin && w.tree_cores <= kChainMax &&
           Free(w) >= kMinFree;
  }
};

// The thread that fills a core for the longest time, and its share of it.
std::pair<ThreadKey, double> Longest(const Judge& judge) {
  std::map<ThreadKey, double> ns;
  for (const CpuWindow* w : judge.steady.windows)
    if (judge.OneThread(*w))
      ns[{w->process, w->thread}] +=
          static_cast<double>(Elapsed(w->from_ns, w->to_ns));
  std::pair<ThreadKey, double> best{{0, 0}, 0};
  for (const auto& [key, sum] : ns)
    if (sum > best.second) best = {key, sum};
  best.second /=
      static_cast<double>(std::max<int64_t>(1, judge.steady.known_ns));
  return best;
}

// The greatest share that one thread has of the program's CPU time.
double GreatestShare(const Judge& judge) {
  double greatest = 0;
  for (const ProcessFacts& p : judge.facts.processes) {
    if (p.threads.empty())
      greatest = std::max(greatest, p.cpu_share.value_or(0));
    for (const ThreadFacts& t : p.threads)
      greatest = std::max(greatest, t.cpu_share.value_or(0));
  }
  return std::min(1.0, greatest);
}

// `free` of the cores had nothing to do meanwhile.
void AddGain(const Judge& judge, double time, double free, Finding& f) {
  // Those that others use are not to be had.
  const double cores = free >= kMinFree ? judge.capacity : 1 + free;
  // Amdahl: the part on one core, spread over all of them, the rest as it is.
  const double share = time * static_cast<double>(judge.steady.known_ns) /
                       static_cast<double>(judge.facts.run.wall_ns) *
                       (1 - 1 / cores);
  // Beside others that use the rest there is nothing to gain by itself.
  if (free >= kWorthACore)
    f.gain = Gain{share, fmt::format("at most, estimated as if this work "
                                     "spread over {:.3g} cores without loss",
                                     cores)};
  f.severity =
      share >= kCriticalGain ? Severity::kCritical : Severity::kWarning;
}

Finding Begin(const Judge& judge, double time, double free, double sureness) {
  Finding f;
  f.rule = "one_core_bound";
  f.from_ns = judge.steady.from_ns;
  f.to_ns = judge.steady.to_ns;
  f.confidence =
      sureness * std::min(1.0, 0.6 + 0.4 * (time - kMinTime) / (1 - kMinTime));
  AddGain(judge, time, free, f);
  return f;
}

void AddFree(const Judge& judge, double free, Finding& f) {
  f.evidence.push_back({fmt::format("Meanwhile {:.2f} of {:g} cores were free.",
                                    free, judge.capacity),
                        judge.steady.from_ns, judge.steady.to_ns});
}

// If the program annotates this thread, or of threads that take turns any: what
// most of its time went to. Returns the slice's name.
std::string AddSlice(const Judge& judge, const std::vector<SliceFacts>& slices,
                     double wall_ns, const char* whose, Finding& f) {
  if (slices.empty()) return "";
  const SliceFacts& top = slices[0];
  const double share =
      static_cast<double>(top.self_ns) / std::max(1.0, wall_ns);
  if (share < kMinSlice) return "";
  const std::string name = Printable(top.name, 40);
  f.evidence.push_back(
      {fmt::format("{} of {} was in the slice `{}` ({} times, {} each on "
                   "average).",
                   FormatShare(std::min(1.0, share)), whose, name, top.count,
                   FormatDuration(static_cast<int64_t>(
                       std::min<uint64_t>(top.mean_ns(), INT64_MAX)))),
       judge.facts.run.begin_ns, judge.facts.run.end_ns});
  return name;
}

std::string AddSliceOfThread(const Judge& judge, ThreadKey key, Finding& f) {
  for (const TrackSlices& track : judge.facts.said.tracks) {
    if (track.process != key.first || track.slices.empty() ||
        (key.second != 0 && track.thread != key.second))
      continue;
    const ThreadFacts* const t =
        judge.facts.FindThread(key.first, track.thread);
    return AddSlice(judge, track.slices,
                    static_cast<double>(t != nullptr ? t->wall_ns
                                                     : judge.facts.run.wall_ns),
                    "its time", f);
  }
  return "";
}

Finding OfThread(const Judge& judge, ThreadKey key, double time) {
  const auto is_it = [&](const CpuWindow& w) {
    return judge.OneThread(w) && w.process == key.first &&
           w.thread == key.second;
  };
  const double free = judge.steady.MeanWhere(
      is_it, [&](const CpuWindow& w) { return judge.Free(w); });
  Finding f = Begin(judge, time, free, 0.95);
  const double ran = judge.steady.MeanWhere(
      is_it, [](const CpuWindow& w) { return w.thread_cores; });
  const ProcessFacts* const p = judge.facts.FindProcess(key.first);
  const ThreadFacts* const t = judge.facts.FindThread(key.first, key.second);
  f.where.process = key.first;
  f.where.thread = key.second;
  std::string process = fmt::format("process {}", key.first);
  if (p != nullptr) {
    process = CallProcess(*p);
    f.where.pid = p->row.pid;
    f.where.process_name = p->name;
    f.where.cmdline = p->cmdline;
  }
  std::string thread = "the only thread of " + process;
  if (t != nullptr) {
    thread = fmt::format("thread {} of {}", Printable(t->name, 24), process);
    f.where.tid = t->row.tid;
    f.where.thread_name = t->name;
  }
  std::string who = thread;
  who[0] = 'T';
  f.evidence.push_back(
      {fmt::format("{}{} filled a core for {:.0f} % of the steady time ({} of "
                   "a core on average).",
                   who,
                   t != nullptr ? fmt::format(" (tid {})", t->row.tid) : "",
                   time * 100, FormatShare(ran)),
       judge.steady.from_ns, judge.steady.to_ns});
  const MaybeNumber share = t != nullptr   ? t->cpu_share
                            : p != nullptr ? p->cpu_share
                                           : MaybeNumber();
  if (share)
    f.evidence.push_back({fmt::format("It used {} of all CPU time of the run.",
                                      FormatShare(std::min(1.0, *share))),
                          judge.facts.run.begin_ns, judge.facts.run.end_ns});
  const std::string slice = AddSliceOfThread(judge, key, f);
  const std::string most =
      slice.empty() ? "" : fmt::format(", most of all with `{}`,", slice);
  const char* const how =
      time >= kNearlyAlways ? "always busy" : "busy most of the time";
  f.summary = free >= kMinFree
                  ? fmt::format(
                        "Limited by one core: {} is {}{} while {:.1f} of {:g} "
                        "cores stay free.",
                        thread, how, most, free, judge.capacity)
                  : fmt::format(
                        "Limited by one core: {} is {}{} and nothing else of "
                        "it works; other programs use the rest.",
                        thread, how, most);
  const bool held_up = HeldUpByOthers(judge.facts);
  if (held_up)
    f.evidence.push_back(
        {fmt::format("Other programs kept it from its core: it had {} of one.",
                     FormatShare(ran)),
         judge.steady.from_ns, judge.steady.to_ns});
  AddFree(judge, free, f);
  if (held_up || free < kMinFree)
    f.advice = AdviceOnNeighbours(judge.facts) + " ";
  if (free >= kMinFree)
    f.advice +=
        "The other cores have nothing to do until this thread is done. ";
  f.advice +=
      "Split its work over several threads or processes (in Python: processes, "
      "or "
      "libraries that release the interpreter lock), or make this one thread "
      "faster: " +
      (slice.empty()
           ? "find its hottest functions and use vectorised libraries."
           : fmt::format("begin with `{}`.", slice));
  return f;
}

// The process whose threads share the core; null if it is several processes.
const ProcessFacts* TheProgram(const Facts& facts) {
  for (const ProcessFacts& p : facts.processes)
    if (p.cpu_share.value_or(0) >= kTheProgram) return &p;
  return nullptr;
}

// Whether the two busiest threads of a process work at the same time, as far as
// its annotations tell.
enum class Taking { kUnknown, kTaken, kNone };

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

// What all of them take turns at.
struct Chain {
  double least = 0;                       // cores, together
  double time = 0;                        // share of the steady time
  double greatest = 0;                    // share of the busiest thread
  const ProcessFacts* process = nullptr;  // its threads; null: processes
  Taking turns = Taking::kUnknown;
};

std::optional<Chain> ChainOf(const Judge& judge) {
  Chain chain;
  chain.process = TheProgram(judge.facts);
  chain.least = chain.process != nullptr ? kTurnsMin : kChainMin;
  chain.time = judge.steady.ShareWhere([&](const CpuWindow& w) {
    return judge.OneAtATime(w) && w.tree_cores >= chain.least;
  });
  chain.greatest = GreatestShare(judge);
  const double together = judge.steady.ShareWhere(
      [](const CpuWindow& w) { return w.tree_cores > kTogether; });
  if (chain.time < kMinTime || chain.greatest >= kChainMaxOfOne ||
      together >= kMaxTogether)
    return std::nullopt;
  if (chain.process != nullptr)
    chain.turns = TakingOf(judge.facts, *chain.process);
  if (chain.turns == Taking::kNone) return std::nullopt;
  return chain;
}

// Who works one at a time, in words.
std::string CallChain(const Facts& facts, const Chain& chain) {
  if (chain.process != nullptr)
    return fmt::format("{} threads of {}",
                       std::count_if(chain.process->threads.begin(),
                                     chain.process->threads.end(),
                                     [](const ThreadFacts& t) {
                                       return t.cpu_share.value_or(0) >=
                                              kBusyThread;
                                     }),
                       CallProcess(*chain.process));
  uint64_t processes = facts.processes.size();
  for (const ShortProcesses& s : facts.short_processes) processes += s.count;
  return fmt::format("{} processes", processes);
}

std::string AdviceOnThreads(const Chain& chain) {
  const ProcessFacts& p = *chain.process;
  if (IsPython(p))
    return "In Python one thread runs at a time, under the interpreter's lock. "
           "Use processes instead of threads, or libraries that release the "
           "lock.";
  return fmt::format(
      "{}. If it is one lock, hold it for less time; if it is each other's "
      "results, put a longer queue between them.",
      chain.turns == Taking::kTaken
          ? "The threads wait for each other"
          : "It looks as if the threads waited for each other, but for what "
            "is not recorded");
}

Finding OfChain(const Judge& judge, const Chain& chain) {
  const Facts& facts = judge.facts;
  const auto test = [&](const CpuWindow& w) {
    return judge.OneAtATime(w) && w.tree_cores >= chain.least;
  };
  const bool sure = chain.process == nullptr || chain.turns == Taking::kTaken;
  const double free = judge.steady.MeanWhere(
      test, [&](const CpuWindow& w) { return judge.Free(w); });
  Finding f = Begin(judge, chain.time, free, sure ? 0.7 : 0.5);
  const double used = judge.steady.MeanWhere(
      test, [](const CpuWindow& w) { return w.tree_cores; });
  const std::string who = CallChain(facts, chain);
  f.evidence.push_back(
      {fmt::format("The {} together used {:.2f} cores for {:.0f} % of the "
                   "steady time, the busiest thread only {} of that.",
                   who, used, chain.time * 100, FormatShare(chain.greatest)),
       judge.steady.from_ns, judge.steady.to_ns});
  if (chain.turns == Taking::kTaken)
    f.evidence.push_back(
        {"The slices of the two busiest threads hardly ever "
         "ran at the same time.",
         facts.run.begin_ns, facts.run.end_ns});
  double self_ns = 0;
  for (const SliceFacts& slice : facts.said.slices)
    self_ns += static_cast<double>(slice.self_ns);
  const std::string slice =
      AddSlice(judge, facts.said.slices, self_ns, "the annotated time", f);
  f.summary = fmt::format(
      "Limited by one core: {} {}{} while {:.1f} of {:g} cores stay free.",
      chain.process == nullptr ? "its " + who : "the " + who,
      sure ? "work one at a time" : "together use one",
      slice.empty() ? "" : fmt::format(", most of all for `{}`,", slice), free,
      judge.capacity);
  AddFree(judge, free, f);
  const std::vector<CommandGroup> groups = GroupsByName(facts);
  if (chain.process == nullptr)
    f.evidence.push_back({"Most CPU time went to " + CallTop(groups) + ".",
                          facts.run.begin_ns, facts.run.end_ns});
  if (!groups.empty()) f.where = groups[0].Look();
  f.advice =
      chain.process != nullptr
          ? AdviceOnThreads(chain)
          : "The processes wait for each other. Start those that do not need "
            "each other's results at the same time (make -j, xargs -P, a pool "
            "of workers).";
  if (!groups.empty()) f.advice += AdviceOnShort(groups[0]);
  return f;
}

}  // namespace

Outcome OneCoreBound(const Facts& facts) {
  if (!facts.run.capacity_cores)
    return Outcome::NotEnough("how many cores it may use was not recorded");
  const Steady steady = SteadyOf(facts);
  if (!steady.not_enough_data.empty())
    return Outcome::NotEnough(steady.not_enough_data);
  // An accelerator that always works is what limits the run.
  if (AcceleratorsWellUsed(facts)) return {};
  const Judge judge{facts, steady, *facts.run.capacity_cores};
  // On one core, one core is all there is: cpu_bound speaks of that.
  if (judge.capacity < 1 + kMinFree) return {};

  const auto [thread, time] = Longest(judge);
  if (time >= kMinTime) return {{OfThread(judge, thread, time)}, ""};
  if (const std::optional<Chain> chain = ChainOf(judge))
    return {{OfChain(judge, *chain)}, ""};
  return {};
}

}  // namespace sonde
