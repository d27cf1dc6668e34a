// One function per rule; rules.cc lists them.

#ifndef SONDE_ANALYZE_RULES_RULES_H_
#define SONDE_ANALYZE_RULES_RULES_H_

#include "analyze/rules/case.h"

namespace sonde {

Outcome CpuBound(const Case& about);
Outcome Hung(const Case& about);
Outcome Waiting(const Case& about);
Outcome OneCoreBound(const Case& about);
Outcome DiskBound(const Case& about);
Outcome SmallFiles(const Case& about);
Outcome Oversubscribed(const Case& about);
Outcome SpinningThreads(const Case& about);
Outcome CpuThrottled(const Case& about);
Outcome OutOfMemory(const Case& about);
Outcome ShmFull(const Case& about);
Outcome PageCacheThrash(const Case& about);
Outcome HeapTooSmall(const Case& about);
Outcome GarbageCollection(const Case& about);
Outcome LockBound(const Case& about);
Outcome SpawnStorm(const Case& about);
Outcome MemoryLeak(const Case& about);
Outcome Alternating(const Case& about);
Outcome NetworkBound(const Case& about);
Outcome Swapping(const Case& about);
Outcome CheckpointStall(const Case& about);
Outcome InputBound(const Case& about);
Outcome InputOnMainThread(const Case& about);
Outcome InputCpuSaturated(const Case& about);
Outcome InputStorageBound(const Case& about);
Outcome InputStorageLatency(const Case& about);
Outcome InterpreterBound(const Case& about);
Outcome DeviceMemoryFull(const Case& about);
Outcome Throttled(const Case& about);
Outcome MisplacedCpu(const Case& about);
Outcome GpuMemoryUneven(const Case& about);
Outcome GpuFluctuating(const Case& about);
Outcome ProblemTooSmall(const Case& about);
Outcome GpuUnderused(const Case& about);
Outcome GpuMemoryFullGpuFree(const Case& about);
Outcome GpuAndMemoryFree(const Case& about);

}  // namespace sonde

#endif  // SONDE_ANALYZE_RULES_RULES_H_
