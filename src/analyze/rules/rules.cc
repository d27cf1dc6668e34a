#include "analyze/rules/rules.h"

namespace sonde {

std::span<const Rule> Rules() {
  static constexpr Rule kRules[] = {
      {"cpu_bound", "does it use all the cores it may use?",
       "CPU time of processes, number of allowed cores", &CpuBound},
      {"one_core_bound", "does one thread work while the other cores idle?",
       "CPU time of threads, CPU time of cores, number of allowed cores",
       &OneCoreBound},
      {"input_bound", "does the accelerator wait for data?",
       "how busy accelerators are, CPU time and reads of processes",
       &InputBound},
      {"input_cpu_saturated", "does loading its data take all cores?",
       "the same, number of allowed cores", &InputCpuSaturated},
      {"input_storage_bound", "is the disk its data comes from too slow?",
       "the same, disks or pressure", &InputStorageBound},
      {"input_storage_latency", "does each read of its data take long?",
       "the same, calls to read and switches of processes",
       &InputStorageLatency},
      {"interpreter_bound",
       "does the accelerator wait for one thread of the program?",
       "how busy accelerators are, CPU time of threads", &InterpreterBound},
      {"device_memory_full", "is the accelerator's memory at its limit?",
       "memory of accelerators", &DeviceMemoryFull},
      {"throttled", "does the accelerator run slower than it could?",
       "how busy accelerators are, their clocks or throttle reasons",
       &Throttled},
      {"misplaced_cpu", "do threads wait for a core while others are free?",
       "waiting times of threads, CPU time of cores", &MisplacedCpu},
      {"gpu_memory_uneven", "is the memory of some accelerators fuller?",
       "memory of accelerators", &GpuMemoryUneven},
      {"gpu_fluctuating", "does the accelerator stop again and again?",
       "how busy accelerators are", &GpuFluctuating},
      {"problem_too_small", "is the work too small for the machine?",
       "how busy accelerators are, their memory, CPU time", &ProblemTooSmall},
      {"gpu_underused", "is the accelerator idle most of the time?",
       "how busy accelerators are", &GpuUnderused},
      {"gpu_memory_full_gpu_free",
       "is the accelerator's memory full while it could compute more?",
       "how busy accelerators are, their memory", &GpuMemoryFullGpuFree},
      {"gpu_and_memory_free", "have the accelerator and its memory room?",
       "how busy accelerators are, their memory", &GpuAndMemoryFree},
  };
  return kRules;
}

}  // namespace sonde
