#include "analyze/rules/rules.h"

namespace sonde {

std::span<const Rule> Rules() {
  static constexpr Rule kRules[] = {
      {"cpu_bound", "does it use all the cores it may use?",
       "CPU time of processes, number of allowed cores", &CpuBound},
      {"one_core_bound", "does one thread work while the other cores idle?",
       "CPU time of threads, CPU time of cores, number of allowed cores",
       &OneCoreBound},
  };
  return kRules;
}

}  // namespace sonde
