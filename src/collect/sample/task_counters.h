// What is sampled of a process and of a thread: the names of the series, their
// units, and the group each belongs to.

#ifndef SONDE_COLLECT_SAMPLE_TASK_COUNTERS_H_
#define SONDE_COLLECT_SAMPLE_TASK_COUNTERS_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "trace/model.h"

namespace sonde {

inline constexpr uint32_t kMachineGroup = 1, kTaskGroup = 2, kSlowGroup = 3,
                          kCgroupGroup = 4, kDeviceGroup = 5;

// One series of each process or thread.
struct Counter {
  const char* name;
  const char* unit;
  Series::Kind kind;
  uint32_t group;
};
inline constexpr auto kTotal = Series::Kind::kTotal;
inline constexpr auto kGauge = Series::Kind::kGauge;

// Where a counter stands in its table.
enum ProcessCounter : size_t {
  kCpu,
  kUser,
  kSystem,
  kMinorFaults,
  kMajorFaults,
  kReadChars,
  kWriteChars,
  kReadCalls,
  kWriteCalls,
  kReadBytes,
  kWriteBytes,
  kRss,
  kThreads,
  kVoluntary,
  kInvoluntary,
  kPss,
  kRssFile,
  kBlocked,
  kSync,
  kProcessCounters,
};
inline constexpr std::array<Counter, kProcessCounters> kProcessTable = {{
    {"cpu_ns", "ns", kTotal, kTaskGroup},
    {"cpu_user_ns", "ns", kTotal, kTaskGroup},
    {"cpu_system_ns", "ns", kTotal, kTaskGroup},
    {"minor_faults", "1", kTotal, kTaskGroup},
    {"major_faults", "1", kTotal, kTaskGroup},
    {"read_chars", "bytes", kTotal, kTaskGroup},
    {"write_chars", "bytes", kTotal, kTaskGroup},
    {"read_calls", "1", kTotal, kTaskGroup},
    {"write_calls", "1", kTotal, kTaskGroup},
    {"read_bytes", "bytes", kTotal, kTaskGroup},
    {"write_bytes", "bytes", kTotal, kTaskGroup},
    {"rss_bytes", "bytes", kGauge, kTaskGroup},
    {"threads", "1", kGauge, kTaskGroup},
    {"voluntary_switches", "1", kTotal, kSlowGroup},
    {"involuntary_switches", "1", kTotal, kSlowGroup},
    {"pss_bytes", "bytes", kGauge, kSlowGroup},
    {"rss_file_bytes", "bytes", kGauge, kSlowGroup},
    {"blocked_ns", "ns", kTotal, kSlowGroup},
    {"sync_ns", "ns", kTotal, kSlowGroup},
}};

enum ThreadCounter : size_t {
  kThreadCpu,
  kThreadWait,
  kThreadVoluntary,
  kThreadInvoluntary,
  kThreadBlocked,
  kThreadSleepsIn,
  kThreadCounters,
};
inline constexpr std::array<Counter, kThreadCounters> kThreadTable = {{
    {"cpu_ns", "ns", kTotal, kTaskGroup},
    {"wait_ns", "ns", kTotal, kTaskGroup},
    {"voluntary_switches", "1", kTotal, kSlowGroup},
    {"involuntary_switches", "1", kTotal, kSlowGroup},
    {"blocked_ns", "ns", kTotal, kSlowGroup},
    {"sleeps_in", "1", kGauge, kSlowGroup},
}};

}  // namespace sonde

#endif  // SONDE_COLLECT_SAMPLE_TASK_COUNTERS_H_
