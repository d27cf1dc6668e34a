#ifndef SONDE_ANALYZE_RULES_RULE_H_
#define SONDE_ANALYZE_RULES_RULE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/facts/facts.h"
#include "analyze/facts/inputs.h"

namespace sonde {

// How much a finding matters. Info is worth knowing, a warning worth doing
// something about, critical worth doing today.
enum class Severity { kInfo = 1, kWarning = 2, kCritical = 3 };
const char* NameOf(Severity severity);

// One fact behind a finding: a sentence with its numbers, and when it held.
struct Evidence {
  std::string text;
  int64_t from_ns = kNoTime;  // kNoTime: not about a stretch of time
  int64_t to_ns = kNoTime;
};

// What a number of a finding is counted in.
enum class Unit {
  kCount,
  kShare,  // 0 to 1, of what the number's name says
  kCores,
  kSeconds,
  kPerSecond,
  kBytes,
  kBytesPerSecond,
  kMegahertz,
  kCelsius,
};
const char* NameOf(Unit unit);  // as in docs/report-json.md

// One of the numbers that decided a finding: what its sentences say, for
// programs. The name is a stable word, and the value is finite.
struct Number {
  std::string_view name;  // of a literal
  double value = 0;
  Unit unit = Unit::kCount;
};

// What acting on a finding could win, of the time that is judged (Facts): an
// estimate that holds under its condition. There is none where no bound holds:
// CPU time of threads that may spin is not the work they did (analyze/pools.h).
struct Gain {
  double share = 0;       // at most
  std::string how;        // the condition: "if nothing waited for storage"
  double from_share = 0;  // at least; 0: nothing is promised
  // What the shares are of, if that is not all of the run; Judge() puts it in.
  int64_t of_ns = 0;
};

// "20.0 % to 60.0 % of the run's time, if nothing waited for storage".
std::string PhraseGain(const Gain& gain);

// Where to look. Numbers are the trace's own, 0 if not of one process or
// thread.
struct Where {
  uint32_t process = 0;
  uint32_t thread = 0;
  int32_t pid = 0;
  int32_t tid = 0;
  std::string process_name, cmdline, thread_name;  // as recorded, not escaped
  // Where most of its time goes, if stacks were sampled; likewise.
  std::string function = {}, file = {};
  uint32_t line = 0;
};

// One thing worth a user's time. Sentences are safe to print.
struct Finding {
  std::string rule;  // the rule's name; the case puts it in
  Severity severity = Severity::kInfo;
  double confidence = 0;  // 0 to 1
  std::string summary;    // one sentence: what limits the program
  std::vector<Evidence> evidence;
  std::vector<Number> numbers;
  std::string advice;  // what to do, for somebody who does this the first time
  std::optional<Gain> gain;
  int64_t from_ns = 0;
  int64_t to_ns = 0;
  Where where;
};

// What a rule has to say: findings; or none, because the run is fine in this
// respect; or that it cannot know.
struct Outcome {
  std::vector<Finding> findings;
  std::string not_enough_data;  // why; empty if it could judge

  static Outcome NotEnough(std::string why) { return {{}, std::move(why)}; }
};

class Case;

// A rule reads a case (rules/case.h) and states findings. A rule changes
// nothing, keeps nothing between runs, and says nothing when its evidence is
// absent: a rule that guesses costs the user more than a rule that is silent. A
// rule asks the case for what another rule says.
using RuleFunction = Outcome (*)(const Case& about);

// A rule whose finding comes after that of the rule in whose row this stands.
struct Explained {
  RuleFunction rule = nullptr;
  double least_gain = 0;  // of the explaining finding; with less, both stand
};

// Where findings stand, whatever they weigh.
enum class Place {
  kEndsTheRun,    // first: it ended the run, or a part of it
  kMayEndTheRun,  // first if it is critical
  kByWeight,      // by severity and gain
  // Last: whatever else is found says why. Such a rule cannot judge a run that
  // other programs held up.
  kIdleAccelerator
};

// The part of a run that a rule judges. Without that part there is not enough
// data; where the run uses no accelerator, rules about them are silent.
enum class Part {
  kRun,
  kSteady,              // analyze/steady.h
  kAccelerators,        // analyze/accelerators.h
  kSteadyAccelerators,  // both
};

// All that is known of a rule beside its code: its row in the table. The case
// reads this row, so a rule runs only where its row lets it.
struct Rule {
  static constexpr size_t kMost = 8;

  const char* name;      // stable: users write it in --rule and in CI
  const char* question;  // that the rule answers, as a user would ask
  RuleFunction run;
  // Each of these must have been collected. The case says which was not.
  Input needs[kMost] = {};
  Part part = Part::kSteady;
  // Silent beside accelerators that always work: they are what limits the run.
  bool if_accelerators_wait = false;
  // Silent about a run for which this function is false; not given: about no
  // run.
  bool (*concerns)(const Case& about) = nullptr;
  Place place = Place::kByWeight;
  // Rules whose findings come later: this rule makes them look like limits of
  // their own, or they are details that say why.
  Explained explains[kMost] = {};
  // Rules that say nothing where this rule has a finding.
  RuleFunction replaces[kMost] = {};
};

// What one rule said of a trace.
struct RuleState {
  enum class State { kFound, kSilent, kNotEnoughData };

  const Rule* rule = nullptr;
  State state = State::kSilent;
  std::string why;  // for kNotEnoughData
};
const char* NameOf(RuleState::State state);

// Every rule, in the order reports show them. Add yours here (rules/rules.cc).
std::span<const Rule> Rules();

}  // namespace sonde

#endif  // SONDE_ANALYZE_RULES_RULE_H_
