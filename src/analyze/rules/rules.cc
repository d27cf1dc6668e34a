#include "analyze/rules/rules.h"

#include <signal.h>

#include <algorithm>

#include "analyze/facts/ends.h"
#include "analyze/facts/steady.h"

namespace sonde {
namespace {

bool EndedBy(const Case& about, int signal) {
  return !EndedWhere(about.facts(), [signal](const Process& row) {
            return EndedBySignal(row, signal);
          }).empty();
}

// Without a limit nothing is throttled.
bool HasCpuLimit(const Case& about) {
  return about.facts().run.cpu_limit_cores || about.Has(Input::kThrottling);
}

bool HasMemoryLimit(const Case& about) {
  const auto& all = about.facts().cgroups;
  return std::any_of(all.begin(), all.end(), [](const CgroupFacts& c) {
    return c.memory_limit_bytes.value_or(0) > 0;
  });
}

// Where nobody counts the kills, one that died of the signal may be one.
bool WasKilled(const Case& about) {
  return about.Has(Input::kMemoryKills) || EndedBy(about, SIGKILL);
}

bool HadBusError(const Case& about) {
  return about.Has(Input::kShm) || EndedBy(about, SIGBUS);
}

bool HasSeveralCores(const Case& about) {
  return about.facts().machine.cores != 1;
}

bool HasPython(const Case& about) {
  const auto& all = about.facts().processes;
  return std::any_of(all.begin(), all.end(),
                     [](const ProcessFacts& p) { return IsPython(p); });
}

// One thread alone waits for nobody.
bool HasPools(const Case& about) {
  const auto& all = about.facts().processes;
  return std::any_of(all.begin(), all.end(), [](const ProcessFacts& p) {
    return p.threads.size() > 1;
  });
}

bool UsesSeveralAccelerators(const Case& about) {
  return about.accelerators().used.size() > 1;
}

}  // namespace

std::span<const Rule> Rules() {
  using enum Input;
  static constexpr Rule kRules[] = {
      {.name = "cpu_bound",
       .question = "does the program use all the cores it may use?",
       .run = CpuBound,
       .needs = {kProcessCpu, kAllowedCores},
       .if_accelerators_wait = true},
      {.name = "one_core_bound",
       .question = "does one thread work while the other cores idle?",
       .run = OneCoreBound,
       .needs = {kProcessCpu, kAllowedCores},
       .if_accelerators_wait = true},
      {.name = "hung",
       .question = "does the program stand still?",
       .run = Hung,
       .needs = {kProcessCpu},
       .part = Part::kRun,
       .place = Place::kEndsTheRun},
      {.name = "waiting",
       .question = "does the program only wait, and where?",
       .run = Waiting,
       .needs = {kProcessCpu},
       .part = Part::kRun},
      {.name = "disk_bound",
       .question = "does the program wait for the disks?",
       .run = DiskBound,
       .needs = {kReads | kWrites, kIoPressure | kDisks, kIoPressure | kCores},
       .if_accelerators_wait = true},
      {.name = "small_files",
       .question = "does the program read in many small pieces?",
       .run = SmallFiles,
       .needs = {kReadCalls},
       .if_accelerators_wait = true,
       .explains = {{CpuBound}, {OneCoreBound}, {DiskBound}}},
      {.name = "oversubscribed",
       .question = "do more threads want to run than there are cores?",
       .run = Oversubscribed,
       .needs = {kThreadWait, kSwitches, kAllowedCores},
       .if_accelerators_wait = true,
       .explains = {{CpuBound}}},
      {.name = "spinning_threads",
       .question = "do threads burn cores while they wait for work?",
       .run = SpinningThreads,
       .needs = {kProcessCpu, kAllowedCores, kStacks},
       .concerns = HasPools,
       .explains = {{CpuBound},
                    {OneCoreBound},
                    {Oversubscribed},
                    {CpuThrottled},
                    {Alternating}}},
      {.name = "cpu_throttled",
       .question = "does the container's CPU limit hold the program back?",
       .run = CpuThrottled,
       .needs = {kThrottling},
       .if_accelerators_wait = true,
       .concerns = HasCpuLimit,
       .explains = {{CpuBound},
                    {OneCoreBound},
                    {Oversubscribed},
                    {HeapTooSmall},
                    {SpawnStorm}}},
      {.name = "out_of_memory",
       .question = "was a process of the run killed for lack of memory?",
       .run = OutOfMemory,
       .needs = {kMemoryKills},
       .part = Part::kRun,
       .concerns = WasKilled,
       .place = Place::kMayEndTheRun,
       .replaces = {MemoryLeak}},
      {.name = "shm_full",
       .question = "did a process end because /dev/shm was full?",
       .run = ShmFull,
       .needs = {kShm},
       .part = Part::kRun,
       .concerns = HadBusError,
       .place = Place::kMayEndTheRun},
      {.name = "page_cache_thrash",
       .question = "does the program read files again because its memory limit "
                   "pushes them out?",
       .run = PageCacheThrash,
       .needs = {kReads, kReadAgain},
       .concerns = HasMemoryLimit,
       .explains =
           {{InputStorageBound}, {SmallFiles}, {Alternating}, {OneCoreBound}},
       .replaces = {DiskBound}},
      {.name = "heap_too_small",
       .question = "does collecting garbage take most of the CPU time?",
       .run = HeapTooSmall,
       .needs = {kThreadCpu},
       .explains =
           {{CpuBound}, {OneCoreBound}, {Oversubscribed}, {Alternating}},
       .replaces = {GarbageCollection}},
      {.name = "garbage_collection",
       .question = "does collecting garbage cost much of the CPU time?",
       .run = GarbageCollection,
       .needs = {kProcessCpu, kStacks},
       .explains = {{CpuBound}, {OneCoreBound}, {Oversubscribed}}},
      {.name = "lock_bound",
       .question = "do threads wait for a lock that one of them holds?",
       .run = LockBound,
       .needs = {kThreadCpu, kAllowedCores, kStacks},
       .if_accelerators_wait = true,
       .concerns = HasPools,
       .explains = {{OneCoreBound}, {Alternating}}},
      {.name = "spawn_storm",
       .question = "does starting processes take the time?",
       .run = SpawnStorm,
       .needs = {kProcessCpu},
       .explains = {{CpuBound},
                    {OneCoreBound},
                    {Oversubscribed},
                    {DiskBound},
                    {Alternating}},
       // Each program that starts reads small pieces of its libraries.
       .replaces = {SmallFiles}},
      {.name = "memory_leak",
       .question = "does the program's memory grow without end?",
       .run = MemoryLeak,
       .needs = {kMemory},
       .place = Place::kMayEndTheRun,
       .explains = {{Swapping}}},
      {.name = "alternating",
       .question = "do computing and I/O take turns?",
       .run = Alternating,
       .needs = {kProcessCpu, kReads | kWrites | kNetwork | kAcceleratorUse},
       .if_accelerators_wait = true,
       .explains =
           {{OneCoreBound}, {DiskBound}, {NetworkBound}, {InterpreterBound}}},
      {.name = "network_bound",
       .question = "does the program wait for the network?",
       .run = NetworkBound,
       .needs = {kNetwork},
       .if_accelerators_wait = true},
      {.name = "swapping",
       .question = "does the program wait for memory that was moved to disk?",
       .run = Swapping,
       .needs = {kFaults, kSwap},
       .explains = {{DiskBound}, {SmallFiles}}},
      {.name = "checkpoint_stall",
       .question = "does the program stand still while it saves?",
       .run = CheckpointStall,
       .needs = {kWrites},
       .explains =
           {{Alternating}, {DiskBound}, {OneCoreBound, 0.3}, {CpuBound, 0.1}}},
      {.name = "input_bound",
       .question = "does the accelerator wait for data?",
       .run = InputBound,
       .needs = {kAcceleratorUse, kProcessCpu},
       .part = Part::kSteadyAccelerators,
       .explains = {{InputCpuSaturated},
                    {InputStorageBound},
                    {InputStorageLatency},
                    {CpuBound},
                    {OneCoreBound},
                    {DiskBound},
                    {SmallFiles},
                    {Alternating}}},
      {.name = "input_on_main_thread",
       .question = "does the thread that trains load the data itself?",
       .run = InputOnMainThread,
       .needs = {kThreadCpu, kAllowedCores, kStacks},
       .if_accelerators_wait = true,
       .concerns = HasPython,
       .explains = {{InputBound},
                    {InterpreterBound},
                    {OneCoreBound},
                    {CpuBound},
                    {SmallFiles}}},
      {.name = "input_cpu_saturated",
       .question = "does loading data take all cores?",
       .run = InputCpuSaturated,
       .needs = {kAcceleratorUse, kProcessCpu, kAllowedCores},
       .part = Part::kSteadyAccelerators,
       .explains = {{CpuBound}}},
      {.name = "input_storage_bound",
       .question = "is the disk that data comes from too slow?",
       .run = InputStorageBound,
       .needs = {kAcceleratorUse, kReads, kIoPressure | kDisks | kCores},
       .part = Part::kSteadyAccelerators,
       .explains = {{DiskBound}}},
      {.name = "input_storage_latency",
       .question = "does each read of data take long?",
       .run = InputStorageLatency,
       .needs = {kAcceleratorUse, kReadCalls, kSleeps},
       .part = Part::kSteadyAccelerators,
       .explains = {{SmallFiles}}},
      {.name = "interpreter_bound",
       .question = "does the accelerator wait for one thread of the program?",
       .run = InterpreterBound,
       .needs = {kAcceleratorUse, kProcessCpu},
       .part = Part::kSteadyAccelerators,
       .explains = {{OneCoreBound}},
       .replaces = {InputBound, InputCpuSaturated, InputStorageBound,
                    InputStorageLatency}},
      {.name = "device_memory_full",
       .question = "is the accelerator's memory at its limit?",
       .run = DeviceMemoryFull,
       .needs = {kAcceleratorMemory},
       .part = Part::kAccelerators},
      {.name = "throttled",
       .question = "does the accelerator run slower than it could?",
       .run = Throttled,
       .needs = {kAcceleratorUse, kAcceleratorClocks},
       .part = Part::kAccelerators},
      {.name = "misplaced_cpu",
       .question = "do threads wait for a core while other cores are free?",
       .run = MisplacedCpu,
       .needs = {kThreadWait, kCores},
       .if_accelerators_wait = true,
       .concerns = HasSeveralCores,
       .explains = {{InputCpuSaturated},
                    {InputBound},
                    {InterpreterBound},
                    {CpuBound},
                    {OneCoreBound}}},
      {.name = "gpu_memory_uneven",
       .question = "is the memory of some accelerators fuller than of others?",
       .run = GpuMemoryUneven,
       .needs = {kAcceleratorMemory},
       .part = Part::kAccelerators,
       .concerns = UsesSeveralAccelerators},
      {.name = "gpu_fluctuating",
       .question = "does the accelerator stop again and again?",
       .run = GpuFluctuating,
       .needs = {kAcceleratorUse},
       .part = Part::kAccelerators,
       .place = Place::kIdleAccelerator},
      {.name = "problem_too_small",
       .question = "is the work too small for the machine?",
       .run = ProblemTooSmall,
       .needs = {kAcceleratorUse, kAcceleratorMemory, kProcessCpu,
                 kAllowedCores},
       .part = Part::kAccelerators,
       .place = Place::kIdleAccelerator},
      {.name = "gpu_underused",
       .question = "is the accelerator idle most of the time?",
       .run = GpuUnderused,
       .needs = {kAcceleratorUse},
       .part = Part::kAccelerators,
       .place = Place::kIdleAccelerator},
      {.name = "gpu_memory_full_gpu_free",
       .question =
           "is the accelerator's memory full while it could compute more?",
       .run = GpuMemoryFullGpuFree,
       .needs = {kAcceleratorMemory, kAcceleratorUse},
       .part = Part::kAccelerators,
       .place = Place::kIdleAccelerator},
      {.name = "gpu_and_memory_free",
       .question = "have the accelerator and its memory room?",
       .run = GpuAndMemoryFree,
       .needs = {kAcceleratorMemory, kAcceleratorUse},
       .part = Part::kAccelerators,
       .place = Place::kIdleAccelerator},
  };
  return kRules;
}

}  // namespace sonde
