#ifndef SONDE_ANALYZE_FACTS_STEADY_H_
#define SONDE_ANALYZE_FACTS_STEADY_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "analyze/facts/facts.h"

namespace sonde {

// The part of a run in which it does what it was started for: without the
// start-up before it first works hard, and without the winding down after the
// last time. At most a fifth of the run is left out at each end: a program that
// sleeps for most of its time sleeps, it does not start up.
struct Steady {
  std::vector<const CpuWindow*> windows;  // judged ones, in time order
  int64_t from_ns = 0;
  int64_t to_ns = 0;
  int64_t known_ns = 0;  // their length together
  // Why nothing can be said of this run; empty if something can.
  std::string not_enough_data;

  // Share of the steady time in windows that `test` is true of.
  double ShareWhere(const std::function<bool(const CpuWindow&)>& test) const;
  // Mean of a quantity over the windows that `test` is true of.
  double MeanWhere(const std::function<bool(const CpuWindow&)>& test,
                   const std::function<double(const CpuWindow&)>& value) const;
};

// Runs shorter than this, or not sampled more often, are not judged. At ten
// samples a second that is about a second, at a thousand the first bound.
inline constexpr int64_t kMinWallNs = 200'000'000;
inline constexpr uint64_t kMinTicks = 10;

// Others that have this share of the cores it may use share the machine with
// it, and who waits for this share of the time is held up.
inline constexpr double kSharedMachine = 0.25;
inline constexpr double kHeldUp = 0.25;

// Below this many cores, a run mostly waits.
inline constexpr double kWaitingCores = 0.25;

// Keeps pointers into facts.windows.
Steady SteadyOf(const Facts& facts);

// The greatest share of the time judged for which a thread was ready to run,
// but no core was free for it.
double GreatestWait(const Facts& facts);

// Other programs had so many of the cores that one of its threads was ready for
// a quarter of that time without getting one: what it would do alone is not
// known.
bool HeldUpByOthers(const Facts& facts);

// About the share of the run in which a thread of it was blocked in the kernel,
// mostly for a disk: by their own states, not by what others wait for. Absent
// if nobody looked.
MaybeNumber OwnBlocked(const Facts& facts);

// How often its threads went to sleep and were woken, a second.
double WakeUps(const Facts& facts);

// True of a process that the Python interpreter runs.
bool IsPython(const ProcessFacts& process);

// How a process is called in a sentence: its command line without the directory
// and cut short, else its name, else its number. A name that it gave itself
// comes first: "rank 3 (python3 train.py)". Safe to print.
std::string CallProcess(const ProcessFacts& process, size_t max_chars = 40);
// A thread of the process: by its role if it is the main thread, by its name,
// by its number where the name is only the program's.
std::string CallThread(const ProcessFacts& process, const ThreadFacts& thread);

}  // namespace sonde

#endif  // SONDE_ANALYZE_FACTS_STEADY_H_
