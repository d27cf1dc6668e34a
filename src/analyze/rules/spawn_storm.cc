// spawn_storm: does starting processes take the time?
//
// Evidence: at least kMinRate processes a second began and ended, over the
// whole run, each used kMaxCpu on average (where that is not known, lived
// kMaxLife), and their lives fill kMinOfWall of the run. Starting a program
// costs the kernel and the loader about a millisecond, however little it does
// then; one that uses several works, as compilers do.

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analyze/rules/rules.h"
#include "analyze/rules/weigh.h"
#include "base/text.h"

namespace sonde {
namespace {

constexpr double kMinRate = 50;
constexpr double kMaxCpuNs = 3e6;
constexpr double kMaxLifeNs = 8e6;
constexpr double kMinOfWall = 0.30;
constexpr double kMinOfCpu = 0.25;  // of the run's CPU time: starting them
constexpr double kMinCount = 100;

// All that were too short to be sampled.
struct Storm {
  double count = 0, wall_ns = 0, cpu_ns = 0;
  double cpu_known = 0;                  // of `count`
  const ShortProcesses* most = nullptr;  // of one name
};

Storm StormOf(const Facts& facts) {
  Storm out;
  for (const ShortProcesses& s : facts.short_processes) {
    out.count += static_cast<double>(s.count);
    out.wall_ns += static_cast<double>(s.wall_ns);
    out.cpu_ns += static_cast<double>(s.cpu_ns.value_or(0));
    out.cpu_known += static_cast<double>(s.count - s.cpu_unknown);
    if (out.most == nullptr || s.count > out.most->count) out.most = &s;
  }
  return out;
}

bool DoLittle(const Storm& storm) {
  return 2 * storm.cpu_known >= storm.count
             ? storm.cpu_ns <= kMaxCpuNs * storm.cpu_known
             : storm.wall_ns <= kMaxLifeNs * storm.count;
}

// Who started most of them; null if that is not known. One that was too short
// itself counts for who started it.
const ProcessFacts* Starter(const Facts& facts) {
  std::map<uint32_t, uint64_t> children;
  const auto& rows = facts.store->processes();
  for (const auto& [number, row] : rows) {
    if (facts.FindProcess(number) != nullptr) continue;
    uint32_t parent = row.parent;
    for (int depth = 0; depth < 8 && facts.FindProcess(parent) == nullptr;
         ++depth) {
      const auto at = rows.find(parent);
      if (at == rows.end()) break;
      parent = at->second.parent;
    }
    ++children[parent];
  }
  const ProcessFacts* best = nullptr;
  uint64_t most = 0;
  for (const auto& [number, count] : children)
    if (const ProcessFacts* const p = facts.FindProcess(number);
        p != nullptr && count > most) {
      best = p;
      most = count;
    }
  return best;
}

}  // namespace

Outcome SpawnStorm(const Case& about) {
  const Facts& facts = about.facts();
  const Storm storm = StormOf(facts);
  const double wall_ns = static_cast<double>(facts.run.wall_ns);
  const double rate = storm.count / std::max(1e-9, wall_ns / 1e9);
  if (storm.count < kMinCount || rate < kMinRate || !DoLittle(storm) ||
      storm.wall_ns < kMinOfWall * wall_ns)
    return {};
  // Beside work that takes most of the time, starting them does not.
  const ProcessFacts* const starter = Starter(facts);
  const MaybeNs by_starter = starter == nullptr   ? MaybeNs()
                             : starter->system_ns ? starter->system_ns
                                                  : starter->cpu_ns;
  const double starting =
      storm.cpu_ns + static_cast<double>(by_starter.value_or(0));
  const double run_cpu_ns = static_cast<double>(facts.run.cpu_ns.value_or(0));
  if (starting < kMinOfCpu * run_cpu_ns) return {};

  Finding f = FindingIn(facts.run.begin_ns, facts.run.end_ns);
  const std::string name = Printable(storm.most->name, 24);
  f.summary = fmt::format(
      "The program starts {:.0f} processes a second, {} of them {}: starting "
      "them takes the time.",
      rate,
      2 * static_cast<double>(storm.most->count) >= storm.count ? "most"
                                                                : "many",
      name);
  Say(f, fmt::format(
             "{:.0f} processes lived {} on average; {} of them were {}.",
             storm.count,
             FormatDuration(static_cast<int64_t>(storm.wall_ns / storm.count)),
             FormatShare(static_cast<double>(storm.most->count) / storm.count),
             name));
  PutNumber(f, "processes", storm.count, Unit::kCount);
  PutNumber(f, "starts", rate, Unit::kPerSecond);
  PutNumber(f, "life", storm.wall_ns / storm.count / 1e9, Unit::kSeconds);
  if (run_cpu_ns > 0) {
    const double share = std::min(1.0, storm.cpu_ns / run_cpu_ns);
    PutNumber(f, "cpu_share", share, Unit::kShare);
    if (storm.cpu_ns > 0)
      Say(f, fmt::format("Together these processes used {}, {} of the run's "
                         "CPU time.",
                         FormatDuration(static_cast<int64_t>(storm.cpu_ns)),
                         FormatShare(share)));
  }
  if (starter != nullptr) {
    PutWhere(f, *starter);
    std::string kernel;
    if (starter->system_ns && starter->cpu_ns.value_or(0) > 0)
      kernel =
          fmt::format(", which spent {} of its own CPU time in the kernel",
                      FormatShare(std::min(
                          1.0, static_cast<double>(*starter->system_ns) /
                                   static_cast<double>(*starter->cpu_ns))));
    Say(f, fmt::format("Most processes were started by {}{}.",
                       CallProcess(*starter), kernel));
  }
  f.advice = fmt::format(
      "Starting a program costs about a millisecond, however little it does. "
      "Let one {} do what many do: give it many files or lines at a time (find "
      "-exec ... +, xargs without -n 1), use what the shell has built in, or "
      "call a library from one program that stays.",
      name);
  f.confidence = 0.9;
  return {{std::move(f)}, ""};
}

}  // namespace sonde
