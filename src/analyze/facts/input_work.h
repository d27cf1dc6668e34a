#ifndef SONDE_ANALYZE_FACTS_INPUT_WORK_H_
#define SONDE_ANALYZE_FACTS_INPUT_WORK_H_

#include <string>
#include <vector>

#include "analyze/facts/accelerators.h"
#include "analyze/facts/facts.h"

namespace sonde {

// Who feeds an accelerator, and who prepares what it is fed with.
//
// The consumers are the processes that hold memory on the accelerators. Where
// no device tells them it is the command itself, or what it started if all it
// does is to wait for one child (a shell, `env`). A consumer's main thread, and
// the threads in which PyTorch runs the backward pass, are no loaders; all
// other threads and processes are.
struct InputWork {
  // Of the devices asked for, who works most first. Empty: not known.
  std::vector<const ProcessFacts*> consumers;
  // Cores of the consumers' main threads, of the one that works most.
  MaybeNumber consumer_cores;
  // While the accelerators idle.
  double tree_cores = 0;
  double loader_cores = 0;
  MaybeNumber read_bytes_s;  // from storage
  // Of other processes than the consumers, over the run. With loaders that are
  // threads of the consumer: of that process.
  size_t loaders = 0;  // that use a core for 1 % of the time, or read
  MaybeNumber read_calls_s, read_chars_s, sleeps_s;
  std::string loader_names;  // "python3 (4 processes)". Safe to print.
};

InputWork InputWorkOf(const Facts& facts, const Accelerators& devices);

// Such a thread is no loader, by the rule above.
bool FeedsAccelerator(const ProcessFacts& process, const ThreadFacts& thread);

// The process that runs the work of `facts`, by the second of the ways above.
const ProcessFacts* MainProcessOf(const Facts& facts);

}  // namespace sonde

#endif  // SONDE_ANALYZE_FACTS_INPUT_WORK_H_
