// garbage_collection: does collecting garbage cost much of the CPU time?
//
// Evidence: functions of Go's, Python's or V8's collector are on the stacks of
// kMinShare of the CPU time of a process (facts/garbage_facts.h) that had
// kMinOfRun of the run's. A collector that works meanwhile in threads of its
// own costs cores, not always time: the gain is at most its share.

#include <fmt/format.h>

#include <algorithm>

#include "analyze/facts/garbage_facts.h"
#include "analyze/facts/steady.h"
#include "analyze/rules/rules.h"
#include "analyze/rules/weigh.h"
#include "base/text.h"

namespace sonde {
namespace {

constexpr double kMinShare = 0.25;
constexpr double kMinOfRun = 0.5;
constexpr uint64_t kFewestSamples = 20;

struct RuntimeWords {
  GarbageRuntime runtime;
  const char* name;
  const char* advice;
};
constexpr RuntimeWords kRuntimes[] = {
    {GarbageRuntime::kGo, "Go",
     "Let the heap grow further before each collection: GOGC=400 (the default "
     "is 100), with GOMEMLIMIT as its bound. Then make less garbage: reuse "
     "buffers (sync.Pool), allocate slices at their full size, keep few "
     "pointers in what lives long. `go tool pprof -alloc_space` shows who "
     "allocates."},
    {GarbageRuntime::kPython, "Python",
     "Collect less often: gc.freeze() after the start, then "
     "gc.set_threshold(100_000, 50, 50), or gc.disable() and gc.collect() at "
     "moments that you choose. Only objects that refer to each other in "
     "circles need the collector: keep less of what holds others (dict, list, "
     "objects), arrays and __slots__ instead."},
    {GarbageRuntime::kV8, "JavaScript",
     "Give young objects more room: node --max-semi-space-size=64, and the "
     "heap, if it is nearly full, --max-old-space-size=4096. Then make less "
     "garbage: reuse objects and buffers in hot loops. `node --trace-gc` shows "
     "each collection."},
};
const RuntimeWords& WordsOf(GarbageRuntime runtime) {
  return *std::find_if(
      std::begin(kRuntimes), std::end(kRuntimes),
      [&](const RuntimeWords& one) { return one.runtime == runtime; });
}

}  // namespace

Outcome GarbageCollection(const Case& about) {
  const Facts& facts = about.facts();
  if (facts.code.garbage.empty()) return {};
  const GarbageFacts& most = facts.code.garbage[0];
  const ProcessFacts* const process = facts.FindProcess(most.process);
  if (process == nullptr || process->cpu_ns.value_or(0) <= 0 ||
      most.samples < kFewestSamples)
    return {};
  const double share = std::min(1.0, static_cast<double>(most.ns) /
                                         static_cast<double>(*process->cpu_ns));
  if (share < kMinShare || process->cpu_share.value_or(0) < kMinOfRun)
    return {};
  const RuntimeWords& words = WordsOf(most.runtime);
  const Steady& steady = about.steady();

  Finding f = FindingIn(steady.from_ns, steady.to_ns);
  PutWhere(f, *process);
  f.summary =
      fmt::format("Collecting garbage takes {} of the CPU time of {} ({}).",
                  FormatShare(share), CallProcess(*process), words.name);
  SayOfRun(f, facts,
           fmt::format("Functions of {}'s collector were on the stack in {} "
                       "samples, {} of CPU time.",
                       words.name, most.samples,
                       FormatDuration(static_cast<int64_t>(most.ns))));
  if (most.in.known()) {
    SayOfRun(f, facts,
             fmt::format("Most of what the program itself had to collect was "
                         "in {}.",
                         CallLine(most.in)));
    f.where.function = most.in.function;
    f.where.file = most.in.file;
    f.where.line = most.in.line;
  }
  PutNumber(f, "collecting", share, Unit::kShare);
  PutNumber(f, "collecting_cores",
            static_cast<double>(most.ns) /
                static_cast<double>(std::max<int64_t>(1, process->wall_ns)),
            Unit::kCores);
  f.advice = words.advice;
  // One thread that collects itself does nothing else meanwhile.
  if (most.runtime == GarbageRuntime::kPython)
    f.gain =
        Gain{std::min(1.0, static_cast<double>(most.ns) / facts.JudgedNs()),
             "if nothing was collected"};
  f.confidence = 0.9;
  return {{std::move(f)}, ""};
}

}  // namespace sonde
