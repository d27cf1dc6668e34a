// One function per rule; rules.cc lists them.

#ifndef SONDE_ANALYZE_RULES_RULES_H_
#define SONDE_ANALYZE_RULES_RULES_H_

#include "analyze/rule.h"

namespace sonde {

Outcome CpuBound(const Facts& facts);
Outcome Hung(const Facts& facts);
Outcome OneCoreBound(const Facts& facts);
Outcome DiskBound(const Facts& facts);
Outcome SmallFiles(const Facts& facts);
Outcome Oversubscribed(const Facts& facts);
Outcome CpuThrottled(const Facts& facts);
Outcome OutOfMemory(const Facts& facts);
Outcome ShmFull(const Facts& facts);
Outcome PageCacheThrash(const Facts& facts);
Outcome HeapTooSmall(const Facts& facts);
Outcome SpawnStorm(const Facts& facts);
Outcome MemoryLeak(const Facts& facts);
Outcome Alternating(const Facts& facts);
Outcome NetworkBound(const Facts& facts);
Outcome Swapping(const Facts& facts);
Outcome CheckpointStall(const Facts& facts);
Outcome InputBound(const Facts& facts);
Outcome InputCpuSaturated(const Facts& facts);
Outcome InputStorageBound(const Facts& facts);
Outcome InputStorageLatency(const Facts& facts);
Outcome InterpreterBound(const Facts& facts);
Outcome DeviceMemoryFull(const Facts& facts);
Outcome Throttled(const Facts& facts);
Outcome MisplacedCpu(const Facts& facts);
Outcome GpuMemoryUneven(const Facts& facts);
Outcome GpuFluctuating(const Facts& facts);
Outcome ProblemTooSmall(const Facts& facts);
Outcome GpuUnderused(const Facts& facts);
Outcome GpuMemoryFullGpuFree(const Facts& facts);
Outcome GpuAndMemoryFree(const Facts& facts);

}  // namespace sonde

#endif  // SONDE_ANALYZE_RULES_RULES_H_
