#include "analyze/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "analyze/accelerators.h"
#include "analyze/command_words.h"
#include "analyze/steady.h"
#include "base/shell_word.h"
#include "base/text.h"
#include "base/time.h"

namespace sonde {
namespace {

// What a finding weighs whose gain nobody can estimate.
constexpr double kUnknownGain = 0.1;
// Below this many cores, a run mostly waits.
constexpr double kWaitingCores = 0.25;
constexpr double kSharedMachine = 0.25;
constexpr double kHeldUp = 0.25;

// A cause and what it makes look like a limit of its own.
struct Explains {
  std::string_view cause, symptom;
};
constexpr Explains kExplains[] = {
    {"oversubscribed", "cpu_bound"},
    {"cpu_throttled", "cpu_bound"},
    {"cpu_throttled", "one_core_bound"},
    {"cpu_throttled", "oversubscribed"},
    {"small_files", "cpu_bound"},
    {"small_files", "one_core_bound"},
    {"small_files", "disk_bound"},
    {"swapping", "disk_bound"},
    {"swapping", "small_files"},
    {"memory_leak", "swapping"},
    {"alternating", "one_core_bound"},
    {"alternating", "disk_bound"},
    {"alternating", "network_bound"},
    {"checkpoint_stall", "alternating"},
    {"input_cpu_saturated", "input_bound"},
    {"input_cpu_saturated", "cpu_bound"},
    {"input_storage_bound", "input_bound"},
    {"input_storage_bound", "disk_bound"},
    {"input_storage_latency", "input_bound"},
    {"input_storage_latency", "small_files"},
    {"input_bound", "cpu_bound"},
    {"input_bound", "one_core_bound"},
    {"input_bound", "alternating"},
    {"interpreter_bound", "one_core_bound"},
    {"misplaced_cpu", "input_cpu_saturated"},
    {"misplaced_cpu", "input_bound"},
    {"misplaced_cpu", "interpreter_bound"},
    {"misplaced_cpu", "cpu_bound"},
    {"misplaced_cpu", "one_core_bound"},
};
// How much more than its symptoms a cause weighs.
constexpr double kCauseFirst = 1.001;
// An accelerator that has little to do: whatever else is found says why.
constexpr std::string_view kIdleAccelerator[] = {
    "gpu_fluctuating", "problem_too_small", "gpu_underused",
    "gpu_memory_full_gpu_free", "gpu_and_memory_free"};

bool TellsAnIdleAccelerator(const Finding& finding) {
  return std::find(std::begin(kIdleAccelerator), std::end(kIdleAccelerator),
                   finding.rule) != std::end(kIdleAccelerator);
}

double Weight(const Finding& finding) {
  return static_cast<double>(finding.severity) *
         (finding.gain ? finding.gain->share : kUnknownGain);
}

// Sorts findings by what they weigh. A cause weighs more than anything that it
// explains, or that this explains in turn; idle accelerators come last.
void Rank(std::vector<Finding>& findings) {
  struct Weighed {
    Finding finding;
    double weight;
    bool idle;
  };
  std::vector<Weighed> all;
  for (Finding& f : findings) {
    const double weight = Weight(f);
    const bool idle = TellsAnIdleAccelerator(f);
    all.push_back({std::move(f), weight, idle});
  }
  for (size_t round = 0; round < all.size(); ++round)
    for (const Explains& e : kExplains)
      for (Weighed& cause : all)
        for (const Weighed& symptom : all)
          if (cause.finding.rule == e.cause &&
              symptom.finding.rule == e.symptom)
            cause.weight = std::max(cause.weight, kCauseFirst * symptom.weight);
  std::stable_sort(all.begin(), all.end(),
                   [](const Weighed& a, const Weighed& b) {
                     return a.idle != b.idle ? b.idle : a.weight > b.weight;
                   });
  for (size_t i = 0; i < all.size(); ++i)
    findings[i] = std::move(all[i].finding);
}

// "0.4 of 2 cores", or "0.4 cores" if nobody knows of how many.
std::string OfCores(const Facts& facts) {
  const double used = facts.run.cores_used.value_or(0);
  if (!facts.run.capacity_cores) return fmt::format("{:.2f} cores", used);
  return fmt::format("{:.2f} of {:g} cores", used, *facts.run.capacity_cores);
}

// A verdict that no rule gave, and what to do next.
struct Said {
  std::string verdict, advice;
};

constexpr char kWhoElse[] =
    "`ps -eo pcpu,pid,user,args --sort=-pcpu | head` shows them while they run";

std::string PathForShell(const Facts& facts) {
  return ShellWord(facts.store->path(), 4096);
}

// How to record a run so that it can be judged.
std::string LongerOrFiner(const Facts& facts) {
  const std::string command = CommandForShell(*facts.store);
  const int64_t wall_ns = facts.run.wall_ns;
  if (wall_ns >= kMinWallNs)
    return fmt::format("Sample it more often: sonde run --rate {} -- {}",
                       wall_ns >= 2 * kNsPerSec ? 10 : 100, command);
  const int64_t times = std::clamp<int64_t>(
      2 * kNsPerSec / std::max<int64_t>(1, wall_ns), 10, 1000);
  return fmt::format(
      "Give it more to do, or record it many times over: sonde run -- sh -c {}",
      ShellWord(fmt::format("for i in $(seq {}); do {}; done", times, command),
                4096));
}

std::string FindTheWait(const Facts& facts) {
  std::string out = "More or faster cores will not help. ";
  if (facts.machine.psi_io_some.value_or(0) >= kHeldUp)
    out += fmt::format(
        "Storage was waited for {} of the time: read ahead, read less, or keep "
        "the data in memory. ",
        FormatShare(*facts.machine.psi_io_some));
  return out + fmt::format(
                   "See in which system calls it waits: strace -f -c "
                   "-w {}",
                   CommandForShell(*facts.store));
}

Said VerdictOfFacts(const Facts& facts, bool all_rules) {
  const char* const nothing =
      all_rules ? "No single limit found" : "The rules asked found nothing";
  const RunFacts& run = facts.run;
  if (facts.store->processes().empty() && facts.ticks == 0)
    return {"Nothing was recorded of any process: there is nothing to judge.",
            "`sonde doctor` says what can be recorded here; `sonde run -- "
            "COMMAND` records it."};
  const bool too_few = facts.ticks > 0 && facts.ticks <= kMinTicks;
  if (too_few && run.wall_ns >= kNsPerSec)
    return {fmt::format("Ran {}, sampled {} time{}: too seldom to judge.",
                        FormatDuration(run.wall_ns), facts.ticks,
                        facts.ticks == 1 ? "" : "s"),
            LongerOrFiner(facts)};
  if (too_few || run.wall_ns < kMinWallNs)
    return {
        fmt::format("Ran {}: too short to judge.", FormatDuration(run.wall_ns)),
        LongerOrFiner(facts)};
  if (!run.cores_used)
    return {fmt::format(
                "Ran {}, but no CPU times were collected: it cannot be judged.",
                FormatDuration(run.wall_ns)),
            "`sonde doctor` says why, and what enables them."};
  const double capacity =
      run.capacity_cores.value_or(std::max<double>(1, facts.machine.cores));
  const double other = facts.machine.other_cores.value_or(0);
  const double wait = GreatestWait(facts);
  if (HeldUpByOthers(facts))
    return {
        fmt::format(
            "Held up by other programs: they used {:.2f} cores, this one "
            "{}; a thread was ready for {:.0f} % of the run without "
            "getting a core.",
            other, OfCores(facts), wait * 100),
        fmt::format("Run it again when they are done, or move them to other "
                    "cores (taskset) or behind it (nice): {}.",
                    kWhoElse)};
  if (AcceleratorsWellUsed(facts))
    return {
        fmt::format("{}: the accelerators were busy {} of the time.", nothing,
                    FormatShare(1 - AcceleratorsOf(facts).IdleShare())),
        "Look inside for what they compute: lower precision, better "
        "kernels and fewer copies make it less."};
  if (*run.cores_used < kWaitingCores)
    return {fmt::format("Mostly waiting: the program used {}.", OfCores(facts)),
            FindTheWait(facts)};
  if (other >= kSharedMachine * capacity)
    return {fmt::format("{}, but it was not alone: the program used {}, other "
                        "programs {:.2f}.",
                        nothing, OfCores(facts), other),
            fmt::format("Record it again on a quiet machine before you believe "
                        "this: {}.",
                        kWhoElse)};
  return {fmt::format("{}: the program used {}.", nothing, OfCores(facts)),
          all_rules ? fmt::format("Look for phases and gaps on the timeline: "
                                  "sonde export {} --to chrome, then open the "
                                  "file at ui.perfetto.dev",
                                  PathForShell(facts))
                    : fmt::format("Ask all rules: sonde report {}",
                                  PathForShell(facts))};
}

}  // namespace

const char* NameOf(Severity severity) {
  switch (severity) {
    case Severity::kInfo:
      return "info";
    case Severity::kWarning:
      return "warning";
    case Severity::kCritical:
      return "critical";
  }
  return "info";
}

const char* NameOf(RuleState::State state) {
  switch (state) {
    case RuleState::State::kFound:
      return "found";
    case RuleState::State::kSilent:
      return "silent";
    case RuleState::State::kNotEnoughData:
      return "not enough data";
  }
  return "silent";
}

Judgement Judge(const Facts& facts, const std::vector<std::string>& names) {
  Judgement out;
  for (const Rule& rule : Rules()) {
    if (!names.empty() &&
        std::find(names.begin(), names.end(), rule.name) == names.end())
      continue;
    Outcome outcome = rule.run(facts);
    RuleState state{&rule, RuleState::State::kSilent, ""};
    if (!outcome.findings.empty())
      state.state = RuleState::State::kFound;
    else if (!outcome.not_enough_data.empty())
      state = {&rule, RuleState::State::kNotEnoughData,
               std::move(outcome.not_enough_data)};
    out.rules.push_back(std::move(state));
    for (Finding& finding : outcome.findings)
      out.findings.push_back(std::move(finding));
  }
  Rank(out.findings);
  if (out.findings.empty()) {
    Said said = VerdictOfFacts(facts, names.empty());
    out.verdict = std::move(said.verdict);
    out.advice = std::move(said.advice);
  } else {
    out.verdict = out.findings.front().summary;
    out.advice = out.findings.front().advice;
  }
  return out;
}

}  // namespace sonde
