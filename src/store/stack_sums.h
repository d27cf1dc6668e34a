#ifndef SONDE_STORE_STACK_SUMS_H_
#define SONDE_STORE_STACK_SUMS_H_

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "store/store.h"

namespace sonde {

// The samples of one thread with one stack, together.
struct StackSum {
  uint32_t thread = 0;  // Thread::number; 0: a thread that has no row
  uint32_t stack = 0;   // 0: not known
  uint64_t running_ns = 0, waiting_ns = 0;
  uint64_t running = 0, waiting = 0;  // samples
  uint64_t approximate = 0;           // of those that ran
};

// All samples of a trace by thread and stack, also those that `--max-size` gave
// up, in no order. Of a trace with more than kMostStackSums such pairs the
// stacks of the pairs that come last are not known. A damaged chunk is in the
// store's losses.
inline constexpr size_t kMostStackSums = 1 << 20;
std::vector<StackSum> SumStacks(const Store& store);

// Those in which threads ran, most time first. An error that names the trace
// if there are none, or if they take out of proportion to the file.
Result<std::vector<StackSum>> RunningStacks(const Store& store);
// Puts them in the order of their threads, then of their stacks.
void SortByThread(std::vector<StackSum>& sums);

// One sample of a running thread, what is not known as in StackSum.
struct RunningSample {
  int64_t time_ns = 0;
  uint32_t thread = 0;
  uint32_t stack = 0;
  uint64_t weight_ns = 0;
};

// Those of all threads, by thread and then by time. What `--max-size` gave up
// comes first in its thread, at the begin of the recording. An error as of
// RunningStacks(), and if there are more than kMostRunningSamples: a hundred
// megabytes of them.
inline constexpr size_t kMostRunningSamples = 1 << 22;
Result<std::vector<RunningSample>> RunningSamples(const Store& store);

}  // namespace sonde

#endif  // SONDE_STORE_STACK_SUMS_H_
