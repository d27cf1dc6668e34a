#ifndef SONDE_ANALYZE_PATTERN_PHASES_H_
#define SONDE_ANALYZE_PATTERN_PHASES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/series/series.h"

namespace sonde {

// A stretch of a run in which the program does one kind of thing.
struct Phase {
  enum class Kind {
    kStartUp,     // before the program first works hard
    kWarmUp,      // it works, but not yet as later
    kSteady,      // it does what it was started for
    kCheckpoint,  // works less for a moment, and writes
    kEvaluation,  // the same again and again, but writes no more than else
    kDip,         // works less for a moment; why is not known
    kEnd,         // after the program last worked hard
    kIdle,        // the program did nothing, and then went on
    kHung,        // the program did nothing, up to the end
  };

  Kind kind = Kind::kSteady;
  int64_t from_ns = 0;
  int64_t to_ns = 0;
  double level = 0;    // of the main resource: median
  std::string reason;  // one clause with numbers
};

std::string_view NameOf(Phase::Kind kind);

// What a run used, on one grid. Null: not collected.
struct RunUse {
  const RegularSeries* cpu = nullptr;          // cores of the whole tree
  const RegularSeries* accelerator = nullptr;  // share of the time busy, 0 to 1
  const RegularSeries* written = nullptr;      // bytes a second
};

// The phases of a run: they follow each other without gap, from its begin to
// its end, but for the time before `main` was first sampled and after it last
// was: that is none. Where the run stood still (standstill.h) is told by all
// that it used, the rest as if that time had not been. `main` is the resource
// that they are told by: the accelerator if it works at all, else the CPU.
struct Phases {
  std::vector<Phase> list;
  const RegularSeries* main = nullptr;
  // Why there are none; empty if there are some.
  std::string not_enough_data;
};

// Looks at the whole run, to its end; collect/session/steady_watch.h decides
// while it still runs. docs/patterns.md has the thresholds.
Phases PhasesOf(const RunUse& use);

}  // namespace sonde

#endif  // SONDE_ANALYZE_PATTERN_PHASES_H_
