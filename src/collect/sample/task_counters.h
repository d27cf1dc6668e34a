// What is sampled of a process and of a thread, and how often.

#ifndef SONDE_COLLECT_SAMPLE_TASK_COUNTERS_H_
#define SONDE_COLLECT_SAMPLE_TASK_COUNTERS_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "trace/series_list.h"

namespace sonde {

// How often a counter is read. Counters of one pace are one group of the trace.
enum Pace : size_t { kEveryTick, kSeldom, kPaces };

// One series of each process or thread.
struct Counter {
  SeriesName name;
  Pace pace;
};

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
    {"cpu_ns", kEveryTick},
    {"cpu_user_ns", kEveryTick},
    {"cpu_system_ns", kEveryTick},
    {"minor_faults", kEveryTick},
    {"major_faults", kEveryTick},
    {"read_chars", kEveryTick},
    {"write_chars", kEveryTick},
    {"read_calls", kEveryTick},
    {"write_calls", kEveryTick},
    {"read_bytes", kEveryTick},
    {"write_bytes", kEveryTick},
    {"rss_bytes", kEveryTick},
    {"threads", kEveryTick},
    {"voluntary_switches", kSeldom},
    {"involuntary_switches", kSeldom},
    {"pss_bytes", kSeldom},
    {"rss_file_bytes", kSeldom},
    {"blocked_ns", kSeldom},
    {"sync_ns", kSeldom},
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
    {"cpu_ns", kEveryTick},
    {"wait_ns", kEveryTick},
    {"voluntary_switches", kSeldom},
    {"involuntary_switches", kSeldom},
    {"blocked_ns", kSeldom},
    {"sleeps_in", kSeldom},
}};

}  // namespace sonde

#endif  // SONDE_COLLECT_SAMPLE_TASK_COUNTERS_H_
