#ifndef SONDE_ANALYZE_FACTS_INPUTS_H_
#define SONDE_ANALYZE_FACTS_INPUTS_H_

#include <cstdint>
#include <string>

namespace sonde {

struct Accelerators;
struct Facts;
struct Steady;
class SteadySeries;

// What a rule may need to have been collected. Inputs joined by | are
// alternatives: one of them is enough.
enum class Input : uint32_t {
  kNone = 0,
  kProcessCpu = 1u << 0,
  kThreadCpu = 1u << 1,
  kThreadWait = 1u << 2,
  kSwitches = 1u << 3,
  kSleeps = 1u << 4,
  kCores = 1u << 5,
  kAllowedCores = 1u << 6,
  kReads = 1u << 7,
  kWrites = 1u << 8,
  kReadCalls = 1u << 9,
  kFaults = 1u << 10,
  kSwap = 1u << 11,
  kMemory = 1u << 12,
  kIoPressure = 1u << 13,
  kDisks = 1u << 14,
  kNetwork = 1u << 15,
  kThrottling = 1u << 16,
  kMemoryKills = 1u << 17,
  kReadAgain = 1u << 18,
  kShm = 1u << 19,
  kAcceleratorUse = 1u << 20,
  kAcceleratorMemory = 1u << 21,
  kAcceleratorClocks = 1u << 22,
  kStacks = 1u << 23,
};

constexpr Input operator|(Input a, Input b) {
  return static_cast<Input>(static_cast<uint32_t>(a) |
                            static_cast<uint32_t>(b));
}

// Where inputs are looked for: all of one run. A series counts if the steady
// part has some of it; where there is no steady part, if the run has.
struct Collected {
  const Facts& facts;
  const Steady& steady;
  const SteadySeries& series;
  const Accelerators& accelerators;
};

// Why a rule with this need cannot judge: "how busy the cores were was not
// collected". Empty if one of the alternatives is there, or nothing is asked.
std::string MissingFrom(const Collected& run, Input alternatives);

}  // namespace sonde

#endif  // SONDE_ANALYZE_FACTS_INPUTS_H_
