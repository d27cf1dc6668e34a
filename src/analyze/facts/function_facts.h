#ifndef SONDE_ANALYZE_FACTS_FUNCTION_FACTS_H_
#define SONDE_ANALYZE_FACTS_FUNCTION_FACTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "analyze/facts/garbage_facts.h"
#include "analyze/facts/spin_facts.h"
#include "analyze/facts/wait_facts.h"
#include "store/store.h"

namespace sonde {

// One function in one process, as the samples of running threads tell.
struct FunctionFacts {
  uint32_t process = 0;  // number; 0: not known
  uint32_t thread = 0;   // number of the thread that spent most time in it
  std::string name, file, module;
  std::string language;  // "python", "native"; "" if not known
  // Executed most while the function itself ran; of a function that only calls
  // others, the line of most calls. 0: not known.
  uint32_t line = 0;
  uint64_t self_ns = 0;   // the function itself ran
  uint64_t total_ns = 0;  // the function or what it called ran; once a sample
  uint64_t samples = 0;   // behind self_ns
  // Of a function of Python: it ran, or native code that it called. Of others
  // self_ns, as far as no function of Python called them.
  uint64_t own_ns = 0;
  uint64_t own_samples = 0;  // behind own_ns
  // The native function that has most of own_ns, and its part; "" if none has.
  std::string below, below_module;
  uint64_t below_ns = 0;
};

// What the samples of a run say of its CPU time, and of where it waits.
//
//  - The self times of all functions and unknown_ns sum to sampled_ns, and so
//    do their own times.
//  - A trace that names more than kMostFunctions has the rest in one function
//    without a name for each process.
struct CodeFacts {
  static constexpr size_t kMostFunctions = 100'000;

  std::vector<FunctionFacts> functions;  // most self time first
  uint64_t sampled_ns = 0;               // running threads
  uint64_t unknown_ns = 0;               // of that: the stack is not known
  uint64_t samples = 0;                  // behind sampled_ns
  uint64_t approximate = 0;              // of `samples`
  // Where threads slept, the longest first; at most WaitReader::kMost.
  std::vector<WaitFacts> waits;
  // Pools whose threads burn cores while they wait, the most time first. Part
  // of sampled_ns.
  std::vector<SpinFacts> spins;
  // Likewise, of processes whose runtime collects garbage.
  std::vector<GarbageFacts> garbage;
};

CodeFacts CodeOf(const Store& store);

// Where threads slept in a part of the run, the longest first. What
// `--max-size` gave up is not known by time, and left out.
std::vector<WaitFacts> WaitsIn(const Store& store, int64_t from_ns,
                               int64_t to_ns);

}  // namespace sonde

#endif  // SONDE_ANALYZE_FACTS_FUNCTION_FACTS_H_
