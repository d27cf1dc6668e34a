// spinning_threads: do threads burn cores while they wait for work?
//
// Evidence: samples of running threads whose innermost function only waits, as
// those of OpenMP, BLAS and the like do at the end of each piece of work
// (facts/spin_facts.h). They had kMinShare of the program's CPU time and
// kMinCores of a core. What the samples do not cover counts as work. Pools that
// fit on the cores may wait for each other and be as fast as can be: of these
// the rule speaks only if one thread is sure to win kMinGainOfFew, and not
// beside other programs, for which their threads have to wait as well.
//
// The gain: without waiting the program has its work left, `work_ns` of CPU
// time. One thread that gets a core does that in `work_ns` and the time for
// which the thread that does most of it slept, or was kept from its core by
// other programs: no longer. What was seen to be
// work, spread over all cores without loss, takes no less. Samples may err by
// kErrors of their standard error.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "analyze/facts/pools.h"
#include "analyze/facts/spin_facts.h"
#include "analyze/facts/steady.h"
#include "analyze/rules/rules.h"
#include "analyze/rules/weigh.h"
#include "base/text.h"

namespace sonde {
namespace {

constexpr double kMinShare = 0.25;  // of the program's CPU time
constexpr double kMinCores = 0.25;
constexpr uint64_t kFewestSamples = 20;
constexpr double kErrors = 2;
// A pool with this share of all spinning is worth a word.
constexpr double kAnotherPool = 0.1;
// The run's CPU time must be that of the time which is judged.
constexpr double kSameTime = 0.1;
constexpr double kMinGain = 0.1;
// Work that takes a little more than a core is not worth a second thread.
constexpr double kOneCore = 1.05;
constexpr double kMinGainOfFew = 0.2;

struct Spinning {
  const SpinFacts* most = nullptr;
  const ProcessFacts* process = nullptr;  // of `most`
  double ns = 0, cpu_ns = 0, wall_ns = 0;
  double share = 0, error = 0;
  double seen_work_ns = 0;  // by samples
  size_t processes = 0;     // with a pool that spins

