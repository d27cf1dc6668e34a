// one_core_bound: does one thread work while the other cores idle?
//
// Evidence, in one of two forms, for at least kMinTime of the steady part of
// the run, while at least kMinFree of a core stays unused:
//  - the same thread is on a core (or ready for one) kThreadBusy of the time,
//    and no other thread comes near it;
//  - no thread does, but all of them together use about one core, and no one
//    most of it: a chain of processes that wait for each other, or threads that
//    share one lock.
// Two busy threads are not one, and idle cores that others use are not idle.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "analyze/accelerators.h"
#include "analyze/groups.h"
#include "analyze/rules/rules.h"
#include "analyze/scan.h"
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
constexpr double kMinTime = 0.60;
constexpr double kChainMin = 0.90;
constexpr double kChainMax = 1.15;
constexpr double kChainMaxOfOne = 0.80;
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
    return w.process != 0 && w.thread_cores >= kThreadRan &&
           w.thread_cores + w.thread_wait_cores >= kThreadBusy &&
           w.second_cores < kMaxSecond && Free(w) >= kMinFree;
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

void AddGain(const Judge& judge, double time, Finding& f) {
  // Amdahl: the part on one core, spread over all of them, the rest as it is.
  const double share = time * static_cast<double>(judge.steady.known_ns) /
                       static_cast<double>(judge.facts.run.wall_ns) *
                       (1 - 1 / judge.capacity);
  f.gain = Gain{share, fmt::format("at most, estimated as if this work spread "
                                   "over {:g} cores without loss",
                                   judge.capacity)};
  f.severity =
      share >= kCriticalGain ? Severity::kCritical : Severity::kWarning;
}

Finding Begin(const Judge& judge, double time, double sureness) {
  Finding f;
  f.rule = "one_core_bound";
  f.from_ns = judge.steady.from_ns;
  f.to_ns = judge.steady.to_ns;
  f.confidence =
      sureness * std::min(1.0, 0.6 + 0.4 * (time - kMinTime) / (1 - kMinTime));
  AddGain(judge, time, f);
  return f;
}

void AddFree(const Judge& judge, double free, Finding& f) {
  f.evidence.push_back({fmt::format("Meanwhile {:.2f} of {:g} cores were free.",
                                    free, judge.capacity),
                        judge.steady.from_ns, judge.steady.to_ns});
}

// If the program annotates this thread: what most of its time went to. Returns
// the slice's name.
std::string AddSlice(const Judge& judge, ThreadKey key, Finding& f) {
  for (const TrackSlices& track : judge.facts.said.tracks) {
    if (track.process != key.first || track.slices.empty() ||
        (key.second != 0 && track.thread != key.second))
      continue;
    const ThreadFacts* const t =
        judge.facts.FindThread(key.first, track.thread);
    const SliceFacts& top = track.slices[0];
    const double wall = static_cast<double>(
        t != nullptr ? t->wall_ns : judge.facts.run.wall_ns);
    const double share = static_cast<double>(top.self_ns) / std::max(1.0, wall);
    if (share < kMinSlice) return "";
    const std::string name = Printable(top.name, 40);
    f.evidence.push_back(
        {fmt::format("{} of its time was in the slice `{}` ({} times, {} each "
                     "on average).",
                     FormatShare(std::min(1.0, share)), name, top.count,
                     FormatDuration(static_cast<int64_t>(
                         std::min<uint64_t>(top.mean_ns(), INT64_MAX)))),
         judge.facts.run.begin_ns, judge.facts.run.end_ns});
    return name;
  }
  return "";
}

Finding OfThread(const Judge& judge, ThreadKey key, double time) {
  const auto is_it = [&](const CpuWindow& w) {
    return judge.OneThread(w) && w.process == key.first &&
           w.thread == key.second;
  };
  Finding f = Begin(judge, time, 0.95);
  const double free = judge.steady.MeanWhere(
      is_it, [&](const CpuWindow& w) { return judge.Free(w); });
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
  f.summary = fmt::format(
      "Limited by one core: {} is always busy while {:.1f} of {:g} cores stay "
      "free.",
      thread, free, judge.capacity);
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
  const std::string slice = AddSlice(judge, key, f);
  AddFree(judge, free, f);
  f.advice =
      "The other cores have nothing to do until this thread is done. Split its "
      "work over several threads or processes (in Python: processes, or "
      "libraries that release the interpreter lock), or make this one thread "
      "faster: " +
      (slice.empty()
           ? "find its hottest functions and use vectorised libraries."
           : fmt::format("begin with `{}`.", slice));
  return f;
}

Finding OfChain(const Judge& judge, double time, double greatest) {
  const auto test = [&](const CpuWindow& w) { return judge.OneAtATime(w); };
  Finding f = Begin(judge, time, 0.7);
  const double free = judge.steady.MeanWhere(
      test, [&](const CpuWindow& w) { return judge.Free(w); });
  const double used = judge.steady.MeanWhere(
      test, [](const CpuWindow& w) { return w.tree_cores; });
  uint64_t processes = judge.facts.processes.size();
  uint64_t threads = 0;
  for (const ShortProcesses& s : judge.facts.short_processes)
    processes += s.count;
  for (const ProcessFacts& p : judge.facts.processes)
    threads += std::max<uint64_t>(1, p.threads.size());
  const std::string who = processes > 1 ? fmt::format("{} processes", processes)
                                        : fmt::format("{} threads", threads);
  f.summary = fmt::format(
      "Limited by one core: its {} work one at a time while {:.1f} of {:g} "
      "cores stay free.",
      who, free, judge.capacity);
  f.evidence.push_back(
      {fmt::format("All {} together used {:.2f} cores for {:.0f} % of the "
                   "steady time, the busiest thread only {} of that.",
                   who, used, time * 100, FormatShare(greatest)),
       judge.steady.from_ns, judge.steady.to_ns});
  AddFree(judge, free, f);
  const std::vector<CommandGroup> groups = GroupsByName(judge.facts);
  if (processes > 1)
    f.evidence.push_back({"Most CPU time went to " + CallTop(groups) + ".",
                          judge.facts.run.begin_ns, judge.facts.run.end_ns});
  if (!groups.empty()) f.where = groups[0].Look();
  f.advice =
      processes > 1
          ? "The processes wait for each other. Start those that do not need "
            "each other's results at the same time (make -j, xargs -P, a pool "
            "of workers)."
          : "The threads take turns, as if they shared one lock (in Python: "
            "the interpreter's). Use processes instead of threads, or hold "
            "the lock for less time.";
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
  const double chain = steady.ShareWhere(
      [&](const CpuWindow& w) { return judge.OneAtATime(w); });
  const double greatest = GreatestShare(judge);
  if (chain >= kMinTime && greatest < kChainMaxOfOne)
    return {{OfChain(judge, chain, greatest)}, ""};
  return {};
}

}  // namespace sonde
