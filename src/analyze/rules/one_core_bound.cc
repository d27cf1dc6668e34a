// one_core_bound: does one thread work while the other cores idle?
//
// Evidence, in one of two forms, for at least kMostOfTheTime of the steady
// part of the run, while at least kMinFreeCores of a core stays unused:
//  - the same thread is on a core (or ready for one) nearly all of the time,
//    and no other thread comes near it;
//  - no thread does, but all of them together use about one core, none of them
//    most of it, and hardly ever more than one: a chain of processes that wait
//    for each other, or threads of a process that take turns. Threads have to
//    be closer to one core than processes: two that are half busy are nothing
//    special.
// Two busy threads are not one. If other programs use the rest of the machine,
// nobody knows what a chain of processes would do without them; but a thread
// that fills its core, or is ready to, beside others that do nothing has no use
// for another one, and threads that sleep while one of them is ready take turns
// whoever has the cores. one_core_turns.h has the thresholds.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "analyze/facts/neighbours.h"
#include "analyze/facts/steady.h"
#include "analyze/rules/command_groups.h"
#include "analyze/rules/lock_waits.h"
#include "analyze/rules/one_core_turns.h"
#include "analyze/rules/rules.h"
#include "analyze/rules/weigh.h"
#include "analyze/series/counter_scan.h"
#include "base/text.h"

