// How processes ended, for the rules that say what ended them.

#ifndef SONDE_ANALYZE_FACTS_ENDS_H_
#define SONDE_ANALYZE_FACTS_ENDS_H_

#include <functional>
#include <string>
#include <vector>

#include "analyze/facts/facts.h"
#include "analyze/series/series.h"

namespace sonde {

// The processes that ended while they were recorded and that `test` is true of,
// in the order of their ends. Processes that were too short to be sampled are
// included, with what their row says.
std::vector<ProcessFacts> EndedWhere(
    const Facts& facts, const std::function<bool(const Process&)>& test);

bool EndedBySignal(const Process& row, int signal);

// "worker (pid 123)". Safe to print.
std::string CallWithPid(const ProcessFacts& process);

// From the begin of the run; and in words: "6.2 s".
double SecondsAt(const Facts& facts, int64_t time_ns);
std::string WhenOf(const Facts& facts, int64_t time_ns);

// A few values of a series of bytes up to a moment, the last known one among
// them: "120 MB at 0.5 s, 480 MB at 2.0 s". Empty if fewer than two are known.
std::string CurveUntil(const Facts& facts, const RegularSeries& series,
                       int64_t until_ns);

}  // namespace sonde

#endif  // SONDE_ANALYZE_FACTS_ENDS_H_
