#ifndef SONDE_ANALYZE_RULE_H_
#define SONDE_ANALYZE_RULE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/facts.h"
#include "analyze/inputs.h"

namespace sonde {

// How much a finding matters. Info is worth knowing, a warning worth doing
// something about, critical worth doing today.
enum class Severity { kInfo = 1, kWarning = 2, kCritical = 3 };
const char* NameOf(Severity severity);

// One fact behind a finding: a sentence with its numbers, and when it held.
struct Evidence {
  std::string text;
  int64_t from_ns = kNoTime;  // kNoTime: it is not of a stretch of time
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

// What acting on a finding could win, of the run's wall time: an estimate that
// holds under its condition. There is none where no bound holds: CPU time of
// threads that may spin is not the work they did (analyze/pools.h).
struct Gain {
  double share = 0;       // at most
  std::string how;        // the condition: "if nothing waited for storage"
  double from_share = 0;  // at least; 0: nothing is promised
};

// "20.0 % to 60.0 % of the run's time, if nothing waited for storage".
std::string PhraseGain(const Gain& gain);

// Where to look. Numbers are the trace's own, 0 if not of one.
struct Where {
  uint32_t process = 0;
  uint32_t thread = 0;
  int32_t pid = 0;
  int32_t tid = 0;
  std::string process_name, cmdline, thread_name;  // as recorded, not escaped
};

// One thing worth a user's time. Sentences are safe to print.
struct Finding {
  std::string rule;  // its name; the case puts it in
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

// A rule reads a case (analyze/case.h) and states findings. It changes nothing,
// keeps nothing between runs, and says nothing when its evidence is absent: a
// rule that guesses costs the user more than one that is silent. What another
// rule says, it asks of the case.
using RuleFunction = Outcome (*)(const Case& about);

// A rule whose finding comes after that of the rule in whose row this stands.
struct Explained {
  RuleFunction rule = nullptr;
  double least_gain = 0;  // of the one that explains; with less, they are two
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
// sees to it, so a rule runs only where its row lets it.
struct Rule {
  static constexpr size_t kMost = 8;

  const char* name;      // stable: users write it in --rule and in CI
  const char* question;  // what it answers, as the user would ask it
  RuleFunction run;
  // Each of these must have been collected. The case says which was not.
  Input needs[kMost] = {};
  Part part = Part::kSteady;
  // Silent beside accelerators that always work: they are what limits the run.
  bool if_accelerators_wait = false;
  // Silent about a run that this is false of; not given: it is about any.
  bool (*concerns)(const Case& about) = nullptr;
  Place place = Place::kByWeight;
  // What this makes look like a limit of its own, or details that say why:
  // findings of these rules come later.
  Explained explains[kMost] = {};
  // Those that say nothing where this has a finding.
  RuleFunction replaces[kMost] = {};
};

// Every rule, in the order reports show them. Add yours here (rules/rules.cc).
std::span<const Rule> Rules();

}  // namespace sonde

#endif  // SONDE_ANALYZE_RULE_H_