  // What was not sampled is work.
  double work_ns() const { return (1 - share) * cpu_ns; }
  double work_cores() const { return work_ns() / wall_ns; }
  double most_work_ns() const { return work_ns() + kErrors * error * cpu_ns; }
  double least_work_ns() const {
    return std::max(0.0, seen_work_ns - kErrors * error * cpu_ns);
  }
};

Spinning SpinningOf(const Facts& facts) {
  Spinning out;
  uint64_t samples = 0;
  const auto& spins = facts.code.spins;
  if (spins.empty()) return out;
  for (const SpinFacts& one : spins) {
    out.ns += static_cast<double>(one.ns);
    samples += one.samples;
  }
  // A process may have two pools.
  std::map<uint32_t, double> by_process;
  for (const SpinFacts& one : spins)
    by_process[one.process] += static_cast<double>(one.ns);
  for (const auto& [process, ns] : by_process)
    out.processes += ns >= kAnotherPool * out.ns ? 1 : 0;
  out.most = &spins[0];
  out.process = facts.FindProcess(out.most->process);
  out.cpu_ns = std::max(static_cast<double>(facts.run.cpu_ns.value_or(0)),
                        static_cast<double>(facts.code.sampled_ns));
  out.wall_ns = static_cast<double>(
      std::max<int64_t>(1, facts.run.cpu_wall_ns > 0 ? facts.run.cpu_wall_ns
                                                     : facts.run.wall_ns));
  if (samples < kFewestSamples || out.cpu_ns <= 0) return {};
  out.share = std::min(1.0, out.ns / out.cpu_ns);
  out.seen_work_ns =
      std::max(0.0, static_cast<double>(facts.code.sampled_ns) - out.ns);
  out.error = std::sqrt(out.share * (1 - out.share) /
                        static_cast<double>(facts.code.samples));
  return out;
}

// The time for which the thread that works most slept, or waited for a core
// that others had; nothing if that is not known. A thread that waits for its
// own pool may sleep, too: then less is promised than there is.
MaybeNumber DriverAway(const Facts& facts, const Spinning& s) {
  const ThreadFacts* driver = nullptr;
  double most = 0;
  for (const ThreadFacts& t : s.process->threads) {
    double work = static_cast<double>(t.cpu_ns.value_or(0));
    for (const SpinFacts& one : facts.code.spins)
      for (const auto& [thread, ns] : one.threads)
        if (thread == t.row.number) work -= static_cast<double>(ns);
    if (driver == nullptr || work > most) {
      driver = &t;
      most = work;
    }
  }
  if (driver == nullptr || !driver->cpu_ns || !driver->wait_ns)
    return std::nullopt;
  const double waited = static_cast<double>(*driver->wait_ns);
  const double others =
      std::max(0.0, facts.judged.other_cores.value_or(0)) * s.wall_ns;
  return std::max(0.0, s.wall_ns - static_cast<double>(*driver->cpu_ns) -
                           waited +
                           waited * others / std::max(1.0, others + s.cpu_ns));
}

// Of the time, that one thread wins at least instead of all; more than one may
// still wait for each other.
double LeastGain(const Facts& facts, const Spinning& s) {
  const MaybeNumber slept =
      s.processes == 1 ? DriverAway(facts, s) : std::nullopt;
  return slept ? 1 - (s.most_work_ns() + *slept) / s.wall_ns : 0;
}

// The call is of a library of Python: only where that was seen to run.
std::string Settings(const Facts& facts, const Spinning& s, double threads) {
  const SpinPool& pool = *s.most->pool;
  std::string out = fmt::format("{}={:.0f}", pool.variable, threads);
  const std::string library =
      "/" + std::string(pool.call.substr(0, pool.call.find('.'))) + "/";
  if (!pool.call.empty() &&
      std::any_of(facts.code.functions.begin(), facts.code.functions.end(),
                  [&](const FunctionFacts& f) {
                    return f.process == s.most->process &&
                           (f.module.find(library) != std::string::npos ||
                            f.file.find(library) != std::string::npos);
                  }))
    out += fmt::format(", or {}({:.0f})", pool.call, threads);
  return out;
}

void PutGainOf(const Facts& facts, const Spinning& s, double least,
               double capacity, Finding& f) {
  const double judged = facts.JudgedNs();
  if (std::abs(judged - s.wall_ns) > kSameTime * judged) return;
  const double most = 1 - s.least_work_ns() / capacity / s.wall_ns;
  f.gain =
      Gain{std::clamp(most, 0.0, 1.0), "if the threads did only their work",
           std::clamp(least, 0.0, std::max(0.0, most))};
  if (least >= kCriticalGain) f.severity = Severity::kCritical;
}

std::string AdviceOn(const Facts& facts, const Spinning& s, double threads,
                     double capacity) {
  const SpinPool& pool = *s.most->pool;
  const double whole = std::max(1.0, std::floor(capacity));
  std::string out = fmt::format("Set {}{}", Settings(facts, s, threads),
                                s.processes > 1 ? " in each process" : "");
  if (threads == 1 && whole > 1 && s.processes == 1)
    out += fmt::format(
        ": {}. If the pieces of work are large and the cores free, try {:.0f} "
        "as well, not more.",
        s.work_cores() <= kOneCore ? "all that the threads did fits on one core"
                                   : "other programs use the cores, too",
        whole);
  else
    out += ": more threads than cores wait for threads that have none.";
  if (!pool.sleep.empty())
    out +=
        fmt::format(" With {} its threads sleep while they wait.", pool.sleep);
  out += " Larger pieces of work (a larger batch) leave less to wait for.";
  return out;
}

}  // namespace

Outcome SpinningThreads(const Case& about) {
  const Facts& facts = about.facts();
  const Spinning s = SpinningOf(facts);
  if (s.process == nullptr || s.share < kMinShare ||
      s.ns < kMinCores * s.wall_ns)
    return {};
  const double capacity = *facts.run.capacity_cores;
  const Steady& steady = about.steady();
  const SpinPool& pool = *s.most->pool;
  const size_t threads = s.most->threads.size();
  const double least = LeastGain(facts, s);
  size_t all = 0;
  for (const SpinFacts& one : facts.code.spins)
    if (static_cast<double>(one.ns) >= kAnotherPool * s.ns)
      all += one.threads.size();
  if (static_cast<double>(all) <= capacity &&
      (least < kMinGainOfFew ||
       facts.judged.other_cores.value_or(0) >= kSharedMachine * capacity))
    return {};
  const double each = capacity / static_cast<double>(s.processes);
  // Threads that have to share their cores with others' wait for longest.
  const bool one =
      s.work_cores() <= kOneCore ||
      facts.judged.other_cores.value_or(0) >= kSharedMachine * capacity;
  const double set = one ? 1 : std::max(1.0, std::floor(each));

  Finding f = FindingIn(steady.from_ns, steady.to_ns);
  PutWhere(f, *s.process);
  f.summary = fmt::format(
      "Threads that wait burn the cores: {} of the CPU time goes to {} of {} "
      "that spin{} until there is work, on {:g} core{}.",
      FormatShare(s.share),
      threads == 1 ? std::string("a thread")
                   : fmt::format("{} threads", threads),
      pool.name, threads == 1 ? "s" : "", capacity, capacity == 1 ? "" : "s");
  SayOfRun(
      f, facts,
      fmt::format("The threads of {} in {} used {:.2f} cores to wait; all "
                  "that the program did besides used {:.2f}.",
                  pool.name, CallProcess(*s.process),
                  static_cast<double>(s.most->ns) / s.wall_ns, s.work_cores()));
  for (const SpinFacts& other : facts.code.spins)
    if (&other != s.most &&
        static_cast<double>(other.ns) >= kAnotherPool * s.ns)
      if (const ProcessFacts* const p = facts.FindProcess(other.process))
        SayOfRun(f, facts,
                 fmt::format("{} thread{} of {} in {} waited in the same way.",
                             other.threads.size(),
                             other.threads.size() == 1 ? "" : "s",
                             other.pool->name, CallProcess(*p)));
  PutNumber(f, "spinning", s.share, Unit::kShare);
  PutNumber(f, "spinning_cores", s.ns / s.wall_ns, Unit::kCores);
  PutNumber(f, "spinning_threads", static_cast<double>(threads), Unit::kCount);
  PutNumber(f, "own_cores", s.cpu_ns / s.wall_ns, Unit::kCores);
  PutNumber(f, "work_cores", s.work_cores(), Unit::kCores);
  PutNumber(f, "allowed_cores", capacity, Unit::kCores);
  PutNumber(f, "threads_to_set", set, Unit::kCount);
  PutGainOf(facts, s, least >= kMinGain ? least : 0, capacity, f);
  f.advice = AdviceOn(facts, s, set, capacity);
  f.confidence = 0.95;
  return {{std::move(f)}, ""};
}

}  // namespace sonde
