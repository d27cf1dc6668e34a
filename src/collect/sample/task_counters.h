// What is sampled of a process and of a thread: the names of the series, their
// units, and how often each is read.

#ifndef SONDE_COLLECT_SAMPLE_TASK_COUNTERS_H_
#define SONDE_COLLECT_SAMPLE_TASK_COUNTERS_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "trace/model.h"

namespace sonde {

// How often a counter is read. Those of one pace are one group of the trace.
enum Pace : size_t { kEveryTick, kSeldom, kPaces };

// One series of each process or thread.
struct Counter {
  const char* name;
  const char* unit;
  Series::Kind kind;
  Pace pace;
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
    {"cpu_ns", "ns", kTotal, kEveryTick},
    {"cpu_user_ns", "ns", kTotal, kEveryTick},
    {"cpu_system_ns", "ns", kTotal, kEveryTick},
    {"minor_faults", "1", kTotal, kEveryTick},
    {"major_faults", "1", kTotal, kEveryTick},
    {"read_chars", "bytes", kTotal, kEveryTick},
    {"write_chars", "bytes", kTotal, kEveryTick},
    {"read_calls", "1", kTotal, kEveryTick},
    {"write_calls", "1", kTotal, kEveryTick},
    {"read_bytes", "bytes", kTotal, kEveryTick},
    {"write_bytes", "bytes", kTotal, kEveryTick},
    {"rss_bytes", "bytes", kGauge, kEveryTick},
    {"threads", "1", kGauge, kEveryTick},
    {"voluntary_switches", "1", kTotal, kSeldom},
    {"involuntary_switches", "1", kTotal, kSeldom},
    {"pss_bytes", "bytes", kGauge, kSeldom},
    {"rss_file_bytes", "bytes", kGauge, kSeldom},
    {"blocked_ns", "ns", kTotal, kSeldom},
    {"sync_ns", "ns", kTotal, kSeldom},
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
    {"cpu_ns", "ns", kTotal, kEveryTick},
    {"wait_ns", "ns", kTotal, kEveryTick},
    {"voluntary_switches", "1", kTotal, kSeldom},
    {"involuntary_switches", "1", kTotal, kSeldom},
    {"blocked_ns", "ns", kTotal, kSeldom},
    {"sleeps_in", "1", kGauge, kSeldom},
}};

}  // namespace sonde

#endif  // SONDE_COLLECT_SAMPLE_TASK_COUNTERS_H_
