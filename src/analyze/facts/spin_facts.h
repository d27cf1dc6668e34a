#ifndef SONDE_ANALYZE_FACTS_SPIN_FACTS_H_
#define SONDE_ANALYZE_FACTS_SPIN_FACTS_H_

#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "store/stack_names.h"

namespace sonde {

// A library whose pool of threads burns cores while it waits for work.
struct SpinPool {
  std::string_view name;      // "OpenMP (libgomp)"
  std::string_view variable;  // that sets how many threads: "OMP_NUM_THREADS"
  std::string_view call;      // the same in a program, or ""
  std::string_view sleep;     // what lets the threads sleep instead, or ""
};
// All that are known. A pool is one of these: compare their addresses.
std::span<const SpinPool> SpinPools();

// The threads of one pool in one process, as the leaves of their stacks tell:
// a thread spins if the function it is in waits by looking again and again.
struct SpinFacts {
  uint32_t process = 0;  // number
  const SpinPool* pool = nullptr;
  uint64_t ns = 0;       // CPU time that its threads spun for, all together
  uint64_t samples = 0;  // behind it
  // Threads that spun, for at least a hundredth of that time.
  std::vector<std::pair<uint32_t, uint64_t>> threads;  // number, ns; most first
};

// Collects spinning from stacks of running threads. One thread.
class SpinReader {
 public:
  explicit SpinReader(const StackNames& names) : names_(names) {}

  // `places` as StackNames::Of() gives them.
  void Add(uint32_t process, uint32_t thread,
           const std::vector<StackPlace>& places, uint64_t ns,
           uint64_t samples);
  // The pool that spins in this stack; null: it works, or is not known.
  const SpinPool* PoolOf(const std::vector<StackPlace>& places);
  // The most time first.
  std::vector<SpinFacts> Take() const;

 private:
  // What a function says of a stack in whose innermost part it stands.
  struct Role {
    enum class Kind { kWork, kPause, kSpin, kLoop, kStart } kind = Kind::kWork;
    const SpinPool* pool = nullptr;
  };
  struct Sum {
    uint64_t ns = 0, samples = 0;
    std::unordered_map<uint32_t, uint64_t> threads;
  };

  Role RoleOf(uint32_t function);
  static Role Classify(const Function& function);

  const StackNames& names_;
  std::vector<int8_t> known_;  // by function: roles_ has it
  std::vector<Role> roles_;
  std::map<std::pair<uint32_t, const SpinPool*>, Sum> sums_;
};

}  // namespace sonde

#endif  // SONDE_ANALYZE_FACTS_SPIN_FACTS_H_
