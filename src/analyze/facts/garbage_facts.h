#ifndef SONDE_ANALYZE_FACTS_GARBAGE_FACTS_H_
#define SONDE_ANALYZE_FACTS_GARBAGE_FACTS_H_

#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "analyze/facts/wait_facts.h"
#include "store/stack_names.h"

namespace sonde {

enum class GarbageRuntime : uint8_t { kGo, kPython, kV8 };

// The garbage collection of one process, as functions of its runtime on the
// stacks of running threads tell. Runtimes that collect in threads of their own
// are known by the names of these (rules/heap_too_small.cc).
struct GarbageFacts {
  uint32_t process = 0;  // number
  GarbageRuntime runtime = GarbageRuntime::kGo;
  uint64_t ns = 0;       // CPU time
  uint64_t samples = 0;  // behind it
  // The function of the program in which most of that happened, as far as the
  // program had to do it itself; "" if that is not known.
  CodeLine in;
};

// Collects the above from stacks of running threads. One thread.
class GarbageReader {
 public:
  explicit GarbageReader(const StackNames& names) : names_(names) {}

  void Add(uint32_t process, const std::vector<StackPlace>& places, uint64_t ns,
           uint64_t samples);
  // The most time first.
  std::vector<GarbageFacts> Take() const;

 private:
  struct Sum {
    uint64_t ns = 0, samples = 0;
    std::map<std::pair<uint32_t, uint32_t>, uint64_t> in;  // function, line
  };

  int8_t RuntimeOf(uint32_t function);  // -1: it does not collect

  const StackNames& names_;
  std::vector<int8_t> runtimes_;  // by function
  std::map<std::pair<uint32_t, GarbageRuntime>, Sum> sums_;
};

}  // namespace sonde

#endif  // SONDE_ANALYZE_FACTS_GARBAGE_FACTS_H_
