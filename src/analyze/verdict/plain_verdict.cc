#include "analyze/verdict/plain_verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "analyze/facts/command_words.h"
#include "analyze/facts/neighbours.h"
#include "analyze/facts/sleepers.h"
#include "analyze/facts/steady.h"
#include "base/shell_word.h"
#include "base/text.h"
#include "base/time.h"

namespace sonde {
namespace {

// Threads that are blocked for so much of the time are told of, whatever else
// holds the program up.
constexpr double kBlockedToo = 0.1;
// What so many of its threads wait for is told.
constexpr size_t kMostSleepers = 2;

// "0.4 of 2 cores", or "0.4 cores" if nobody knows of how many; and when, if
// that is not the whole run.
std::string OfCores(const Facts& facts) {
  const RunFacts& run = facts.run;
  const double used = facts.judged.cores_used.value_or(0);
  std::string out = run.capacity_cores ? fmt::format("{:.2f} of {:g} cores",
                                                     used, *run.capacity_cores)
                                       : fmt::format("{:.2f} cores", used);
  if (run.judged_from_ns)
    out +=
        fmt::format(" from {} on",
                    FormatDuration(Elapsed(run.begin_ns, *run.judged_from_ns)));
  else if (run.cpu_wall_ns < run.wall_ns)
    out += fmt::format(" in the {} that were sampled",
                       FormatDuration(run.cpu_wall_ns));
  return out;
}

std::string InBrackets(const std::string& words) {
  return words.empty() ? "" : fmt::format(" ({})", words);
}

std::string PathForShell(const Facts& facts) {
  return ShellWord(facts.store->path(), 4096);
}

// Its sonde was killed, and it was recovered.
bool Killed(const Facts& facts) {
  const std::vector<Loss> losses = facts.store->losses();
  return std::any_of(losses.begin(), losses.end(), [](const Loss& loss) {
    return loss.reason == "collector-killed";
  });
}

// " --pid N" if a process was watched: "process N (...)".
std::string WatchedPid(const Facts& facts) {
  constexpr std::string_view kProcess = "process ";
  const std::string target = facts.store->Meta("watched");
  if (!target.starts_with(kProcess)) return "";
  const size_t end = target.find_first_not_of("0123456789", kProcess.size());
  const std::string pid = target.substr(
      kProcess.size(), end == std::string::npos ? end : end - kProcess.size());
  return pid.empty() || pid.size() > 10 ? "" : " --pid " + pid;
}

// The command that makes such a recording anew, with other options.
std::string RecordAgain(const Facts& facts, const std::string& options = "") {
  return facts.run.watched ? "sonde watch" + WatchedPid(facts) + options
                           : fmt::format("sonde run{} -- {}", options,
                                         CommandForShell(*facts.store));
}

// How to record a command that ran to its end so that it can be judged.
std::string LongerOrFiner(const Facts& facts) {
  const int64_t wall_ns = facts.run.wall_ns;
  if (MetaNs(*facts.store, "still_running").value_or(0) > 0)
    return "The command ended, but what it started goes on. Record the "
           "descendants, too: " +
           RecordAgain(facts, " --wait-tree");
  if (wall_ns >= kMinWallNs)
    return "Sample the command more often: " +
           RecordAgain(facts,
                       wall_ns >= 2 * kNsPerSec ? " --rate 10" : " --rate 100");
  const int64_t times = std::clamp<int64_t>(
      2 * kNsPerSec / std::max<int64_t>(1, wall_ns), 10, 1000);
  return fmt::format(
      "Give the command more to do, or record many runs of it: sonde run -- "
      "sh -c {}",
      ShellWord(fmt::format("for i in $(seq {}); do {}; done", times,
                            CommandForShell(*facts.store)),
                4096));
}

// What to do about a recording that has too few samples: it depends on what
// ended it.
std::string GetMoreSamples(const Facts& facts) {
  const std::string exit = facts.store->Meta("exit");
  const std::string by = facts.store->Meta("ended_by");
  if (facts.store->reader().cut())
    return "Copy the file again, whole: what is missing cannot be made up.";
  if (!facts.store->reader().finished())
    return "If the recording still goes on, ask again later: sonde report " +
           PathForShell(facts);
  if (!exit.empty() && exit != "exit 0")
    return fmt::format(
        "Mend what made the command fail ({}), then record it "
        "again: {}",
        Printable(exit, 20), RecordAgain(facts));
  if (2 * facts.run.paused_ns > facts.run.wall_ns)
    return "The recording was paused most of the time. Choose a shorter "
           "delay or pause, or none: " +
           RecordAgain(facts);
  if (by == "time")
    return "Give the recording more time: " + RecordAgain(facts, " --for 10s");
  if (by == "stop file" || by == "request" || by == "signal" || Killed(facts))
    return "The recording ended too early. Let the next recording go on for "
           "a few seconds at least: " +
           RecordAgain(facts);
  if (by == "target gone")
    return "What sonde watched is gone. Record the command from its start: "
           "sonde run -- COMMAND";
  return LongerOrFiner(facts);
}

PlainVerdict TooFewSamples(const Facts& facts) {
  const std::string by = facts.store->Meta("ended_by");
  const char* const did = facts.run.watched || (by != "command" && !by.empty())
                              ? "Recorded"
                              : "Ran";
  const std::string wall = FormatDuration(facts.run.wall_ns);
  if (facts.run.wall_ns < kNsPerSec || facts.ticks == 0)
    return {fmt::format("{} {}: too short to judge.", did, wall),
            GetMoreSamples(facts)};
  return {fmt::format("{} {}, sampled {} time{}: too seldom to judge.", did,
                      wall, facts.ticks, facts.ticks == 1 ? "" : "s"),
          GetMoreSamples(facts)};
}

std::string FindTheWait(const Facts& facts) {
  std::string out = "More or faster cores will not help. ";
  const double blocked = OwnBlocked(facts).value_or(0);
  if (blocked >= kHeldUp)
    out += fmt::format(
        "The program's threads were blocked for {} of the time, mostly by "
        "storage: read ahead, read less, or keep the data in memory. ",
        FormatShare(blocked));
  const std::vector<std::string> sleepers =
      SleepersAt(facts, facts.run.end_ns - 1, kMostSleepers);
  if (!sleepers.empty()) out += "When sonde last looked: ";
  for (const std::string& sleeper : sleepers) out += sleeper + " ";
  const std::string pid = WatchedPid(facts);
  return out + "See in which system calls the program waits: strace -f -c -w " +
         (!facts.run.watched ? CommandForShell(*facts.store)
          : pid.empty()      ? "-p PID"
                             : "-p" + pid.substr(pid.rfind(' ')));
}

// What the program waits for by itself, beside the others.
std::string StorageToo(const Facts& facts) {
  const double blocked = OwnBlocked(facts).value_or(0);
  double read = 0, written = 0;
  for (const ProcessFacts& p : facts.processes) {
    read += p.io.read_bytes.value_or(0);
    written += p.io.write_bytes.value_or(0);
  }
  if (blocked < kBlockedToo || read + written == 0) return "";
  const double seconds =
      std::max(1.0, static_cast<double>(facts.run.sampled_ns)) / 1e9;
  return fmt::format(
      " For another {} of the time a thread was blocked, mostly by storage: "
      "the program {} {}/s.",
      FormatShare(blocked), read > written ? "read" : "wrote",
      FormatBytes(std::max(read, written) / seconds));
}

PlainVerdict OfDelay(const Facts& facts) {
  const std::string delay = FormatDuration(*facts.run.delay_ns);
  const std::string again = RecordAgain(facts);
  if (facts.store->reader().cut())
    return {"Nothing was sampled in what is left of the file.",
            GetMoreSamples(facts)};
  if (!facts.store->reader().finished())
    return {fmt::format("Nothing was sampled so far: the delay of {} is not "
                        "over, or sonde was killed in that delay.",
                        delay),
            "Wait until the delay is over. If sonde was killed, record the "
            "command again: " +
                again};
  const std::string by = facts.store->Meta("ended_by");
  if (by.empty())
    return {fmt::format("Nothing was sampled: sonde was killed in its delay "
                        "of {}.",
                        delay),
            "Record it again: " + again};
  const char* const who = by == "command"       ? "the command"
                          : by == "target gone" ? "what sonde watched"
                                                : "the recording";
  return {fmt::format("Nothing was sampled: {} ended in the delay of {}, after "
                      "{}.",
                      who, delay, FormatDuration(facts.run.wall_ns)),
          "Choose a delay that is shorter than the run, or none: " + again};
}

}  // namespace

PlainVerdict PlainVerdictOf(const Case& about) {
  const Facts& facts = about.facts();
  constexpr char kNothing[] = "No single limit found";
  const RunFacts& run = facts.run;
  if (facts.store->processes().empty() && facts.ticks == 0)
    return {"Nothing was recorded of any process: there is nothing to judge.",
            "`sonde doctor` says what can be recorded here; `sonde run -- "
            "COMMAND` records it."};
  if (facts.EndedInDelay()) return OfDelay(facts);
  if ((facts.ticks > 0 && facts.ticks <= kMinTicks) || run.wall_ns < kMinWallNs)
    return TooFewSamples(facts);
  if (run.judged_from_ns && facts.judged.wall_ns < kMinWallNs)
    return {
        fmt::format("The {} took {} of {}: the time after it is too short to "
                    "judge.",
                    run.delay_ns ? "delay" : "start-up",
                    FormatDuration(Elapsed(run.begin_ns, *run.judged_from_ns)),
                    FormatDuration(run.wall_ns)),
        "Give the program more to do, or judge all of the run: " +
            RecordAgain(facts)};
  if (!facts.judged.cores_used)
    return {fmt::format(
                "Ran {}, but no CPU times were collected: the run cannot be "
                "judged.",
                FormatDuration(run.wall_ns)),
            "`sonde doctor` says why, and what enables CPU times."};
  if (const std::string& why = about.steady().not_enough_data;
      !why.empty() && !about.AcceleratorsWellUsed())
    return {fmt::format("Not judged: {}.", why), GetMoreSamples(facts)};
  const double capacity =
      run.capacity_cores.value_or(std::max<double>(1, facts.machine.cores));
  const double other = facts.judged.other_cores.value_or(0);
  const double wait = GreatestWait(facts);
  if (HeldUpByOthers(facts))
    return {
        fmt::format(
            "Held up by other programs: they used {:.2f} cores{}, the "
            "recorded program {}; a thread was ready for {:.0f} % of {} "
            "without getting a core.{}",
            other, InBrackets(CallNeighbours(facts)), OfCores(facts),
            wait * 100,
            run.judged_from_ns || run.cpu_wall_ns < run.wall_ns ? "that time"
                                                                : "the run",
            StorageToo(facts)),
        AdviceOnNeighbours(facts)};
  if (about.AcceleratorsWellUsed())
    return {
        fmt::format("{}: the accelerators were busy {} of the time.", kNothing,
                    FormatShare(1 - about.accelerators().IdleShare())),
        "Look inside the accelerators' work: lower precision, better kernels "
        "and fewer copies make it less."};
  if (*facts.judged.cores_used < kWaitingCores)
    return {fmt::format("Mostly waiting: the program used {}.", OfCores(facts)),
            FindTheWait(facts)};
  if (other >= kSharedMachine * capacity)
    return {fmt::format("{}, but the program was not alone: it used {}, "
                        "other programs {:.2f}{}.",
                        kNothing, OfCores(facts), other,
                        InBrackets(CallNeighbours(facts))),
            "Record the program again on a quiet machine before you believe "
            "this verdict. " +
                AdviceOnNeighbours(facts)};
  return {fmt::format("{}: the program used {}.", kNothing, OfCores(facts)),
          fmt::format("Look for phases and gaps on the timeline: sonde export "
                      "{} --to chrome, then open the file at ui.perfetto.dev",
                      PathForShell(facts))};
}

PlainVerdict VerdictOfAsked(const Facts& facts,
                            const std::vector<RuleState>& asked) {
  std::string silent, unable;
  for (const RuleState& one : asked) {
    if (one.state == RuleState::State::kNotEnoughData)
      unable += fmt::format("{}{} cannot tell ({})", unable.empty() ? "" : ", ",
                            one.rule->name, one.why);
    else
      silent += (silent.empty() ? "" : ", ") + std::string(one.rule->name);
  }
  if (!silent.empty()) silent += " found nothing";
  if (!silent.empty() && !unable.empty()) silent += "; ";
  return {silent + unable + ". Other rules were not asked.",
          "Ask all rules: sonde report " + PathForShell(facts)};
}

}  // namespace sonde