namespace sonde {
namespace {

constexpr double kNearlyAlways = 0.90;
// How sure turns are: seen in the slices or in what threads sleep in; by the
// sum of processes; by the sum of threads, which may be chance.
constexpr double kSeenTurns = 0.90;
constexpr double kProcessesInTurn = 0.70;
constexpr double kLooksLike = 0.50;
constexpr double kWorthACore = 0.10;
// An annotated slice is worth naming from this share of its thread's life on.
constexpr double kMinSlice = 0.20;

using ThreadKey = std::pair<uint32_t, uint32_t>;  // process, thread

// The thread that fills a core for the longest time, and its share of it.
std::pair<ThreadKey, double> Longest(const CoreJudge& judge) {
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

// `free` of the cores had nothing to do meanwhile.
void AddGain(const CoreJudge& judge, double time, double free, Finding& f) {
  // Those that others use are not to be had.
  const double cores = free >= kMinFreeCores ? judge.capacity : 1 + free;
  // Amdahl: the part on one core, spread over all of them, the rest as it is.
  const double share = time * judge.series.OfRun() * (1 - 1 / cores);
  // Beside others that use the rest there is nothing to gain by itself.
  if (free >= kWorthACore)
    f.gain = Gain{
        share,
        fmt::format("if this work spread over {:.3g} cores without loss{}",
                    cores, judge.FreeIsKnown() ? "" : " and these are free")};
  f.severity =
      share >= kCriticalGain ? Severity::kCritical : Severity::kWarning;
}

Finding Begin(const CoreJudge& judge, double time, double free,
              double sureness) {
  Finding f = FindingIn(judge.steady.from_ns, judge.steady.to_ns);
  f.confidence = SureOf(time, sureness);
  AddGain(judge, time, free, f);
  PutTime(f, time);
  if (judge.FreeIsKnown()) PutNumber(f, "free_cores", free, Unit::kCores);
  PutNumber(f, "allowed_cores", judge.capacity, Unit::kCores);
  return f;
}

void AddFree(const CoreJudge& judge, double free, Finding& f) {
  Say(f, judge.FreeIsKnown()
             ? fmt::format("Meanwhile {:.2f} of {:g} cores were free.", free,
                           judge.capacity)
             : "What other programs did on the other cores was not collected.");
}

// After "is always busy" or "work one at a time": what the other cores did.
std::string MeanwhileFree(const CoreJudge& judge, double free, bool several) {
  if (!judge.FreeIsKnown())
    return fmt::format(" and leave{} {:.1f} of {:g} cores to others",
                       several ? "" : "s", free, judge.capacity);
  return fmt::format(" while {:.1f} of {:g} cores stay free", free,
                     judge.capacity);
}

// If the program annotates this thread, or of threads that take turns any: what
// most of its time went to. Returns the slice's name.
std::string AddSlice(const CoreJudge& judge,
                     const std::vector<SliceFacts>& slices, double wall_ns,
                     const char* whose, Finding& f) {
  if (slices.empty()) return "";
  const SliceFacts& top = slices[0];
  const double share =
      static_cast<double>(top.self_ns) / std::max(1.0, wall_ns);
  if (share < kMinSlice) return "";
  const std::string name = Printable(top.name, 40);
  SayOfRun(
      f, judge.facts,
      fmt::format("{} of {} was in the slice `{}` ({} times, {} each on "
                  "average).",
                  FormatShare(std::min(1.0, share)), whose, name, top.count,
                  FormatDuration(static_cast<int64_t>(
                      std::min<uint64_t>(top.mean_ns(), INT64_MAX)))));
  return name;
}

std::string AddSliceOfThread(const CoreJudge& judge, ThreadKey key,
                             Finding& f) {
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

Finding OfThread(const CoreJudge& judge, ThreadKey key, double time) {
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
    PutWhere(f, *p);
  }
  std::string thread = "the only thread of " + process;
  if (t != nullptr && p != nullptr) {
    thread = CallThread(*p, *t);
    f.where.tid = t->row.tid;
    f.where.thread_name = t->name;
  }
  std::string who = thread;
  who[0] = 'T';
  const bool named = t != nullptr &&
                     !thread.starts_with(fmt::format("thread {} ", t->row.tid));
  Say(f, fmt::format("{}{} filled a core{} for {:.0f} % of the steady time ({} "
                     "of a core on average).",
                     who, named ? fmt::format(" (tid {})", t->row.tid) : "",
                     ran < kNearlyAlways ? ", or was ready for one," : "",
                     time * 100, FormatShare(ran)));
  // Of the run's CPU time; below 0: not known.
  const double share = t != nullptr   ? t->cpu_share.value_or(-1)
                       : p != nullptr ? p->cpu_share.value_or(-1)
                                      : -1;
  PutNumber(f, "thread_cores", ran, Unit::kCores);
  if (share >= 0) {
    PutNumber(f, "cpu_share", std::min(1.0, share), Unit::kShare);
    SayOfRun(f, judge.facts,
             fmt::format("The thread used {} of all CPU time of the run.",
                         FormatShare(std::min(1.0, share))));
  }
  const std::string slice = AddSliceOfThread(judge, key, f);
  const std::string most =
      slice.empty() ? "" : fmt::format(", most of all with `{}`,", slice);
  const char* const how =
      time >= kNearlyAlways ? "always busy" : "busy most of the time";
  f.summary = free >= kMinFreeCores
                  ? fmt::format("Limited by one core: {} is {}{}{}.", thread,
                                how, most, MeanwhileFree(judge, free, false))
                  : fmt::format(
                        "Limited by one core: {} is {}{} and no other thread "
                        "of the program works meanwhile; other programs use "
                        "the rest.",
                        thread, how, most);
  const bool held_up = HeldUpByOthers(judge.facts);
  if (held_up)
    Say(f,
        fmt::format("Other programs kept the thread from its core: it had {} "
                    "of one.",
                    FormatShare(ran)));
  AddFree(judge, free, f);
  if (held_up || free < kMinFreeCores)
    f.advice = AdviceOnNeighbours(judge.facts) + " ";
  if (free >= kMinFreeCores && judge.FreeIsKnown())
    f.advice +=
        "The other cores have nothing to do until this thread is done. ";
  f.advice +=
      "Split its work over several threads or processes (in Python: processes, "
      "or "
      "libraries that release the interpreter lock), or make this one thread "
      "faster. " +
      (slice.empty() ? kFindFunctions
                     : fmt::format("Begin with the slice `{}`.", slice));
  return f;
}

// Who works one at a time, in words.
std::string CallChain(const Facts& facts, const Chain& chain) {
  if (chain.process != nullptr)
    return fmt::format("{} threads of {}", chain.threads,
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
      "{}. If the threads wait for one lock, hold it for less time; if they "
      "wait for each other's results, put a longer queue between them.",
      chain.turns == Taking::kTaken || chain.waiting > 0
          ? "The threads wait for each other"
          : "It looks as if the threads waited for each other, but for what "
            "is not recorded");
}

Finding OfChain(const CoreJudge& judge, const Chain& chain) {
  const Facts& facts = judge.facts;
  const bool seen = chain.turns == Taking::kTaken || chain.asleep;
  const bool sure = chain.process == nullptr || seen;
  Finding f = Begin(judge, chain.time, chain.free,
                    seen ? kSeenTurns : (sure ? kProcessesInTurn : kLooksLike));
  const std::string who = CallChain(facts, chain);
  Say(f, fmt::format("The {} together used {:.2f} cores for {:.0f} % of the "
                     "steady time, the busiest thread only {} of that.",
                     who, chain.used, chain.time * 100,
                     FormatShare(chain.greatest)));
  if (chain.starved)
    Say(f, fmt::format("{} With those that were ready but had no core, the "
                       "threads would use {:.2f} cores: for the rest of the "
                       "time the threads slept.",
                       OthersUsed(facts, facts.judged.other_cores.value_or(0)) +
                           " meanwhile.",
                       chain.ready));
  PutNumber(f, "own_cores", chain.used, Unit::kCores);
  PutNumber(f, "ready_cores", chain.ready, Unit::kCores);
  PutNumber(f, "busiest_thread_share", chain.greatest, Unit::kShare);
  if (chain.waiting > 0)
    SayOfRun(
        f, facts,
        fmt::format("{} of these threads {} last seen asleep waiting for a "
                    "lock or another thread (futex).",
                    chain.waiting, chain.waiting == 1 ? "was" : "were"));
  if (chain.process != nullptr && IsPython(*chain.process))
    if (const auto wait = LongestLockWait(facts, chain.process->row.number))
      SayOfRun(f, facts,
               fmt::format("Threads waited for the interpreter's lock, or one "
                           "of the program's, most of all in {}: {} together.",
                           CallLine(wait->at),
                           FormatDuration(static_cast<int64_t>(wait->ns))));
  if (chain.turns == Taking::kTaken)
    SayOfRun(f, facts,
             "The slices of the two busiest threads hardly ever "
             "ran at the same time.");
  double self_ns = 0;
  for (const SliceFacts& slice : facts.said.slices)
    self_ns += static_cast<double>(slice.self_ns);
  const std::string slice =
      AddSlice(judge, facts.said.slices, self_ns, "the annotated time", f);
  f.summary = fmt::format(
      "Limited by one core: {} {}{}{}.",
      chain.process == nullptr ? "its " + who : "the " + who,
      sure ? "work one at a time" : "together use one",
      slice.empty() ? "" : fmt::format(", most of all for `{}`,", slice),
      chain.starved ? "; other programs use the rest"
                    : MeanwhileFree(judge, chain.free, true));
  AddFree(judge, chain.free, f);
  const std::vector<CommandGroup> groups = GroupsByName(facts);
  if (chain.process == nullptr)
    SayOfRun(f, facts, "Most CPU time went to " + CallTop(groups) + ".");
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

Outcome OneCoreBound(const Case& about) {
  const Facts& facts = about.facts();
  const Steady& steady = about.steady();
  const CoreJudge judge{facts, steady, about.series(),
                        *facts.run.capacity_cores};
  // On one core, one core is all there is: cpu_bound speaks of that.
  if (judge.capacity < 1 + kMinFreeCores) return {};

  const auto [thread, time] = Longest(judge);
  if (time >= kMostOfTheTime) return {{OfThread(judge, thread, time)}, ""};
  if (const std::optional<Chain> chain = ChainOf(judge))
    return {{OfChain(judge, *chain)}, ""};
  return {};
}

}  // namespace sonde
