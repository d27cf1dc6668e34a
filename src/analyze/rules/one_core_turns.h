// What one_core_bound asks of moments of a run, and of threads or processes
// that work one at a time.

#ifndef SONDE_ANALYZE_RULES_ONE_CORE_TURNS_H_
#define SONDE_ANALYZE_RULES_ONE_CORE_TURNS_H_

#include <cstddef>
#include <optional>

#include "analyze/facts/steady_series.h"

namespace sonde {

// Cores that must stay unused, or one core is all there is.
inline constexpr double kMinFreeCores = 0.50;

// A run, and the cores it may use; keeps references. Asks one window.
struct CoreJudge {
  const Facts& facts;
  const Steady& steady;
  const SteadySeries& series;
  double capacity;

  // Cores the program could have used and did not: at most these, where nobody
  // looked what the machine did.
  double Free(const CpuWindow& w) const;
  // Somebody looked at some time.
  bool FreeIsKnown() const;
  // One thread fills a core, or is ready to, and the others do little.
  bool OneThread(const CpuWindow& w) const;
  // All together use about one core.
  bool OneAtATime(const CpuWindow& w) const;
};

// Whether the two busiest threads of a process work at the same time, as far as
// its annotations tell.
enum class Taking { kUnknown, kTaken, kNone };

// What all of them take turns at.
struct Chain {
  double least = 0;                       // cores, together
  double time = 0;                        // share of the steady time
  double greatest = 0;                    // share of the busiest thread
  const ProcessFacts* process = nullptr;  // its threads; null: processes
  size_t threads = 0;                     // of that process, that work
  size_t waiting = 0;   // of these, seen waiting for another thread
  bool asleep = false;  // most were, and sleep for much of their lives
  Taking turns = Taking::kUnknown;
  // Others had so much of the machine that it is told by who was ready, not by
  // who ran.
  bool starved = false;
  double used = 0, ready = 0;  // cores in that time, on average
  double free = 0;
};

// Nothing if they do not take turns, for most of the steady time. Beside
// programs that take their cores away, threads of a process do if about one of
// them is ready at a time while the others sleep, waiting for a thread.
std::optional<Chain> ChainOf(const CoreJudge& judge);

}  // namespace sonde

#endif  // SONDE_ANALYZE_RULES_ONE_CORE_TURNS_H_
