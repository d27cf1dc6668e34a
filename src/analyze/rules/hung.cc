// hung: does it stand still?
//
// Evidence: a stretch in which the run did nothing (pattern/standstill.h). One
// that lasts to the end of the recording is a hang; one that it came out of
// must have taken kMinIdle of the run to be worth a word. A run that never
// worked may have nothing to do: it hangs if its threads wait for each other
// and for nobody else, and it did not end well.

#include <fmt/format.h>

#include <algorithm>

#include "analyze/facts/sleepers.h"
#include "analyze/facts/steady.h"
#include "analyze/pattern/standstill.h"
#include "analyze/rules/rules.h"
#include "analyze/rules/weigh.h"
#include "base/text.h"
#include "base/time.h"

namespace sonde {
namespace {

constexpr double kMinIdle = 0.25;
constexpr size_t kMostSleepers = 3;
constexpr double kSure = 0.9;
constexpr double kSureOfIdle = 0.7;  // it never worked

// The busiest process that lived through it.
const ProcessFacts* WhoStands(const Facts& facts, const Standstill& still) {
  for (const ProcessFacts& p : facts.processes)
    if (p.row.end_ns == kNoTime || p.row.end_ns >= still.to_ns) return &p;
  return nullptr;
}

std::string AdviceOn(const ProcessFacts* process) {
  // Of one that is gone, the number is another's the next time.
  const std::string pid =
      process != nullptr && process->row.exit == Process::Exit::kRunning
          ? std::to_string(process->row.pid)
          : "PID";
  return fmt::format(
      "More or faster hardware will not help: find out what it waits for. "
      "While it stands still, `sonde stacks {}` prints where each thread "
      "stands. "
      "Look for a lock that is taken twice, a queue that nobody fills, a "
      "worker that died, a collective call that one rank never makes, a "
      "server that does not answer; give such waits a time limit.",
      pid);
}

// A moment before whoever ended it began to: threads that stood still all the
// time are there.
int64_t LateIn(const Standstill& still) {
  return still.to_ns - std::min((still.to_ns - still.from_ns) / 2, kNsPerSec);
}

// Of a run that never worked, only this is worth a word.
bool HangsFromTheStart(const Facts& facts, const Standstill& still) {
  const Store& store = *facts.store;
  const bool ended_well =
      store.Meta("ended_by") == "command" && store.Meta("exit") == "exit 0";
  return still.to_the_end && !ended_well &&
         WaitsForItself(facts, LateIn(still));
}

}  // namespace

Outcome Hung(const Case& about) {
  const Facts& facts = about.facts();
  std::vector<Standstill> all = StandstillsOf(*facts.series);
  // What came before is not judged.
  std::erase_if(all, [&](const Standstill& one) {
    return one.from_ns < facts.run.judged_from_ns.value_or(one.from_ns) ||
           (!one.worked && !HangsFromTheStart(facts, one));
  });
  const Standstill* found = nullptr;
  const auto share_of = [&](const Standstill& one) {
    return std::min(1.0, static_cast<double>(Elapsed(one.from_ns, one.to_ns)) /
                             facts.JudgedNs());
  };
  for (const Standstill& one : all)
    if ((one.to_the_end || share_of(one) >= kMinIdle) &&
        (found == nullptr || one.to_the_end ||
         share_of(one) > share_of(*found)))
      found = &one;
  if (found == nullptr) return {};

  const auto since_begin = [&](int64_t ns) {
    return FormatDuration(Elapsed(facts.run.begin_ns, ns));
  };
  const std::string length = FormatDuration(found->to_ns - found->from_ns);
  Finding f = FindingIn(found->from_ns, found->to_ns);
  // A service that nobody asks anything stands still, too.
  const bool serves = WaitsToBeAsked(facts, LateIn(*found));
  if (found->to_the_end && !serves) f.severity = Severity::kCritical;
  f.confidence = found->worked ? kSure : kSureOfIdle;
  f.summary =
      found->to_the_end
          ? fmt::format(
                "{}: the program did nothing from {} on, for {} until "
                "the recording ended.",
                serves ? "Idle" : "Hung", since_begin(found->from_ns), length)
      : found->from_ns <= facts.run.begin_ns
          ? fmt::format("The program did nothing in its first {}.", length)
          : fmt::format("The program stood still for {}, from {} to {}.",
                        length, since_begin(found->from_ns),
                        since_begin(found->to_ns));
  Say(f, fmt::format("That is {} of the time, with less than 1 % of a core and "
                     "4 KiB/s of reads and writes.",
                     FormatShare(share_of(*found))));
  PutNumber(f, "stood_still",
            static_cast<double>(Elapsed(found->from_ns, found->to_ns)) / 1e9,
            Unit::kSeconds);
  PutNumber(f, "of_run", share_of(*found), Unit::kShare);
  // What they slept in before they went on is not kept.
  std::string sleepers;
  if (found->to_the_end)
    for (const std::string& one :
         SleepersAt(facts, LateIn(*found), kMostSleepers))
      sleepers += (sleepers.empty() ? "" : " ") + one;
  if (!sleepers.empty()) Say(f, std::move(sleepers));
  const ProcessFacts* const who = WhoStands(facts, *found);
  if (who != nullptr) PutWhere(f, *who);
  f.advice = AdviceOn(who);
  // What a run that hangs would have done else, nobody knows.
  if (!found->to_the_end)
    f.gain = Gain{share_of(*found), "if it had not stood still"};
  return {{std::move(f)}, ""};
}

}  // namespace sonde
